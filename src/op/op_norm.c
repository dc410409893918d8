/* Normalisations: by stored statistics, over the last dimensions, over neighbouring channels. */
#include "op/norm.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"

/* ---- batch_norm ---- */

enum { SRC, SCALE, SHIFT, MEAN, VARIANCE, STATISTICS = 4 };

static const pcti_field batch_norm_fields[] = {PCTI_FLOAT(pct_batch_norm_params, epsilon, 1e-5, true)};
static const char *const batch_norm_srcs[] = {"src", "scale", "shift", "mean", "variance"};

static pct_status batch_norm_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_batch_norm_params *p = params;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[SRC], 2, PCT_MAX_RANK));
    if (!(p->epsilon >= 0)) return pcti_fail(PCT_ERROR_SHAPE, "epsilon is %g, must be at least 0", p->epsilon);
    if (pcti_dim_is_symbol(src[SRC].dims[1]))
        return pcti_fail(PCT_ERROR_SHAPE, "src: dimension 1, the channels, has no value yet");
    for (int i = SCALE; i <= VARIANCE; i++) {
        PCTI_RETURN_IF_FAILED(pcti_check_rank(batch_norm_srcs[i], &src[i], 1, 1));
        PCTI_RETURN_IF_FAILED(pcti_check_dim(batch_norm_srcs[i], &src[i], 0, src[SRC].dims[1]));
    }
    *dst = src[SRC];
    return PCT_OK;
}

static void batch_norm_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops *= 2;
}

static pct_status batch_norm_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_batch_norm_params *p = call->params;
    const pcti_tensor *x = &call->src[SRC].tensor;
    int64_t channels = x->dims[1], inner = 1;
    for (int d = 2; d < x->rank; d++) inner *= x->dims[d];
    for (int64_t i = 0; i < x->dims[0] * channels * inner; i++) {
        int64_t c = i / inner % channels;
        double normal = (src[SRC][i] - src[MEAN][c]) / sqrt(src[VARIANCE][c] + p->epsilon);
        dst[0][i] = normal * src[SCALE][c] + src[SHIFT][c];
    }
    return PCT_OK;
}

const pcti_op pcti_op_batch_norm = {
    .name = "batch_norm",
    .family = "norm",
    .summary = "normalises each channel by stored statistics",
    .params_bytes = sizeof(pct_batch_norm_params),
    .fields = batch_norm_fields,
    .n_fields = 1,
    .src_names = batch_norm_srcs,
    .min_src = 5,
    .max_src = 5,
    .n_dst = 1,
    .infer = batch_norm_infer,
    .cost = batch_norm_cost,
    .ref = batch_norm_ref,
};

bool pcti_batch_norm_is_constant(const pcti_call *call, pcti_why *why)
{
    for (int i = SCALE; i <= VARIANCE; i++)
        if (!call->src[i].constant) return pcti_refuse(why, "%s is computed by the run", batch_norm_srcs[i]);
    return true;
}

typedef struct affine_cookie {
    const pcti_constant *statistics[STATISTICS]; /* scale, shift, mean, variance */
    double epsilon;
    int64_t channels;
} affine_cookie;

static pct_status fill_affine(const pcti_constant *constant, const void *cookie, void *dst)
{
    const affine_cookie *a = cookie;
    pct_status status = PCT_OK;
    float *scale = dst, *shift = scale + pcti_round_up(a->channels, PCTI_BLOCK);
    double *values = pcti_calloc((size_t)a->channels * STATISTICS, sizeof *values);
    if (!values) return PCT_ERROR_MEMORY;
    for (int i = 0; i < STATISTICS; i++)
        PCTI_TRY(pcti_constant_read_double(a->statistics[i], values + i * a->channels));
    for (int64_t c = 0; c < a->channels; c++) {
        const double *v = values + c;
        double factor = v[0] / sqrt(v[3 * a->channels] + a->epsilon);
        scale[c] = (float)factor;
        shift[c] = (float)(v[a->channels] - v[2 * a->channels] * factor);
    }
fail:
    pcti_free(values);
    return status;
}

pct_status pcti_batch_norm_pack(pct_device *device, pcti_step *step)
{
    const pct_batch_norm_params *p = step->call.params;
    affine_cookie cookie = {.epsilon = p->epsilon, .channels = step->src[SRC].tensor.dims[1]};
    for (int i = 0; i < STATISTICS; i++) cookie.statistics[i] = step->src[SCALE + i].constant;
    char *packing = pcti_format("batch_norm affine %" PRIu64 " %" PRIu64 " %" PRIu64 " %a", cookie.statistics[1]->id,
                                cookie.statistics[2]->id, cookie.statistics[3]->id, p->epsilon);
    if (!packing) return PCT_ERROR_MEMORY;
    size_t bytes = 2 * sizeof(float) * (size_t)pcti_round_up(cookie.channels, PCTI_BLOCK);
    pct_status status =
        pcti_pack_get(device, cookie.statistics[0], packing, bytes, fill_affine, &cookie, &step->src[SCALE].buffer);
    pcti_free(packing);
    return status;
}

/* ---- layer_norm ---- */

static const pcti_field layer_norm_fields[] = {
    PCTI_INT(pct_layer_norm_params, axis, -1, true),
    PCTI_FLOAT(pct_layer_norm_params, epsilon, 1e-5, true),
};
static const char *const layer_norm_srcs[] = {"src", "scale", "shift"};

