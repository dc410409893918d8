/* Functions of two operands on OpenCL devices. */
#include <stdio.h>

#include "backend/cl/cl_backend.h"
#include "op/binary.h"

static pct_binary_fn fn_of(const pcti_call *call)
{
    return (pct_binary_fn)((const pct_binary_params *)call->params)->fn;
}

/* Division and powers may be off by some ulps, the rest is rounded once. */
static bool is_rough(const pcti_call *call)
{
    return fn_of(call) == PCT_BINARY_DIV || fn_of(call) == PCT_BINARY_POW;
}

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

/* Padding channels hold zeros and must go on holding them. */
static bool accept_padding(const pcti_call *call, pcti_why *why)
{
    const pcti_tensor *dst = &call->dst[0].tensor;
    pcti_activation act = pcti_call_post_act(call);
    if (dst->channel_block == 1 || dst->dims[1] % PCTI_BLOCK == 0) return true;
    return pcti_activation_eval(&act, 0) == 0 || pcti_refuse(why, "would fill padding channels");
}

static int64_t picture_stride(const pcti_operand *operand)
{
    return operand->tensor.rank ? operand->tensor.strides[0] : 0;
}

static void arg_picture(pcti_cl_args *args, const pcti_operand *operand)
{
    pcti_cl_arg_operand(args, operand);
    pcti_cl_arg_long(args, picture_stride(operand));
}

static void arg_clip(pcti_cl_args *args, const pcti_step *step)
{
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_cl_arg_clip(args, &act);
}

static pct_status add_launch(pct_device *device, pcti_step *step, const char *kernel, const char *more, int64_t elems,
                             int64_t pictures)
{
    char options[64];
    const size_t items[] = {(size_t)elems, (size_t)pictures};
    snprintf(options, sizeof options, "-DFN=fn_%s%s", step->call.op->fields[0].names[fn_of(&step->call)], more);
    return pcti_cl_launch_add(device, step, "binary", options, kernel, 2, items, NULL);
}

/* ---- two operands of one shape ---- */

static bool accept_same_shape(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_shape a = pcti_tensor_shape(&call->src[0].tensor), b = pcti_tensor_shape(&call->src[1].tensor);
    if (is_rough(call)) return pcti_refuse(why, "div or pow");
    if (!pcti_shape_equal(&a, &b)) return pcti_refuse(why, "shapes differ");
    if (call->src[0].tensor.channel_block != call->src[1].tensor.channel_block)
        return pcti_refuse(why, "layouts differ");
    return accept_float(call, why) && accept_padding(call, why);
}

/* Pictures and their elements; all as one piece where nothing lies between. */
static void pieces(const pcti_step *step, int64_t *pictures, int64_t *elems)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    *pictures = d->rank ? d->dims[0] : 1;
    *elems = pcti_tensor_picture_elems(d);
    if (!pcti_tensor_is_dense(&step->src[0].tensor) || !pcti_tensor_is_dense(&step->src[1].tensor)) return;
    if (!pcti_tensor_is_dense(d) || *pictures * *elems > INT32_MAX) return;
    *elems *= *pictures;
    *pictures = 1;
}

static pct_status prepare_same_shape(pct_device *device, pcti_step *step)
{
    int64_t pictures, elems;
    pieces(step, &pictures, &elems);
    return add_launch(device, step, "same_shape", "", elems, pictures);
}

static pct_status bind_same_shape(pct_device *device, pcti_step *step)
{
    int64_t pictures, elems;
    pieces(step, &pictures, &elems);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    arg_picture(&args, &step->src[1]);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_index(&args, elems);
    arg_clip(&args, step);
    return args.status;
}

/* ---- one operand by channel ---- */

static bool accept_channel(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_by_channel by;
    if (is_rough(call)) return pcti_refuse(why, "div or pow");
    return accept_float(call, why) && pcti_binary_by_channel(call, &by, why) && accept_padding(call, why);
}

static int width_of(const pct_device *device)
{
    return pcti_cl_is_cpu(device) ? PCTI_BLOCK : 1;
}

static int64_t items_of(const pct_device *device, const pcti_tensor *x)
{
    return pcti_tensor_picture_elems(x) / width_of(device);
}

static pct_status prepare_channel(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    pcti_by_channel by;
    pcti_why why;
    char more[32];
    pcti_binary_by_channel(&step->call, &by, &why);
    if (by.narrow_is_constant) PCTI_RETURN_IF_FAILED(pcti_pack_channels(device, step, by.narrow, d->dims[1], 0));
    snprintf(more, sizeof more, " -DWIDTH=%d%s", width_of(device), by.wide ? " -DSWAP" : "");
    return add_launch(device, step, "channel", more, items_of(device, d), d->dims[0]);
}

static pct_status bind_channel(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    pcti_by_channel by;
    pcti_why why;
    pcti_binary_by_channel(&step->call, &by, &why);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[by.wide]);
    pcti_cl_arg_operand(&args, &step->src[by.narrow]);
    pcti_cl_arg_long(&args, by.narrow_picture ? step->src[by.narrow].tensor.strides[0] : 0);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_index(&args, d->strides[1]);
    pcti_cl_arg_index(&args, items_of(device, d));
    arg_clip(&args, step);
    return args.status;
}

