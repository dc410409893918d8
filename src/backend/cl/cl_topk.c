/* topk on OpenCL devices. */
#include "backend/cl/cl_axis.h"

static pcti_axis axis_of(const pcti_call *call, const pcti_operand *operand)
{
    return pcti_axis_of(&operand->tensor, ((const pct_topk_params *)call->params)->axis);
}

static bool accept_ranks(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

/* Ranks compare each with each, which takes a GPU milliseconds up to about 2^30 pairs. */
static bool accept_heap(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_axis a = axis_of(call, &call->src[0]);
    double pairs = (double)(a.outer * a.inner) * (double)a.extent * (double)a.extent;
    if (pcti_cl_wants_groups(device, a.outer * a.inner, a.extent) && pairs <= 0x1p30)
        return pcti_refuse(why, "few and long lines");
    return accept_ranks(call, device, why);
}

static pct_status prepare_heap(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call, &step->src[0]);
    const size_t items[] = {(size_t)(a.outer * a.inner)};
    return pcti_cl_launch_add(device, step, "topk", NULL, "topk_heap", 1, items, NULL);
}

static pct_status prepare_ranks(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call, &step->src[0]);
    const size_t items[] = {(size_t)a.extent, (size_t)(a.outer * a.inner)};
    return pcti_cl_launch_add(device, step, "topk", NULL, "topk_ranks", 2, items, NULL);
}

static pct_status bind(pct_device *device, pcti_step *step)
{
    const pcti_operand *const operands[] = {&step->src[0], &step->dst[0], &step->dst[1]};
    pcti_axis a = axis_of(&step->call, &step->src[0]);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 3; i++) {
        pcti_axis axis = axis_of(&step->call, operands[i]);
        pcti_cl_arg_axis(&args, operands[i], &axis);
    }
    pcti_cl_arg_index(&args, a.extent);
    pcti_cl_arg_index(&args, a.inner);
    pcti_cl_arg_index(&args, ((const pct_topk_params *)step->call.params)->k);
    pcti_cl_arg_index(&args, a.outer * a.inner);
    return args.status;
}

const pcti_impl pcti_cl_impls_topk[] = {
    {.name = "heap",
     .layout = PCTI_LAYOUT_PLAIN,
     .accept = accept_heap,
     .prepare = prepare_heap,
     .bind = bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "ranks",
     .layout = PCTI_LAYOUT_PLAIN,
     .accept = accept_ranks,
     .prepare = prepare_ranks,
     .bind = bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
