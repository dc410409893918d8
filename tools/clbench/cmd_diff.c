/* clbench diff: every value of a network on two backends. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench.h"
#include "common/open_device.h"
#include "common/tool.h"
#include "core/tensor.h"
#include "pct/model.h"
#include "prof/grid.h"
#include "prof/json.h"

enum { OPT_MODEL, OPT_AGAINST, OPT_BATCH, OPT_SIZE, OPT_WEIGHTS, OPT_TOLERANCE, OPT_FORMAT, OPT_OUTPUT };

typedef struct diff_settings {
    const char *model, *against, *weights, *output;
    int64_t batch, size;
    double tolerance; /* of a value's largest element */
    pct_format format;
} diff_settings;

static pct_status take(void *cookie, int key, const char *argument)
{
    diff_settings *settings = cookie;
    switch (key) {
    case OPT_MODEL:
        settings->model = argument;
        break;
    case OPT_AGAINST:
        settings->against = argument;
        break;
    case OPT_BATCH:
        return tool_parse_int(argument, 1, 65536, &settings->batch);
    case OPT_SIZE:
        return tool_parse_int(argument, 1, 16384, &settings->size);
    case OPT_WEIGHTS:
        settings->weights = argument;
        break;
    case OPT_TOLERANCE:
        if (!pcti_parse_double(argument, &settings->tolerance) ||
            !(settings->tolerance >= 0 && settings->tolerance <= 1))
            return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is not a number from 0 to 1", argument);
        break;
    case OPT_FORMAT:
        if (!pcti_format_parse(argument, &settings->format) || settings->format == PCT_FORMAT_SQL)
            return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is none of: table, md, csv, json", argument);
        break;
    case OPT_OUTPUT:
        settings->output = argument;
        break;
    }
    return PCT_OK;
}

static const tool_option own_options[] = {
    {OPT_MODEL, "model", "NAME", "the network"},
    {OPT_AGAINST, "against", "WHAT", "ref, cpu, opencl, or PLATFORM:DEVICE (cpu; ref for --cpu)"},
    {OPT_BATCH, "batch", "N", "pictures (1)"},
    {OPT_SIZE, "size", "N", "height and width of the pictures (the network's own)"},
    {OPT_WEIGHTS, "weights", "FILE", "weights (synthetic ones)"},
    {OPT_TOLERANCE, "tolerance", "X", "allowed difference, of a value's largest element (2e-5)"},
    {OPT_FORMAT, "format", "NAME", "table, md, csv or json (table)"},
    {OPT_OUTPUT, "output", "FILE", "write there, not to standard output"},
};

static const tool_command command = {
    .name = "clbench diff",
    .synopsis = "--model NAME [--against WHAT] [options]",
    .about =
        "Runs a network, node by node without fusion, on two devices and compares every value by its name. Names\n"
        "the first that differs by more than the tolerance or turns NaN, with the largest difference and its\n"
        "index; --verbose lists all. The exit status is 1 where one differs.",
    .examples = "  clbench diff --model resnet50 --cpu --against ref\n"
                "  clbench diff --model vgg16 --platform 0 --device 0 --against cpu --verbose\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take,
};

/* ---- one side ---- */

typedef struct side {
    pct_device *device;
    pct_plan *plan;
    char name[PCT_NAME_BYTES + 32];
} side;

static void side_free(side *s)
{
    pct_plan_destroy(s->plan);
    pct_device_close(s->device);
    *s = (side){0};
}

static pct_status side_open_against(const char *against, int32_t threads, side *s)
{
    char platform[PCT_NAME_BYTES];
    const char *colon = strchr(against, ':');
    if (!colon) return bench_open_device(against, NULL, NULL, threads, &s->device);
    snprintf(platform, sizeof platform, "%.*s", (int)(colon - against), against);
    return bench_open_device("opencl", platform, colon + 1, threads, &s->device);
}

