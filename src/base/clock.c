#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

uint64_t pcti_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}
