/* clbench op: one operator, every implementation that takes it side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "common/tool.h"
#include "opcase.h"

enum { OPT_ALL, OPT_RUNS, OPT_WARMUP, OPT_MIN_TIME, OPT_VERIFY, OPT_FORMAT, OPT_OUTPUT };

static pct_status take(void *cookie, int key, const char *argument)
{
    bench_settings *settings = cookie;
    switch (key) {
    case OPT_ALL:
        settings->all = true;
        break;
    case OPT_RUNS:
        return tool_parse_int(argument, 1, 1000000, &settings->runs);
    case OPT_WARMUP:
        return tool_parse_int(argument, 0, 1000000, &settings->warmup);
    case OPT_MIN_TIME:
        if (!pcti_parse_double(argument, &settings->min_time_s) || !(settings->min_time_s >= 0))
            return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is not a number of seconds", argument);
        break;
    case OPT_VERIFY:
        settings->verify = true;
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

static const tool_option own_options[] = {
    {OPT_ALL, "all", NULL, "every OpenCL device and the CPU path"},
    {OPT_RUNS, "runs", "N", "timed runs of each implementation"},
    {OPT_WARMUP, "warmup", "N", "runs before those (1)"},
    {OPT_MIN_TIME, "min-time", "S", "seconds to go on for at least (0.2)"},
    {OPT_VERIFY, "verify", NULL, "check every output, time nothing"},
    {OPT_FORMAT, "format", "NAME", "table, md, csv, json or sql (table)"},
    {OPT_OUTPUT, "output", "FILE", "write there, not to standard output"},
};

static const tool_command command = {
    .name = "clbench op",
    .synopsis = "[options] \"LINE\"...",
    .about =
        "Runs one operator with every implementation that takes it, checked and timed side by side. A line is the\n"
        "operator, the shapes of its operands and its parameters. --verbose also shows who refused, and why;\n"
        "--impl OP=NAME leaves out all others. --threads, --cpu, --platform and --device as usual; without\n"
        "a choice the first OpenCL device and the CPU path.",
    .examples = "  clbench op \"conv2d src=1x64x56x56 wei=64x64x3x3 pad=1\"\n"
                "  clbench op --cpu \"dense src=8x4096 wei=1000x4096 bias=1000\" \"softmax src=8x1000\"\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take,
    .many_devices = true,
};

/* Is this the implementation that a plan takes of itself? */
static bool is_first_choice(const opcase *c, pct_device *device, const pcti_impl *impl, int variant)
{
    pct_plan *plan;
    int step;
    double ms;
    if (opcase_plan(c, device, NULL, NULL, &plan, &step, &ms) != PCT_OK) return false;
    bool chosen = step >= 0 && plan->steps[step].impl == impl && plan->steps[step].variant == variant;
    pct_plan_destroy(plan);
    return chosen;
}

/* `choice` is a name or name:variant; forcing a name wants all its variants. */
static bool is_wanted(const char *force, const pcti_op *op, const char *name, const char *choice)
{
    char item[160];
    bool mentioned = false;
    for (const char *at = force; at && *at; at += strcspn(at, ","), at += *at == ',') {
        snprintf(item, sizeof item, "%.*s", (int)strcspn(at, ","), at);
        size_t length = strlen(op->name);
        if (strncmp(item, op->name, length) || item[length] != '=') continue;
        mentioned = true;
        if (!strcmp(item + length + 1, name) || !strcmp(item + length + 1, choice)) return true;
    }
    return !mentioned;
}

