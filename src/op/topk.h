/* The order that topk sorts by, for reference and backends. */
#ifndef PCTI_OP_TOPK_H
#define PCTI_OP_TOPK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Does value a at index i come before value b at index j? Larger ones first, NaN before all; of equals the first. */
static inline bool pcti_topk_before(double a, int64_t i, double b, int64_t j)
{
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || i < j);
    return a > b || (a == b && i < j);
}

#endif
