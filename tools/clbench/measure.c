/* Repeated runs of a plan, and what they say.
 *
 * Wall time and its split come from the same profiled runs, so that the parts belong to the whole. What the profiling
 * itself costs is shown beside (unprofiled_ms): about 0.1 us for a step on a CPU, 0.15 us for a launch on OpenCL. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench.h"
#include "graph/plan.h"

enum { MAX_RUNS = 20000 };

measure_runs bench_runs(const clbench *bench, int64_t runs, double min_time_s)
{
    const bench_settings *settings = &bench->settings;
    measure_runs result = {.warmup = settings->warmup >= 0 ? settings->warmup : 1,
                           .min_runs = settings->runs > 0 ? settings->runs : runs,
                           .max_runs = settings->runs > 0 ? settings->runs : MAX_RUNS,
                           .min_time_s = settings->min_time_s >= 0 ? settings->min_time_s
                                         : settings->runs > 0      ? 0
                                                                   : min_time_s};
    if (settings->min_time_s >= 0) result.max_runs = MAX_RUNS; /* both given: both are minima */
    return result;
}

pct_status measure_first(pct_plan *plan, const void *const *inputs, void *const *outputs, double *ms)
{
    pct_run_times times;
    uint64_t start = pcti_clock_ns();
    PCTI_RETURN_IF_FAILED(pct_plan_run(plan, inputs, outputs, &times));
    *ms = (double)(pcti_clock_ns() - start) * 1e-6;
    return PCT_OK;
}

/* One profiled run with all that its time line says, which is more than pct_run_times holds. */
static pct_status run_once(pct_plan *plan, const void *const *inputs, void *const *outputs, pcti_split *split)
{
    pct_run_times times;
    PCTI_RETURN_IF_FAILED(pct_plan_run(plan, inputs, outputs, &times));
    const pcti_timeline *line = &plan->timeline;
    uint64_t end_ns = line->host_start_ns + (uint64_t)llround(times.wall_ms * 1e6);
    pcti_host_times host = {line->host_start_ns, line->first_enqueue_ns, line->finish_ns,
                            end_ns > line->finish_ns ? end_ns : line->finish_ns};
    PCTI_RETURN_IF_FAILED(pcti_split_times(line->intervals, (size_t)line->count, &host, split));
    if (strcmp(plan->device->backend->name, "opencl") && split->verdict == PCTI_SPLIT_OK) {
        /* Only one clock, and copies are the host's own: there is nothing to compare. */
        split->clocks_agree = true;
        split->clock_ratio = 1;
        split->note[0] = 0;
    }
    return PCT_OK;
}

static pct_status run_unprofiled(pct_plan *plan, const void *const *inputs, void *const *outputs, size_t count,
                                 double *median)
{
    double samples[64];
    if (count > sizeof samples / sizeof *samples) count = sizeof samples / sizeof *samples;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = pcti_clock_ns();
        PCTI_RETURN_IF_FAILED(pct_plan_run(plan, inputs, outputs, NULL));
        samples[i] = (double)(pcti_clock_ns() - start) * 1e-6;
    }
    *median = pcti_stats_in_place(samples, count).median;
    return PCT_OK;
}

enum { LATE_RUNS = 3, LATE_MS = 1000 };

static bool enough(const clbench *bench, const measure_runs *runs, size_t count, uint64_t start_ns)
{
    if (bench_stopped()) return true;
    if ((int64_t)count >= runs->max_runs) return true;
    /* A run more is worth its time, since the first one, with whatever had to be compiled, has been paid for. */
    if (bench_late(bench) && count && (runs->expected_ms > LATE_MS || count >= LATE_RUNS)) return true;
    return (int64_t)count >= runs->min_runs && (double)(pcti_clock_ns() - start_ns) * 1e-9 >= runs->min_time_s;
}

pct_status measure_steady(const clbench *bench, pct_plan *plan, const void *const *inputs, void *const *outputs,
                          const measure_runs *runs, measured *result)
{
    pct_status status = PCT_OK;
    pcti_split *splits = NULL;
    double *walls = NULL;
    size_t count = 0, capacity = 0;
    *result = (measured){.unprofiled_ms = NAN};
    for (int64_t i = 0; i < runs->warmup && !bench_stopped() && !bench_late(bench); i++)
        PCTI_TRY(pct_plan_run(plan, inputs, outputs, NULL));
    uint64_t start_ns = pcti_clock_ns();
    while (!enough(bench, runs, count, start_ns)) {
        PCTI_TRY(pcti_grow(&splits, &capacity, count, sizeof *splits));
        PCTI_TRY(run_once(plan, inputs, outputs, &splits[count]));
        count++;
    }
    if (!count) goto fail;
    if (!(walls = pcti_calloc(count, sizeof *walls))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (size_t i = 0; i < count; i++) walls[i] = splits[i].wall_ms;
    result->wall = pcti_stats_in_place(walls, count);
    PCTI_TRY(pcti_split_median(splits, count, &result->split));
    result->timed = true;
    if (runs->unprofiled && !bench_stopped())
        PCTI_TRY(run_unprofiled(plan, inputs, outputs, count < 12 ? 3 : count / 4, &result->unprofiled_ms));
fail:
    pcti_free(walls);
    pcti_free(splits);
    return status;
}

void measure_fill_row(const measured *result, pcti_row *row)
{
    pcti_row_set_wall(row, &result->wall);
    pcti_row_set_split(row, &result->split);
}

/* ---- memory ---- */

void measure_memory_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return; /* then the peak is that of the whole process so far */
    fputs("5", file);
    fclose(file);
}

double measure_memory_peak(void)
{
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return NAN;
    while (kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld kB", &kib) != 1) kib = -1;
    fclose(file);
    return kib < 0 ? NAN : (double)kib * 1024;
}
