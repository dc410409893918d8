/* The host's monotonic clock. */
#ifndef PCTI_BASE_CLOCK_H
#define PCTI_BASE_CLOCK_H

#include <stdint.h>

uint64_t pcti_clock_ns(void);

#endif
