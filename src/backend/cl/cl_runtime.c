#include "backend/cl/cl_runtime.h"

#include <stdatomic.h>

#include "backend/cl/cl_program.h"
#include "base/memory.h"

static atomic_int_fast64_t live[PCTI_CL_N_OBJECTS];

void pcti_cl_count(pcti_cl_object object, int change) {
    atomic_fetch_add(&live[object], change);
}

pcti_cl_live pcti_cl_live_objects(void) {
    return (pcti_cl_live){
        .devices = atomic_load(&live[PCTI_CL_DEVICES]),
        .buffers = atomic_load(&live[PCTI_CL_BUFFERS]),
        .programs = atomic_load(&live[PCTI_CL_PROGRAMS]),
        .kernels = atomic_load(&live[PCTI_CL_KERNELS]),
        .events = atomic_load(&live[PCTI_CL_EVENTS]),
    };
}

/* clCreateCommandQueue is deprecated since 2.0 but there in every version, while its successor hangs inside
 * one loader on devices below 2.0; in-order queues need nothing of it. */
static pct_status queues_create(pcti_cl_device *device, cl_command_queue_properties properties,
                                pcti_cl_queues *queues) {
    cl_int code;
    queues->compute = clCreateCommandQueue(device->context, device->info.id, properties, &code);
    if (!queues->compute) return pcti_cl_fail("clCreateCommandQueue", code, "%s", device->info.name);
    queues->transfer = clCreateCommandQueue(device->context, device->info.id, properties, &code);
    if (!queues->transfer) return pcti_cl_fail("clCreateCommandQueue", code, "%s", device->info.name);
    return PCT_OK;
}

static void queues_release(pcti_cl_queues *queues) {
    if (queues->compute) clReleaseCommandQueue(queues->compute);
    if (queues->transfer) clReleaseCommandQueue(queues->transfer);
    *queues = (pcti_cl_queues){0};
}

pct_status pcti_cl_device_open(const pcti_cl_info *info, bool profiling, pcti_cl_device **out) {
    pct_status status = PCT_OK;
    *out = NULL;
    if (info->problem[0])
        return pcti_fail(PCT_ERROR_DEVICE, "device \"%s\" cannot be used: %s", info->name, info->problem);
    pcti_cl_device *device = pcti_calloc(1, sizeof *device);
    if (!device) return PCT_ERROR_MEMORY;
    pcti_cl_count(PCTI_CL_DEVICES, 1);
    device->info = *info;
    cl_int code = CL_SUCCESS;
    device->context = clCreateContext(NULL, 1, &info->id, NULL, NULL, &code);
    if (!device->context) {
        status = pcti_cl_fail("clCreateContext", code, "%s", info->name);
        goto fail;
    }
    PCTI_TRY(queues_create(device, 0, &device->plain));
    if (profiling) PCTI_TRY(pcti_cl_device_add_profiling(device));
    PCTI_TRY(pcti_cl_programs_create(&device->programs));
    *out = device;
    return PCT_OK;
fail:
    pcti_cl_device_close(device);
    return status;
}

pct_status pcti_cl_device_add_profiling(pcti_cl_device *device) {
    if (device->profiling.compute) return PCT_OK;
    pct_status status = queues_create(device, CL_QUEUE_PROFILING_ENABLE, &device->profiling);
    if (status != PCT_OK) queues_release(&device->profiling);
    return status;
}

pct_status pcti_cl_device_finish(pcti_cl_device *device) {
    cl_command_queue queues[] = {device->plain.compute, device->plain.transfer, device->profiling.compute,
                                 device->profiling.transfer};
    pct_status status = PCT_OK;
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
        cl_int code = queues[i] ? clFinish(queues[i]) : CL_SUCCESS;
        if (code != CL_SUCCESS && status == PCT_OK)
            status = pcti_cl_fail("clFinish", code, "%s", device->info.name);
    }
    return status;
}

void pcti_cl_device_close(pcti_cl_device *device) {
    if (!device) return;
    /* No message from here: the caller may be on its way out with one of its own. */
    cl_command_queue queues[] = {device->plain.compute, device->plain.transfer, device->profiling.compute,
                                 device->profiling.transfer};
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        if (queues[i]) clFinish(queues[i]);
    pcti_cl_programs_destroy(device->programs);
    queues_release(&device->plain);
    queues_release(&device->profiling);
    if (device->context) clReleaseContext(device->context);
    pcti_cl_count(PCTI_CL_DEVICES, -1);
    pcti_free(device);
}

pct_status pcti_cl_buffer_create(pcti_cl_device *device, cl_mem_flags flags, size_t bytes, void *host,
                                 cl_mem *buffer) {
    const pcti_cl_info *info = &device->info;
    *buffer = NULL;
    if (!bytes) return pcti_fail(PCT_ERROR_ARGUMENT, "buffer of 0 bytes on %s", info->name);
    if (bytes > info->max_alloc_bytes)
        return pcti_fail(PCT_ERROR_MEMORY, "%s: a buffer needs %zu bytes, the device allows %llu", info->name,
                         bytes, (unsigned long long)info->max_alloc_bytes);
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(device->context, flags, bytes, host, &code);
    if (!*buffer)
        return pcti_cl_fail("clCreateBuffer", code, "%s: %zu bytes, the device allows %llu in one buffer",
                            info->name, bytes, (unsigned long long)info->max_alloc_bytes);
    pcti_cl_count(PCTI_CL_BUFFERS, 1);
    return PCT_OK;
}

void pcti_cl_buffer_release(cl_mem buffer) {
    if (!buffer) return;
    clReleaseMemObject(buffer);
    pcti_cl_count(PCTI_CL_BUFFERS, -1);
}

void pcti_cl_fit_local(int n_dims, const size_t *wanted, const uint64_t *max_item, uint64_t limit,
                       size_t *local) {
    for (int d = 0; d < n_dims; d++) {
        local[d] = wanted[d] ? wanted[d] : 1;
        if (local[d] > max_item[d]) local[d] = (size_t)max_item[d];
        if (local[d] > limit) local[d] = limit ? (size_t)limit : 1;
    }
    for (;;) {
        uint64_t product = 1;
        int largest = 0;
        for (int d = 0; d < n_dims; d++) {
            if (local[d] > local[largest]) largest = d;
            product = product > UINT64_MAX / local[d] ? UINT64_MAX : product * local[d];
        }
        if (product <= limit || local[largest] == 1) return;
        local[largest] /= 2;
    }
}

pct_status pcti_cl_local_size(const pcti_cl_device *device, cl_kernel kernel, int n_dims,
                              const size_t *wanted, size_t *local) {
    pct_status status = PCT_OK;
    const pcti_cl_info *info = &device->info;
    size_t limit = 0, fixed[3] = {0};
    for (int d = 0; d < n_dims; d++) local[d] = 1;
    PCTI_CL_TRY(clGetKernelWorkGroupInfo,
                (kernel, info->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, NULL));
    PCTI_CL_TRY(clGetKernelWorkGroupInfo,
                (kernel, info->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof fixed, fixed, NULL));
    if (limit > info->max_work_group) limit = (size_t)info->max_work_group;
    pcti_cl_fit_local(n_dims, fixed[0] ? fixed : wanted, info->max_work_item, limit, local);
    for (int d = 0; fixed[0] && d < n_dims; d++)
        if (local[d] != fixed[d])
            return pcti_fail(
                PCT_ERROR_DEVICE,
                "%s: the kernel wants work-groups of %zu x %zu x %zu, the device allows %zu items",
                info->name, fixed[0], fixed[1], fixed[2], limit);
fail:
    return status;
}