static pct_status layer_norm_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_layer_norm_params *p = params;
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 1, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_axis(p->axis, src[0].rank, &axis));
    if (!(p->epsilon >= 0)) return pcti_fail(PCT_ERROR_SHAPE, "epsilon is %g, must be at least 0", p->epsilon);
    for (int d = axis; d < src[0].rank; d++)
        if (pcti_dim_is_symbol(src[0].dims[d]))
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d is normalised over and has no value yet", d);
    for (int i = 1; i < n_src; i++) {
        if (src[i].rank == PCTI_ABSENT) continue;
        PCTI_RETURN_IF_FAILED(pcti_check_rank(layer_norm_srcs[i], &src[i], src[0].rank - axis, src[0].rank - axis));
        for (int d = axis; d < src[0].rank; d++)
            PCTI_RETURN_IF_FAILED(pcti_check_dim(layer_norm_srcs[i], &src[i], d - axis, src[0].dims[d]));
    }
    *dst = src[0];
    return PCT_OK;
}

static void layer_norm_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops *= 8;
}

static pct_status layer_norm_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_layer_norm_params *p = call->params;
    const pcti_tensor *x = &call->src[0].tensor;
    bool has_scale = pcti_call_src(call, 1) != NULL, has_shift = pcti_call_src(call, 2) != NULL;
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_axis(p->axis, x->rank, &axis));
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < x->rank; d++) *(d < axis ? &outer : &inner) *= x->dims[d];
    for (int64_t o = 0; o < outer && inner; o++) {
        const double *from = src[0] + o * inner;
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < inner; i++) mean += from[i];
        mean /= (double)inner;
        for (int64_t i = 0; i < inner; i++) variance += (from[i] - mean) * (from[i] - mean);
        double factor = 1 / sqrt(variance / (double)inner + p->epsilon);
        for (int64_t i = 0; i < inner; i++)
            dst[0][o * inner + i] =
                (from[i] - mean) * factor * (has_scale ? src[1][i] : 1) + (has_shift ? src[2][i] : 0);
    }
    return PCT_OK;
}

const pcti_op pcti_op_layer_norm = {
    .name = "layer_norm",
    .family = "norm",
    .summary = "normalises over the dimensions from `axis` on",
    .params_bytes = sizeof(pct_layer_norm_params),
    .fields = layer_norm_fields,
    .n_fields = sizeof layer_norm_fields / sizeof *layer_norm_fields,
    .src_names = layer_norm_srcs,
    .min_src = 1,
    .max_src = 3,
    .n_dst = 1,
    .infer = layer_norm_infer,
    .cost = layer_norm_cost,
    .ref = layer_norm_ref,
};

pcti_layer_rows pcti_layer_norm_rows(const pcti_call *call)
{
    const pcti_tensor *x = &call->src[0].tensor;
    int64_t given = ((const pct_layer_norm_params *)call->params)->axis;
    int axis = (int)(given < 0 ? given + x->rank : given);
    pcti_layer_rows rows = {axis, 1, 1, x->dims[axis], 1};
    for (int d = 0; d < axis; d++) *(d ? &rows.rows_of_picture : &rows.rows) *= x->dims[d];
    rows.rows *= rows.rows_of_picture;
    for (int d = axis + 1; d < x->rank; d++) rows.length *= x->dims[d];
    bool joined = x->strides[axis] == rows.length && call->dst[0].tensor.strides[axis] == rows.length;
    for (int i = 1; i < call->n_src; i++)
        if (pcti_call_src(call, i)) joined = joined && call->src[i].tensor.strides[0] == rows.length;
    if (joined) {
        rows.length *= rows.runs;
        rows.runs = 1;
    }
    return rows;
}

/* ---- lrn ---- */

static const pcti_field lrn_fields[] = {
    PCTI_INT(pct_lrn_params, size, 5, true),
    PCTI_FLOAT(pct_lrn_params, alpha, 1e-4, true),
    PCTI_FLOAT(pct_lrn_params, beta, 0.75, true),
    PCTI_FLOAT(pct_lrn_params, bias, 1, true),
};
static const char *const lrn_srcs[] = {"src"};

static pct_status lrn_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_lrn_params *p = params;
    enum { LARGEST = 1 << 20 };
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 2, PCT_MAX_RANK));
    if (p->size < 1 || p->size > LARGEST)
        return pcti_fail(PCT_ERROR_SHAPE, "size is %lld, must be 1 to %d", (long long)p->size, LARGEST);
    *dst = src[0];
    return PCT_OK;
}

static void lrn_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops *= 2 * (double)((const pct_lrn_params *)call->params)->size + 4;
}

/* ONNX: the window reaches (size-1)/2 channels down and the rest up; PyTorch's is the same for odd sizes. */
static pct_status lrn_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_lrn_params *p = call->params;
    const pcti_tensor *x = &call->src[0].tensor;
    int64_t channels = x->dims[1], inner = 1, below = (p->size - 1) / 2, above = p->size - 1 - below;
    for (int d = 2; d < x->rank; d++) inner *= x->dims[d];
    for (int64_t i = 0; i < x->dims[0] * channels * inner; i++) {
        int64_t c = i / inner % channels;
        double squares = 0;
        for (int64_t k = pcti_max(0, c - below); k <= pcti_min(channels - 1, c + above); k++) {
            double value = src[0][i + (k - c) * inner];
            squares += value * value;
        }
        dst[0][i] = src[0][i] / pow(p->bias + p->alpha / (double)p->size * squares, p->beta);
    }
    return PCT_OK;
}

const pcti_op pcti_op_lrn = {
    .name = "lrn",
    .family = "norm",
    .summary = "divides by a power of the squares of neighbouring channels",
    .params_bytes = sizeof(pct_lrn_params),
    .fields = lrn_fields,
    .n_fields = sizeof lrn_fields / sizeof *lrn_fields,
    .src_names = lrn_srcs,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = lrn_infer,
    .cost = lrn_cost,
    .ref = lrn_ref,
};
