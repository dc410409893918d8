/* Sum, mean and maximum over any axes; the index of the largest along one. */
#include "op/reduce.h"

#include <math.h>
#include <string.h>

#include "op/axis.h"

static const char *const src_names[] = {"src"};

/* ---- reduce ---- */

static const char *const fn_names[] = {"sum", "mean", "max", NULL};
static const pcti_field reduce_fields[] = {
    PCTI_ENUM(pct_reduce_params, fn, fn_names),
    PCTI_INT(pct_reduce_params, keep_dims, 0, false),
    PCTI_LIST(pct_reduce_params, axes, n_axes),
};

/* Checked by infer before. */
static void reduced_dims(const pct_reduce_params *p, int rank, bool reduced[PCT_MAX_RANK])
{
    for (int d = 0; d < rank; d++) reduced[d] = p->n_axes == 0;
    for (int i = 0; i < p->n_axes; i++) reduced[p->axes[i] < 0 ? p->axes[i] + rank : p->axes[i]] = true;
}

static pct_status reduce_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_reduce_params *p = params;
    bool reduced[PCT_MAX_RANK], given[PCT_MAX_RANK] = {false};
    if (p->fn == PCT_REDUCE_MEAN && src[0].dtype != PCT_F32)
        return pcti_fail(PCT_ERROR_SHAPE, "src is of type %s, but a mean is f32", pct_dtype_name(src[0].dtype));
    for (int i = 0; i < p->n_axes; i++) {
        int axis;
        PCTI_RETURN_IF_FAILED(pcti_check_axis(p->axes[i], src[0].rank, &axis));
        if (given[axis]) return pcti_fail(PCT_ERROR_SHAPE, "axes name dimension %d of src twice", axis);
        given[axis] = true;
    }
    reduced_dims(p, src[0].rank, reduced);
    *dst = (pct_shape){.dtype = src[0].dtype};
    for (int d = 0; d < src[0].rank; d++) {
        if (!reduced[d])
            dst->dims[dst->rank++] = src[0].dims[d];
        else if (p->keep_dims)
            dst->dims[dst->rank++] = 1;
    }
    return PCT_OK;
}

static void reduce_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops = (double)pcti_tensor_elems(&call->src[0].tensor);
}

int64_t pcti_reduce_terms(const pcti_call *call)
{
    const pcti_tensor *x = &call->src[0].tensor;
    bool reduced[PCT_MAX_RANK];
    int64_t terms = 1;
    reduced_dims(call->params, x->rank, reduced);
    for (int d = 0; d < x->rank; d++) terms *= reduced[d] ? x->dims[d] : 1;
    return terms;
}

bool pcti_reduce_is_global(const pcti_call *call)
{
    const pcti_tensor *x = &call->src[0].tensor;
    bool reduced[PCT_MAX_RANK];
    reduced_dims(call->params, x->rank, reduced);
    return x->rank == 4 && !reduced[0] && !reduced[1] && reduced[2] && reduced[3];
}

int pcti_reduce_stages(const pcti_call *call, pcti_reduce_stage stages[PCT_MAX_RANK])
{
    const pcti_tensor *x = &call->src[0].tensor;
    bool reduced[PCT_MAX_RANK], dense = pcti_tensor_is_dense(x);
    int64_t dims[PCT_MAX_RANK];
    int count = 0;
    reduced_dims(call->params, x->rank, reduced);
    memcpy(dims, x->dims, sizeof dims);
    for (int last = x->rank - 1; last >= 0; last--) {
        if (!reduced[last]) continue;
        int first = last;
        while (first > 0 && reduced[first - 1] && (first > 1 || dense || count > 0)) first--;
        pcti_reduce_stage s = {.outer = 1, .extent = 1, .inner = 1, .rows = 1};
        for (int d = 0; d < first; d++) s.outer *= dims[d];
        for (int d = 1; d < first; d++) s.rows *= dims[d];
        for (int d = first; d <= last; d++) s.extent *= dims[d];
        for (int d = last + 1; d < x->rank; d++) s.inner *= dims[d];
        s.picture = s.rows * s.extent * s.inner;
        s.step = s.inner;
        if (count == 0 && first > 0) s.picture = x->strides[0];
        if (count == 0 && first == 0 && last == 0) s.step = x->strides[0];
        for (int d = first; d <= last; d++) dims[d] = 1;
        stages[count++] = s;
        last = first;
    }
    if (count) return count;
    stages[0] = (pcti_reduce_stage){1, 1, 1, 1, 1, 1}; /* a scalar */
    return 1;
}

