/* Normalisations. Batch norm with known statistics is one multiply-add an element, in either layout. */
#include <limits.h>
#include <math.h>

#include "backend/cpu/cpu.h"
#include "op/norm.h"

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++) {
        const pcti_operand *operand = pcti_call_src(call, i);
        if (operand && operand->tensor.dtype != PCT_F32)
            return pcti_refuse(why, "type %s", pct_dtype_name(operand->tensor.dtype));
    }
    return true;
}

/* Elements of one channel of one picture. */
static int64_t channel_elems(const pcti_tensor *tensor)
{
    int64_t elems = 1;
    for (int d = 2; d < tensor->rank; d++) elems *= tensor->dims[d];
    return elems;
}

static inline float clipped(float x, float lo, float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* ---- batch_norm ---- */

static bool accept_affine(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pcti_tensor *src = &call->src[0].tensor;
    pcti_activation act = pcti_call_post_act(call);
    if (src->channel_block > 1 && src->dims[1] % PCTI_BLOCK && pcti_activation_eval(&act, 0) != 0)
        return pcti_refuse(why, "clip would fill padding channels");
    if (src->channel_block > 1 && src->dims[2] * src->dims[3] > INT_MAX)
        return pcti_refuse(why, "picture of %lld pixels", (long long)(src->dims[2] * src->dims[3]));
    return accept_float(call, why) && pcti_batch_norm_is_constant(call, why);
}

static void affine_blocked(const pcti_step *step, pcti_team *team, float lo, float hi)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int64_t padded = pcti_round_up(s->dims[1], PCTI_BLOCK);
    const float *scale = pcti_f32(&step->src[1]);
    pcti_rows rows = pcti_team_rows(team, s->dims[0], s->dims[2]);
    while (pcti_rows_next(&rows))
        team->simd->scale_shift((int)(padded / PCTI_BLOCK), (rows.y1 - rows.y0) * (int)s->dims[3],
                                pcti_f32(&step->src[0]) + rows.picture * s->strides[0] + rows.y0 * s->strides[2],
                                s->strides[1], scale, scale + padded,
                                pcti_f32(&step->dst[0]) + rows.picture * d->strides[0] + rows.y0 * d->strides[2],
                                d->strides[1], lo, hi);
}

static void affine_plain(const pcti_step *step, pcti_team *team, float lo, float hi)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int64_t channels = s->dims[1], inner = channel_elems(s), first, end;
    const float *scale = pcti_f32(&step->src[1]), *shift = scale + pcti_round_up(channels, PCTI_BLOCK);
    pcti_team_share(team, s->dims[0] * channels, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / channels, c = first % channels;
        const float *src = pcti_f32(&step->src[0]) + n * s->strides[0] + c * inner;
        float *dst = pcti_f32(&step->dst[0]) + n * d->strides[0] + c * inner, a = scale[c], b = shift[c];
        for (int64_t i = 0; i < inner; i++) dst[i] = clipped(src[i] * a + b, lo, hi);
    }
}

static void run_affine(const pcti_step *step, pcti_team *team)
{
    pcti_activation act = pcti_call_post_act(&step->call);
    float lo, hi;
    pcti_clip_range(&act, &lo, &hi);
    if (step->src[0].tensor.channel_block > 1)
        affine_blocked(step, team, lo, hi);
    else
        affine_plain(step, team, lo, hi);
}

static bool accept_any_float(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_float(call, why);
}

static void run_batch_norm(const pcti_step *step, pcti_team *team)
{
    const pct_batch_norm_params *p = step->call.params;
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const float *scale = pcti_f32(&step->src[1]), *shift = pcti_f32(&step->src[2]);
    const float *mean = pcti_f32(&step->src[3]), *variance = pcti_f32(&step->src[4]);
    int64_t channels = s->dims[1], inner = channel_elems(s), first, end;
    pcti_activation act = pcti_call_post_act(&step->call);
    float lo, hi;
    pcti_clip_range(&act, &lo, &hi);
    pcti_team_share(team, s->dims[0] * channels, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / channels, c = first % channels;
        const float *src = pcti_f32(&step->src[0]) + n * s->strides[0] + c * inner;
        float *dst = pcti_f32(&step->dst[0]) + n * d->strides[0] + c * inner;
        double factor = scale[c] / sqrt(variance[c] + p->epsilon);
        float a = (float)factor, b = (float)(shift[c] - mean[c] * factor);
        for (int64_t i = 0; i < inner; i++) dst[i] = clipped(src[i] * a + b, lo, hi);
    }
}

