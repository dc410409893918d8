/* What the parts of clbench share: settings, the devices under test, the rows, the time that is left. */
#ifndef PCTI_CLBENCH_BENCH_H
#define PCTI_CLBENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"
#include "common/progress.h"
#include "pct/device.h"
#include "pct/graph.h"
#include "prof/row.h"

enum { BENCH_TARGETS = 32, BENCH_LIST = 32 };

typedef enum bench_suite {
    SUITE_LAUNCH,
    SUITE_TRANSFER,
    SUITE_PEAK,
    SUITE_GEMM,
    SUITE_LAYERS,
    SUITE_INFER,
    SUITES
} bench_suite;
extern const char *const bench_suite_names[]; /* ends with NULL */

/* A device under test, opened; or the reason why it could not be. */
typedef struct bench_target {
    pct_device_info info;
    pct_device *device; /* NULL: see problem */
    char problem[512];
    bool peak_known;
    double peak_flops, peak_bytes; /* per second; 0: unknown */
} bench_target;

typedef struct bench_settings {
    bool quick, verify;
    bool all, list;
    int64_t runs, warmup; /* -1: not given */
    double min_time_s;    /* negative: not given */
    bool suites[SUITES], suites_given;
    const char *models[BENCH_LIST]; /* point into model_text */
    char *model_text;
    int n_models;
    int64_t batches[BENCH_LIST];
    int n_batches;
    int64_t size; /* 0: the model's own */
    const char *weights, *output;
    pct_format format;
} bench_settings;

typedef struct clbench {
    tool_options options;
    bench_settings settings;
    bench_target targets[BENCH_TARGETS];
    int n_targets;
    pcti_results *results;
    uint64_t deadline_ns;     /* of the suite at work; 0: none */
    uint64_t run_deadline_ns; /* of the whole run; 0: none */
    progress line;
    size_t cases;
} clbench;

/* ---- bench.c ---- */

/* Opens what the options mean (design: no choice is the first OpenCL device, GPUs first, and the CPU path). An option
 * that names no device is an error; a device that is there and cannot be opened becomes a target with a problem. */
pct_status bench_open_targets(clbench *bench);
void bench_close(clbench *bench);
/* Opens a device as pct_device_open does, with profiling. */
pct_status bench_open_device(const char *backend, const char *platform, const char *device, int32_t threads,
                             pct_device **out);

/* A row of this suite on this device with nothing measured yet. */
void bench_row(const bench_target *target, bench_suite suite, const char *test, pcti_row *row);
/* Adds it, after taking the progress line off the screen. */
pct_status bench_add(clbench *bench, const pcti_row *row);
/* Makes the row failed (or skipped, where the operator or its size is not possible here) with the library's message,
 * and adds it. */
pct_status bench_add_failure(clbench *bench, pcti_row *row, pct_status status);
pct_status bench_add_skipped(clbench *bench, pcti_row *row, const char *reason);
/* Shows what is at work on a terminal. */
void bench_show(clbench *bench, const bench_target *target, const char *what);
/* Time to stop: the user asked, or the suite's share of the time is used up. */
bool bench_stopped(void);
bool bench_late(const clbench *bench);
/* Time that went into reference values, which are kept, does not count: ask for the clock before, hand it in after.
 */
void bench_extend(clbench *bench, uint64_t since_ns);
extern const char bench_no_time[]; /* the reason for a row that was not tried */

/* Writes text to the file (whole or not at all) or to standard output; an exit code. */
int bench_write(const char *path, const char *text);

/* ---- measure.c ---- */

/* How often to run. */
typedef struct measure_runs {
    int64_t warmup, min_runs, max_runs;
    double min_time_s;
    double expected_ms; /* of one run; 0: unknown */
    bool unprofiled;    /* also some runs without events, to see what those cost */
} measure_runs;
/* The settings' numbers, or else these. */
measure_runs bench_runs(const clbench *bench, int64_t runs, double min_time_s);

/* What a row is filled from. The row borrows split.note and `what` until it has been added. */
typedef struct measured {
    pcti_stats wall;
    pcti_split split;
    double unprofiled_ms; /* median; NaN */
    bool timed;           /* false: the time was up before one run */
    char what[192];       /* what is wrong with the values */
} measured;

/* Runs a plan once, profiled; its wall time. */
pct_status measure_first(pct_plan *plan, const void *const *inputs, void *const *outputs, double *ms);
/* Wall time and split of the same profiled runs. Ends early when the user asks or the suite's time is up; even then
 * quick runs are made three times, and one that would take above a second is not tried. */
pct_status measure_steady(const clbench *bench, pct_plan *plan, const void *const *inputs, void *const *outputs,
                          const measure_runs *runs, measured *result);
void measure_fill_row(const measured *result, pcti_row *row);

/* Resident memory of this process: forget the peak so far, read the peak since (NaN: the system does not say). */
void measure_memory_reset(void);
double measure_memory_peak(void);

/* ---- suites ---- */

pct_status suite_launch(clbench *bench, bench_target *target);
pct_status suite_transfer(clbench *bench, bench_target *target);
pct_status suite_peak(clbench *bench, bench_target *target);
pct_status suite_gemm(clbench *bench, bench_target *target);
pct_status suite_layers(clbench *bench, bench_target *target);
pct_status suite_infer(clbench *bench, bench_target *target);
/* Measures the peaks once per device; without rows. A failure leaves them unknown. */
void bench_find_peaks(clbench *bench, bench_target *target);

/* What the rows of the infer suite say about each network, as lines of the results' verdict. */
pct_status verdict_add(pcti_results *results);

/* ---- commands: exit codes ---- */

int cmd_op(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_ops(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_list(const clbench *bench);

#endif
