/* Softmax and its logarithm over one axis. */
#include <math.h>

#include "op/axis.h"
#include "op/op.h"

static const pcti_field fields[] = {
    PCTI_INT(pct_softmax_params, axis, -1, false),
    PCTI_INT(pct_softmax_params, log, 0, false),
};
static const char *const src_names[] = {"src"};

static pct_status softmax_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 1, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_axis(((const pct_softmax_params *)params)->axis, src[0].rank, &axis));
    if (src[0].dtype != PCT_F32)
        return pcti_fail(PCT_ERROR_SHAPE, "src is of type %s, but must be f32", pct_dtype_name(src[0].dtype));
    *dst = src[0];
    return PCT_OK;
}

/* Maximum, difference, exponential, sum, scale. */
static void softmax_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops *= 5;
}

static pct_status softmax_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_softmax_params *p = call->params;
    pcti_axis a = pcti_axis_of(&call->src[0].tensor, p->axis);
    for (int64_t line = 0; line < a.outer * a.inner; line++) {
        int64_t first = line / a.inner * a.extent * a.inner + line % a.inner, end = first + a.extent * a.inner;
        const double *x = src[0];
        double most = -INFINITY, sum = 0;
        for (int64_t k = first; k < end; k += a.inner) most = fmax(most, x[k]);
        for (int64_t k = first; k < end; k += a.inner) sum += exp(x[k] - most);
        for (int64_t k = first; k < end; k += a.inner)
            dst[0][k] = p->log ? x[k] - most - log(sum) : exp(x[k] - most) / sum;
    }
    return PCT_OK;
}

const pcti_op pcti_op_softmax = {
    .name = "softmax",
    .family = "softmax",
    .summary = "exp(x - max) / sum over one axis, or its logarithm",
    .params_bytes = sizeof(pct_softmax_params),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = softmax_infer,
    .cost = softmax_cost,
    .ref = softmax_ref,
};
