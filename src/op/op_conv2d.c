/* Convolution and its adjoint. */
#include <string.h>

#include "base/memory.h"
#include "op/op.h"

static const char *const conv_srcs[] = {"src", "wei", "bias"};

static const pcti_field conv_fields[] = {
    PCTI_INTS(pct_conv2d_params, stride, 2, 1, true),
    PCTI_INTS(pct_conv2d_params, dilation, 2, 1, true),
    PCTI_INTS(pct_conv2d_params, pad, 4, 0, false),
    PCTI_INT(pct_conv2d_params, groups, 1, true),
};

static pct_status check_positive(const char *name, const int64_t *values, int count, int64_t least)
{
    for (int i = 0; i < count; i++)
        if (values[i] < least || values[i] > INT32_MAX)
            return pcti_fail(PCT_ERROR_SHAPE, "%s is %lld, must be at least %lld", name, (long long)values[i], (long long)least);
    return PCT_OK;
}

static pct_status check_bias(const pct_shape *src, int n_src, int64_t outputs)
{
    if (n_src < 3 || src[2].rank == PCTI_ABSENT) return PCT_OK;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("bias", &src[2], 1, 1));
    return pcti_check_dim("bias", &src[2], 0, outputs);
}

static pct_status conv2d_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_conv2d_params *p = params;
    const pct_shape *x = &src[0], *w = &src[1];
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", x, 4, 4));
    PCTI_RETURN_IF_FAILED(pcti_check_rank("wei", w, 4, 4));
    PCTI_RETURN_IF_FAILED(check_positive("stride", p->stride, 2, 1));
    PCTI_RETURN_IF_FAILED(check_positive("dilation", p->dilation, 2, 1));
    PCTI_RETURN_IF_FAILED(check_positive("pad", p->pad, 4, 0));
    PCTI_RETURN_IF_FAILED(check_positive("groups", &p->groups, 1, 1));
    if (x->dims[1] % p->groups || w->dims[0] % p->groups)
        return pcti_fail(PCT_ERROR_SHAPE, "groups=%lld divides neither or only one of %lld input and %lld output channels",
                         (long long)p->groups, (long long)x->dims[1], (long long)w->dims[0]);
    PCTI_RETURN_IF_FAILED(pcti_check_dim("wei", w, 1, x->dims[1] / p->groups));
    PCTI_RETURN_IF_FAILED(check_bias(src, n_src, w->dims[0]));
    *dst = (pct_shape){.dtype = x->dtype, .rank = 4, .dims = {x->dims[0], w->dims[0]}};
    for (int d = 0; d < 2; d++) {
        int64_t window = (w->dims[2 + d] - 1) * p->dilation[d] + 1;
        int64_t padded = x->dims[2 + d] + p->pad[d] + p->pad[2 + d];
        if (pcti_dim_is_symbol(x->dims[2 + d]))
            return pcti_fail(PCT_ERROR_SHAPE, "src: height and width must be numbers");
        if (w->dims[2 + d] < 1 || padded < window)
            return pcti_fail(PCT_ERROR_SHAPE, "src's %s %lld with pads %lld and %lld is smaller than the window of %lld",
                             d ? "width" : "height", (long long)x->dims[2 + d], (long long)p->pad[d], (long long)p->pad[2 + d],
                             (long long)window);
        dst->dims[2 + d] = (padded - window) / p->stride[d] + 1;
    }
    return PCT_OK;
}

static void conv2d_cost(const pcti_call *call, pcti_cost *cost)
{
    const pcti_tensor *w = &call->src[1].tensor, *y = &call->dst[0].tensor;
    double positions = (double)(y->dims[0] * y->dims[2] * y->dims[3]);
    if (call->fusion && call->fusion->post_max_pool) positions *= 4;
    cost->flops = 2 * positions * (double)pcti_tensor_elems(w);
}

