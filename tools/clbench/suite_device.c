/* The suites launch, transfer and peak: the device below the operators. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "probe.h"

enum { MAX_SAMPLES = 256 };

static const probe_table *table_of(const bench_target *target)
{
    return strcmp(target->info.backend, "opencl") ? &probe_cpu : &probe_opencl;
}

/* What `take` measures, again and again. */
typedef pct_status (*take_fn)(void *cookie, probe_sample *sample);

typedef struct samples {
    double host[MAX_SAMPLES], queued[MAX_SAMPLES], submit[MAX_SAMPLES], run[MAX_SAMPLES];
    size_t count;
    double first_ms;
} samples;

static pct_status take_samples(const clbench *bench, int64_t min_runs, double min_time_s, take_fn take, void *cookie,
                               samples *s)
{
    probe_sample one;
    measure_runs runs = bench_runs(bench, min_runs, min_time_s);
    s->count = 0;
    PCTI_RETURN_IF_FAILED(take(cookie, &one));
    s->first_ms = one.host_ms;
    for (int64_t i = 0; i < runs.warmup; i++) PCTI_RETURN_IF_FAILED(take(cookie, &one));
    uint64_t start = pcti_clock_ns();
    while (s->count < MAX_SAMPLES && (int64_t)s->count < runs.max_runs && !bench_stopped() &&
           (!s->count || !bench_late(bench))) {
        if ((int64_t)s->count >= runs.min_runs && (double)(pcti_clock_ns() - start) * 1e-9 >= runs.min_time_s) break;
        PCTI_RETURN_IF_FAILED(take(cookie, &one));
        s->host[s->count] = one.host_ms;
        s->queued[s->count] = one.queued_to_submit_ms;
        s->submit[s->count] = one.submit_to_start_ms;
        s->run[s->count++] = one.start_to_end_ms;
    }
    return s->count ? PCT_OK : pcti_fail(PCT_ERROR_INTERRUPTED, "interrupted");
}

static void add_median(pcti_row *row, const char *name, double *values, size_t count)
{
    pcti_row_add_number(row, name, pcti_stats_in_place(values, count).median, false);
}

static void fill_times(samples *s, pcti_row *row)
{
    row->first_ms = s->first_ms;
    pcti_stats wall = pcti_stats_in_place(s->host, s->count);
    pcti_row_set_wall(row, &wall);
}

static void judge(pcti_row *row, double error, const char *reason)
{
    row->max_error = error;
    if (error == 0) return;
    row->status = PCTI_ROW_WRONG;
    row->reason = reason;
}

/* ---- launch ---- */

typedef struct launch_job {
    const probe_table *table;
    probe *p;
    size_t items;
    int count;
} launch_job;

static pct_status take_launch(void *cookie, probe_sample *sample)
{
    const launch_job *job = cookie;
    return job->table->launch(job->p, job->items, job->count, sample);
}

static pct_status run_launch(clbench *bench, bench_target *target, launch_job *job, const char *test)
{
    pcti_row row;
    samples s;
    double error;
    bench_row(target, SUITE_LAUNCH, test, &row);
    pcti_row_add_number(&row, "items", (double)job->items, true);
    pcti_row_add_number(&row, "launches", job->count, true);
    if (bench_late(bench)) return bench_add_skipped(bench, &row, bench_no_time);
    bench_show(bench, target, test);
    pct_status status = take_samples(bench, 20, bench->settings.quick ? 0.02 : 0.2, take_launch, job, &s);
    if (status == PCT_OK) status = job->table->launch_error(job->p, &error);
    if (status != PCT_OK) return bench_add_failure(bench, &row, status);
    fill_times(&s, &row);
    row.items_per_s = job->count * 1e3 / row.wall.median;
    pcti_row_add_number(&row, "per_launch_us", row.wall.median * 1e3 / job->count, false);
    if (job->count == 1) {
        add_median(&row, "queued_to_submit_ms", s.queued, s.count);
        add_median(&row, "submit_to_start_ms", s.submit, s.count);
        row.kernel_ms = pcti_stats_in_place(s.run, s.count).median;
        row.upload_ms = row.download_ms = row.overlap_ms = 0;
        row.host_ms = fmax(0, row.wall.median - row.kernel_ms);
    }
    judge(&row, error, "the kernel did not run as often as it was launched");
    return bench_add(bench, &row);
}

