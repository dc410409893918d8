/* Copies between layouts on OpenCL devices. */
#include "backend/cl/cl_backend.h"

static bool is_picture_of_floats(const pcti_call *call)
{
    return call->src[0].tensor.rank == 4 && call->src[0].tensor.dtype == PCT_F32;
}

static bool accept_to_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (is_picture_of_floats(call) && call->src[0].tensor.channel_block == 1 &&
        call->dst[0].tensor.channel_block == PCTI_BLOCK)
        return true;
    return pcti_refuse(why, "only pictures, from plain to blocked");
}

static bool accept_to_plain(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (is_picture_of_floats(call) && call->src[0].tensor.channel_block == PCTI_BLOCK &&
        call->dst[0].tensor.channel_block == 1)
        return true;
    return pcti_refuse(why, "only pictures, from blocked to plain");
}

static pct_status prepare_layout(pct_device *device, pcti_step *step, const char *kernel)
{
    const pcti_tensor *x = &step->src[0].tensor;
    const size_t items[] = {(size_t)(x->dims[2] * x->dims[3]), (size_t)pcti_ceil_div(x->dims[1], PCTI_BLOCK),
                            (size_t)x->dims[0]};
    return pcti_cl_launch_add(device, step, "reorder", NULL, kernel, 3, items, NULL);
}

static pct_status prepare_to_blocked(pct_device *device, pcti_step *step)
{
    return prepare_layout(device, step, "plain_to_blocked");
}

static pct_status prepare_to_plain(pct_device *device, pcti_step *step)
{
    return prepare_layout(device, step, "blocked_to_plain");
}

static pct_status bind_layout(pct_device *device, pcti_step *step)
{
    const pcti_tensor *x = &step->src[0].tensor;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 2; i++) {
        const pcti_operand *operand = i ? &step->dst[0] : &step->src[0];
        pcti_cl_arg_operand(&args, operand);
        pcti_cl_arg_long(&args, operand->tensor.strides[0]);
        pcti_cl_arg_index(&args, operand->tensor.strides[1]);
    }
    pcti_cl_arg_int(&args, x->dims[1]);
    pcti_cl_arg_index(&args, x->dims[2] * x->dims[3]);
    return args.status;
}

/* ---- the same layout ---- */

static bool accept_same_layout(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.channel_block == call->dst[0].tensor.channel_block) return true;
    return pcti_refuse(why, "layouts differ");
}

static pct_status prepare_copy(pct_device *device, pcti_step *step)
{
    const pcti_tensor *x = &step->src[0].tensor;
    size_t bytes = pct_dtype_size(x->dtype);
    const char *options = bytes == 1   ? "-DTYPE=uchar"
                          : bytes == 2 ? "-DTYPE=ushort"
                          : bytes == 4 ? "-DTYPE=uint"
                                       : "-DTYPE=ulong";
    const size_t items[] = {(size_t)pcti_tensor_picture_elems(x), (size_t)(x->rank ? x->dims[0] : 1)};
    return pcti_cl_launch_add(device, step, "reorder", options, "copy", 2, items, NULL);
}

static pct_status bind_copy(pct_device *device, pcti_step *step)
{
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 2; i++) {
        const pcti_operand *operand = i ? &step->dst[0] : &step->src[0];
        pcti_cl_arg_operand(&args, operand);
        pcti_cl_arg_long(&args, operand->tensor.rank ? operand->tensor.strides[0] : 0);
    }
    pcti_cl_arg_index(&args, pcti_tensor_picture_elems(&step->src[0].tensor));
    return args.status;
}

static pct_status run_copy(pct_device *device, pcti_step *step)
{
    return pcti_operand_same(&step->src[0], &step->dst[0]) ? PCT_OK : pcti_cl_run(device, step);
}

const pcti_impl pcti_cl_impls_reorder[] = {
    {.name = "plain_to_blocked",
     .layout = PCTI_LAYOUT_PLAIN_BLOCKED,
     .accept = accept_to_blocked,
     .prepare = prepare_to_blocked,
     .bind = bind_layout,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "blocked_to_plain",
     .layout = PCTI_LAYOUT_BLOCKED_PLAIN,
     .accept = accept_to_plain,
     .prepare = prepare_to_plain,
     .bind = bind_layout,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "copy",
     .layout = PCTI_LAYOUT_SAME,
     .accept = accept_same_layout,
     .prepare = prepare_copy,
     .bind = bind_copy,
     .run = run_copy,
     .release = pcti_cl_release},
    {0},
};

const pcti_impl pcti_cl_impls_dropout[] = {
    {.name = "copy",
     .layout = PCTI_LAYOUT_SAME,
     .in_place = true,
     .accept = accept_same_layout,
     .prepare = prepare_copy,
     .bind = bind_copy,
     .run = run_copy,
     .release = pcti_cl_release},
    {0},
};
