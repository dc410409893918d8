/* How far two results are apart, NaN included. */
#ifndef PCTI_BASE_COMPARE_H
#define PCTI_BASE_COMPARE_H

#include <math.h>

/* 0 where both are the same (two NaN count as that), INFINITY where only one is NaN, else |a - b|. Never NaN, so that a maximum
 * over many differences cannot lose one. */
static inline double pcti_difference(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) return 0;
    double difference = fabs(a - b);
    return isnan(difference) ? INFINITY : difference;
}

#endif
