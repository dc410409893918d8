/* An open OpenCL device: context, queues, buffers, local sizes. One thread at a time uses a device; different
 * devices are independent. OpenCL 1.2 calls only. */
#ifndef PCTI_BACKEND_CL_RUNTIME_H
#define PCTI_BACKEND_CL_RUNTIME_H

#include "backend/cl/cl_device.h"
#include "backend/cl/cl_error.h"

struct pcti_cl_programs; /* cl_program.c */

/* In-order queues. Transfers have their own, so that they can overlap with kernels. */
typedef struct pcti_cl_queues {
    cl_command_queue compute, transfer;
} pcti_cl_queues;

typedef struct pcti_cl_device {
    pcti_cl_info info;
    cl_context context;
    pcti_cl_queues plain;
    pcti_cl_queues profiling; /* NULL until asked for: the queue flag itself costs time on some drivers */
    struct pcti_cl_programs *programs;
} pcti_cl_device;

/* Opens the device that an entry of the list describes; `info` is copied, so the list may go first.
 * `profiling` also makes the second set of queues. Errors: PCT_ERROR_DEVICE, PCT_ERROR_MEMORY. */
pct_status pcti_cl_device_open(const pcti_cl_info *info, bool profiling, pcti_cl_device **device);

/* Makes the profiling queues if they are not there yet. */
pct_status pcti_cl_device_add_profiling(pcti_cl_device *device);

/* Waits until every queue is empty. The first error is returned, but all queues are waited for: returning
 * from a failed run with work still queued crashes some runtimes. */
pct_status pcti_cl_device_finish(pcti_cl_device *device);

/* Finishes the queues, then releases them, the programs and the context. To be called before main returns on
 * every path, never from atexit. The caller's own kernels, buffers and events go first. NULL allowed. */
void pcti_cl_device_close(pcti_cl_device *device);

/* A buffer in device memory. The sizes are checked here, since not every runtime does: PCT_ERROR_MEMORY gives
 * the bytes needed and allowed; 0 bytes is PCT_ERROR_ARGUMENT. `host` is NULL unless `flags` want a pointer.
 */
pct_status pcti_cl_buffer_create(pcti_cl_device *device, cl_mem_flags flags, size_t bytes, void *host,
                                 cl_mem *buffer);
void pcti_cl_buffer_release(cl_mem buffer); /* NULL allowed */

/* The local size for a launch: per dimension at most `wanted` (0 counts as 1), within the limits of device
 * and kernel; where the product is too large the largest dimension is halved first. A kernel compiled for a
 * fixed size gets that size, or PCT_ERROR_DEVICE if the device cannot run it. `wanted` and `local` have
 * `n_dims` (1..3) entries. */
pct_status pcti_cl_local_size(const pcti_cl_device *device, cl_kernel kernel, int n_dims,
                              const size_t *wanted, size_t *local);
/* The pure part of it. `limit` is the largest product. */
void pcti_cl_fit_local(int n_dims, const size_t *wanted, const uint64_t *max_item, uint64_t limit,
                       size_t *local);

/* Driver objects of this process that pcti_cl_ functions made or took and have not released; for tests. */
typedef struct pcti_cl_live {
    int64_t devices, buffers, programs, kernels, events;
} pcti_cl_live;
pcti_cl_live pcti_cl_live_objects(void);

typedef enum pcti_cl_object {
    PCTI_CL_DEVICES,
    PCTI_CL_BUFFERS,
    PCTI_CL_PROGRAMS,
    PCTI_CL_KERNELS,
    PCTI_CL_EVENTS,
    PCTI_CL_N_OBJECTS
} pcti_cl_object;
void pcti_cl_count(pcti_cl_object object, int change); /* for this folder's files */

#endif