/* A refusal is a row only in verbose mode. */
static pct_status run_impl(clbench *bench, bench_target *target, opcase *c, const pcti_impl *impl, int variant,
                           int *accepted)
{
    pcti_row row;
    measure_runs runs = bench_runs(bench, 5, 0.2);
    pct_plan *plan;
    char choice[128];
    int step;
    double ms;
    opcase_choice(impl, variant, choice, sizeof choice);
    if (!is_wanted(bench->options.force, c->op, impl->name, choice)) return PCT_OK;
    bench_row(target, SUITE_LAYERS, c->op->name, &row);
    row.suite = "op";
    row.impl = choice;
    pcti_row_add_text(&row, "case", c->line, true);
    pct_status status = opcase_plan(c, target->device, choice, NULL, &plan, &step, &ms);
    pct_plan_destroy(status == PCT_OK ? plan : NULL);
    if (status == PCT_ERROR_UNSUPPORTED)
        return bench->options.verbose ? bench_add_failure(bench, &row, status) : PCT_OK;
    ++*accepted;
    if (is_first_choice(c, target->device, impl, variant)) pcti_row_add_text(&row, "chosen", "yes", false);
    return opcase_measure(bench, target, c, choice, &runs, &row);
}

static pct_status run_on(clbench *bench, bench_target *target, opcase *c)
{
    int accepted = 0;
    if (!target->device) {
        tool_message("%s: %s", target->info.device, target->problem);
        return PCT_OK;
    }
    bench_find_peaks(bench, target);
    const pcti_impl *impls = target->device->backend->impls(c->op);
    for (int i = 0; impls[i].name; i++)
        for (int variant = 0; !variant || (impls[i].variants && impls[i].variants[variant - 1]); variant++) {
            if (bench_stopped()) return PCT_ERROR_INTERRUPTED;
            PCTI_RETURN_IF_FAILED(run_impl(bench, target, c, &impls[i], variant, &accepted));
        }
    if (!accepted) {
        progress_clear(&bench->line);
        tool_message("%s: no implementation takes \"%s\"%s", target->info.backend, c->line,
                     bench->options.verbose ? "" : " (--verbose tells why)");
    }
    return PCT_OK;
}

/* One line on every device. */
static int run_line(clbench *bench, const char *line)
{
    opcase c;
    pct_status status = opcase_create(line, false, &c);
    if (status != PCT_OK) return tool_fail(status, TOOL_USAGE);
    for (int t = 0; t < bench->n_targets && status == PCT_OK; t++) status = run_on(bench, &bench->targets[t], &c);
    opcase_free(&c);
    return tool_fail(status, TOOL_DEVICE);
}

static int report(const clbench *bench)
{
    char *text;
    int code = TOOL_OK;
    pct_status status = pcti_results_text(bench->results, bench->settings.format, &text);
    if (status != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    for (size_t i = 0; i < bench->results->count; i++) {
        pcti_row_status row = bench->results->rows[i].status;
        if (row == PCTI_ROW_WRONG) code = TOOL_WRONG;
        if (row == PCTI_ROW_FAILED && code == TOOL_OK) code = TOOL_DEVICE;
    }
    int written = bench_write(bench->settings.output, text);
    pcti_free(text);
    return written ? written : code;
}

int cmd_op(int argc, char **argv)
{
    static clbench bench;
    int first;
    bench.settings = (bench_settings){.runs = -1, .warmup = -1, .min_time_s = -1};
    int code = tool_options_parse(&command, argc, argv, &bench.options, &bench.settings, &first);
    if (code != TOOL_CONTINUE) return code;
    if (first == argc) {
        code = tool_usage(&command, "which operator? A line such as \"conv2d src=1x64x56x56 wei=64x64x3x3 pad=1\"");
        goto end;
    }
    pct_status status = bench_open_targets(&bench);
    if (status == PCT_OK) status = pcti_results_create(&bench.results);
    code = tool_fail(status, TOOL_USAGE);
    progress_begin(&bench.line, stderr, "measuring", 0);
    for (int i = first; i < argc && code == TOOL_OK; i++) code = run_line(&bench, argv[i]);
    progress_clear(&bench.line);
    if (bench.results && (bench.results->count || code == TOOL_OK)) {
        int reported = report(&bench);
        code = code ? code : reported;
    }
    pcti_results_destroy(bench.results);
    bench_close(&bench);
end:
    tool_options_free(&bench.options);
    return code;
}
