/* The convolution implementations of OpenCL devices, best first; and the plain ones. */
#include "backend/cl/cl_conv.h"
#include "backend/cl/cl_pack.h"

/* ---- shared ---- */

pcti_cl_window pcti_cl_window_of(const pcti_call *call)
{
    const pct_conv2d_params *p = call->params;
    const int64_t *x = call->src[0].tensor.dims, *w = call->src[1].tensor.dims;
    pcti_cl_window window = {.in_h = (int)x[2],
                             .in_w = (int)x[3],
                             .kernel_h = (int)w[2],
                             .kernel_w = (int)w[3],
                             .stride_h = (int)p->stride[0],
                             .stride_w = (int)p->stride[1],
                             .dilation_h = (int)p->dilation[0],
                             .dilation_w = (int)p->dilation[1],
                             .pad_top = (int)p->pad[0],
                             .pad_left = (int)p->pad[1]};
    int64_t padded_h = x[2] + p->pad[0] + p->pad[2], padded_w = x[3] + p->pad[1] + p->pad[3];
    window.out_h = (int)((padded_h - (w[2] - 1) * p->dilation[0] - 1) / p->stride[0] + 1);
    window.out_w = (int)((padded_w - (w[3] - 1) * p->dilation[1] - 1) / p->stride[1] + 1);
    return window;
}

static bool picture_fits(const pcti_operand *operand)
{
    return pcti_tensor_picture_elems(&operand->tensor) <= INT32_MAX / 2 && operand->tensor.dims[0] <= INT32_MAX;
}

bool pcti_cl_conv_accept(const pcti_call *call, pcti_why *why)
{
    const pct_conv2d_params *p = call->params;
    pcti_activation act = pcti_call_post_act(call);
    for (int i = 0; i < call->n_src; i++) {
        bool computed = i == 0 || i == call->op->max_src + PCTI_FUSED_RESIDUAL;
        if (!pcti_call_src(call, i)) continue;
        if (call->src[i].tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type %s", pct_dtype_name(call->src[i].tensor.dtype));
        if (!computed && !call->src[i].constant) return pcti_refuse(why, "operand %d is not a constant", i);
    }
    if (!picture_fits(&call->src[0]) || !picture_fits(&call->dst[0])) return pcti_refuse(why, "pictures too large");
    for (int i = 0; i < 4; i++)
        if (p->pad[i] > INT32_MAX / 4 || p->dilation[i / 2] > INT32_MAX / 64)
            return pcti_refuse(why, "pads or dilation too large");
    if (call->src[1].tensor.dims[1] < 1) return pcti_refuse(why, "no channels");
    if (act.kind == PCTI_ACT_CLIP && call->dst[0].tensor.dims[1] % PCTI_BLOCK && !(act.low <= 0 && act.high >= 0))
        return pcti_refuse(why, "would fill padding channels");
    return true;
}

pct_status pcti_cl_conv_pack_vectors(pct_device *device, pcti_step *step)
{
    int max_src = step->call.op->max_src;
    if (step->call.n_src > 2) PCTI_RETURN_IF_FAILED(pcti_cl_pack_vector(device, &step->src[2]));
    for (int i = max_src; i < step->call.n_src && i < max_src + PCTI_FUSED_RESIDUAL; i++)
        PCTI_RETURN_IF_FAILED(pcti_cl_pack_vector(device, &step->src[i]));
    return PCT_OK;
}

void pcti_cl_arg_picture(pcti_cl_args *args, const pcti_operand *operand)
{
    pcti_cl_arg_operand(args, operand);
    pcti_cl_arg_long(args, operand ? operand->tensor.strides[0] : 0);
    pcti_cl_arg_index(args, operand ? operand->tensor.strides[1] : 0);
}

void pcti_cl_arg_window(pcti_cl_args *args, const pcti_cl_window *w)
{
    const int values[] = {w->kernel_h,   w->kernel_w,   w->stride_h, w->stride_w,
                          w->dilation_h, w->dilation_w, w->pad_top,  w->pad_left};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) pcti_cl_arg_int(args, values[i]);
}

/* ---- one item for each output ---- */