/* Opens the probe; a failure becomes a row. */
static pct_status open_probe(clbench *bench, bench_target *target, bench_suite suite, const probe_table *table,
                             probe **p)
{
    pcti_row row;
    *p = NULL;
    pct_status status = table->open(target->device, p);
    if (status == PCT_OK) return PCT_OK;
    bench_row(target, suite, bench_suite_names[suite], &row);
    return bench_add_failure(bench, &row, status);
}

pct_status suite_launch(clbench *bench, bench_target *target)
{
    static const struct {
        const char *test;
        size_t items;
        int count;
    } jobs[] = {{"one_item", 1, 1}, {"many_items", 65536, 1}, {"in_a_row", 1, 1000}};
    launch_job job = {.table = table_of(target)};
    PCTI_RETURN_IF_FAILED(open_probe(bench, target, SUITE_LAUNCH, job.table, &job.p));
    pct_status status = PCT_OK;
    for (size_t i = 0; job.p && i < sizeof jobs / sizeof *jobs && status == PCT_OK; i++) {
        job.items = jobs[i].items;
        job.count = jobs[i].count;
        status = run_launch(bench, target, &job, jobs[i].test);
    }
    if (job.p) job.table->close(job.p);
    return status;
}

/* ---- transfer ---- */

typedef struct copy_job {
    const probe_table *table;
    probe *p;
    probe_memory memory;
    size_t bytes;
    bool upload;
} copy_job;

static pct_status take_copy(void *cookie, probe_sample *sample)
{
    const copy_job *job = cookie;
    return job->table->copy(job->p, job->upload, sample);
}

static pct_status measure_copy(const clbench *bench, copy_job *job, samples *s, double *error)
{
    pct_status status = job->table->copy_begin(job->p, job->memory, job->bytes);
    if (status == PCT_OK) status = take_samples(bench, 3, bench->settings.quick ? 0.005 : 0.05, take_copy, job, s);
    if (status == PCT_OK) status = job->table->copy_error(job->p, error);
    job->table->copy_end(job->p);
    return status;
}

static pct_status run_copy(clbench *bench, bench_target *target, copy_job *job)
{
    static const char *const memories[] = {"pageable", "pinned", "mapped"};
    pcti_row row;
    samples s;
    double error;
    bench_row(target, SUITE_TRANSFER, job->upload ? "upload" : "download", &row);
    pcti_row_add_text(&row, "memory", memories[job->memory], true);
    pcti_row_add_number(&row, "bytes", (double)job->bytes, true);
    if (bench_late(bench)) return bench_add_skipped(bench, &row, bench_no_time);
    bench_show(bench, target, row.test);
    pct_status status = measure_copy(bench, job, &s, &error);
    if (status != PCT_OK) return bench_add_failure(bench, &row, status);
    fill_times(&s, &row);
    row.gbytes_per_s = (double)job->bytes / row.wall.median * 1e-6;
    row.items_per_s = 1e3 / row.wall.median;
    double copy_ms = pcti_stats_in_place(s.run, s.count).median;
    row.upload_ms = job->upload ? copy_ms : 0;
    row.download_ms = job->upload ? 0 : copy_ms;
    if (job->memory == PROBE_MAPPED) {
        const char *field = job->upload ? "upload_ms" : "download_ms";
        *(job->upload ? &row.upload_ms : &row.download_ms) = NAN;
        pcti_row_add_missing(&row, field, "the events of a mapping do not cover the copy: see wall_ms");
        pcti_row_add_missing(&row, "host_ms", "the copy is the host's own");
    } else {
        row.host_ms = fmax(0, row.wall.median - copy_ms);
    }
    row.kernel_ms = row.overlap_ms = 0;
    judge(&row, error, "what came back is not what was sent");
    return bench_add(bench, &row);
}

