/* Elementwise functions of one operand on OpenCL devices. */
#include <stdio.h>

#include "backend/cl/cl_backend.h"

static bool accept_floats(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

static bool accept_clip(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_unary_params *p = call->params;
    if (p->fn != PCT_UNARY_RELU && p->fn != PCT_UNARY_CLIP) return pcti_refuse(why, "only relu and clip");
    return accept_floats(call, device, why);
}

/* Padding channels of a blocked tensor hold zeros and must go on holding them. */
static bool has_padding_to_keep(const pcti_call *call)
{
    const pcti_tensor *x = &call->src[0].tensor;
    return x->channel_block > 1 && x->dims[1] % PCTI_BLOCK && pcti_unary_eval(call->params, 0) != 0;
}

static pct_status prepare(pct_device *device, pcti_step *step)
{
    const pct_unary_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor;
    const size_t items[] = {(size_t)pcti_tensor_picture_elems(x), (size_t)(x->rank ? x->dims[0] : 1)};
    char options[48];
    snprintf(options, sizeof options, "-DFN=fn_%s", step->call.op->fields[0].names[p->fn]);
    return pcti_cl_launch_add(device, step, "unary", options,
                              has_padding_to_keep(&step->call) ? "unary_padded" : "unary", 2, items, NULL);
}

static pct_status bind(pct_device *device, pcti_step *step)
{
    const pct_unary_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 2; i++) {
        const pcti_operand *operand = i ? &step->dst[0] : &step->src[0];
        pcti_cl_arg_operand(&args, operand);
        pcti_cl_arg_long(&args, operand->tensor.rank ? operand->tensor.strides[0] : 0);
    }
    pcti_cl_arg_index(&args, pcti_tensor_picture_elems(x));
    pcti_cl_arg_float(&args, p->alpha);
    pcti_cl_arg_float(&args, p->beta);
    if (has_padding_to_keep(&step->call)) {
        pcti_cl_arg_index(&args, x->strides[1]);
        pcti_cl_arg_int(&args, x->dims[1]);
    }
    return args.status;
}

const pcti_impl pcti_cl_impls_unary[] = {
    {.name = "clip",
     .layout = PCTI_LAYOUT_SAME,
     .accuracy = PCTI_ACCURACY_EXACT,
     .in_place = true,
     .accept = accept_clip,
     .prepare = prepare,
     .bind = bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "scalar",
     .layout = PCTI_LAYOUT_SAME,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .in_place = true,
     .accept = accept_floats,
     .prepare = prepare,
     .bind = bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
