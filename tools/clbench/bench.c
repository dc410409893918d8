#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "common/tool.h"

const char *const bench_suite_names[] = {"launch", "transfer", "peak", "gemm", "layers", "infer", NULL};
const char bench_no_time[] = "the time for this suite was used up; --min-time or --runs lift the limit";

/* ---- devices ---- */

pct_status bench_open_device(const char *backend, const char *platform, const char *device, int32_t threads,
                             pct_device **out)
{
    pct_device_options options = {.struct_bytes = sizeof options,
                                  .backend = backend,
                                  .platform = platform,
                                  .device = device,
                                  .threads = threads,
                                  .profiling = true};
    return pct_device_open(&options, out);
}

/* The CPU path, or its problem as a target. */
/* A wrong PCT_ISA or number of threads is the user's to mend; any other failure is a row. */
static pct_status add_cpu(clbench *bench)
{
    bench_target *target = &bench->targets[bench->n_targets++];
    pct_status status = bench_open_device("cpu", NULL, NULL, bench->options.threads, &target->device);
    if (status == PCT_OK) {
        target->info = *pct_device_get_info(target->device);
        return PCT_OK;
    }
    if (status == PCT_ERROR_ARGUMENT) return status;
    snprintf(target->problem, sizeof target->problem, "%s", pct_error_message());
    snprintf(target->info.backend, sizeof target->info.backend, "cpu");
    target->info.platform_index = target->info.device_index = -1;
    return PCT_OK;
}

static void add_listed(clbench *bench, const pct_device_info *info)
{
    char platform[16], device[16];
    bench_target *target = &bench->targets[bench->n_targets++];
    target->info = *info;
    snprintf(platform, sizeof platform, "%d", (int)info->platform_index);
    snprintf(device, sizeof device, "%d", (int)info->device_index);
    if (bench_open_device("opencl", platform, device, 0, &target->device) == PCT_OK)
        target->info = *pct_device_get_info(target->device);
    else
        snprintf(target->problem, sizeof target->problem, "%s", pct_error_message());
}

static pct_status add_from_list(clbench *bench)
{
    pct_device_list *list;
    PCTI_RETURN_IF_FAILED(pct_device_list_create(&list));
    int count = pct_device_list_count(list), chosen = count ? 0 : -1;
    for (int i = count - 1; i >= 0; i--)
        if (!strcmp(pct_device_list_get(list, i)->type, "gpu")) chosen = i;
    for (int i = 0; i < count && bench->n_targets < BENCH_TARGETS - 1; i++)
        if (bench->settings.all || i == chosen) add_listed(bench, pct_device_list_get(list, i));
    if (!count)
        tool_message("no OpenCL device, only the CPU path is measured%s%s", *pct_device_list_note(list) ? ": " : "",
                     pct_device_list_note(list));
    pct_device_list_destroy(list);
    return PCT_OK;
}

pct_status bench_open_targets(clbench *bench)
{
    const tool_options *options = &bench->options;
    bool chosen = options->platform || options->device;
    if (chosen) {
        bench_target *target = &bench->targets[0];
        PCTI_RETURN_IF_FAILED(bench_open_device("opencl", options->platform, options->device, 0, &target->device));
        target->info = *pct_device_get_info(target->device);
        bench->n_targets = 1;
    } else if (!options->cpu || bench->settings.all) {
        PCTI_RETURN_IF_FAILED(add_from_list(bench));
    }
    return !chosen || options->cpu ? add_cpu(bench) : PCT_OK;
}

void bench_close(clbench *bench)
{
    for (int i = 0; i < bench->n_targets; i++) pct_device_close(bench->targets[i].device);
    bench->n_targets = 0;
}

/* ---- rows ---- */

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

void bench_row(const bench_target *target, bench_suite suite, const char *test, pcti_row *row)
{
    const pct_device_info *info = &target->info;
    pcti_row_init(row);
    row->suite = bench_suite_names[suite];
    row->test = test;
    row->backend = info->backend;
    row->platform = or_null(info->platform);
    row->device = or_null(info->device);
    row->driver = or_null(info->driver);
    row->threads = info->threads;
    pcti_row_add_number(row, "compute_units", info->compute_units ? info->compute_units : NAN, false);
    pcti_row_add_number(row, "device_memory_bytes", info->memory_bytes ? (double)info->memory_bytes : NAN, false);
    if (info->isa[0]) pcti_row_add_text(row, "isa", info->isa, false);
}

pct_status bench_add(clbench *bench, const pcti_row *row)
{
    progress_clear(&bench->line);
    return pcti_results_add(bench->results, row);
}

pct_status bench_add_failure(clbench *bench, pcti_row *row, pct_status status)
{
    if (status == PCT_ERROR_INTERRUPTED) return status;
    bool impossible = status == PCT_ERROR_UNSUPPORTED || status == PCT_ERROR_ARGUMENT || status == PCT_ERROR_SHAPE;
    row->status = impossible ? PCTI_ROW_SKIPPED : PCTI_ROW_FAILED;
    row->reason = *pct_error_message() ? pct_error_message() : pct_status_name(status);
    return bench_add(bench, row);
}

pct_status bench_add_skipped(clbench *bench, pcti_row *row, const char *reason)
{
    row->status = PCTI_ROW_SKIPPED;
    row->reason = reason;
    return bench_add(bench, row);
}

void bench_show(clbench *bench, const bench_target *target, const char *what)
{
    char detail[256];
    snprintf(detail, sizeof detail, "%s on %.60s", what, target->info.device);
    progress_update(&bench->line, bench->cases++, detail);
}

bool bench_stopped(void)
{
    return tool_interrupted() != 0;
}

bool bench_late(const clbench *bench)
{
    return bench->deadline_ns && pcti_clock_ns() > bench->deadline_ns;
}

void bench_extend(clbench *bench, uint64_t since_ns)
{
    uint64_t spent_ns = pcti_clock_ns() - since_ns;
    if (bench->deadline_ns) bench->deadline_ns += spent_ns;
    if (bench->run_deadline_ns) bench->run_deadline_ns += spent_ns;
}

/* ---- output ---- */

/* Devices and pipes cannot be replaced by renaming. */
static int write_special(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool lost = !file || fputs(text, file) == EOF;
    if (file && fclose(file) == EOF) lost = true;
    if (lost) tool_message("%s: %s", path, strerror(errno));
    return lost ? TOOL_DEVICE : TOOL_OK;
}

int bench_write(const char *path, const char *text)
{
    struct stat facts;
    if (!path) {
        tool_print(text); /* tool_end tells what became of it */
        return TOOL_OK;
    }
    if (!stat(path, &facts) && !S_ISREG(facts.st_mode)) return write_special(path, text);
    return tool_fail(pcti_file_replace(path, text, strlen(text)), TOOL_DEVICE);
}
