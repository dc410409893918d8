/* Pooling over windows of the last two dimensions. */
#include <math.h>

#include "op/pool.h"

static const char *const kind_names[] = {"max", "average", NULL};
static const pcti_field pool2d_fields[] = {
    PCTI_ENUM(pct_pool2d_params, kind, kind_names),     PCTI_INTS(pct_pool2d_params, kernel, 2, 0, false),
    PCTI_INTS(pct_pool2d_params, stride, 2, 0, false),  PCTI_INTS(pct_pool2d_params, dilation, 2, 1, true),
    PCTI_INTS(pct_pool2d_params, pad, 4, 0, false),     PCTI_INT(pct_pool2d_params, ceil, 0, false),
    PCTI_INT(pct_pool2d_params, include_pad, 0, false), PCTI_INT(pct_pool2d_params, global, 0, false),
};
static const char *const pool2d_srcs[] = {"src"};
static const char *const axis_names[] = {"height", "width"};

static int64_t stride_of(const pct_pool2d_params *p, int axis)
{
    return p->stride[axis] ? p->stride[axis] : p->kernel[axis];
}

/* Parameters of one axis within limits that keep the arithmetic below far from overflow. */
static pct_status check_axis_params(const pct_pool2d_params *p, int axis)
{
    enum { LARGEST = 1 << 20 };
    int64_t before = p->pad[axis], after = p->pad[axis + 2];
    if (p->kernel[axis] < 1 || p->kernel[axis] > LARGEST)
        return pcti_fail(PCT_ERROR_SHAPE, "kernel %s is %lld, must be 1 to %d", axis_names[axis],
                         (long long)p->kernel[axis], LARGEST);
    if (p->stride[axis] < 0 || p->stride[axis] > LARGEST)
        return pcti_fail(PCT_ERROR_SHAPE, "stride %s is %lld, must be 0 (the kernel's size) to %d", axis_names[axis],
                         (long long)p->stride[axis], LARGEST);
    if (p->dilation[axis] < 1 || p->dilation[axis] > LARGEST)
        return pcti_fail(PCT_ERROR_SHAPE, "dilation %s is %lld, must be 1 to %d", axis_names[axis],
                         (long long)p->dilation[axis], LARGEST);
    int64_t extent = (p->kernel[axis] - 1) * p->dilation[axis] + 1;
    if (before < 0 || after < 0 || before >= extent || after >= extent)
        return pcti_fail(PCT_ERROR_SHAPE,
                         "pads %lld and %lld of %s must be at least 0 and less than the window, %lld",
                         (long long)before, (long long)after, axis_names[axis], (long long)extent);
    return PCT_OK;
}

static pct_status infer_axis(const pct_pool2d_params *p, int axis, const pct_shape *src, int64_t *out)
{
    int64_t size = src->dims[2 + axis];
    if (pcti_dim_is_symbol(size))
        return pcti_fail(PCT_ERROR_SHAPE, "src: %s has no value yet; only the batch can be left open",
                         axis_names[axis]);
    PCTI_RETURN_IF_FAILED(check_axis_params(p, axis));
    int64_t before = p->pad[axis], stride = stride_of(p, axis);
    int64_t extent = (p->kernel[axis] - 1) * p->dilation[axis] + 1;
    int64_t room = size + before + p->pad[axis + 2] - extent;
    /* With ceil the only window may stick out, as PyTorch has it. */
    if (size == 0 || room <= (p->ceil ? -stride : -1))
        return pcti_fail(PCT_ERROR_SHAPE, "src: %s %lld with pads %lld and %lld is smaller than the window, %lld",
                         axis_names[axis], (long long)size, (long long)before, (long long)p->pad[axis + 2],
                         (long long)extent);
    *out = room / stride + 1;
    if (p->ceil) {
        *out = pcti_ceil_div(room, stride) + 1;
        if ((*out - 1) * stride >= size + before) --*out; /* no window starts beyond the picture */
    }
    return PCT_OK;
}

