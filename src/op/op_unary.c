/* Elementwise functions of one operand. A new function is a name here, a case in pcti_unary_eval and one in each backend. */
#include <math.h>

#include "op/op.h"

static const char *const fn_names[] = {"relu", "clip", "leaky_relu", "elu", "sigmoid", "tanh", "silu", "hard_swish",
                                       "hard_sigmoid", "gelu", "erf", "sqrt", "exp", "log", "abs", "neg", NULL};
_Static_assert(sizeof fn_names / sizeof *fn_names == PCT_UNARY_COUNT + 1, "a name for each function");

static const pcti_field unary_fields[] = {
    PCTI_ENUM(pct_unary_params, fn, fn_names),
    PCTI_FLOAT(pct_unary_params, alpha, 0, false),
    PCTI_FLOAT(pct_unary_params, beta, 0, false),
};
static const char *const unary_srcs[] = {"src"};

double pcti_unary_eval(const pct_unary_params *params, double x)
{
    double a = params->alpha, b = params->beta;
    switch ((pct_unary_fn)params->fn) {
    case PCT_UNARY_RELU: return x < 0 ? 0 : x; /* NaN stays */
    case PCT_UNARY_CLIP: return x < a ? a : x > b ? b : x;
    case PCT_UNARY_LEAKY_RELU: return x < 0 ? a * x : x;
    case PCT_UNARY_ELU: return x < 0 ? a * expm1(x) : x;
    case PCT_UNARY_SIGMOID: return 1 / (1 + exp(-x));
    case PCT_UNARY_TANH: return tanh(x);
    case PCT_UNARY_SILU: return x / (1 + exp(-x));
    case PCT_UNARY_HARD_SWISH: return x * fmin(fmax(x + 3, 0), 6) / 6 + 0 * x;
    case PCT_UNARY_HARD_SIGMOID: return fmin(fmax(a * x + b, 0), 1) + 0 * x;
    case PCT_UNARY_GELU: return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case PCT_UNARY_ERF: return erf(x);
    case PCT_UNARY_SQRT: return sqrt(x);
    case PCT_UNARY_EXP: return exp(x);
    case PCT_UNARY_LOG: return log(x);
    case PCT_UNARY_ABS: return fabs(x);
    case PCT_UNARY_NEG: return -x;
    case PCT_UNARY_COUNT: break;
    }
    return NAN;
}

static pct_status unary_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    *dst = src[0];
    return PCT_OK;
}

static pct_status unary_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    int64_t elems = pcti_tensor_elems(&call->dst[0].tensor);
    for (int64_t i = 0; i < elems; i++) dst[0][i] = pcti_unary_eval(call->params, src[0][i]);
    return PCT_OK;
}

const pcti_op pcti_op_unary = {
    .name = "unary",
    .family = "unary",
    .summary = "dst = fn(src), elementwise",
    .params_bytes = sizeof(pct_unary_params),
    .fields = unary_fields,
    .n_fields = sizeof unary_fields / sizeof *unary_fields,
    .src_names = unary_srcs,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = unary_infer,
    .ref = unary_ref,
};
