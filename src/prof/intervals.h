/* Where a run's time went: unions of device intervals on the device's clock against the host's clock. */
#ifndef PCTI_PROF_INTERVAL_H
#define PCTI_PROF_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum pcti_interval_kind {
    PCTI_INTERVAL_KERNEL,
    PCTI_INTERVAL_UPLOAD,
    PCTI_INTERVAL_DOWNLOAD,
    PCTI_INTERVAL_KINDS
} pcti_interval_kind;

/* When a device was busy with one thing. Not valid: the stamps are unknown or contradict each other; also
 * where start_ns is 0 or end_ns < start_ns. Such ones are counted and left out of every sum. */
typedef struct pcti_interval {
    uint64_t start_ns, end_ns;
    pcti_interval_kind kind;
    bool valid;
} pcti_interval;

/* An interval from a driver's four stamps. 0 is "unknown": allowed for queued and submit (some drivers never
 * set a marker's), not for start and end. All-ones, end < start, submit > start and queued > submit make it
 * invalid. */
pcti_interval pcti_interval_from_stamps(pcti_interval_kind kind, uint64_t queued_ns, uint64_t submit_ns,
                                        uint64_t start_ns, uint64_t end_ns);

/* Length of the union of the valid ones, whatever their kind; sorts the array. */
uint64_t pcti_union_ns(pcti_interval *intervals, size_t count);
/* Length where the union of `a` and the union of `b` meet. */
pct_status pcti_overlap_ns(const pcti_interval *a, size_t count_a, const pcti_interval *b, size_t count_b,
                           uint64_t *overlap_ns);

/* One run on the host's clock, in this order. */
typedef struct pcti_host_times {
    uint64_t begin_ns, first_enqueue_ns, finish_ns, end_ns;
} pcti_host_times;

typedef enum pcti_split_verdict {
    PCTI_SPLIT_OK,
    PCTI_SPLIT_UNKNOWN,   /* no valid interval: the device's figures are NaN */
    PCTI_SPLIT_IMPOSSIBLE /* the device was busy for longer than the run took, so one of the clocks is not to
                             be trusted */
} pcti_split_verdict;

typedef struct pcti_split {
    double wall_ms; /* host clock, begin to end */
    double kernel_ms, upload_ms,
        download_ms;   /* unions; 0 without intervals of the kind, NaN if all of them are invalid */
    double overlap_ms; /* kernels and copies at the same time */
    double host_ms; /* wall minus the union of all intervals: before, after and in the gaps; NaN if some are
                       invalid */
    double span_ms; /* first start to last end */
    double clock_ratio; /* span over the host's time from the first enqueue to the finish */
    size_t intervals, invalid;
    bool clocks_agree; /* clock_ratio within 5 % of 1 */
    pcti_split_verdict verdict;
    char note[192]; /* what is wrong, empty if nothing */
} pcti_split;

/* PCT_ERROR_ARGUMENT where the host's times are out of order. */
pct_status pcti_split_times(const pcti_interval *intervals, size_t count, const pcti_host_times *host,
                            pcti_split *split);

/* Median of each figure over several runs; the first impossible one, if any, decides the verdict; counts are
 * summed. */
pct_status pcti_split_median(const pcti_split *splits, size_t count, pcti_split *median);

#endif