const pcti_impl pcti_cpu_impls_batch_norm[] = {
    {.name = "affine",
     .layout = PCTI_LAYOUT_SAME,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_affine,
     .prepare = pcti_batch_norm_pack,
     .run_share = run_affine},
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_any_float,
     .run_share = run_batch_norm},
    {0},
};

/* ---- layer_norm ---- */

static void normalise_row(const pcti_layer_rows *rows, double epsilon, const float *src, int64_t src_run,
                          const float *scale, int64_t scale_run, const float *shift, int64_t shift_run, float *dst,
                          int64_t dst_run)
{
    double count = (double)(rows->runs * rows->length), mean = 0, variance = 0;
    for (int64_t r = 0; r < rows->runs; r++)
        for (int64_t i = 0; i < rows->length; i++) mean += src[r * src_run + i];
    mean /= count;
    for (int64_t r = 0; r < rows->runs; r++)
        for (int64_t i = 0; i < rows->length; i++) {
            double away = src[r * src_run + i] - mean;
            variance += away * away;
        }
    double factor = 1 / sqrt(variance / count + epsilon);
    for (int64_t r = 0; r < rows->runs; r++)
        for (int64_t i = 0; i < rows->length; i++) {
            double normal = (src[r * src_run + i] - mean) * factor;
            if (scale) normal *= scale[r * scale_run + i];
            if (shift) normal += shift[r * shift_run + i];
            dst[r * dst_run + i] = (float)normal;
        }
}

static void run_layer_norm(const pcti_step *step, pcti_team *team)
{
    const pct_layer_norm_params *p = step->call.params;
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const pcti_operand *scale = pcti_call_src(&step->call, 1), *shift = pcti_call_src(&step->call, 2);
    pcti_layer_rows rows = pcti_layer_norm_rows(&step->call);
    int64_t first, end;
    if (!rows.runs || !rows.length) return;
    pcti_team_share(team, rows.rows, &first, &end);
    for (; first < end; first++)
        normalise_row(&rows, p->epsilon, pcti_f32(&step->src[0]) + pcti_layer_row_offset(s, &rows, first),
                      s->strides[rows.axis], pcti_f32(scale), scale ? scale->tensor.strides[0] : 0, pcti_f32(shift),
                      shift ? shift->tensor.strides[0] : 0,
                      pcti_f32(&step->dst[0]) + pcti_layer_row_offset(d, &rows, first), d->strides[rows.axis]);
}

const pcti_impl pcti_cpu_impls_layer_norm[] = {
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .in_place = true,
     .accept = accept_any_float,
     .run_share = run_layer_norm},
    {0},
};

/* ---- lrn ---- */

static void run_lrn(const pcti_step *step, pcti_team *team)
{
    const pct_lrn_params *p = step->call.params;
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int64_t channels = s->dims[1], inner = channel_elems(s), below = (p->size - 1) / 2, above = p->size - 1 - below;
    int64_t first, end;
    float alpha = (float)(p->alpha / (double)p->size), beta = (float)p->beta, bias = (float)p->bias;
    pcti_team_share(team, s->dims[0] * channels * inner, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / inner / channels, c = first / inner % channels, i = first % inner;
        const float *column = pcti_f32(&step->src[0]) + n * s->strides[0] + i;
        float squares = 0;
        for (int64_t k = pcti_max(0, c - below); k <= pcti_min(channels - 1, c + above); k++)
            squares += column[k * inner] * column[k * inner];
        pcti_f32(&step->dst[0])[n * d->strides[0] + c * inner + i] =
            column[c * inner] / powf(bias + alpha * squares, beta);
    }
}

const pcti_impl pcti_cpu_impls_lrn[] = {
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .accept = accept_any_float,
     .run_share = run_lrn},
    {0},
};
