/* Statistics of repeated measurements. */
#ifndef PCTI_PROF_STATS_H
#define PCTI_PROF_STATS_H

#include <stddef.h>

#include "base/status.h"

/* Samples that are negative, NaN or infinite are left out and counted. All figures are NaN where count = 0.
 */
typedef struct pcti_stats {
    double median; /* mean of the two middle ones where count is even */
    double min, max, mean;
    double p95;    /* nearest rank: the smallest sample with at least 95 % of all at or below it */
    double stddev; /* of the sample (n - 1); 0 for a single one, of which no spread is known */
    size_t count, invalid;
} pcti_stats;

pct_status pcti_stats_of(const double *samples, size_t count, pcti_stats *stats);
/* The same without an allocation: sorts `samples`. */
pcti_stats pcti_stats_in_place(double *samples, size_t count);

#endif
