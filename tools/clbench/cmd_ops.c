/* clbench ops: what there is, from the registry. */
#include <string.h>

#include "base/text.h"
#include "bench.h"
#include "common/tool.h"
#include "op/backend.h"
#include "prof/grid.h"
#include "prof/json.h"

enum { OPT_FORMAT, OPT_OUTPUT };

typedef struct ops_settings {
    pct_format format;
    const char *output;
} ops_settings;

static pct_status take(void *cookie, int key, const char *argument)
{
    ops_settings *settings = cookie;
    if (key == OPT_OUTPUT) {
        settings->output = argument;
        return PCT_OK;
    }
    if (pcti_format_parse(argument, &settings->format) && settings->format != PCT_FORMAT_SQL) return PCT_OK;
    return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is none of: table, md, csv, json", argument);
}

static const tool_option own_options[] = {
    {OPT_FORMAT, "format", "NAME", "table, md, csv or json (table)"},
    {OPT_OUTPUT, "output", "FILE", "write there, not to standard output"},
};

static const tool_command command = {
    .name = "clbench ops",
    .synopsis = "[options]",
    .about =
        "Lists every operator with its implementations on every backend, best first; a plan takes the first that\n"
        "accepts the shapes at hand.",
    .examples = "  clbench ops\n  clbench ops --format json\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take,
};

/* All operators run forward; those with a gradient will have a second line. */
static const char direction[] = "forward";

static void add_json_row(const pcti_op *op, const pcti_backend *backend, pcti_json *json)
{
    pcti_json_line(json);
    pcti_json_open(json, NULL, '{');
    pcti_json_string(json, "op", op->name);
    pcti_json_string(json, "family", op->family);
    pcti_json_string(json, "backend", backend->name);
    pcti_json_string(json, "direction", direction);
    pcti_json_open(json, "implementations", '[');
    for (const pcti_impl *impl = backend->impls(op); impl->name; impl++) pcti_json_string(json, NULL, impl->name);
    pcti_json_close(json, ']');
    pcti_json_string(json, "summary", op->summary);
    pcti_json_close(json, '}');
}

static void add_grid_row(const pcti_op *op, const pcti_backend *backend, pcti_grid *grid)
{
    pcti_text list = {0};
    for (const pcti_impl *impl = backend->impls(op); impl->name; impl++)
        pcti_text_add(&list, "%s%s", list.length ? ", " : "", impl->name);
    pcti_grid_cell(grid, op->name);
    pcti_grid_cell(grid, backend->name);
    pcti_grid_cell(grid, direction);
    pcti_grid_cell(grid, list.length ? list.data : "none");
    if (list.failed) grid->failed = true;
    pcti_text_free(&list);
}

static void list_ops(pct_format format, pcti_text *text)
{
    pcti_json json = {.text = text};
    pcti_grid grid = {.count = 0};
    pcti_grid_column(&grid, "operator", false);
    pcti_grid_column(&grid, "backend", false);
    pcti_grid_column(&grid, "direction", false);
    pcti_grid_column(&grid, "implementations, best first", false);
    bool as_json = format == PCT_FORMAT_JSON;
    if (as_json) {
        pcti_json_open(&json, NULL, '{');
        pcti_json_number(&json, "format", 1);
        pcti_json_open(&json, "ops", '[');
    }
    for (int i = 0; i < pcti_op_count; i++)
        for (int b = 0; b < pcti_backend_count; b++) {
            if (as_json)
                add_json_row(pcti_ops[i], pcti_backends[b], &json);
            else
                add_grid_row(pcti_ops[i], pcti_backends[b], &grid);
        }
    if (as_json) {
        pcti_json_line(&json);
        pcti_json_close(&json, ']');
        pcti_json_close(&json, '}');
        pcti_text_add(text, "\n");
    } else {
        pcti_grid_write(&grid, format, text);
    }
    pcti_grid_free(&grid);
}

int cmd_ops(int argc, char **argv)
{
    tool_options options;
    ops_settings settings = {.format = PCT_FORMAT_TABLE};
    pcti_text text = {0};
    int first;
    int code = tool_options_parse(&command, argc, argv, &options, &settings, &first);
    if (code != TOOL_CONTINUE) return code;
    tool_options_free(&options);
    if (first < argc) return tool_usage(&command, "takes no operand, and got \"%s\"", argv[first]);
    list_ops(settings.format, &text);
    code = text.failed ? tool_fail(PCT_ERROR_MEMORY, TOOL_DEVICE) : bench_write(settings.output, text.data);
    pcti_text_free(&text);
    return code;
}