static pct_status pool2d_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_pool2d_params *p = params;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 4, 4));
    *dst = src[0];
    for (int axis = 0; axis < 2; axis++) {
        if (!p->global)
            PCTI_RETURN_IF_FAILED(infer_axis(p, axis, src, &dst->dims[2 + axis]));
        else if (src[0].dims[2 + axis] == 0)
            return pcti_fail(PCT_ERROR_SHAPE, "src: %s is 0, there is nothing to pool", axis_names[axis]);
        else
            dst->dims[2 + axis] = 1;
    }
    return PCT_OK;
}

pcti_pool pcti_pool_of(const pcti_call *call)
{
    const pct_pool2d_params *p = call->params;
    pcti_pool pool = {
        .mean = p->kind == PCT_POOL_AVERAGE, .include_pad = p->include_pad != 0, .global = p->global != 0};
    for (int axis = 0; axis < 2; axis++) {
        pool.in[axis] = call->src[0].tensor.dims[2 + axis];
        pool.out[axis] = call->dst[0].tensor.dims[2 + axis];
        pool.kernel[axis] = pool.global ? pool.in[axis] : p->kernel[axis];
        pool.stride[axis] = pool.global ? 1 : stride_of(p, axis);
        pool.dilation[axis] = pool.global ? 1 : p->dilation[axis];
        pool.pad[axis] = pool.global ? 0 : p->pad[axis];
        pool.pad[axis + 2] = pool.global ? 0 : p->pad[axis + 2];
    }
    return pool;
}

static void pool2d_cost(const pcti_call *call, pcti_cost *cost)
{
    pcti_pool pool = pcti_pool_of(call);
    cost->flops = (double)pcti_tensor_elems(&call->dst[0].tensor) * (double)pool.kernel[0] * (double)pool.kernel[1];
}

static double pool_window(const pcti_pool *p, const double *plane, int64_t y, int64_t x)
{
    int64_t top = y * p->stride[0] - p->pad[0], left = x * p->stride[1] - p->pad[1], inside = 0, padded = 0;
    double most = -INFINITY, sum = 0;
    for (int64_t r = 0; r < p->kernel[0]; r++)
        for (int64_t s = 0; s < p->kernel[1]; s++) {
            int64_t iy = top + r * p->dilation[0], ix = left + s * p->dilation[1];
            if (iy < p->in[0] + p->pad[2] && ix < p->in[1] + p->pad[3]) padded++;
            if (iy < 0 || iy >= p->in[0] || ix < 0 || ix >= p->in[1]) continue;
            double value = plane[iy * p->in[1] + ix];
            inside++;
            sum += value;
            if (value > most || isnan(value)) most = value;
        }
    int64_t count = p->include_pad ? padded : inside;
    return !p->mean ? most : count ? sum / (double)count : 0;
}

static pct_status pool2d_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pcti_pool pool = pcti_pool_of(call);
    const int64_t *dims = call->src[0].tensor.dims;
    double *to = dst[0];
    for (int64_t plane = 0; plane < dims[0] * dims[1]; plane++)
        for (int64_t y = 0; y < pool.out[0]; y++)
            for (int64_t x = 0; x < pool.out[1]; x++)
                *to++ = pool_window(&pool, src[0] + plane * dims[2] * dims[3], y, x);
    return PCT_OK;
}

const pcti_op pcti_op_pool2d = {
    .name = "pool2d",
    .family = "pool",
    .summary = "maximum or mean over sliding windows, or over the whole picture",
    .params_bytes = sizeof(pct_pool2d_params),
    .fields = pool2d_fields,
    .n_fields = sizeof pool2d_fields / sizeof *pool2d_fields,
    .src_names = pool2d_srcs,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = pool2d_infer,
    .cost = pool2d_cost,
    .ref = pool2d_ref,
};
