/* The largest values along an axis, in order. */
#include "op/topk.h"

#include "op/axis.h"
#include "op/op.h"

static const pcti_field fields[] = {
    PCTI_INT(pct_topk_params, k, 0, false),
    PCTI_INT(pct_topk_params, axis, -1, false),
};
static const char *const src_names[] = {"src"};

static pct_status topk_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_topk_params *p = params;
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 1, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_axis(p->axis, src[0].rank, &axis));
    if (pcti_dim_is_symbol(src[0].dims[axis]))
        return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d, the axis, has no value yet", axis);
    if (p->k < 0 || p->k > src[0].dims[axis])
        return pcti_fail(PCT_ERROR_SHAPE, "k is %lld, must be 0 to %lld, dimension %d of src", (long long)p->k,
                         (long long)src[0].dims[axis], axis);
    dst[0] = src[0];
    dst[0].dims[axis] = p->k;
    dst[1] = dst[0];
    dst[1].dtype = PCT_I64;
    return PCT_OK;
}

/* A comparison an element: most are below the smallest of the k. */
static void topk_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops = (double)pcti_tensor_elems(&call->src[0].tensor);
}

/* Each is the first in order of those that come after the one before. */
static pct_status topk_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_topk_params *p = call->params;
    pcti_axis a = pcti_axis_of(&call->src[0].tensor, p->axis);
    for (int64_t line = 0; line < a.outer * a.inner; line++) {
        const double *x = src[0] + line / a.inner * a.extent * a.inner + line % a.inner;
        int64_t to = line / a.inner * p->k * a.inner + line % a.inner, before = -1;
        for (int64_t r = 0; r < p->k; r++, to += a.inner) {
            int64_t best = -1;
            for (int64_t i = 0; i < a.extent; i++) {
                bool left = before < 0 || pcti_topk_before(x[before * a.inner], before, x[i * a.inner], i);
                if (left && (best < 0 || pcti_topk_before(x[i * a.inner], i, x[best * a.inner], best))) best = i;
            }
            dst[0][to] = x[best * a.inner];
            dst[1][to] = (double)best;
            before = best;
        }
    }
    return PCT_OK;
}

const pcti_op pcti_op_topk = {
    .name = "topk",
    .family = "topk",
    .summary = "the k largest values along an axis in descending order, and their indices",
    .params_bytes = sizeof(pct_topk_params),
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 2,
    .infer = topk_infer,
    .cost = topk_cost,
    .ref = topk_ref,
};
