/* clbench: what a device does, measured and checked. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench.h"
#include "common/tool.h"
#include "logits.h"
#include "pct/model.h"

enum {
    OPT_ALL,
    OPT_LIST,
    OPT_SUITE,
    OPT_MODEL,
    OPT_BATCH,
    OPT_SIZE,
    OPT_RUNS,
    OPT_WARMUP,
    OPT_MIN_TIME,
    OPT_QUICK,
    OPT_VERIFY,
    OPT_WEIGHTS,
    OPT_FORMAT,
    OPT_OUTPUT
};

static const tool_option own_options[] = {
    {OPT_ALL, "all", NULL, "every OpenCL device and the CPU path"},
    {OPT_LIST, "list", NULL, "list the devices and end"},
    {OPT_SUITE, "suite", "NAMES", "of launch,transfer,peak,gemm,layers,infer (all)"},
    {OPT_MODEL, "model", "NAMES", "networks of the suite infer\n(vgg16,densenet121,mobilenet_v2,resnet50)"},
    {OPT_BATCH, "batch", "LIST", "pictures at a time (1,8; with --quick 1)"},
    {OPT_SIZE, "size", "N", "height and width of the pictures (the network's own)"},
    {OPT_RUNS, "runs", "N", "timed runs of each case"},
    {OPT_WARMUP, "warmup", "N", "runs before those (1)"},
    {OPT_MIN_TIME, "min-time", "S", "seconds to go on for at least"},
    {OPT_QUICK, "quick", NULL, "fewer cases: under 20 s once the caches are warm"},
    {OPT_VERIFY, "verify", NULL, "check every output, time nothing"},
    {OPT_WEIGHTS, "weights", "FILE", "weights of the one --model (synthetic ones)"},
    {OPT_FORMAT, "format", "NAME", "table, md, csv, json or sql (table)"},
    {OPT_OUTPUT, "output", "FILE", "write there, not to standard output"},
};

static pct_status take(void *cookie, int key, const char *argument);

static const tool_command command = {
    .name = "clbench",
    .synopsis = "[options]\n       clbench op|diff|compare|ops|tune [--help] ...",
    .about =
        "Measures OpenCL devices and the CPU path: launches, transfers, peaks, matrix products, single layers\n"
        "and whole networks. Every result is checked before it is timed. Without a choice of device the first\n"
        "OpenCL device (GPUs first) and the CPU path are measured.\n\n"
        "Times: wall is the host's clock around a run with its transfers; kernel, up and down are unions of the\n"
        "device's event intervals, host is the rest; items/s come from wall, GFLOP/s and GB/s from kernel times.",
    .examples = "  clbench --quick\n"
                "  clbench --suite infer --model vgg16,resnet50 --batch 1,8,32 --format json --output results.json\n"
                "  clbench --platform 0 --device 1 --cpu --suite layers\n"
                "  clbench op \"conv2d src=1x64x56x56 wei=64x64x3x3 pad=1\"\n"
                "  clbench diff --model densenet121 --against cpu\n"
                "  clbench compare before.json after.json\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take,
    .many_devices = true,
};

/* ---- options ---- */

static pct_status take_suites(bench_settings *settings, const char *argument)
{
    char name[32];
    settings->suites_given = true;
    if (!*argument) return pcti_fail(PCT_ERROR_ARGUMENT, "no name");
    for (const char *item = argument; *item; item += *item == ',') {
        int index;
        size_t length = strcspn(item, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, item);
        PCTI_RETURN_IF_FAILED(tool_parse_word(name, bench_suite_names, &index));
        settings->suites[index] = true;
        item += length;
    }
    return PCT_OK;
}

static pct_status check_model(const char *name)
{
    pcti_text list = {0};
    for (int i = 0; pct_model_list(i); i++) {
        if (!strcmp(pct_model_list(i), name)) {
            pcti_text_free(&list);
            return PCT_OK;
        }
        pcti_text_add(&list, "%s%s", i ? ", " : "", pct_model_list(i));
    }
    pct_status status = pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is none of: %s", name, list.data ? list.data : "");
    pcti_text_free(&list);
    return status;
}

