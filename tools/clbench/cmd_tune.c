/* clbench tune: the fastest implementation of each layer, measured on this machine and kept. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench.h"
#include "common/tool.h"
#include "pct/model.h"
#include "pct/tune.h"
#include "prof/grid.h"

enum { OPT_ALL, OPT_MODEL, OPT_BATCH, OPT_SIZE, OPT_SECONDS, OPT_AGAIN };

typedef struct tune_settings {
    const char *models;
    int64_t batch, size, seconds;
    bool all, again;
} tune_settings;

static pct_status take(void *cookie, int key, const char *argument)
{
    tune_settings *settings = cookie;
    switch (key) {
    case OPT_ALL:
        settings->all = true;
        break;
    case OPT_MODEL:
        settings->models = argument;
        break;
    case OPT_BATCH:
        return tool_parse_int(argument, 1, 65536, &settings->batch);
    case OPT_SIZE:
        return tool_parse_int(argument, 1, 16384, &settings->size);
    case OPT_SECONDS:
        return tool_parse_int(argument, 1, 86400, &settings->seconds);
    case OPT_AGAIN:
        settings->again = true;
        break;
    }
    return PCT_OK;
}

static const tool_option own_options[] = {
    {OPT_ALL, "all", NULL, "every OpenCL device and the CPU path"},
    {OPT_MODEL, "model", "NAMES", "networks whose layers are measured\n(vgg16,densenet121,resnet50,mobilenet_v2)"},
    {OPT_BATCH, "batch", "N", "pictures at a time (1)"},
    {OPT_SIZE, "size", "N", "height and width of the pictures (the network's own)"},
    {OPT_SECONDS, "seconds", "S", "time for each device (120); call again to go on"},
    {OPT_AGAIN, "again", NULL, "measure what is known already, too"},
};

static const tool_command command = {
    .name = "clbench tune",
    .synopsis = "[options]",
    .about =
        "Measures every implementation, with every setting, that can compute a layer of the networks, checks that\n"
        "their results agree, and keeps the fastest in the cache folder, for this device, driver and number of\n"
        "threads. Plans made later use it. Without a choice of device the first OpenCL device and the CPU path.",
    .examples = "  clbench tune\n"
                "  clbench tune --cpu --model resnet50 --batch 8\n"
                "  clbench tune --platform 0 --device 1 --seconds 600\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take,
    .many_devices = true,
};

/* ---- the work ---- */

typedef struct tune_job {
    progress line;
    pcti_grid grid;
    const char *device, *model;
    double before_ms, after_ms;
} tune_job;

static void add_layer(tune_job *job, const pct_tune_progress *p)
{
    pcti_grid_cell(&job->grid, job->device);
    pcti_grid_cell(&job->grid, p->layer);
    pcti_grid_cell(&job->grid, p->best);
    pcti_grid_ms(&job->grid, p->default_ms);
    pcti_grid_ms(&job->grid, p->best_ms);
    pcti_grid_fixed(&job->grid, p->best_ms / p->default_ms, 2);
}

static bool on_progress(void *cookie, const pct_tune_progress *p)
{
    tune_job *job = cookie;
    char where[PCT_NAME_BYTES * 3];
    if (p->best && *p->best) {
        job->before_ms += p->default_ms;
        job->after_ms += p->best_ms;
        add_layer(job, p);
    }
    snprintf(where, sizeof where, "%.60s %.20s %d of %d: %.100s", job->device, job->model, p->done, p->total,
             p->layer);
    progress_update(&job->line, (size_t)p->done, where);
    return !tool_interrupted();
}

static pct_status tune_model(clbench *bench, bench_target *target, const char *name, const tune_settings *settings,
                             double seconds, tune_job *job)
{
    pct_status status = PCT_OK;
    pct_model *model;
    int known, total;
    pct_model_options model_options = {.struct_bytes = sizeof model_options, .height = (int32_t)settings->size};
    pct_plan_options plan_options = {
        .struct_bytes = sizeof plan_options, .symbols = {settings->batch}, .force = bench->options.force};
    pct_tune_options options = {.struct_bytes = sizeof options,
                                .seconds = seconds,
                                .again = settings->again,
                                .progress = on_progress,
                                .cookie = job};
    job->device = target->info.device;
    job->model = name;
    PCTI_RETURN_IF_FAILED(pct_model_create(name, &model_options, &model));
    status = pct_model_load_synthetic(model);
    if (status == PCT_OK)
        status = pct_tune(target->device, pct_model_graph(model), &plan_options, &options, &known, &total);
    pct_model_destroy(model);
    if (status != PCT_OK) return pcti_fail_in(status, "%s on %s", name, target->info.device);
    progress_clear(&job->line);
    tool_message("%s on %s: %d of %d layers are tuned%s", name, target->info.device, known, total,
                 known < total ? "; call again to go on" : "");
    return PCT_OK;
}

static pct_status tune_target(clbench *bench, bench_target *target, const tune_settings *settings, tune_job *job)
{
    char names[512], *save = NULL;
    uint64_t begin = pcti_clock_ns();
    if (!target->device) return pcti_fail(PCT_ERROR_DEVICE, "%s", target->problem);
    snprintf(names, sizeof names, "%s", settings->models);
    for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        double left = (double)settings->seconds - (double)(pcti_clock_ns() - begin) / 1e9;
        /* A thousandth of a second still tells how many layers there are. */
        PCTI_RETURN_IF_FAILED(tune_model(bench, target, name, settings, left > 0.001 ? left : 0.001, job));
    }
    return PCT_OK;
}

static int tune_all(clbench *bench, const tune_settings *settings)
{
    static const char *const titles[] = {"device", "layer", "fastest", "default", "tuned", "ratio"};
    tune_job job = {0};
    pcti_text text = {0};
    bench->settings.all = settings->all;
    pct_status status = bench_open_targets(bench);
    if (status != PCT_OK) return tool_fail(status, TOOL_USAGE);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) pcti_grid_column(&job.grid, titles[i], i > 2);
    progress_begin(&job.line, stderr, "tuning", 0);
    for (int t = 0; t < bench->n_targets && status == PCT_OK; t++)
        status = tune_target(bench, &bench->targets[t], settings, &job);
    progress_clear(&job.line);
    int code = status == PCT_ERROR_INTERRUPTED ? tool_interrupted() : tool_fail(status, TOOL_DEVICE);
    if (job.grid.count) pcti_grid_write(&job.grid, PCT_FORMAT_TABLE, &text);
    if (text.data) tool_print(text.data);
    if (job.before_ms > 0 && code == TOOL_OK)
        tool_message("measured layers, warm and one by one: %.2f ms before, %.2f ms now", job.before_ms,
                     job.after_ms);
    pcti_text_free(&text);
    pcti_grid_free(&job.grid);
    return code;
}

int cmd_tune(int argc, char **argv)
{
    static clbench bench; /* large */
    tune_settings settings = {.models = "vgg16,densenet121,resnet50,mobilenet_v2", .batch = 1, .seconds = 120};
    int first, code = tool_options_parse(&command, argc, argv, &bench.options, &settings, &first);
    if (code != TOOL_CONTINUE) return code;
    if (first < argc)
        code = tool_usage(&command, "\"%s\" is not an option", argv[first]);
    else
        code = tune_all(&bench, &settings);
    bench_close(&bench);
    tool_options_free(&bench.options);
    return code;
}