static bool plain_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i) && call->src[i].tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type of operand %d", i);
    if (pcti_call_src(call, 2) && !pcti_tensor_is_dense(&call->src[2].tensor))
        return pcti_refuse(why, "strided bias");
    return true;
}

static pct_status prepare_plain(pct_device *device, pcti_step *step, const char *kernel)
{
    const int64_t *y = step->dst[0].tensor.dims;
    const size_t items[] = {(size_t)(y[2] * y[3]), (size_t)y[1], (size_t)y[0]};
    return pcti_cl_launch_add(device, step, "conv2d", NULL, kernel, 3, items, NULL);
}

static pct_status plain_prepare(pct_device *device, pcti_step *step)
{
    return prepare_plain(device, step, "conv_plain");
}

static pct_status transpose_prepare(pct_device *device, pcti_step *step)
{
    return prepare_plain(device, step, "conv_transpose_plain");
}

static pct_status bind_plain(pct_device *device, pcti_step *step, const int64_t stride[2], const int64_t dilation[2],
                             const int64_t pad[2], int64_t channels, int64_t outputs_per_group)
{
    const int64_t *x = step->src[0].tensor.dims, *w = step->src[1].tensor.dims, *y = step->dst[0].tensor.dims;
    const int64_t numbers[] = {x[2],      x[3],        y[2],        y[3],   w[2],   w[3],     stride[0],
                               stride[1], dilation[0], dilation[1], pad[0], pad[1], channels, outputs_per_group};
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_picture(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->src[1]);
    pcti_cl_arg_long(&args, step->src[1].tensor.strides[0]);
    pcti_cl_arg_operand(&args, pcti_call_src(&step->call, 2));
    pcti_cl_arg_picture(&args, &step->dst[0]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) pcti_cl_arg_int(&args, numbers[i]);
    return args.status;
}

static pct_status plain_bind(pct_device *device, pcti_step *step)
{
    const pct_conv2d_params *p = step->call.params;
    const int64_t *w = step->src[1].tensor.dims;
    return bind_plain(device, step, p->stride, p->dilation, p->pad, w[1], w[0] / p->groups);
}

static pct_status transpose_bind(pct_device *device, pcti_step *step)
{
    const pct_conv_transpose2d_params *p = step->call.params;
    const int64_t *w = step->src[1].tensor.dims;
    return bind_plain(device, step, p->stride, p->dilation, p->pad, w[0] / p->groups, w[1]);
}

/* ---- lists ---- */

#define ROW(function)                                                                                                \
    .accept = function##_accept, .prepare = function##_prepare, .bind = function##_bind, .run = pcti_cl_run,         \
    .release = pcti_cl_release

const pcti_impl pcti_cl_impls_conv2d[] = {
    {.name = "first_layer",
     .layout = PCTI_LAYOUT_PLAIN_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     ROW(pcti_cl_first)},
    {.name = "depthwise_row",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     ROW(pcti_cl_depthwise_row)},
    {.name = "depthwise_item",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     ROW(pcti_cl_depthwise_item)},
    {.name = "tile_1x1",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL | PCTI_FUSE_PRE,
     .accept = pcti_cl_tile_1x1_accept,
     .prepare = pcti_cl_tile_prepare,
     .bind = pcti_cl_tile_bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "winograd_4x4_3x3",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_WINOGRAD,
     .large_packing = true,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL | PCTI_FUSE_POST_POOL,
     ROW(pcti_cl_winograd)},
    {.name = "tile",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL,
     ROW(pcti_cl_tile)},
    {.name = "local_128x128",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL | PCTI_FUSE_PRE,
     ROW(pcti_cl_local)},
    {.name = "local_64x64",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP | PCTI_FUSE_RESIDUAL | PCTI_FUSE_PRE,
     .accept = pcti_cl_local_small_accept,
     .prepare = pcti_cl_local_small_prepare,
     .bind = pcti_cl_local_bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {.name = "plain", .layout = PCTI_LAYOUT_PLAIN, .accuracy = PCTI_ACCURACY_SUM, ROW(plain)},
    {0},
};

const pcti_impl pcti_cl_impls_conv_transpose2d[] = {
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = plain_accept,
     .prepare = transpose_prepare,
     .bind = transpose_bind,
     .run = pcti_cl_run,
     .release = pcti_cl_release},
    {0},
};
