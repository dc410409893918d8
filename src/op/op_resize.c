/* Pictures at another size: nearest or linear, with ONNX's ways to map coordinates. */
#include "op/resize.h"

#include <math.h>

static const char *const modes[] = {"nearest", "linear", NULL};
static const char *const coords[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", NULL};
static const char *const rounds[] = {"prefer_floor", "prefer_ceil", "floor", "ceil", NULL};
static const pcti_field fields[] = {
    PCTI_ENUM(pct_resize_params, mode, modes),          PCTI_ENUM(pct_resize_params, coords, coords),
    PCTI_ENUM(pct_resize_params, round, rounds),        PCTI_INTS(pct_resize_params, size, 2, 0, false),
    PCTI_FLOATS(pct_resize_params, scale, 2, 0, false),
};
static const char *const src_names[] = {"src"};

static pct_status resize_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_resize_params *p = params;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", src, 2, PCT_MAX_RANK));
    bool by_size = p->size[0] > 0 && p->size[1] > 0, by_scale = p->scale[0] > 0 && p->scale[1] > 0;
    bool no_size = p->size[0] == 0 && p->size[1] == 0, no_scale = p->scale[0] == 0 && p->scale[1] == 0;
    if (!(by_size && no_scale) && !(by_scale && no_size))
        return pcti_fail(
            PCT_ERROR_ARGUMENT,
            "either size or scale must be given, both numbers positive, not size %lldx%lld and scale %gx%g",
            (long long)p->size[0], (long long)p->size[1], p->scale[0], p->scale[1]);
    *dst = src[0];
    for (int i = 0; i < 2; i++) {
        int d = src->rank - 2 + i;
        if (pcti_dim_is_symbol(src->dims[d]))
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d has no value yet and cannot be resized", d);
        double wanted = by_size ? (double)p->size[i] : floor((double)src->dims[d] * p->scale[i]);
        if (wanted > INT32_MAX || src->dims[d] > INT32_MAX)
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d would have %.0f elements, too many", d, wanted);
        if (wanted > 0 && src->dims[d] == 0)
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d is empty and cannot become %.0f", d, wanted);
        dst->dims[d] = (int64_t)wanted;
    }
    return PCT_OK;
}

/* Where an output index lies among the inputs. With a scale, the scale itself counts, not the quotient of the
 * lengths. */
static double coordinate(const pct_resize_params *p, int dim, int64_t n_in, int64_t n_out, int64_t at)
{
    double scale = p->scale[dim], x = (double)at, in = (double)n_in, out = (double)n_out;
    switch ((pct_resize_coords)p->coords) {
    case PCT_COORDS_ALIGN_CORNERS:
        return n_out > 1 ? x * (in - 1) / (out - 1) : 0;
    case PCT_COORDS_ASYMMETRIC:
        return scale > 0 ? x / scale : x * in / out;
    case PCT_COORDS_PYTORCH_HALF_PIXEL:
        if (n_out <= 1) return 0;
        break;
    case PCT_COORDS_HALF_PIXEL:
        break;
    }
    return (scale > 0 ? (x + 0.5) / scale : (x + 0.5) * in / out) - 0.5;
}

static double round_by(pct_resize_round rule, double x)
{
    switch (rule) {
    case PCT_ROUND_PREFER_FLOOR:
        return ceil(x - 0.5);
    case PCT_ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case PCT_ROUND_FLOOR:
        return floor(x);
    case PCT_ROUND_CEIL:
        break;
    }
    return ceil(x);
}

static int64_t into_range(double index, int64_t count)
{
    return (int64_t)fmax(0, fmin((double)(count - 1), index));
}

void pcti_resize_tap_at(const pct_resize_params *p, int dim, int64_t n_in, int64_t n_out, int64_t at, int64_t *low,
                        int64_t *high, double *weight)
{
    double x = coordinate(p, dim, n_in, n_out, at);
    *weight = 0;
    if (p->mode == PCT_RESIZE_NEAREST) {
        *low = *high = into_range(round_by((pct_resize_round)p->round, x), n_in);
        return;
    }
    *low = into_range(floor(x), n_in);
    *high = into_range(floor(x) + 1, n_in);
    if (*low != *high) *weight = x - floor(x);
}

void pcti_resize_taps(const pct_resize_params *params, const pcti_tensor *src, const pcti_tensor *dst,
                      pcti_resize_tap *taps)
{
    for (int i = 0; i < 2; i++) {
        int d = src->rank - 2 + i;
        for (int64_t at = 0; at < dst->dims[d]; at++, taps++) {
            int64_t low, high;
            double weight;
            pcti_resize_tap_at(params, i, src->dims[d], dst->dims[d], at, &low, &high, &weight);
            *taps = (pcti_resize_tap){(int32_t)low, (int32_t)high, (float)weight};
        }
    }
}

static void resize_cost(const pcti_call *call, pcti_cost *cost)
{
    const pct_resize_params *p = call->params;
    cost->flops *= p->mode == PCT_RESIZE_LINEAR ? 8 : 0;
}

static pct_status resize_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_resize_params *p = call->params;
    const pcti_tensor *in = &call->src[0].tensor, *out = &call->dst[0].tensor;
    int64_t h_in = in->dims[in->rank - 2], w_in = in->dims[in->rank - 1];
    int64_t h_out = out->dims[in->rank - 2], w_out = out->dims[in->rank - 1], elems = pcti_tensor_elems(out);
    for (int64_t i = 0; i < elems; i++) {
        int64_t x = i % w_out, y = i / w_out % h_out, x0, x1, y0, y1;
        double wx, wy;
        const double *plane = src[0] + i / w_out / h_out * h_in * w_in;
        pcti_resize_tap_at(p, 0, h_in, h_out, y, &y0, &y1, &wy);
        pcti_resize_tap_at(p, 1, w_in, w_out, x, &x0, &x1, &wx);
        if (p->mode == PCT_RESIZE_NEAREST) {
            dst[0][i] = plane[y0 * w_in + x0];
            continue;
        }
        double top = plane[y0 * w_in + x0] * (1 - wx) + plane[y0 * w_in + x1] * wx;
        double bottom = plane[y1 * w_in + x0] * (1 - wx) + plane[y1 * w_in + x1] * wx;
        dst[0][i] = top * (1 - wy) + bottom * wy;
    }
    return PCT_OK;
}

const pcti_op pcti_op_resize = {
    .name = "resize",
    .family = "resize",
    .summary = "the last two dimensions at another size, nearest or linear",
    .params_bytes = sizeof(pct_resize_params),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = resize_infer,
    .cost = resize_cost,
    .ref = resize_ref,
};