int64_t pcti_reduce_between(const pcti_reduce_stage *stages, int count, int64_t *second)
{
    int64_t floats[2] = {0, 0};
    for (int s = 0; s + 1 < count; s++) floats[s % 2] = pcti_max(floats[s % 2], stages[s].outer * stages[s].inner);
    *second = pcti_round_up(floats[0], PCTI_BLOCK);
    return *second + floats[1];
}

/* Of nothing: sum 0, mean NaN, maximum -inf. */
static pct_status reduce_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_reduce_params *p = call->params;
    const pcti_tensor *x = &call->src[0].tensor;
    int64_t elems = pcti_tensor_elems(x), results = pcti_tensor_elems(&call->dst[0].tensor);
    double terms = (double)pcti_reduce_terms(call);
    bool reduced[PCT_MAX_RANK], max = p->fn == PCT_REDUCE_MAX;
    reduced_dims(p, x->rank, reduced);
    for (int64_t i = 0; i < results; i++) dst[0][i] = max ? -INFINITY : 0;
    for (int64_t i = 0; i < elems; i++) {
        int64_t rest = i, at = 0, stride = 1;
        for (int d = x->rank - 1; d >= 0; d--) {
            if (!reduced[d]) {
                at += rest % x->dims[d] * stride;
                stride *= x->dims[d];
            }
            rest /= x->dims[d];
        }
        double value = src[0][i], *y = &dst[0][at];
        if (!max)
            *y += value;
        else if (value > *y || isnan(value))
            *y = value;
    }
    for (int64_t i = 0; i < results && p->fn == PCT_REDUCE_MEAN; i++) dst[0][i] /= terms;
    return PCT_OK;
}

const pcti_op pcti_op_reduce = {
    .name = "reduce",
    .family = "reduce",
    .summary = "sum, mean or maximum over axes; of nothing: 0, NaN, -inf",
    .params_bytes = sizeof(pct_reduce_params),
    .fields = reduce_fields,
    .n_fields = sizeof reduce_fields / sizeof *reduce_fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = reduce_infer,
    .cost = reduce_cost,
    .ref = reduce_ref,
};

/* ---- argmax ---- */

static const pcti_field argmax_fields[] = {
    PCTI_INT(pct_argmax_params, axis, 0, false),
    PCTI_INT(pct_argmax_params, keep_dims, 0, false),
};

static pct_status argmax_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_argmax_params *p = params;
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 1, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_axis(p->axis, src[0].rank, &axis));
    if (src[0].dims[axis] == 0)
        return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d is empty, nothing is largest", axis);
    *dst = (pct_shape){.dtype = PCT_I64};
    for (int d = 0; d < src[0].rank; d++) {
        if (d != axis)
            dst->dims[dst->rank++] = src[0].dims[d];
        else if (p->keep_dims)
            dst->dims[dst->rank++] = 1;
    }
    return PCT_OK;
}

static pct_status argmax_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    pcti_axis a = pcti_axis_of(&call->src[0].tensor, ((const pct_argmax_params *)call->params)->axis);
    for (int64_t line = 0; line < a.outer * a.inner; line++) {
        const double *x = src[0] + line / a.inner * a.extent * a.inner + line % a.inner;
        int64_t best = 0;
        for (int64_t k = 1; k < a.extent; k++) {
            double value = x[k * a.inner], most = x[best * a.inner];
            if (value > most || (isnan(value) && !isnan(most))) best = k;
        }
        dst[0][line] = (double)best;
    }
    return PCT_OK;
}

const pcti_op pcti_op_argmax = {
    .name = "argmax",
    .family = "reduce",
    .summary = "index of the first largest value along an axis; NaN is largest",
    .params_bytes = sizeof(pct_argmax_params),
    .fields = argmax_fields,
    .n_fields = sizeof argmax_fields / sizeof *argmax_fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = argmax_infer,
    .cost = reduce_cost,
    .ref = argmax_ref,
};
