/* clbench --list. */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "common/tool.h"
#include "prof/grid.h"
#include "prof/json.h"

static const char *note_of(const pct_device_list *list)
{
    const char *note = pct_device_list_note(list);
    if (pct_device_list_count(list)) return "";
    return *note ? note : "this build has no OpenCL backend";
}

static double or_nan(int64_t count)
{
    return count > 0 ? (double)count : NAN;
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void add_json(const pct_device_info *info, const char *name, pcti_json *json)
{
    pcti_json_open(json, name, '{');
    pcti_json_string(json, "backend", info->backend);
    if (info->platform_index >= 0) {
        pcti_json_number(json, "platform_index", info->platform_index);
        pcti_json_number(json, "device_index", info->device_index);
    }
    pcti_json_string(json, "platform", or_null(info->platform));
    pcti_json_string(json, "device", or_null(info->device));
    pcti_json_string(json, "vendor", or_null(info->vendor));
    pcti_json_string(json, "driver", or_null(info->driver));
    pcti_json_string(json, "version", or_null(info->version));
    pcti_json_string(json, "type", or_null(info->type));
    pcti_json_string(json, "isa", or_null(info->isa));
    pcti_json_number(json, "compute_units", or_nan(info->compute_units));
    pcti_json_number(json, "threads", or_nan(info->threads));
    pcti_json_number(json, "max_work_group", or_nan(info->max_work_group));
    pcti_json_number(json, "clock_mhz", or_nan(info->clock_mhz));
    pcti_json_number(json, "vector_width", or_nan(info->vector_width));
    pcti_json_number(json, "memory_bytes", or_nan(info->memory_bytes));
    pcti_json_number(json, "max_alloc_bytes", or_nan(info->max_alloc_bytes));
    pcti_json_number(json, "local_bytes", or_nan(info->local_bytes));
    pcti_json_close(json, '}');
}

static void list_json(const pct_device_list *list, const pct_device_info *cpu, pcti_text *text)
{
    pcti_json json = {.text = text};
    pcti_json_open(&json, NULL, '{');
    pcti_json_number(&json, "format", 1);
    pcti_json_line(&json);
    pcti_json_open(&json, "devices", '[');
    for (int i = 0; i < pct_device_list_count(list); i++) {
        pcti_json_line(&json);
        add_json(pct_device_list_get(list, i), NULL, &json);
    }
    pcti_json_close(&json, ']');
    pcti_json_line(&json);
    if (cpu)
        add_json(cpu, "cpu", &json);
    else
        pcti_json_string(&json, "cpu", NULL);
    if (*note_of(list)) {
        pcti_json_line(&json);
        pcti_json_string(&json, "note", note_of(list));
    }
    pcti_json_line(&json);
    pcti_json_close(&json, '}');
    pcti_text_add(text, "\n");
}

static void add_row(const pct_device_info *info, pcti_grid *grid)
{
    pcti_grid_number(grid, info->platform_index >= 0 ? info->platform_index : NAN);
    pcti_grid_number(grid, info->device_index >= 0 ? info->device_index : NAN);
    pcti_grid_cell(grid, info->backend);
    pcti_grid_cell(grid, info->platform);
    pcti_grid_cell(grid, info->device);
    pcti_grid_cell(grid, info->type);
    pcti_grid_number(grid, or_nan(info->compute_units));
    pcti_grid_bytes(grid, or_nan(info->memory_bytes));
    pcti_grid_cell(grid, info->driver);
    pcti_grid_cell(grid, info->isa[0] ? info->isa : info->version);
}

static void list_grid(const pct_device_list *list, const pct_device_info *cpu, pct_format format, pcti_text *text)
{
    static const struct {
        const char *title;
        bool right;
    } columns[] = {{"platform", true},     {"device", true},  {"backend", false}, {"platform name", false},
                   {"device name", false}, {"type", false},   {"units", true},    {"memory", true},
                   {"driver", false},      {"version", false}};
    pcti_grid grid = {.count = 0};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        pcti_grid_column(&grid, columns[i].title, columns[i].right);
    for (int i = 0; i < pct_device_list_count(list); i++) add_row(pct_device_list_get(list, i), &grid);
    if (cpu) add_row(cpu, &grid);
    pcti_grid_write(&grid, format, text);
    pcti_grid_free(&grid);
    if (*note_of(list) && format != PCT_FORMAT_CSV) pcti_text_add(text, "\n%s\n", note_of(list));
}

int cmd_list(const clbench *bench)
{
    pct_device_list *list = NULL;
    pct_device *cpu = NULL;
    pcti_text text = {0};
    int code;
    if (bench->settings.format == PCT_FORMAT_SQL) {
        tool_message("--list has no SQL form");
        return TOOL_USAGE;
    }
    pct_status status = pct_device_list_create(&list);
    if (status != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    if (bench_open_device("cpu", NULL, NULL, bench->options.threads, &cpu) != PCT_OK)
        tool_message("warning: no CPU path: %s", pct_error_message());
    const pct_device_info *info = cpu ? pct_device_get_info(cpu) : NULL;
    if (bench->settings.format == PCT_FORMAT_JSON)
        list_json(list, info, &text);
    else
        list_grid(list, info, bench->settings.format, &text);
    code = text.failed ? tool_fail(PCT_ERROR_MEMORY, TOOL_DEVICE) : bench_write(bench->settings.output, text.data);
    pcti_text_free(&text);
    pct_device_close(cpu);
    pct_device_list_destroy(list);
    return code;
}