static pct_status take_models(bench_settings *settings, const char *argument)
{
    char *save = NULL;
    pcti_free(settings->model_text);
    settings->n_models = 0;
    if (!(settings->model_text = pcti_strdup(argument))) return PCT_ERROR_MEMORY;
    for (char *name = strtok_r(settings->model_text, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        PCTI_RETURN_IF_FAILED(check_model(name));
        if (settings->n_models == BENCH_LIST) return pcti_fail(PCT_ERROR_ARGUMENT, "more than %d names", BENCH_LIST);
        settings->models[settings->n_models++] = name;
    }
    return settings->n_models ? PCT_OK : pcti_fail(PCT_ERROR_ARGUMENT, "no name");
}

static pct_status take_batches(bench_settings *settings, const char *argument)
{
    char number[32];
    settings->n_batches = 0;
    for (const char *item = argument;; item++) {
        size_t length = strcspn(item, ",");
        snprintf(number, sizeof number, "%.*s", (int)length, item);
        if (settings->n_batches == BENCH_LIST)
            return pcti_fail(PCT_ERROR_ARGUMENT, "more than %d numbers", BENCH_LIST);
        PCTI_RETURN_IF_FAILED(tool_parse_int(number, 1, 65536, &settings->batches[settings->n_batches++]));
        item += length;
        if (!*item) return PCT_OK;
    }
}

static pct_status take_seconds(const char *argument, double *seconds)
{
    if (pcti_parse_double(argument, seconds) && *seconds >= 0 && *seconds <= 3600) return PCT_OK;
    return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is not a number of seconds from 0 to 3600", argument);
}

static pct_status take(void *cookie, int key, const char *argument)
{
    bench_settings *settings = cookie;
    switch (key) {
    case OPT_ALL:
        settings->all = true;
        break;
    case OPT_LIST:
        settings->list = true;
        break;
    case OPT_SUITE:
        return take_suites(settings, argument);
    case OPT_MODEL:
        return take_models(settings, argument);
    case OPT_BATCH:
        return take_batches(settings, argument);
    case OPT_SIZE:
        return tool_parse_int(argument, 1, 16384, &settings->size);
    case OPT_RUNS:
        return tool_parse_int(argument, 1, 1000000, &settings->runs);
    case OPT_WARMUP:
        return tool_parse_int(argument, 0, 1000000, &settings->warmup);
    case OPT_MIN_TIME:
        return take_seconds(argument, &settings->min_time_s);
    case OPT_QUICK:
        settings->quick = true;
        break;
    case OPT_VERIFY:
        settings->verify = true;
        break;
    case OPT_WEIGHTS:
        settings->weights = argument;
        break;
    case OPT_FORMAT:
        if (!pcti_format_parse(argument, &settings->format))
            return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is none of: table, md, csv, json, sql", argument);
        break;
    case OPT_OUTPUT:
        settings->output = argument;
        break;
    }
    return PCT_OK;
}

static void set_defaults(bench_settings *settings)
{
    static const char *const usual[] = {"vgg16", "densenet121", "mobilenet_v2", "resnet50"};
    size_t count = sizeof usual / sizeof *usual - settings->quick; /* quick: without the last one */
    for (int s = 0; s < SUITES && !settings->suites_given; s++) settings->suites[s] = true;
    if (!settings->n_batches) {
        settings->batches[settings->n_batches++] = 1;
        if (!settings->quick) settings->batches[settings->n_batches++] = 8;
    }
    for (size_t i = 0; !settings->model_text && i < count; i++) settings->models[settings->n_models++] = usual[i];
}

/* ---- the run ---- */

/* Seconds for everything; 0: as long as it takes, since the user chose how much there is to do. */
static double time_limit(const bench_settings *settings)
{
    bool chosen = settings->suites_given || settings->model_text || settings->runs > 0 || settings->min_time_s >= 0 ||
                  settings->verify || settings->all;
    if (settings->quick && settings->runs <= 0 && settings->min_time_s < 0 && !settings->verify) return 18;
    return chosen ? 0 : 170;
}

static const struct {
    pct_status (*run)(clbench *bench, bench_target *target);
    double weight; /* of its share of the time */
} suites[SUITES] = {
    [SUITE_LAUNCH] = {suite_launch, 1}, [SUITE_TRANSFER] = {suite_transfer, 4}, [SUITE_PEAK] = {suite_peak, 2},
    [SUITE_GEMM] = {suite_gemm, 8},     [SUITE_LAYERS] = {suite_layers, 9},     [SUITE_INFER] = {suite_infer, 30}};

/* Shares what is left of the time; what one suite leaves over goes to the later ones. */
static void set_deadline(clbench *bench, int suite, int target)
{
    double later = 0;
    if (!bench->run_deadline_ns) return;
    for (int s = suite; s < SUITES; s++)
        if (bench->settings.suites[s]) later += suites[s].weight * (bench->n_targets - (s == suite ? target : 0));
    uint64_t now = pcti_clock_ns(), left = bench->run_deadline_ns > now ? bench->run_deadline_ns - now : 0;
    bench->deadline_ns = now + (uint64_t)((double)left * suites[suite].weight / later);
}

static pct_status add_unusable(clbench *bench, const bench_target *target, bench_suite suite)
{
    pcti_row row;
    bench_row(target, suite, bench_suite_names[suite], &row);
    row.status = PCTI_ROW_FAILED;
    row.reason = target->problem;
    return bench_add(bench, &row);
}

static pct_status run_suites(clbench *bench)
{
    progress_begin(&bench->line, stderr, "measuring", 0);
    for (int s = 0; s < SUITES; s++) {
        for (int t = 0; t < bench->n_targets && bench->settings.suites[s]; t++) {
            bench_target *target = &bench->targets[t];
            if (bench_stopped()) return PCT_ERROR_INTERRUPTED;
            set_deadline(bench, s, t);
            PCTI_RETURN_IF_FAILED(target->device ? suites[s].run(bench, target)
                                                 : add_unusable(bench, target, (bench_suite)s));
        }
    }
    return PCT_OK;
}

static int judge_rows(const pcti_results *results)
{
    int wrong = 0, failed = 0;
    for (size_t i = 0; i < results->count; i++) {
        wrong += results->rows[i].status == PCTI_ROW_WRONG;
        failed += results->rows[i].status == PCTI_ROW_FAILED;
    }
    if (wrong) tool_message("%d wrong result%s", wrong, wrong == 1 ? "" : "s");
    if (failed) tool_message("%d failed case%s", failed, failed == 1 ? "" : "s");
    return wrong ? TOOL_WRONG : failed ? TOOL_DEVICE : TOOL_OK;
}

static int report(clbench *bench)
{
    char *text = NULL;
    pct_status status = verdict_add(bench->results);
    if (status == PCT_OK) status = pcti_results_text(bench->results, bench->settings.format, &text);
    if (status != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    int code = bench_write(bench->settings.output, text), judged = judge_rows(bench->results);
    pcti_free(text);
    return code != TOOL_OK ? code : judged;
}

/* Times taken beside other programs say little. */
static void warn_of_load(const pcti_machine *machine)
{
    double load = machine->load_average[0];
    if (load > 0.5 + machine->logical_cores / 2.0)
        tool_message("warning: other programs are at work (load %.1f on %d cores): times will be too long", load,
                     machine->logical_cores);
}

static int measure(clbench *bench)
{
    pct_status status = bench_open_targets(bench);
    if (status != PCT_OK) return tool_fail(status, TOOL_USAGE);
    double limit = time_limit(&bench->settings);
    if (limit > 0) bench->run_deadline_ns = pcti_clock_ns() + (uint64_t)(limit * 1e9);
    status = pcti_results_create(&bench->results);
    if (status == PCT_OK && !bench->settings.verify) warn_of_load(&bench->results->machine);
    if (status == PCT_OK) status = run_suites(bench);
    progress_clear(&bench->line);
    /* What was measured until an interruption or a failure is worth having. */
    int failed = tool_fail(status, TOOL_DEVICE);
    int code = bench->results ? report(bench) : failed;
    pcti_results_destroy(bench->results);
    return failed ? failed : code;
}

/* A file that is no weights of the model is the command line's fault, not each device's. */
static pct_status check_weights(const bench_settings *settings)
{
    pct_model *model;
    if (!settings->weights) return PCT_OK;
    pct_model_options options = {.struct_bytes = sizeof options, .height = (int32_t)settings->size, .width = (int32_t)settings->size};
    PCTI_RETURN_IF_FAILED(pct_model_create(settings->models[0], &options, &model));
    pct_status status = pct_model_load(model, settings->weights);
    pct_model_destroy(model);
    return status;
}

static int run(int argc, char **argv)
{
    static clbench bench; /* large */
    bench_settings *settings = &bench.settings;
    int first;
    *settings = (bench_settings){.runs = -1, .warmup = -1, .min_time_s = -1};
    int code = tool_options_parse(&command, argc, argv, &bench.options, settings, &first);
    if (code != TOOL_CONTINUE) {
        pcti_free(settings->model_text);
        return code;
    }
    set_defaults(settings);
    if (first < argc)
        code = tool_usage(&command, "\"%s\" is not an option, and no command (op, diff, compare, ops, tune)",
                          argv[first]);
    else if (settings->weights && settings->n_models != 1)
        code = tool_usage(&command, "--weights: needs one --model");
    else
        code = tool_fail(check_weights(settings), TOOL_INPUT);
    if (code == TOOL_OK) code = settings->list ? cmd_list(&bench) : measure(&bench);
    bench_close(&bench);
    logits_forget();
    pcti_free(settings->model_text);
    tool_options_free(&bench.options);
    return code;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"op", cmd_op}, {"diff", cmd_diff}, {"compare", cmd_compare}, {"ops", cmd_ops}, {"tune", cmd_tune}};
    tool_begin("clbench");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (argc > 1 && !strcmp(argv[1], commands[i].name)) return tool_end(commands[i].run(argc - 1, argv + 1));
    return tool_end(run(argc, argv));
}
