/* Softmax on OpenCL devices. */
#include "backend/cl/cl_axis.h"

static pcti_axis axis_of(const pcti_call *call, const pcti_operand *operand)
{
    return pcti_axis_of(&operand->tensor, ((const pct_softmax_params *)call->params)->axis);
}

static bool accept_groups(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

static bool accept_items(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_axis a = axis_of(call, &call->src[0]);
    if (pcti_cl_wants_groups(device, a.outer * a.inner, a.extent)) return pcti_refuse(why, "few and long lines");
    return accept_groups(call, device, why);
}

static const char *options_of(const pcti_step *step)
{
    return ((const pct_softmax_params *)step->call.params)->log ? "-DLOG=1" : "-DLOG=0";
}

static pct_status prepare_items(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call, &step->src[0]);
    const size_t items[] = {(size_t)(a.outer * a.inner)};
    return pcti_cl_launch_add(device, step, "softmax", options_of(step), "softmax_items", 1, items, NULL);
}

static pct_status prepare_groups(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call, &step->src[0]);
    const size_t items[] = {1, (size_t)(a.outer * a.inner)};
    return pcti_cl_launch_add(device, step, "softmax", options_of(step), "softmax_groups", 2, items, NULL);
}

static pcti_cl_args bind_tensors(pct_device *device, const pcti_step *step)
{
    pcti_axis s = axis_of(&step->call, &step->src[0]), d = axis_of(&step->call, &step->dst[0]);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_axis(&args, &step->src[0], &s);
    pcti_cl_arg_axis(&args, &step->dst[0], &d);
    pcti_cl_arg_index(&args, s.extent);
    pcti_cl_arg_index(&args, s.inner);
    return args;
}

static pct_status bind_items(pct_device *device, pcti_step *step)
{
    pcti_axis a = axis_of(&step->call, &step->src[0]);
    pcti_cl_args args = bind_tensors(device, step);
    pcti_cl_arg_index(&args, a.outer * a.inner);
    return args.status;
}

static pct_status bind_groups(pct_device *device, pcti_step *step)
{
    pcti_cl_args args = bind_tensors(device, step);
    pcti_cl_arg_local(&args, pcti_cl_launch_group(step, 0)[0] * sizeof(cl_float));
    return args.status;
}

const pcti_impl pcti_cl_impls_softmax[] = {
    {.name = "items",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .in_place = true,
     .accept = accept_items,
     .prepare = prepare_items,
     .bind = bind_items,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "groups",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .in_place = true,
     .accept = accept_groups,
     .prepare = prepare_groups,
     .bind = bind_groups,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
