/* Copies that change nothing but where elements lie: the planner's step between two layouts, and the identity. */
#include <string.h>

#include "op/op.h"

static const char *const src_names[] = {"src"};

static pct_status identity_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    *dst = src[0];
    return PCT_OK;
}

static void copy_cost(const pcti_call *call, pcti_cost *cost) { cost->flops = 0; }

static pct_status identity_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    memcpy(dst[0], src[0], (size_t)pcti_tensor_elems(&call->dst[0].tensor) * sizeof(double));
    return PCT_OK;
}

const pcti_op pcti_op_reorder = {
    .name = "reorder",
    .family = "reorder",
    .summary = "the same values in the layout that the next step wants; put in by the planner",
    .params_bytes = sizeof(int64_t),
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = identity_infer,
    .cost = copy_cost,
    .ref = identity_ref,
};

static const pcti_field dropout_fields[] = {PCTI_FLOAT(pct_dropout_params, probability, 0, false)};

static bool identity_view(const void *params, const pcti_tensor *src, pcti_tensor *dst)
{
    *dst = *src;
    return true;
}

const pcti_op pcti_op_dropout = {
    .name = "dropout",
    .family = "reorder",
    .summary = "the identity, at inference time",
    .params_bytes = sizeof(pct_dropout_params),
    .fields = dropout_fields,
    .n_fields = 1,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = identity_infer,
    .cost = copy_cost,
    .ref = identity_ref,
    .view = identity_view,
};