/* One output plane: for each weight one row operation, so that the compiler can use vectors. */
static void conv_plane(const pct_conv2d_params *p, const pcti_tensor *x, const pcti_tensor *w, const pcti_tensor *y, const double *src,
                       const double *wei, double bias, double *dst)
{
    int64_t height = x->dims[2], width = x->dims[3], out_h = y->dims[2], out_w = y->dims[3], kernel_w = w->dims[3];
    for (int64_t i = 0; i < out_h * out_w; i++) dst[i] = bias;
    for (int64_t c = 0; c < w->dims[1]; c++)
        for (int64_t t = 0; t < w->dims[2] * kernel_w; t++) {
            double weight = wei[c * w->dims[2] * kernel_w + t];
            int64_t dx = t % kernel_w * p->dilation[1] - p->pad[1];
            int64_t first = dx >= 0 ? 0 : pcti_ceil_div(-dx, p->stride[1]);
            int64_t end = width - dx <= 0 ? 0 : pcti_min(out_w, (width - dx - 1) / p->stride[1] + 1);
            for (int64_t oy = 0; oy < out_h; oy++) {
                int64_t iy = oy * p->stride[0] + t / kernel_w * p->dilation[0] - p->pad[0];
                if (iy < 0 || iy >= height) continue;
                const double *row = src + (c * height + iy) * width + dx;
                double *out = dst + oy * out_w;
                if (p->stride[1] == 1)
                    for (int64_t ox = first; ox < end; ox++) out[ox] += weight * row[ox];
                else
                    for (int64_t ox = first; ox < end; ox++) out[ox] += weight * row[ox * p->stride[1]];
            }
        }
}

static pct_status conv2d_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_conv2d_params *p = call->params;
    const pcti_tensor *x = &call->src[0].tensor, *w = &call->src[1].tensor, *y = &call->dst[0].tensor;
    const double *bias = pcti_call_src(call, 2) ? src[2] : NULL;
    int64_t outputs = w->dims[0], per_group = outputs / p->groups, in_plane = x->dims[2] * x->dims[3];
    int64_t wei_size = w->dims[1] * w->dims[2] * w->dims[3], planes = x->dims[0] * outputs;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < planes; i++) {
        int64_t n = i / outputs, k = i % outputs, first_channel = k / per_group * w->dims[1];
        conv_plane(p, x, w, y, src[0] + (n * x->dims[1] + first_channel) * in_plane, src[1] + k * wei_size, bias ? bias[k] : 0,
                   dst[0] + i * y->dims[2] * y->dims[3]);
    }
    return PCT_OK;
}

const pcti_op pcti_op_conv2d = {
    .name = "conv2d",
    .family = "conv2d",
    .summary = "sliding weighted sums over pictures; groups, dilation, stride, asymmetric pads",
    .params_bytes = sizeof(pct_conv2d_params),
    .fields = conv_fields,
    .n_fields = sizeof conv_fields / sizeof *conv_fields,
    .src_names = conv_srcs,
    .min_src = 2,
    .max_src = 3,
    .n_dst = 1,
    .infer = conv2d_infer,
    .cost = conv2d_cost,
    .ref = conv2d_ref,
};

/* ---- the adjoint ---- */

static const pcti_field transpose_fields[] = {
    PCTI_INTS(pct_conv_transpose2d_params, stride, 2, 1, true),
    PCTI_INTS(pct_conv_transpose2d_params, dilation, 2, 1, true),
    PCTI_INTS(pct_conv_transpose2d_params, pad, 4, 0, false),
    PCTI_INT(pct_conv_transpose2d_params, groups, 1, true),
    PCTI_INTS(pct_conv_transpose2d_params, output_pad, 2, 0, false),
};