static pct_status side_run(side *s, const pct_model *model, const diff_settings *settings, const char *force,
                           const float *pictures)
{
    const pct_device_info *info = pct_device_get_info(s->device);
    snprintf(s->name, sizeof s->name, "%s (%s)", info->backend, info->device);
    pct_plan_options options = {.struct_bytes = sizeof options,
                                .symbols = {settings->batch},
                                .no_fusion = true,
                                .keep_values = true,
                                .force = strcmp(info->backend, "ref") ? force : NULL};
    PCTI_RETURN_IF_FAILED(pct_plan_create(s->device, pct_model_graph(model), &options, &s->plan));
    const void *inputs[] = {pictures};
    return pct_plan_run(s->plan, inputs, NULL, NULL);
}

/* ---- comparing ---- */

typedef struct value_difference {
    const char *name;
    pct_shape shape;
    double error, largest; /* largest: of the finite elements */
    int64_t place;
    double got, want;
    bool nan, differs;
} value_difference;

static void compare_values(const float *got, const float *want, int64_t elems, double tolerance, value_difference *d)
{
    for (int64_t i = 0; i < elems; i++) {
        double a = (double)got[i], b = (double)want[i];
        if (isfinite(b)) d->largest = fmax(d->largest, fabs(b));
        double error = pcti_difference(a, b);
        if (isnan(a) || isnan(b)) { /* on both sides, too: the weights or the network are broken then */
            d->nan = true;
            error = INFINITY;
        }
        if (error <= d->error) continue;
        d->error = error;
        d->place = i;
        d->got = a;
        d->want = b;
    }
    d->differs = d->error > tolerance * d->largest;
}

static int find_value(const pct_plan *plan, const char *name)
{
    const char *other;
    pct_shape shape;
    for (int i = 0; i < pct_plan_value_count(plan); i++)
        if (pct_plan_value(plan, i, &other, &shape) == PCT_OK && !strcmp(name, other)) return i;
    return -1;
}

/* Value `index` of a and the one of its name in b. *paired is false where b has none. */
static pct_status compare_one(const side *a, const side *b, int index, double tolerance, value_difference *d,
                              bool *paired)
{
    pct_status status;
    float *got = NULL, *want = NULL;
    int64_t elems;
    pct_shape other;
    const char *name;
    *d = (value_difference){0};
    PCTI_RETURN_IF_FAILED(pct_plan_value(a->plan, index, &d->name, &d->shape));
    int partner = find_value(b->plan, d->name);
    *paired = partner >= 0;
    if (!*paired || d->shape.dtype != PCT_F32) {
        *paired = false;
        return PCT_OK;
    }
    PCTI_RETURN_IF_FAILED(pct_plan_value(b->plan, partner, &name, &other));
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&d->shape, &elems));
    if (!pcti_shape_equal(&d->shape, &other)) return pcti_fail(PCT_ERROR_SHAPE, "%s has two shapes", d->name);
    got = pcti_calloc((size_t)elems, sizeof *got);
    want = pcti_calloc((size_t)elems, sizeof *want);
    if (!got || !want) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_TRY(pct_plan_read(a->plan, index, got));
    PCTI_TRY(pct_plan_read(b->plan, partner, want));
    compare_values(got, want, elems, tolerance, d);
fail:
    pcti_free(got);
    pcti_free(want);
    return status;
}

/* ---- report ---- */

static void add_index(pcti_text *text, const pct_shape *shape, int64_t place)
{
    int64_t index[PCT_MAX_RANK];
    for (int d = shape->rank - 1; d >= 0; d--) {
        index[d] = shape->dims[d] ? place % shape->dims[d] : 0;
        place /= shape->dims[d] ? shape->dims[d] : 1;
    }
    pcti_text_add(text, "[");
    for (int d = 0; d < shape->rank; d++) pcti_text_add(text, "%s%lld", d ? "," : "", (long long)index[d]);
    pcti_text_add(text, "]");
}

