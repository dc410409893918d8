#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "pct/prof.h"
#include "prof/grid.h"
#include "prof/json.h"

static double rate(double amount, double ms) {
    return ms > 0 ? amount / ms / 1e6 : NAN;
} /* per second, in 1e9 */

static double sum_of(double sum, double value) {
    return isfinite(value) ? sum + value : sum;
}

static void add_cells(const char *node, const pct_profile_step *step, double total_ms, bool human,
                      pcti_grid *grid) {
    pcti_grid_cell(grid, node);
    pcti_grid_cell(grid, step->op);
    pcti_grid_cell(grid, step->impl);
    pcti_grid_cell(grid, step->shapes);
    if (human) {
        pcti_grid_ms(grid, step->ms);
        pcti_grid_fixed(grid, total_ms > 0 ? step->ms / total_ms * 100 : NAN, 1);
        pcti_grid_figure(grid, step->flops / 1e6);
        pcti_grid_bytes(grid, step->bytes);
        pcti_grid_figure(grid, rate(step->flops, step->ms));
        pcti_grid_figure(grid, rate(step->bytes, step->ms));
    } else {
        pcti_grid_number(grid, step->ms);
        pcti_grid_number(grid, step->flops);
        pcti_grid_number(grid, step->bytes);
        pcti_grid_number(grid, rate(step->flops, step->ms));
        pcti_grid_number(grid, rate(step->bytes, step->ms));
    }
}

static void add_grid(const pct_profile_step *steps, size_t count, pct_format format, pcti_text *text) {
    static const char *const human_titles[] = {"node", "op",    "implementation", "shapes",  "time",
                                               "%",    "MFLOP", "bytes",          "GFLOP/s", "GB/s"};
    static const char *const titles[] = {"node",  "op",    "impl",   "shapes",      "ms",
                                         "flops", "bytes", "gflops", "gbytes_per_s"};
    bool human = format != PCT_FORMAT_CSV;
    pcti_grid grid = {.count = 0};
    pct_profile_step total = {.ms = 0};
    for (size_t i = 0;
         i < (human ? sizeof human_titles / sizeof *human_titles : sizeof titles / sizeof *titles); i++)
        pcti_grid_column(&grid, human ? human_titles[i] : titles[i], i > 3);
    for (size_t i = 0; i < count; i++) {
        total.ms = sum_of(total.ms, steps[i].ms);
        total.flops = sum_of(total.flops, steps[i].flops);
        total.bytes = sum_of(total.bytes, steps[i].bytes);
    }
    for (size_t i = 0; i < count; i++) add_cells(steps[i].node, &steps[i], total.ms, human, &grid);
    if (human) add_cells("total", &total, total.ms, human, &grid);
    pcti_grid_write(&grid, format, text);
    pcti_grid_free(&grid);
}

static void add_figures(const pct_profile_step *step, pcti_json *json) {
    pcti_json_string(json, "op", step->op);
    pcti_json_string(json, "impl", step->impl);
    pcti_json_string(json, "shapes", step->shapes);
    pcti_json_number(json, "flops", step->flops);
    pcti_json_number(json, "bytes", step->bytes);
    pcti_json_number(json, "gflops", rate(step->flops, step->ms));
    pcti_json_number(json, "gbytes_per_s", rate(step->bytes, step->ms));
}

static void add_json(const pct_profile_step *steps, size_t count, pcti_json *json) {
    pcti_json_open(json, NULL, '{');
    pcti_json_line(json);
    pcti_json_number(json, "format", 1);
    pcti_json_line(json);
    pcti_json_string(json, "version", pct_version());
    pcti_json_string(json, "commit", pct_commit());
    pcti_json_line(json);
    pcti_json_open(json, "steps", '[');
    for (size_t i = 0; i < count; i++) {
        pcti_json_line(json);
        pcti_json_open(json, NULL, '{');
        pcti_json_string(json, "node", steps[i].node);
        add_figures(&steps[i], json);
        pcti_json_number(json, "ms", steps[i].ms);
        pcti_json_number(json, "start_ms", steps[i].start_ms);
        pcti_json_string(json, "reason", isfinite(steps[i].ms) ? NULL : "no valid time stamps");
        pcti_json_close(json, '}');
    }
    pcti_json_line(json);
    pcti_json_close(json, ']');
    pcti_json_line(json);
    pcti_json_close(json, '}');
    pcti_text_add(json->text, "\n");
}

/* Complete events ("X") of the Trace Event Format, in microseconds. A step without a time is left out. */
static void add_trace(const pct_profile_step *steps, size_t count, pcti_json *json) {
    bool started = false;
    double next_ms = 0;
    for (size_t i = 0; i < count; i++) started |= isfinite(steps[i].start_ms);
    pcti_json_open(json, NULL, '{');
    pcti_json_line(json);
    pcti_json_string(json, "displayTimeUnit", "ms");
    pcti_json_line(json);
    pcti_json_open(json, "traceEvents", '[');
    for (size_t i = 0; i < count; i++) {
        double start_ms = started ? steps[i].start_ms : next_ms;
        if (!isfinite(start_ms) || !isfinite(steps[i].ms)) continue;
        next_ms = start_ms + steps[i].ms;
        pcti_json_line(json);
        pcti_json_open(json, NULL, '{');
        pcti_json_string(json, "name", steps[i].node ? steps[i].node : steps[i].op ? steps[i].op : "step");
        pcti_json_string(json, "cat", steps[i].op ? steps[i].op : "step");
        pcti_json_string(json, "ph", "X");
        pcti_json_number(json, "ts", start_ms * 1e3);
        pcti_json_number(json, "dur", steps[i].ms * 1e3);
        pcti_json_number(json, "pid", 1);
        pcti_json_number(json, "tid", 1);
        pcti_json_open(json, "args", '{');
        add_figures(&steps[i], json);
        pcti_json_close(json, '}');
        pcti_json_close(json, '}');
    }
    pcti_json_line(json);
    pcti_json_close(json, ']');
    pcti_json_line(json);
    pcti_json_close(json, '}');
    pcti_text_add(json->text, "\n");
}

pct_status pct_profile_text(const pct_profile_step *steps, size_t count, pct_format format, char **text) {
    pcti_text out = {0};
    *text = NULL;
    switch (format) {
    case PCT_FORMAT_TABLE:
    case PCT_FORMAT_MARKDOWN:
    case PCT_FORMAT_CSV:
        add_grid(steps, count, format, &out);
        break;
    case PCT_FORMAT_JSON:
        add_json(steps, count, &(pcti_json){.text = &out});
        break;
    case PCT_FORMAT_TRACE:
        add_trace(steps, count, &(pcti_json){.text = &out});
        break;
    default:
        return pcti_fail(PCT_ERROR_ARGUMENT, "a profile cannot be written in this format");
    }
    if (out.failed) {
        pcti_text_free(&out);
        return PCT_ERROR_MEMORY;
    }
    *text = out.data;
    return PCT_OK;
}
