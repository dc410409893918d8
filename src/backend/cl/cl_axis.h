/* What OpenCL rows of ops along one axis share. Each has two: "items", one work-item a line, for CPU-type devices and
 * where lines are short or many; "groups", one work-group a line, for everything else. */
#ifndef PCTI_BACKEND_CL_AXIS_H
#define PCTI_BACKEND_CL_AXIS_H

#include "backend/cl/cl_backend.h"
#include "op/axis.h"

/* Are lines so long and so few that work-items of one line each would leave a GPU idle? */
static inline bool pcti_cl_wants_groups(const pct_device *device, int64_t lines, int64_t extent)
{
    return !pcti_cl_is_cpu(device) && extent >= 64 && lines < 4096;
}

/* `__global T *x, long x_offset, index_t x_rows, long x_picture, long x_step` */
static inline void pcti_cl_arg_axis(pcti_cl_args *args, const pcti_operand *operand, const pcti_axis *axis)
{
    pcti_cl_arg_operand(args, operand);
    pcti_cl_arg_index(args, axis->rows);
    pcti_cl_arg_long(args, axis->picture);
    pcti_cl_arg_long(args, axis->step);
}

/* `__global T *x, long x_offset, index_t x_elems, long x_picture`, for place_of in the prelude */
static inline void pcti_cl_arg_places(pcti_cl_args *args, const pcti_operand *operand)
{
    const pcti_tensor *tensor = &operand->tensor;
    pcti_cl_arg_operand(args, operand);
    pcti_cl_arg_index(args, pcti_tensor_picture_elems(tensor));
    pcti_cl_arg_long(args, tensor->rank ? tensor->strides[0] : 0);
}

#endif
