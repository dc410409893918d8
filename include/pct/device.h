/* Devices: the CPU, OpenCL devices, and the reference that judges both. */
#ifndef PCT_DEVICE_H
#define PCT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pct/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pct_device pct_device;
typedef struct pct_device_list pct_device_list;

enum { PCT_NAME_BYTES = 128 };

/* What a device says of itself. Texts are never NULL; numbers that a driver does not give are 0. */
typedef struct pct_device_info {
    char backend[16];              /* "cpu", "opencl", "ref" */
    char platform[PCT_NAME_BYTES]; /* OpenCL platform; the BLAS library for "cpu" */
    char device[PCT_NAME_BYTES];
    char vendor[PCT_NAME_BYTES];
    char driver[PCT_NAME_BYTES];
    char version[PCT_NAME_BYTES];
    char type[16];    /* "gpu", "cpu", "accelerator" */
    char isa[16];     /* "avx512", "avx2", "generic" for "cpu" */
    int32_t platform_index, device_index; /* as --platform and --device take them; -1 for "cpu" and "ref" */
    int32_t compute_units;
    int32_t threads; /* that a run uses; 0 where that is the driver's business */
    int32_t max_work_group;
    int32_t clock_mhz;
    int32_t vector_width; /* native, in floats */
    int64_t memory_bytes, max_alloc_bytes, local_bytes;
} pct_device_info;

typedef struct pct_device_options {
    size_t struct_bytes;  /* sizeof(pct_device_options) */
    const char *backend;  /* "cpu", "opencl" or "ref" */
    const char *platform; /* OpenCL: index or part of a name; NULL any */
    const char *device;   /* the same */
    int32_t threads;      /* CPU: 0 for all cores that the process may use */
    bool no_tuning;       /* leave out what `clbench tune` found on this machine */
    bool profiling;       /* make runs with times possible; costs a little on some drivers */
} pct_device_options;

/* All OpenCL devices, platform by platform. No platform is an empty list, not an error; `pct_device_list_note` then says
 * what to install (else ""). */
PCT_API pct_status pct_device_list_create(pct_device_list **list);
PCT_API void pct_device_list_destroy(pct_device_list *list);
PCT_API int pct_device_list_count(const pct_device_list *list);
PCT_API const pct_device_info *pct_device_list_get(const pct_device_list *list, int index);
PCT_API const char *pct_device_list_note(const pct_device_list *list);

/* Opens one device. An index out of range or an ambiguous name is an error whose message prints the valid list. */
PCT_API pct_status pct_device_open(const pct_device_options *options, pct_device **device);
/* Every plan of the device must be gone. Waits for the device. NULL allowed. */
PCT_API void pct_device_close(pct_device *device);
PCT_API const pct_device_info *pct_device_get_info(const pct_device *device);

#ifdef __cplusplus
}
#endif
#endif
