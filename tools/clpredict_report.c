/* What comes out: a table as the batches are done, or one JSON object at the end. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "clpredict.h"
#include "common/open_device.h"
#include "common/tool.h"
#include "prof/grid.h"
#include "prof/json.h"
#include "prof/machine.h"
#include "prof/results_json.h"

enum { JSON_FORMAT = 1 };

const char *const time_names[TIME_KINDS] = {
    [TIME_DECODE] = "decode",     [TIME_PREPROCESS] = "preprocess",
    [TIME_UPLOAD] = "upload",     [TIME_KERNEL] = "kernel",
    [TIME_DOWNLOAD] = "download", [TIME_OVERLAP] = "overlap",
    [TIME_HOST] = "host",         [TIME_WALL] = "wall",
};

const char *class_name(const predict_job *job, int32_t index)
{
    return job->labels && (size_t)index < job->labels->count ? job->labels->names[index] : NULL;
}

/* Prints and frees the text. */
static pct_status print_text(pcti_text *text)
{
    bool failed = text->failed;
    if (!failed && text->data) tool_print(text->data);
    pcti_text_free(text);
    return failed ? PCT_ERROR_MEMORY : PCT_OK;
}

static pct_status print_grid(pcti_grid *grid)
{
    pcti_text text = {0};
    pcti_grid_write(grid, PCT_FORMAT_TABLE, &text);
    pcti_grid_free(grid);
    return print_text(&text);
}

/* ---- table ---- */

/* File names and labels cannot send control characters to the terminal. */
static void add_printable(pcti_text *text, const char *string)
{
    size_t start = text->length;
    pcti_text_add_utf8(text, string);
    for (size_t i = start; i < text->length; i++) {
        unsigned char c = (unsigned char)text->data[i], before = i > start ? (unsigned char)text->data[i - 1] : 0;
        if (c < 0x20 || c == 0x7f)
            text->data[i] = ' ';
        else if (before == 0xc2 && c < 0xa0)
            text->data[i] = (char)0xa0; /* C1 controls: a space */
    }
}

static const char *memory_name(const predict_job *job)
{
    return job->options->low_memory ? "low" : "fast";
}

pct_status report_begin(const predict_job *job)
{
    char details[512];
    pcti_machine machine;
    pcti_grid grid = {0};
    pcti_text text = {0};
    const pct_model_info *model = pct_model_get_info(job->model);
    const pct_device_info *device = pct_device_get_info(job->device);
    const pct_plan_info *plan = &job->plan_info;
    pcti_machine_describe(&machine);
    tool_describe_device(device, details, sizeof details);
    pcti_text_add(&text, "model: %s, %d classes, %d x %d, weights ", model->name, (int)model->classes,
                  (int)model->height, (int)model->width);
    add_printable(&text, job->options->weights);
    if (job->preset) pcti_text_add(&text, ", preset %s", job->preset);
    pcti_text_add(&text, "\ndevice: ");
    add_printable(&text, device->device);
    pcti_text_add(&text, " (%s)\n", details);
    if (machine.openblas_coretype[0])
        pcti_text_add(&text, "OPENBLAS_CORETYPE is set: %s\n", machine.openblas_coretype);
    pcti_text_add(&text, "pct %s, commit %s\n\n", pct_version(), pct_commit());
    PCTI_RETURN_IF_FAILED(print_text(&text));
    static const char *const titles[] = {"batch",     "steps", "weights", "activations",
                                         "workspace", "GFLOP", "planning"};
    pcti_grid_column(&grid, "memory", false);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) pcti_grid_column(&grid, titles[i], true);
    pcti_grid_cell(&grid, memory_name(job));
    pcti_grid_number(&grid, (double)job->batch.capacity);
    pcti_grid_number(&grid, plan->steps);
    pcti_grid_bytes(&grid, (double)plan->weight_bytes);
    pcti_grid_bytes(&grid, (double)plan->activation_bytes);
    pcti_grid_bytes(&grid, (double)plan->workspace_bytes);
    pcti_grid_figure(&grid, plan->flops / 1e9);
    pcti_grid_ms(&grid, plan->plan_ms);
    PCTI_RETURN_IF_FAILED(print_grid(&grid));
    tool_print("\n");
    tool_print_flush(); /* before a run that may take long */
    return PCT_OK;
}

static void add_sample_name(pcti_text *text, const sample *item)
{
    add_printable(text, item->path);
    if (item->item >= 0) pcti_text_add(text, "[%" PRId64 "]", item->item);
}

