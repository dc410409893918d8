/* Elementwise functions of one operand, on contiguous pieces. */
#include <math.h>

#include "backend/cpu/cpu.h"

/* Padding channels of a blocked tensor hold zeros and must go on holding them. */
static bool keeps_zero(const pct_unary_params *p) { return pcti_unary_eval(p, 0) == 0; }

static bool accept_unary(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pcti_tensor *src = &call->src[0].tensor;
    if (src->dtype != PCT_F32) return pcti_refuse(why, "type %s", pct_dtype_name(src->dtype));
    if (src->channel_block > 1 && src->dims[1] % PCTI_BLOCK && !keeps_zero(call->params))
        return pcti_refuse(why, "would fill padding channels");
    return true;
}

static bool accept_clip(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_unary_params *p = call->params;
    if (p->fn != PCT_UNARY_RELU && p->fn != PCT_UNARY_CLIP) return pcti_refuse(why, "only relu and clip");
    return accept_unary(call, device, why);
}

/* One contiguous piece after another of a picture-strided pair of tensors. */
typedef void (*piece_fn)(const pct_unary_params *p, const pcti_simd *simd, const float *src, float *dst, int64_t count);

static void for_pieces(const pcti_step *step, pcti_team *team, piece_fn fn)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int64_t inner = pcti_tensor_picture_elems(s), pictures = s->rank ? s->dims[0] : 1, first, end;
    const float *src = pcti_f32(&step->src[0]);
    float *dst = pcti_f32(&step->dst[0]);
    pcti_team_share(team, pictures * inner, &first, &end);
    while (first < end) {
        int64_t n = first / inner, at = first % inner, count = pcti_min(inner - at, end - first);
        fn(step->call.params, team->simd, src + (s->rank ? n * s->strides[0] : 0) + at,
           dst + (d->rank ? n * d->strides[0] : 0) + at, count);
        first += count;
    }
}

static void clip_piece(const pct_unary_params *p, const pcti_simd *simd, const float *src, float *dst, int64_t count)
{
    bool relu = p->fn == PCT_UNARY_RELU;
    simd->clip((size_t)count, src, dst, relu ? 0 : (float)p->alpha, relu ? INFINITY : (float)p->beta);
}

static float eval(const pct_unary_params *p, float x)
{
    float a = (float)p->alpha, b = (float)p->beta;
    switch ((pct_unary_fn)p->fn) {
    case PCT_UNARY_RELU: return x < 0 ? 0 : x;
    case PCT_UNARY_CLIP: return x < a ? a : x > b ? b : x;
    case PCT_UNARY_LEAKY_RELU: return x < 0 ? a * x : x;
    case PCT_UNARY_ELU: return x < 0 ? a * expm1f(x) : x;
    case PCT_UNARY_SIGMOID: return 1 / (1 + expf(-x));
    case PCT_UNARY_TANH: return tanhf(x);
    case PCT_UNARY_SILU: return x / (1 + expf(-x));
    case PCT_UNARY_HARD_SWISH: return x * fminf(fmaxf(x + 3, 0), 6) / 6 + 0 * x;
    case PCT_UNARY_HARD_SIGMOID: return fminf(fmaxf(a * x + b, 0), 1) + 0 * x;
    case PCT_UNARY_GELU: return 0.5f * x * (1 + erff(x * 0.70710678f));
    case PCT_UNARY_ERF: return erff(x);
    case PCT_UNARY_SQRT: return sqrtf(x);
    case PCT_UNARY_EXP: return expf(x);
    case PCT_UNARY_LOG: return logf(x);
    case PCT_UNARY_ABS: return fabsf(x);
    case PCT_UNARY_NEG: return -x;
    case PCT_UNARY_COUNT: break;
    }
    return NAN;
}

static void scalar_piece(const pct_unary_params *p, const pcti_simd *simd, const float *src, float *dst, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dst[i] = eval(p, src[i]);
}

static void run_clip(const pcti_step *step, pcti_team *team) { for_pieces(step, team, clip_piece); }
static void run_scalar(const pcti_step *step, pcti_team *team) { for_pieces(step, team, scalar_piece); }

const pcti_impl pcti_cpu_impls_unary[] = {
    {.name = "clip", .layout = PCTI_LAYOUT_SAME, .accuracy = PCTI_ACCURACY_EXACT, .in_place = true, .accept = accept_clip,
     .run_share = run_clip},
    {.name = "scalar", .layout = PCTI_LAYOUT_SAME, .accuracy = PCTI_ACCURACY_FUNCTION, .in_place = true, .accept = accept_unary,
     .run_share = run_scalar},
    {.name = "scalar_plain", .layout = PCTI_LAYOUT_PLAIN, .accuracy = PCTI_ACCURACY_FUNCTION, .in_place = true, .accept = accept_unary,
     .run_share = run_scalar},
    {0},
};
