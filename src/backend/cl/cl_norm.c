/* Normalisations on OpenCL devices. */
#include <stdio.h>

#include "backend/cl/cl_backend.h"
#include "op/norm.h"

static bool accept_float(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++) {
        const pcti_operand *operand = pcti_call_src(call, i);
        if (operand && operand->tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type %s", pct_dtype_name(operand->tensor.dtype));
    }
    return true;
}

/* Elements of one plane: a channel, or a block of channels. */
static int64_t plane_elems(const pcti_tensor *x)
{
    int64_t elems = x->channel_block;
    for (int d = 2; d < x->rank; d++) elems *= x->dims[d];
    return elems;
}

static void arg_picture(pcti_cl_args *args, const pcti_operand *operand)
{
    pcti_cl_arg_operand(args, operand);
    pcti_cl_arg_long(args, operand->tensor.strides[0]);
}

/* One item for each element of the pictures. */
static pct_status add_launch(pct_device *device, pcti_step *step, const char *kernel)
{
    const pcti_tensor *x = &step->src[0].tensor;
    const size_t items[] = {(size_t)pcti_tensor_picture_elems(x), (size_t)x->dims[0]};
    return pcti_cl_launch_add(device, step, "norm", NULL, kernel, 2, items, NULL);
}

/* ---- batch_norm ---- */

static bool accept_affine(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pcti_tensor *src = &call->src[0].tensor;
    pcti_activation act = pcti_call_post_act(call);
    if (src->channel_block > 1 && src->dims[1] % PCTI_BLOCK && pcti_activation_eval(&act, 0) != 0)
        return pcti_refuse(why, "clip would fill padding channels");
    return accept_float(call, device, why) && pcti_batch_norm_is_constant(call, why);
}

static int affine_width(const pct_device *device, const pcti_tensor *x)
{
    return x->channel_block > 1 && pcti_cl_is_cpu(device) ? x->channel_block : 1;
}

static pct_status prepare_affine(pct_device *device, pcti_step *step)
{
    const pcti_tensor *x = &step->src[0].tensor;
    int width = affine_width(device, x);
    char options[48];
    const size_t items[] = {(size_t)(pcti_tensor_picture_elems(x) / width), (size_t)x->dims[0]};
    PCTI_RETURN_IF_FAILED(pcti_batch_norm_pack(device, step));
    snprintf(options, sizeof options, "-DLANES=%d -DWIDTH=%d", (int)x->channel_block, width);
    return pcti_cl_launch_add(device, step, "norm", options, "affine", 2, items, NULL);
}

static pct_status bind_affine(pct_device *device, pcti_step *step)
{
    const pcti_tensor *x = &step->src[0].tensor;
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_int(&args, pcti_round_up(x->dims[1], PCTI_BLOCK));
    pcti_cl_arg_index(&args, plane_elems(x));
    pcti_cl_arg_index(&args, pcti_tensor_picture_elems(x) / affine_width(device, x));
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

static pct_status prepare_batch_norm(pct_device *device, pcti_step *step)
{
    return add_launch(device, step, "batch_norm");
}

static pct_status bind_batch_norm(pct_device *device, pcti_step *step)
{
    const pcti_tensor *x = &step->src[0].tensor;
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    for (int i = 1; i < 5; i++) pcti_cl_arg_operand(&args, &step->src[i]);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_index(&args, plane_elems(x));
    pcti_cl_arg_index(&args, pcti_tensor_picture_elems(x));
    pcti_cl_arg_float(&args, ((const pct_batch_norm_params *)step->call.params)->epsilon);
    pcti_cl_arg_clip(&args, &act);
    return args.status;
}

const pcti_impl pcti_cl_impls_batch_norm[] = {
    {.name = "affine",
     .layout = PCTI_LAYOUT_SAME,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_affine,
     .prepare = prepare_affine,
     .bind = bind_affine,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_float,
     .prepare = prepare_batch_norm,
     .bind = bind_batch_norm,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};

/* ---- layer_norm ---- */

static pct_status prepare_layer_norm(pct_device *device, pcti_step *step)
{
    const size_t items[] = {(size_t)pcti_layer_norm_rows(&step->call).rows};
    return pcti_cl_launch_add(device, step, "norm", NULL, "layer_norm", 1, items, NULL);
}

static pct_status bind_layer_norm(pct_device *device, pcti_step *step)
{
    const pct_layer_norm_params *p = step->call.params;
    pcti_layer_rows rows = pcti_layer_norm_rows(&step->call);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    pcti_cl_arg_long(&args, step->src[0].tensor.strides[rows.axis]);
    for (int i = 1; i < 3; i++) {
        const pcti_operand *operand = pcti_call_src(&step->call, i);
        pcti_cl_arg_operand(&args, operand);
        pcti_cl_arg_long(&args, operand ? operand->tensor.strides[0] : 0);
    }
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_long(&args, step->dst[0].tensor.strides[rows.axis]);
    pcti_cl_arg_index(&args, rows.rows);
    pcti_cl_arg_index(&args, rows.rows_of_picture);
    pcti_cl_arg_index(&args, rows.runs);
    pcti_cl_arg_index(&args, rows.length);
    pcti_cl_arg_float(&args, p->epsilon);
    return args.status;
}

const pcti_impl pcti_cl_impls_layer_norm[] = {
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .in_place = true,
     .accept = accept_float,
     .prepare = prepare_layer_norm,
     .bind = bind_layer_norm,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};

/* ---- lrn ---- */

static pct_status prepare_lrn(pct_device *device, pcti_step *step)
{
    return add_launch(device, step, "lrn");
}

static pct_status bind_lrn(pct_device *device, pcti_step *step)
{
    const pct_lrn_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor;
    int64_t below = (p->size - 1) / 2;
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_int(&args, x->dims[1]);
    pcti_cl_arg_index(&args, plane_elems(x));
    pcti_cl_arg_int(&args, below);
    pcti_cl_arg_int(&args, p->size - 1 - below);
    pcti_cl_arg_float(&args, p->alpha / (double)p->size);
    pcti_cl_arg_float(&args, p->beta);
    pcti_cl_arg_float(&args, p->bias);
    return args.status;
}

const pcti_impl pcti_cl_impls_lrn[] = {
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .accept = accept_float,
     .prepare = prepare_lrn,
     .bind = bind_lrn,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