pct_status report_batch(const predict_job *job)
{
    pcti_text text = {0};
    for (size_t i = 0; i < job->batch.count; i++) {
        const sample *item = &job->samples.items[job->batch.samples[i]];
        add_sample_name(&text, item);
        pcti_text_add(&text, "\n");
        if (item->status == SAMPLE_WRONG) pcti_text_add(&text, "  wrong result: %s\n", item->reason);
        for (size_t k = 0; k < item->n_top; k++) {
            const prediction *best = &item->top[k];
            const char *name = class_name(job, best->index);
            int scaled = (int)lround(best->probability * 10000);
            pcti_text_add(&text, "  %d.%04d  %5d  ", scaled / 10000, scaled % 10000, (int)best->index);
            add_printable(&text, name ? name : "");
            pcti_text_add(&text, "\n");
        }
    }
    PCTI_RETURN_IF_FAILED(print_text(&text));
    tool_print_flush();
    return PCT_OK;
}

static void add_times_row(pcti_grid *grid, const char *title, const batch_times *times)
{
    pcti_grid_cell(grid, title);
    for (int k = 0; k < TIME_KINDS; k++) pcti_grid_ms(grid, times->ms[k]);
    if (times->invalid)
        pcti_grid_number(grid, times->invalid);
    else
        pcti_grid_cell(grid, NULL);
}

static double samples_per_s(const predict_job *job)
{
    return job->n_done && job->busy_ms > 0 ? (double)job->n_done * 1e3 / job->busy_ms : NAN;
}

pct_status report_end(const predict_job *job)
{
    pcti_grid grid = {0};
    pcti_text text = {0};
    if (job->n_done) {
        char *title = pcti_format("median of %zu", job->n_repeats);
        if (!title) return PCT_ERROR_MEMORY;
        pcti_grid_column(&grid, "run", false);
        for (int k = 0; k < TIME_KINDS; k++) pcti_grid_column(&grid, time_names[k], true);
        pcti_grid_column(&grid, "bad stamps", true);
        add_times_row(&grid, "first", &job->first);
        if (job->n_repeats) add_times_row(&grid, title, &job->steady);
        pcti_free(title);
        tool_print("\n");
        PCTI_RETURN_IF_FAILED(print_grid(&grid));
        tool_print("\n");
    }
    pcti_text_add(&text, "%zu classified", job->n_done - job->n_wrong);
    if (job->n_wrong) pcti_text_add(&text, ", %zu with a wrong result", job->n_wrong);
    if (job->n_unreadable) pcti_text_add(&text, ", %zu unreadable", job->n_unreadable);
    if (job->n_done > job->batch.capacity) {
        pcti_text_add(&text, ", ");
        pcti_text_add_double(&text, samples_per_s(job), 4);
        pcti_text_add(&text, " per second from file to class");
    }
    pcti_text_add(&text, "\n");
    return print_text(&text);
}

/* ---- JSON ---- */

static void add_model(const predict_job *job, pcti_json *json)
{
    const pct_model_info *model = pct_model_get_info(job->model);
    pcti_json_open(json, "model", '{');
    pcti_json_string(json, "name", model->name);
    pcti_json_string(json, "weights", job->options->weights);
    pcti_json_string(json, "preset", job->preset);
    pcti_json_number(json, "classes", model->classes);
    pcti_json_number(json, "height", model->height);
    pcti_json_number(json, "width", model->width);
    pcti_json_close(json, '}');
}

static void add_device(const pct_device_info *info, pcti_json *json)
{
    pcti_json_open(json, "device", '{');
    pcti_json_string(json, "backend", info->backend);
    pcti_json_string(json, "platform", info->platform);
    pcti_json_string(json, "device", info->device);
    pcti_json_string(json, "driver", info->driver);
    pcti_json_string(json, "version", info->version);
    pcti_json_string(json, "isa", info->isa[0] ? info->isa : NULL);
    pcti_json_number(json, "platform_index", info->platform_index < 0 ? NAN : info->platform_index);
    pcti_json_number(json, "device_index", info->device_index < 0 ? NAN : info->device_index);
    pcti_json_number(json, "compute_units", info->compute_units);
    pcti_json_number(json, "threads", info->threads > 0 ? info->threads : NAN);
    pcti_json_number(json, "memory_bytes", info->memory_bytes > 0 ? (double)info->memory_bytes : NAN);
    pcti_json_close(json, '}');
}

