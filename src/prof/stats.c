#include "prof/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

pcti_stats pcti_stats_in_place(double *samples, size_t count) {
    pcti_stats stats = {NAN, NAN, NAN, NAN, NAN, NAN, 0, 0};
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(samples[i]) && samples[i] >= 0) samples[n++] = samples[i];
    stats.count = n;
    stats.invalid = count - n;
    if (!n) return stats;
    qsort(samples, n, sizeof *samples, ascending);
    stats.min = samples[0];
    stats.max = samples[n - 1];
    stats.median = n % 2 ? samples[n / 2] : samples[n / 2 - 1] / 2 + samples[n / 2] / 2;
    stats.p95 = samples[(n * 95 + 99) / 100 - 1];
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += samples[i];
    stats.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (samples[i] - stats.mean) * (samples[i] - stats.mean);
    stats.stddev = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    return stats;
}

pct_status pcti_stats_of(const double *samples, size_t count, pcti_stats *stats) {
    *stats = pcti_stats_in_place(NULL, 0);
    if (!count) return PCT_OK;
    double *copy = pcti_calloc(count, sizeof *copy);
    if (!copy) return PCT_ERROR_MEMORY;
    memcpy(copy, samples, count * sizeof *copy);
    *stats = pcti_stats_in_place(copy, count);
    pcti_free(copy);
    return PCT_OK;
}