pct_status suite_transfer(clbench *bench, bench_target *target)
{
    static const size_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20};
    copy_job job = {.table = table_of(target)};
    PCTI_RETURN_IF_FAILED(open_probe(bench, target, SUITE_TRANSFER, job.table, &job.p));
    pct_status status = PCT_OK;
    int last = bench->settings.quick ? 3 : 5;
    for (int m = 0; job.p && m < job.table->memories; m++)
        for (int i = 0; i <= last; i++)
            for (int up = 1; up >= 0 && status == PCT_OK; up--) {
                if (bench->settings.quick && i % 2 == 0 && i) continue;
                job.memory = (probe_memory)m;
                job.bytes = sizes[i];
                job.upload = up;
                status =
                    bench_stopped() ? pcti_fail(PCT_ERROR_INTERRUPTED, "interrupted") : run_copy(bench, target, &job);
            }
    if (job.p) job.table->close(job.p);
    return status;
}

/* ---- peak ---- */

typedef struct peak_job {
    const probe_table *table;
    probe *p;
    int width; /* 0: the triad */
    double work, error;
} peak_job;

static pct_status take_peak(void *cookie, probe_sample *sample)
{
    peak_job *job = cookie;
    double error;
    pct_status status = job->width ? job->table->multiply_add(job->p, job->width, &job->work, &error, sample)
                                   : job->table->triad(job->p, &job->work, &error, sample);
    if (status == PCT_OK) job->error = fmax(job->error, error);
    return status;
}

/* Rate of the best run, from the device's own times where it has them. */
static double best_rate(const peak_job *job, samples *s)
{
    pcti_stats run = pcti_stats_in_place(s->run, s->count), host = pcti_stats_in_place(s->host, s->count);
    double ms = run.count && run.min > 0 ? run.min : host.min;
    return job->work / ms * 1e3;
}

static pct_status run_peak(clbench *bench, bench_target *target, peak_job *job, bool add_row)
{
    pcti_row row;
    samples s;
    char test[32] = "triad";
    if (job->width) snprintf(test, sizeof test, "multiply_add_%d", job->width);
    job->error = 0;
    bench_show(bench, target, test);
    bench_row(target, SUITE_PEAK, test, &row);
    pct_status status = take_samples(bench, 5, bench->settings.quick ? 0.02 : 0.1, take_peak, job, &s);
    if (status == PCT_ERROR_INTERRUPTED) return status;
    if (status != PCT_OK) return add_row ? bench_add_failure(bench, &row, status) : PCT_OK;
    fill_times(&s, &row);
    double rate = best_rate(job, &s);
    double *peak = job->width ? &target->peak_flops : &target->peak_bytes;
    if (job->error == 0) *peak = fmax(*peak, rate);
    if (!add_row) return PCT_OK;
    *(job->width ? &row.gflops : &row.gbytes_per_s) = rate * 1e-9;
    row.kernel_ms = pcti_stats_in_place(s.run, s.count).median;
    row.upload_ms = row.download_ms = row.overlap_ms = 0;
    row.host_ms = fmax(0, row.wall.median - row.kernel_ms);
    judge(&row, job->error, "the sums are wrong");
    return bench_add(bench, &row);
}

static pct_status run_peaks(clbench *bench, bench_target *target, peak_job *job, bool add_rows)
{
    pct_status status = PCT_OK;
    for (const int *width = job->table->widths; *width && status == PCT_OK; width++) {
        job->width = *width;
        status = run_peak(bench, target, job, add_rows);
    }
    job->width = 0;
    if (status == PCT_OK) status = run_peak(bench, target, job, add_rows);
    target->peak_known = status == PCT_OK && (target->peak_flops > 0 || target->peak_bytes > 0);
    return status;
}

pct_status suite_peak(clbench *bench, bench_target *target)
{
    peak_job job = {.table = table_of(target)};
    PCTI_RETURN_IF_FAILED(open_probe(bench, target, SUITE_PEAK, job.table, &job.p));
    if (!job.p) return PCT_OK;
    pct_status status = run_peaks(bench, target, &job, true);
    job.table->close(job.p);
    return status;
}

void bench_find_peaks(clbench *bench, bench_target *target)
{
    peak_job job = {.table = table_of(target)};
    if (target->peak_known || job.table->open(target->device, &job.p) != PCT_OK) return;
    run_peaks(bench, target, &job, false);
    job.table->close(job.p);
}