static void add_plan(const predict_job *job, pcti_json *json)
{
    const pct_plan_info *plan = &job->plan_info;
    pcti_json_open(json, "plan", '{');
    pcti_json_string(json, "memory", memory_name(job));
    pcti_json_number(json, "batch", (double)job->batch.capacity);
    pcti_json_number(json, "nodes", plan->nodes);
    pcti_json_number(json, "steps", plan->steps);
    pcti_json_number(json, "weight_bytes", (double)plan->weight_bytes);
    pcti_json_number(json, "activation_bytes", (double)plan->activation_bytes);
    pcti_json_number(json, "workspace_bytes", (double)plan->workspace_bytes);
    pcti_json_number(json, "flops", plan->flops);
    pcti_json_number(json, "plan_ms", plan->plan_ms);
    pcti_json_number(json, "pack_ms", plan->pack_ms);
    pcti_json_string(json, "impl", job->options->common.force);
    pcti_json_close(json, '}');
}

static void add_times(const char *name, const batch_times *times, size_t runs, pcti_json *json)
{
    if (!runs) {
        pcti_json_string(json, name, NULL);
        return;
    }
    pcti_json_open(json, name, '{');
    for (int k = 0; k < TIME_KINDS; k++) {
        char member[32];
        snprintf(member, sizeof member, "%s_ms", time_names[k]);
        pcti_json_number(json, member, times->ms[k]);
    }
    pcti_json_number(json, "runs", (double)runs);
    pcti_json_number(json, "invalid_stamps", times->invalid);
    pcti_json_close(json, '}');
}

static void add_sample(const predict_job *job, const sample *item, pcti_json *json)
{
    static const char *const names[] = {[SAMPLE_WAITING] = "skipped",
                                        [SAMPLE_READ] = "skipped",
                                        [SAMPLE_OK] = "ok",
                                        [SAMPLE_WRONG] = "wrong",
                                        [SAMPLE_UNREADABLE] = "unreadable"};
    pcti_json_open(json, NULL, '{');
    pcti_json_string(json, "file", item->path);
    pcti_json_number(json, "item", item->item < 0 ? NAN : (double)item->item);
    pcti_json_string(json, "status", names[item->status]);
    pcti_json_string(json, "reason", item->reason);
    pcti_json_number(json, "row", item->row < 0 ? NAN : (double)item->row);
    pcti_json_number(json, "width", item->width ? item->width : NAN);
    pcti_json_number(json, "height", item->height ? item->height : NAN);
    pcti_json_number(json, "warnings", item->warnings);
    pcti_json_open(json, "top", '[');
    for (size_t k = 0; k < item->n_top; k++) {
        pcti_json_open(json, NULL, '{');
        pcti_json_number(json, "index", item->top[k].index);
        pcti_json_string(json, "name", class_name(job, item->top[k].index));
        pcti_json_number(json, "probability", item->top[k].probability);
        pcti_json_number(json, "logit", item->top[k].logit);
        pcti_json_close(json, '}');
    }
    pcti_json_close(json, ']');
    pcti_json_close(json, '}');
}

pct_status report_json(const predict_job *job)
{
    pcti_text text = {0};
    pcti_json json = {.text = &text};
    pcti_machine machine;
    pcti_machine_describe(&machine);
    pcti_json_open(&json, NULL, '{');
    pcti_json_line(&json);
    pcti_json_number(&json, "format", JSON_FORMAT);
    pcti_json_string(&json, "version", pct_version());
    pcti_json_string(&json, "commit", pct_commit());
    pcti_json_line(&json);
    pcti_machine_add_json(&machine, "machine", &json);
    pcti_json_line(&json);
    add_model(job, &json);
    pcti_json_line(&json);
    add_device(pct_device_get_info(job->device), &json);
    pcti_json_line(&json);
    add_plan(job, &json);
    pcti_json_line(&json);
    add_times("first", &job->first, job->n_done ? 1 : 0, &json);
    pcti_json_line(&json);
    add_times("steady", &job->steady, job->n_repeats, &json);
    pcti_json_line(&json);
    pcti_json_number(&json, "samples_per_s", samples_per_s(job));
    pcti_json_line(&json);
    pcti_json_open(&json, "results", '[');
    for (size_t i = 0; i < job->samples.count; i++) {
        pcti_json_line(&json);
        add_sample(job, &job->samples.items[i], &json);
    }
    pcti_json_line(&json);
    pcti_json_close(&json, ']');
    pcti_json_line(&json);
    pcti_json_close(&json, '}');
    pcti_text_add(&text, "\n");
    return print_text(&text);
}
