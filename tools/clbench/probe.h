/* What no plan shows of a device: launches, copies, peaks. One table of functions for the CPU path, one for OpenCL
 * devices; where the OpenCL backend is not built, CMake takes probe_none.c for the latter. They stand here and not in
 * the backends, because only the benchmark wants them. */
#ifndef PCTI_CLBENCH_PROBE_H
#define PCTI_CLBENCH_PROBE_H

#include <stddef.h>

#include "pct/device.h"

typedef struct probe probe;

typedef enum probe_memory { PROBE_PAGEABLE, PROBE_PINNED, PROBE_MAPPED } probe_memory;

/* One measurement in ms: host clock from the call to the end of the work; NaN where there are no (valid) stamps. */
typedef struct probe_sample {
    double host_ms, queued_to_submit_ms, submit_to_start_ms, start_to_end_ms;
} probe_sample;

typedef struct probe_table {
    int memories;      /* kinds of host memory that make a difference, from PROBE_PAGEABLE on */
    const int *widths; /* vector widths in floats, ended by 0; some may be refused */
    pct_status (*open)(pct_device *device, probe **p);
    void (*close)(probe *p);
    /* `count` launches of `items` work-items that do nothing but count themselves, then one wait. The stamps are of
     * the last one. */
    pct_status (*launch)(probe *p, size_t items, int count, probe_sample *sample);
    /* How far the counter is from the launches made so far. */
    pct_status (*launch_error)(probe *p, double *error);
    /* A buffer on the device and a host area with a pattern. */
    pct_status (*copy_begin)(probe *p, probe_memory memory, size_t bytes);
    pct_status (*copy)(probe *p, bool upload, probe_sample *sample);
    /* Brings the device's copy back into an area of NaN: the largest difference to the pattern. */
    pct_status (*copy_error)(probe *p, double *error);
    void (*copy_end)(probe *p);
    /* Multiply-adds on vectors of `width` floats, for long enough to be timed: operations done, and the difference of
     * the results to the right ones. */
    pct_status (*multiply_add)(probe *p, int width, double *flops, double *error, probe_sample *sample);
    /* c = a + 2b on arrays far larger than caches: bytes read and written. */
    pct_status (*triad)(probe *p, double *bytes, double *error, probe_sample *sample);
} probe_table;

extern const probe_table probe_cpu, probe_opencl;

#endif
