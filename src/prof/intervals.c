#include "prof/intervals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "prof/stats.h"

/* Two clocks run apart by some parts per million; only more than this makes a busy time impossible. */
static const double CLOCK_DRIFT = 1e-3;
static const double SELF_CHECK = 0.05;
static const double MS = 1e-6; /* per ns */

static int by_start(const void *a, const void *b) {
    const pcti_interval *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool usable(const pcti_interval *interval) {
    return interval->valid && interval->start_ns && interval->start_ns <= interval->end_ns;
}

uint64_t pcti_union_ns(pcti_interval *intervals, size_t count) {
    if (count) qsort(intervals, count, sizeof *intervals, by_start);
    uint64_t total = 0, covered = 0; /* everything before `covered` has been counted */
    for (size_t i = 0; i < count; i++) {
        if (!usable(&intervals[i])) continue;
        uint64_t start = intervals[i].start_ns > covered ? intervals[i].start_ns : covered;
        if (intervals[i].end_ns <= start) continue;
        total += intervals[i].end_ns - start;
        covered = intervals[i].end_ns;
    }
    return total;
}

pct_status pcti_overlap_ns(const pcti_interval *a, size_t count_a, const pcti_interval *b, size_t count_b,
                           uint64_t *overlap_ns) {
    *overlap_ns = 0;
    pcti_interval *all = pcti_calloc(count_a + count_b, sizeof *all);
    if (!all) return PCT_ERROR_MEMORY;
    if (count_a) memcpy(all, a, count_a * sizeof *a);
    uint64_t sum = pcti_union_ns(all, count_a);
    if (count_b) memcpy(all, b, count_b * sizeof *b);
    sum += pcti_union_ns(all, count_b);
    if (count_a) memcpy(all, a, count_a * sizeof *a);
    if (count_b) memcpy(all + count_a, b, count_b * sizeof *b);
    *overlap_ns = sum - pcti_union_ns(all, count_a + count_b); /* |A and B| = |A| + |B| - |A or B| */
    pcti_free(all);
    return PCT_OK;
}

pcti_interval pcti_interval_from_stamps(pcti_interval_kind kind, uint64_t queued_ns, uint64_t submit_ns,
                                        uint64_t start_ns, uint64_t end_ns) {
    bool valid = start_ns && end_ns && end_ns != UINT64_MAX && start_ns <= end_ns;
    if (submit_ns > start_ns || queued_ns > start_ns) valid = false;
    if (submit_ns && queued_ns > submit_ns) valid = false;
    return (pcti_interval){start_ns, end_ns, kind, valid};
}

static uint64_t microseconds(double ms) {
    return (uint64_t)(ms * 1e3 + 0.5);
}

static void judge(pcti_split *split, double busy_ms, double enqueue_to_finish_ms) {
    split->clock_ratio = enqueue_to_finish_ms > 0 ? split->span_ms / enqueue_to_finish_ms : NAN;
    split->clocks_agree = fabs(split->clock_ratio - 1) <= SELF_CHECK;
    if (busy_ms > split->wall_ms * (1 + CLOCK_DRIFT)) {
        split->verdict = PCTI_SPLIT_IMPOSSIBLE;
        split->host_ms = NAN;
        snprintf(split->note, sizeof split->note,
                 "impossible: the device was busy for %" PRIu64 " us of a run of %" PRIu64 " us",
                 microseconds(busy_ms), microseconds(split->wall_ms));
    } else if (split->invalid) {
        split->host_ms = NAN; /* the time of an event without stamps is not the host's */
        snprintf(split->note, sizeof split->note, "%zu of %zu events have no valid time stamps",
                 split->invalid, split->intervals);
    } else {
        split->host_ms = busy_ms < split->wall_ms ? split->wall_ms - busy_ms : 0;
        if (!split->clocks_agree)
            snprintf(split->note, sizeof split->note,
                     "clocks differ: events span %" PRIu64 " us, the host saw %" PRIu64
                     " us from the first enqueue to the finish",
                     microseconds(split->span_ms), microseconds(enqueue_to_finish_ms));
    }
}

static pcti_split unknown(size_t count, double wall_ms) {
    pcti_split split = {.wall_ms = wall_ms,
                        .kernel_ms = NAN,
                        .upload_ms = NAN,
                        .download_ms = NAN,
                        .overlap_ms = NAN,
                        .host_ms = NAN,
                        .span_ms = NAN,
                        .clock_ratio = NAN,
                        .intervals = count,
                        .invalid = count,
                        .verdict = PCTI_SPLIT_UNKNOWN};
    if (count)
        snprintf(split.note, sizeof split.note, "none of %zu events has valid time stamps", count);
    else
        snprintf(split.note, sizeof split.note, "no events were recorded");
    return split;
}

pct_status pcti_split_times(const pcti_interval *intervals, size_t count, const pcti_host_times *host,
                            pcti_split *split) {
    *split = unknown(count, NAN);
    if (host->begin_ns > host->first_enqueue_ns || host->first_enqueue_ns > host->finish_ns ||
        host->finish_ns > host->end_ns)
        return pcti_fail(PCT_ERROR_ARGUMENT, "time split: the host's times are out of order");
    split->invalid = 0;
    split->note[0] = 0;
    split->wall_ms = (double)(host->end_ns - host->begin_ns) * MS;

    /* Sorted by kind, so that each kind is one range and the copies are another. */
    pcti_interval *sorted = pcti_calloc(count, sizeof *sorted);
    if (!sorted) return PCT_ERROR_MEMORY;
    size_t first_of[PCTI_INTERVAL_KINDS + 1] = {0}, n = 0;
    uint64_t first = UINT64_MAX, last = 0;
    double *figures[PCTI_INTERVAL_KINDS] = {&split->kernel_ms, &split->upload_ms, &split->download_ms};
    for (int kind = 0; kind < PCTI_INTERVAL_KINDS; kind++) {
        size_t valid = 0;
        for (size_t i = 0; i < count; i++) {
            if ((int)intervals[i].kind != kind) continue;
            sorted[n++] = intervals[i];
            if (!usable(&intervals[i])) continue;
            valid++;
            if (intervals[i].start_ns < first) first = intervals[i].start_ns;
            if (intervals[i].end_ns > last) last = intervals[i].end_ns;
        }
        first_of[kind + 1] = n;
        split->invalid += n - first_of[kind] - valid;
        if (valid || n == first_of[kind])
            *figures[kind] = (double)pcti_union_ns(sorted + first_of[kind], n - first_of[kind]) * MS;
    }
    if (split->invalid == n) {
        *split = unknown(count, split->wall_ms);
        pcti_free(sorted);
        return PCT_OK;
    }
    uint64_t overlap_ns;
    size_t kernels = first_of[PCTI_INTERVAL_UPLOAD];
    pct_status status = pcti_overlap_ns(sorted, kernels, sorted + kernels, n - kernels, &overlap_ns);
    double busy_ms = (double)pcti_union_ns(sorted, n) * MS;
    pcti_free(sorted);
    if (status != PCT_OK) return status;
    split->overlap_ms = (double)overlap_ns * MS;
    split->span_ms = (double)(last - first) * MS;
    split->verdict = PCTI_SPLIT_OK;
    judge(split, busy_ms, (double)(host->finish_ns - host->first_enqueue_ns) * MS);
    return PCT_OK;
}

pct_status pcti_split_median(const pcti_split *splits, size_t count, pcti_split *median) {
    static const size_t figures[] = {offsetof(pcti_split, wall_ms),    offsetof(pcti_split, kernel_ms),
                                     offsetof(pcti_split, upload_ms),  offsetof(pcti_split, download_ms),
                                     offsetof(pcti_split, overlap_ms), offsetof(pcti_split, host_ms),
                                     offsetof(pcti_split, span_ms),    offsetof(pcti_split, clock_ratio)};
    *median = (pcti_split){.verdict = PCTI_SPLIT_UNKNOWN};
    if (!count) return pcti_fail(PCT_ERROR_ARGUMENT, "time split: no runs");
    double *samples = pcti_calloc(count, sizeof *samples);
    if (!samples) return PCT_ERROR_MEMORY;
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        for (size_t i = 0; i < count; i++)
            memcpy(&samples[i], (const char *)&splits[i] + figures[f], sizeof *samples);
        double value = pcti_stats_in_place(samples, count).median;
        memcpy((char *)median + figures[f], &value, sizeof value);
    }
    pcti_free(samples);

    for (size_t i = 0; i < count; i++) {
        median->intervals += splits[i].intervals;
        median->invalid += splits[i].invalid;
        if (splits[i].verdict == PCTI_SPLIT_OK && median->verdict == PCTI_SPLIT_UNKNOWN)
            median->verdict = PCTI_SPLIT_OK;
        if (splits[i].verdict == PCTI_SPLIT_IMPOSSIBLE) median->verdict = PCTI_SPLIT_IMPOSSIBLE;
    }
    median->clocks_agree = fabs(median->clock_ratio - 1) <= SELF_CHECK;
    /* The note comes from the first run that shows what the medians show. */
    for (size_t i = 0; i < count && !median->note[0]; i++) {
        if (splits[i].verdict != median->verdict && median->verdict != PCTI_SPLIT_OK) continue;
        if (median->verdict == PCTI_SPLIT_OK && median->clocks_agree && !median->invalid) break;
        memcpy(median->note, splits[i].note, sizeof median->note);
    }
    return PCT_OK;
}