static pct_status conv_transpose2d_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_conv_transpose2d_params *p = params;
    const pct_shape *x = &src[0], *w = &src[1];
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", x, 4, 4));
    PCTI_RETURN_IF_FAILED(pcti_check_rank("wei", w, 4, 4));
    PCTI_RETURN_IF_FAILED(check_positive("stride", p->stride, 2, 1));
    PCTI_RETURN_IF_FAILED(check_positive("dilation", p->dilation, 2, 1));
    PCTI_RETURN_IF_FAILED(check_positive("pad", p->pad, 4, 0));
    PCTI_RETURN_IF_FAILED(check_positive("output_pad", p->output_pad, 2, 0));
    PCTI_RETURN_IF_FAILED(check_positive("groups", &p->groups, 1, 1));
    PCTI_RETURN_IF_FAILED(pcti_check_dim("wei", w, 0, x->dims[1]));
    if (x->dims[1] % p->groups)
        return pcti_fail(PCT_ERROR_SHAPE, "groups=%lld does not divide src's %lld channels", (long long)p->groups, (long long)x->dims[1]);
    int64_t outputs = w->dims[1] * p->groups;
    PCTI_RETURN_IF_FAILED(check_bias(src, n_src, outputs));
    *dst = (pct_shape){.dtype = x->dtype, .rank = 4, .dims = {x->dims[0], outputs}};
    for (int d = 0; d < 2; d++) {
        if (pcti_dim_is_symbol(x->dims[2 + d])) return pcti_fail(PCT_ERROR_SHAPE, "src: height and width must be numbers");
        if (p->output_pad[d] >= pcti_max(p->stride[d], p->dilation[d]))
            return pcti_fail(PCT_ERROR_SHAPE, "output_pad %lld must be smaller than stride or dilation", (long long)p->output_pad[d]);
        dst->dims[2 + d] = (x->dims[2 + d] - 1) * p->stride[d] - p->pad[d] - p->pad[2 + d] + p->dilation[d] * (w->dims[2 + d] - 1) +
                           1 + p->output_pad[d];
        if (x->dims[2 + d] < 1 || w->dims[2 + d] < 1 || dst->dims[2 + d] < 1)
            return pcti_fail(PCT_ERROR_SHAPE, "nothing is left of %s %lld", d ? "width" : "height", (long long)x->dims[2 + d]);
    }
    return PCT_OK;
}

static void conv_transpose2d_cost(const pcti_call *call, pcti_cost *cost)
{
    const pcti_tensor *x = &call->src[0].tensor;
    cost->flops = 2 * (double)(x->dims[0] * x->dims[2] * x->dims[3]) * (double)pcti_tensor_elems(&call->src[1].tensor);
}

static pct_status conv_transpose2d_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_conv_transpose2d_params *p = call->params;
    const pcti_tensor *x = &call->src[0].tensor, *w = &call->src[1].tensor, *y = &call->dst[0].tensor;
    const double *bias = pcti_call_src(call, 2) ? src[2] : NULL;
    int64_t outputs = y->dims[1], out_plane = y->dims[2] * y->dims[3], in_channels = x->dims[1] / p->groups;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < x->dims[0] * outputs; i++) {
        int64_t n = i / outputs, k = i % outputs, group = k / w->dims[1];
        double *out = dst[0] + i * out_plane;
        for (int64_t j = 0; j < out_plane; j++) out[j] = bias ? bias[k] : 0;
        for (int64_t c = group * in_channels; c < (group + 1) * in_channels; c++)
            for (int64_t t = 0; t < w->dims[2] * w->dims[3]; t++) {
                double weight = src[1][(c * w->dims[1] + k % w->dims[1]) * w->dims[2] * w->dims[3] + t];
                for (int64_t iy = 0; iy < x->dims[2]; iy++) {
                    int64_t oy = iy * p->stride[0] - p->pad[0] + t / w->dims[3] * p->dilation[0];
                    if (oy < 0 || oy >= y->dims[2]) continue;
                    for (int64_t ix = 0; ix < x->dims[3]; ix++) {
                        int64_t ox = ix * p->stride[1] - p->pad[1] + t % w->dims[3] * p->dilation[1];
                        if (ox < 0 || ox >= y->dims[3]) continue;
                        out[oy * y->dims[3] + ox] += weight * src[0][((n * x->dims[1] + c) * x->dims[2] + iy) * x->dims[3] + ix];
                    }
                }
            }
    }
    return PCT_OK;
}

const pcti_op pcti_op_conv_transpose2d = {
    .name = "conv_transpose2d",
    .family = "conv2d",
    .summary = "the adjoint of conv2d, for upsampling",
    .params_bytes = sizeof(pct_conv_transpose2d_params),
    .fields = transpose_fields,
    .n_fields = sizeof transpose_fields / sizeof *transpose_fields,
    .src_names = conv_srcs,
    .min_src = 2,
    .max_src = 3,
    .n_dst = 1,
    .infer = conv_transpose2d_infer,
    .cost = conv_transpose2d_cost,
    .ref = conv_transpose2d_ref,
};
