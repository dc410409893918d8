/* clbench compare: result files side by side. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "bench.h"
#include "common/tool.h"
#include "prof/compare.h"

enum { OPT_TOLERANCE, OPT_FORMAT, OPT_OUTPUT, MAX_FILES = 16 };

typedef struct compare_settings {
    double tolerance;
    pct_format format;
    const char *output;
} compare_settings;

static pct_status take(void *cookie, int key, const char *argument)
{
    compare_settings *settings = cookie;
    switch (key) {
    case OPT_TOLERANCE:
        if (!pcti_parse_double(argument, &settings->tolerance) ||
            !(settings->tolerance >= 0 && settings->tolerance <= 100))
            return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is not a number from 0 to 100; 0.05 stands for 5 %%",
                             argument);
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
    {OPT_TOLERANCE, "tolerance", "X", "slower by more than this part is a regression (0.05: 5 %)"},
    {OPT_FORMAT, "format", "NAME", "table, md, csv or json (table)"},
    {OPT_OUTPUT, "output", "FILE", "write there, not to standard output"},
};

static const tool_command command = {
    .name = "clbench compare",
    .synopsis = "[options] A.json B.json...",
    .about =
        "Holds result files of clbench side by side: machines, vendors or commits. The first file is the base; a\n"
        "regression on the same device is one that exceeds the tolerance and the spread of the runs, or a case\n"
        "that was right and no longer is. Then the exit status is 1.",
    .examples = "  clbench compare --tolerance 0.1 before.json after.json\n",
    .options = own_options,
    .n_options = sizeof own_options / sizeof *own_options,
    .take = take,
};

static int report(const pcti_comparison *comparison, const compare_settings *settings)
{
    char *text;
    pct_status status = pcti_comparison_text(comparison, settings->format, &text);
    if (status != PCT_OK) return tool_fail(status, TOOL_DEVICE);
    int code = bench_write(settings->output, text);
    pcti_free(text);
    if (comparison->regressions)
        tool_message("%zu regression%s", comparison->regressions, comparison->regressions == 1 ? "" : "s");
    return code ? code : comparison->regressions ? TOOL_WRONG : TOOL_OK;
}

static int compare_files(char **paths, size_t count, const compare_settings *settings)
{
    pcti_results *results[MAX_FILES] = {NULL};
    const char *names[MAX_FILES];
    pcti_comparison *comparison = NULL;
    int code = TOOL_OK;
    for (size_t i = 0; i < count && code == TOOL_OK; i++) {
        names[i] = paths[i];
        code = tool_fail(pcti_results_read(paths[i], &results[i]), TOOL_INPUT);
    }
    if (code == TOOL_OK)
        code = tool_fail(
            pcti_compare((const pcti_results *const *)results, names, count, settings->tolerance, &comparison),
            TOOL_DEVICE);
    if (code == TOOL_OK) code = report(comparison, settings);
    pcti_comparison_destroy(comparison);
    for (size_t i = 0; i < count; i++) pcti_results_destroy(results[i]);
    return code;
}

int cmd_compare(int argc, char **argv)
{
    tool_options options;
    compare_settings settings = {.tolerance = 0.05, .format = PCT_FORMAT_TABLE};
    int first;
    int code = tool_options_parse(&command, argc, argv, &options, &settings, &first);
    if (code != TOOL_CONTINUE) return code;
    size_t count = (size_t)(argc - first);
    code = count < 2 || count > MAX_FILES ? tool_usage(&command, "needs from 2 to %d files", MAX_FILES)
                                          : compare_files(argv + first, count, &settings);
    tool_options_free(&options);
    return code;
}
