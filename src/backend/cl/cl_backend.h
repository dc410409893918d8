/* What the operator families of the OpenCL backend share: the device, and how a row of an implementation list is
 * written.
 *
 * An implementation is one or several kernels of cl/FILE.cl. A row needs four functions, two of them from here:
 *
 *   static pct_status prepare(pct_device *device, pcti_step *step)   // build, choose the launch shape
 *   {
 *       const size_t items[] = {(size_t)pcti_tensor_elems(&step->dst[0].tensor)};
 *       return pcti_cl_launch_add(device, step, "unary", "-DFN=RELU", "unary", 1, items, NULL);
 *   }
 *   static pct_status bind(pct_device *device, pcti_step *step)      // buffers are known: set every argument once
 *   {
 *       pcti_cl_args args = pcti_cl_args_of(device, step, 0);       // of the step's first launch
 *       pcti_cl_arg_operand(&args, &step->src[0]);                   // two arguments: buffer, offset
 *       pcti_cl_arg_operand(&args, &step->dst[0]);
 *       pcti_cl_arg_index(&args, pcti_tensor_elems(&step->dst[0].tensor));
 *       return args.status;
 *   }
 *   {.name = "scalar", ..., .accept = accept, .prepare = prepare, .bind = bind, .run = pcti_cl_run, .release =
 * pcti_cl_release}
 *
 *   __kernel void unary(__global const float *src, long src_offset, __global float *dst, long dst_offset, index_t
 * count)
 *
 * Rules
 *   - Offsets and the distance between pictures are `long`, added to the pointer once; strides and indexes inside a
 * picture are index_t (prelude.clh), which becomes 64 bits wide by itself where a tensor of the step has 2^31
 * elements. Work-item ids are compared with IS_BEYOND, since global sizes are rounded up to whole work-groups.
 *   - Options name tile sizes, functions, small filters and strides: never batch or picture sizes.
 *   - prepare may pack constants (op/backend.h) and ask for step->workspace_bytes; bind reaches that by
 * pcti_cl_arg_workspace.
 *   - Operands and workspace start at a multiple of 64 bytes where the planner promises it: blocked tensors and
 * workspaces.
 *   - accept refuses with a reason; pcti_cl_is_cpu tells the two kinds of devices apart. */
#ifndef PCTI_BACKEND_CL_BACKEND_H
#define PCTI_BACKEND_CL_BACKEND_H

#include "backend/cl/cl_events.h"
#include "backend/cl/cl_program.h"
#include "op/backend.h"

typedef struct pcti_cl {
    pct_device base;
    pcti_cl_device *device;
    cl_mem zeros;           /* 16 floats; stands for absent operands as well: not every driver takes NULL */
    pcti_cl_events *events; /* of profiled runs */
    /* The run that is going on. */
    cl_command_queue queue;
    pcti_cl_events *run_events; /* NULL: no profiling */
    int run_step;
} pcti_cl;

static inline pcti_cl *pcti_cl_of(pct_device *device)
{
    return (pcti_cl *)(void *)device;
}
static inline const pcti_cl_info *pcti_cl_info_of(const pct_device *device)
{
    return &((const pcti_cl *)(const void *)device)->device->info;
}
/* Whether work-items are threads of the host's cores: then one item does a whole register tile, without local memory.
 */
static inline bool pcti_cl_is_cpu(const pct_device *device)
{
    return pcti_cl_info_of(device)->type == PCTI_CL_CPU;
}

/* ---- in accept ---- */

/* Whether the device runs work-groups of `items` in dimension 0. */
bool pcti_cl_accept_group(const pct_device *device, size_t items, pcti_why *why);

/* ---- in prepare ---- */

/* Appends a launch of `kernel` of cl/FILE.cl, built with `options` (NULL: none), over `items` in n_dims (1..3)
 * dimensions. `group` is the work-group size that it would like; it gets what device and kernel allow, at most. NULL:
 * 256 x 1 x 1, for loops over elements; tiles on CPU-type devices want 1 x 1 x 1. Use few distinct sizes: some
 * runtimes compile once more for each. Dimension 0 varies fastest. Launches run in the order in which they are added.
 */
pct_status pcti_cl_launch_add(pct_device *device, pcti_step *step, const char *file, const char *options,
                              const char *kernel, int n_dims, const size_t *items, const size_t *group);
/* Work-group size that launch `index` got, for rows whose kernels depend on it. */
const size_t *pcti_cl_launch_group(const pcti_step *step, int index);
int pcti_cl_launch_count(const pcti_step *step);
/* Own memory of a row beside its launches, from base/memory.h: taken, also when it fails, and freed with the step. */
pct_status pcti_cl_set_own(pcti_step *step, void *own);
void *pcti_cl_own(const pcti_step *step); /* NULL where there is none */

/* ---- in bind ---- */

/* Sets the arguments of one launch in order; the first failure stays in `status` and later calls do nothing. */
typedef struct pcti_cl_args {
    pct_device *device;
    cl_kernel kernel;
    cl_uint next;
    bool wide; /* index_t has 64 bits */
    pct_status status;
} pcti_cl_args;
pcti_cl_args pcti_cl_args_of(pct_device *device, const pcti_step *step, int index);
/* `__global T *x, long x_offset`: buffer and offset in elements. NULL or an absent operand: x_offset is -1 and x must
 * not be touched. */
void pcti_cl_arg_operand(pcti_cl_args *args, const pcti_operand *operand);
/* The same for the step's workspace from `first_float` on, as floats. */
void pcti_cl_arg_workspace(pcti_cl_args *args, const pcti_step *step, size_t first_float);
/* `index_t` */
void pcti_cl_arg_index(pcti_cl_args *args, int64_t value);
/* `__global const float *zeros`: 16 of them. */
void pcti_cl_arg_zeros(pcti_cl_args *args);
/* `long`: the distance between pictures. */
void pcti_cl_arg_long(pcti_cl_args *args, int64_t value);
/* `int`: a value that does not fit fails. */
void pcti_cl_arg_int(pcti_cl_args *args, int64_t value);
void pcti_cl_arg_float(pcti_cl_args *args, double value);
/* `float lo, float hi`: the clip that an activation means; (-inf, inf) where there is none. */
void pcti_cl_arg_clip(pcti_cl_args *args, const pcti_activation *act);
/* A struct, laid out as the kernel's. */
void pcti_cl_arg_bytes(pcti_cl_args *args, size_t bytes, const void *value);
/* Local memory of this many bytes. */
void pcti_cl_arg_local(pcti_cl_args *args, size_t bytes);

/* ---- in run ---- */

/* Enqueues every launch of the step on the run's queue, in order: `.run` of nearly every row. */
pct_status pcti_cl_run(pct_device *device, pcti_step *step);
/* Enqueues one launch, for rows that put other commands between. */
pct_status pcti_cl_run_launch(pct_device *device, pcti_step *step, int index);
/* Around a library's call that enqueues on pcti_cl_of(device)->queue by itself. */
pct_status pcti_cl_library_begin(pct_device *device);
pct_status pcti_cl_library_end(pct_device *device);

/* Releases the step's launches and own memory: `.release` of every row. */
void pcti_cl_release(pct_device *device, pcti_step *step);

#endif