static void add_grid_row(const value_difference *d, double tolerance, pcti_grid *grid)
{
    char shape_text[PCTI_SHAPE_TEXT];
    pcti_text place = {0};
    if (d->error > 0) add_index(&place, &d->shape, d->place);
    pcti_grid_cell(grid, d->name);
    pcti_grid_cell(grid, pcti_shape_print(&d->shape, shape_text, sizeof shape_text));
    pcti_grid_figure(grid, d->largest);
    pcti_grid_figure(grid, d->nan ? NAN : d->error);
    pcti_grid_figure(grid, tolerance * d->largest);
    pcti_grid_cell(grid, place.data);
    pcti_grid_cell(grid, d->nan ? "NaN" : d->differs ? "differs" : "same");
    pcti_text_free(&place);
}

static void begin_grid(pcti_grid *grid)
{
    static const struct {
        const char *title;
        bool right;
    } columns[] = {{"value", false},  {"shape", false}, {"largest", true}, {"difference", true},
                   {"allowed", true}, {"at", false},    {"verdict", false}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        pcti_grid_column(grid, columns[i].title, columns[i].right);
}

static void add_json_row(const value_difference *d, double tolerance, pcti_json *json)
{
    pcti_text place = {0};
    add_index(&place, &d->shape, d->place);
    pcti_json_line(json);
    pcti_json_open(json, NULL, '{');
    pcti_json_string(json, "name", d->name);
    pcti_json_number(json, "largest", d->largest);
    pcti_json_number(json, "difference", d->error); /* null: NaN or infinite on one side only */
    pcti_json_number(json, "allowed", tolerance * d->largest);
    pcti_json_string(json, "at", place.data);
    pcti_json_bool(json, "nan", d->nan);
    pcti_json_bool(json, "differs", d->differs);
    pcti_json_close(json, '}');
    pcti_text_free(&place);
}

typedef struct diff_report {
    value_difference *values;
    size_t count, capacity;
    int unpaired, first; /* first that differs; -1 */
} diff_report;

static void write_sentence(const diff_report *report, const side *a, const side *b, pcti_text *text)
{
    if (report->first < 0) {
        pcti_text_add(text, "%zu values agree between %s and %s\n", report->count, a->name, b->name);
        return;
    }
    const value_difference *d = &report->values[report->first];
    pcti_text_add(text, "the first value that %s is %s: at ", d->nan ? "turns NaN" : "differs", d->name);
    add_index(text, &d->shape, d->place);
    pcti_text_add(text, " %s has ", a->name);
    pcti_text_add_double(text, d->got, 9);
    pcti_text_add(text, ", %s ", b->name);
    pcti_text_add_double(text, d->want, 9);
    pcti_text_add(text, "\n");
}

static void write_json(const diff_report *report, const diff_settings *settings, const side *a, const side *b,
                       pcti_text *text)
{
    pcti_json json = {.text = text};
    pcti_json_open(&json, NULL, '{');
    pcti_json_number(&json, "format", 1);
    pcti_json_string(&json, "model", settings->model);
    pcti_json_string(&json, "device", a->name);
    pcti_json_string(&json, "against", b->name);
    pcti_json_string(&json, "first_difference", report->first < 0 ? NULL : report->values[report->first].name);
    pcti_json_open(&json, "values", '[');
    for (size_t i = 0; i < report->count; i++) add_json_row(&report->values[i], settings->tolerance, &json);
    pcti_json_close(&json, ']');
    pcti_json_close(&json, '}');
    pcti_text_add(text, "\n");
}

static int write_report(const diff_report *report, const diff_settings *settings, bool verbose, const side *a,
                        const side *b)
{
    pcti_text text = {0};
    if (settings->format == PCT_FORMAT_JSON) {
        write_json(report, settings, a, b, &text);
    } else {
        pcti_grid grid = {.count = 0};
        begin_grid(&grid);
        for (size_t i = 0; i < report->count; i++)
            if (verbose || report->values[i].differs) add_grid_row(&report->values[i], settings->tolerance, &grid);
        if (grid.count) pcti_grid_write(&grid, settings->format, &text);
        pcti_grid_free(&grid);
        if (settings->format != PCT_FORMAT_CSV) write_sentence(report, a, b, &text);
    }
    int code = text.failed ? tool_fail(PCT_ERROR_MEMORY, TOOL_DEVICE)
                           : bench_write(settings->output, text.length ? text.data : "");
    pcti_text_free(&text);
    return code ? code : report->first >= 0 ? TOOL_WRONG : TOOL_OK;
}

static pct_status compare_sides(const side *a, const side *b, double tolerance, diff_report *report)
{
    report->first = -1;
    for (int i = 0; i < pct_plan_value_count(a->plan); i++) {
        bool paired;
        if (tool_interrupted()) return pcti_fail(PCT_ERROR_INTERRUPTED, "interrupted");
        PCTI_RETURN_IF_FAILED(pcti_grow(&report->values, &report->capacity, report->count, sizeof *report->values));
        value_difference *d = &report->values[report->count];
        PCTI_RETURN_IF_FAILED(compare_one(a, b, i, tolerance, d, &paired));
        report->unpaired += !paired;
        if (!paired) continue;
        if (d->differs && report->first < 0) report->first = (int)report->count;
        report->count++;
    }
    if (report->count) return PCT_OK;
    return pcti_fail(PCT_ERROR_UNSUPPORTED, "the two plans have no value of the same name");
}

/* ---- the command ---- */

static pct_status make_pictures(const pct_model *model, int64_t batch, float **pictures)
{
    const pct_model_info *info = pct_model_get_info(model);
    int64_t elems = batch * 3 * info->height * info->width;
    if (!(*pictures = pcti_calloc((size_t)elems, sizeof **pictures))) return PCT_ERROR_MEMORY;
    pct_synthetic_fill("input", 1, 0, elems, *pictures);
    return PCT_OK;
}

static pct_status load(const diff_settings *settings, pct_model **model)
{
    pct_model_options options = {
        .struct_bytes = sizeof options, .height = (int32_t)settings->size, .width = (int32_t)settings->size};
    PCTI_RETURN_IF_FAILED(pct_model_create(settings->model, &options, model));
    return settings->weights ? pct_model_load(*model, settings->weights) : pct_model_load_synthetic(*model);
}

static int diff(const tool_options *options, diff_settings *settings)
{
    pct_model *model = NULL;
    side a = {0}, b = {0};
    float *pictures = NULL;
    diff_report report = {0};
    int code = tool_fail(load(settings, &model), settings->weights ? TOOL_INPUT : TOOL_USAGE);
    if (code == TOOL_OK) code = tool_fail(tool_open_device(options, &a.device), TOOL_USAGE);
    if (code == TOOL_OK) {
        bool cpu = !strcmp(pct_device_get_info(a.device)->backend, "cpu");
        const char *against = settings->against ? settings->against : cpu ? "ref" : "cpu";
        code = tool_fail(side_open_against(against, options->threads, &b), TOOL_USAGE);
    }
    pct_status status = code == TOOL_OK ? make_pictures(model, settings->batch, &pictures) : PCT_OK;
    if (code == TOOL_OK) {
        if (status == PCT_OK) status = side_run(&a, model, settings, options->force, pictures);
        if (status == PCT_OK) status = side_run(&b, model, settings, options->force, pictures);
        if (status == PCT_OK) status = compare_sides(&a, &b, settings->tolerance, &report);
        code = tool_fail(status, TOOL_DEVICE);
    }
    if (code == TOOL_OK) code = write_report(&report, settings, options->verbose, &a, &b);
    pcti_free(report.values);
    pcti_free(pictures);
    side_free(&a);
    side_free(&b);
    pct_model_destroy(model);
    return code;
}

int cmd_diff(int argc, char **argv)
{
    tool_options options;
    diff_settings settings = {.batch = 1, .tolerance = 2e-5, .format = PCT_FORMAT_TABLE};
    int first;
    int code = tool_options_parse(&command, argc, argv, &options, &settings, &first);
    if (code != TOOL_CONTINUE) return code;
    if (first < argc)
        code = tool_usage(&command, "takes no operand, and got \"%s\"", argv[first]);
    else if (!settings.model)
        code = tool_usage(&command, "which network? --model NAME");
    else
        code = diff(&options, &settings);
    tool_options_free(&options);
    return code;
}