/* ---- any broadcast, plain ---- */

static bool accept_broadcast(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (is_rough(call)) return pcti_refuse(why, "div or pow");
    return accept_float(call, why);
}

static bool accept_rough(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (!is_rough(call)) return pcti_refuse(why, "only div and pow");
    return accept_float(call, why);
}

static pct_status prepare_broadcast(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    char more[24];
    snprintf(more, sizeof more, " -DRANK=%d", (int)d->rank);
    return add_launch(device, step, "broadcasting", more, pcti_tensor_elems(d), 1);
}

/* `index8_t` */
static void arg_indexes(pcti_cl_args *args, const int64_t values[PCT_MAX_RANK])
{
    cl_long8 wide;
    cl_int8 narrow;
    for (int i = 0; i < PCT_MAX_RANK; i++) {
        wide.s[i] = values[i];
        narrow.s[i] = (cl_int)values[i];
    }
    if (args->status != PCT_OK) return;
    args->status = pcti_cl_kernel_set(args->kernel, args->next++, args->wide ? sizeof wide : sizeof narrow,
                                      args->wide ? (const void *)&wide : &narrow);
}

/* An operand's strides over the result's dimensions; 0 where it is repeated. */
static void arg_strides(pcti_cl_args *args, const pcti_tensor *operand, int rank)
{
    int64_t strides[PCT_MAX_RANK] = {0};
    int missing = rank - operand->rank;
    for (int own = 0; own < operand->rank; own++)
        if (operand->dims[own] != 1) strides[own + missing] = operand->strides[own];
    arg_indexes(args, strides);
}

static pct_status bind_broadcast(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    const pcti_operand *const operands[] = {&step->src[0], &step->src[1], &step->dst[0]};
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 3; i++) {
        pcti_cl_arg_operand(&args, operands[i]);
        arg_strides(&args, &operands[i]->tensor, d->rank);
    }
    arg_indexes(&args, d->dims);
    pcti_cl_arg_index(&args, pcti_tensor_elems(d));
    arg_clip(&args, step);
    return args.status;
}

#define ROW(name) .prepare = prepare_##name, .bind = bind_##name, .run = pcti_cl_run, .release = pcti_cl_release

const pcti_impl pcti_cl_impls_binary[] = {
    {.name = "same_shape",
     .layout = PCTI_LAYOUT_SAME,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_same_shape,
     ROW(same_shape)},
    {.name = "channel",
     .layout = PCTI_LAYOUT_BLOCKED,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_channel,
     ROW(channel)},
    {.name = "broadcast", .fusions = PCTI_FUSE_CLIP, .in_place = true, .accept = accept_broadcast, ROW(broadcast)},
    {.name = "rough",
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_rough,
     ROW(broadcast)},
    {0},
};

/* ---- prelu ---- */

static bool accept_prelu_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.rank != 4) return pcti_refuse(why, "no picture");
    if (!call->src[1].constant) return pcti_refuse(why, "slope is computed by the run");
    return accept_float(call, why);
}

static bool accept_prelu(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_float(call, why);
}

static pct_status prepare_prelu_blocked(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    const size_t items[] = {(size_t)items_of(device, d), (size_t)d->dims[0]};
    char options[24];
    PCTI_RETURN_IF_FAILED(pcti_pack_channels(device, step, 1, d->dims[1], 0));
    snprintf(options, sizeof options, "-DWIDTH=%d", width_of(device));
    return pcti_cl_launch_add(device, step, "binary", options, "prelu_blocked", 2, items, NULL);
}

static pct_status bind_prelu_blocked(pct_device *device, pcti_step *step)
{
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_index(&args, step->dst[0].tensor.strides[1]);
    pcti_cl_arg_index(&args, items_of(device, &step->dst[0].tensor));
    return args.status;
}

static pct_status prepare_prelu_plain(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    const size_t items[] = {(size_t)pcti_tensor_picture_elems(d), (size_t)(d->rank ? d->dims[0] : 1)};
    return pcti_cl_launch_add(device, step, "binary", NULL, "prelu_plain", 2, items, NULL);
}

static pct_status bind_prelu_plain(pct_device *device, pcti_step *step)
{
    const pcti_tensor *d = &step->dst[0].tensor, *slope = &step->src[1].tensor;
    int64_t plane = 1, stride = 1;
    for (int i = 2; i < d->rank; i++) plane *= d->dims[i];
    if (pcti_tensor_elems(slope) == 1)
        stride = 0;
    else if (slope->dims[0] > 1)
        stride = slope->strides[0];
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_long(&args, stride);
    arg_picture(&args, &step->dst[0]);
    pcti_cl_arg_index(&args, plane);
    pcti_cl_arg_index(&args, pcti_tensor_picture_elems(d));
    return args.status;
}

const pcti_impl pcti_cl_impls_prelu[] = {
    {.name = "blocked",
     .layout = PCTI_LAYOUT_BLOCKED,
     .in_place = true,
     .accept = accept_prelu_blocked,
     ROW(prelu_blocked)},
    {.name = "plain", .in_place = true, .accept = accept_prelu, ROW(prelu_plain)},
    {0},
};
