#include "op/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const pcti_op *const pcti_ops[] = {
#define PCT_OP(name, family) &pcti_op_##name,
#include "op/ops.def"
#undef PCT_OP
};
const int pcti_op_count = sizeof pcti_ops / sizeof *pcti_ops;

const pcti_op *pcti_op_find(const char *name)
{
    for (int i = 0; i < pcti_op_count; i++)
        if (!strcmp(pcti_ops[i]->name, name)) return pcti_ops[i];
    return NULL;
}

bool pcti_op_is(const pcti_op *op, const char *name) { return !strcmp(op->name, name); }

int pcti_op_index(const pcti_op *op)
{
    for (int i = 0; i < pcti_op_count; i++)
        if (pcti_ops[i] == op) return i;
    return -1;
}

/* ---- operands ---- */

const pcti_operand *pcti_call_fused(const pcti_call *call, int which)
{
    if (!call->fusion) return NULL;
    return pcti_call_src(call, call->op->max_src + which);
}

pcti_activation pcti_call_post_act(const pcti_call *call)
{
    return call->fusion ? call->fusion->post_act : (pcti_activation){.kind = PCTI_ACT_NONE};
}

/* ---- checks for infer functions ---- */

pct_status pcti_check_rank(const char *operand, const pct_shape *shape, int min_rank, int max_rank)
{
    char text[PCTI_SHAPE_TEXT];
    if (shape->rank >= min_rank && shape->rank <= max_rank) return PCT_OK;
    pcti_shape_print(shape, text, sizeof text);
    if (min_rank == max_rank)
        return pcti_fail(PCT_ERROR_SHAPE, "%s is %s, but must have %d dimensions", operand, text, min_rank);
    return pcti_fail(PCT_ERROR_SHAPE, "%s is %s, but must have %d to %d dimensions", operand, text, min_rank, max_rank);
}

pct_status pcti_check_dim(const char *operand, const pct_shape *shape, int dim, int64_t wanted)
{
    char text[PCTI_SHAPE_TEXT];
    if (shape->dims[dim] == wanted) return PCT_OK;
    return pcti_fail(PCT_ERROR_SHAPE, "%s is %s, but its dimension %d must be %lld", operand,
                     pcti_shape_print(shape, text, sizeof text), dim, (long long)wanted);
}

pct_status pcti_check_axis(int64_t axis, int rank, int *out)
{
    int64_t positive = axis < 0 ? axis + rank : axis;
    if (positive < 0 || positive >= rank)
        return pcti_fail(PCT_ERROR_SHAPE, "axis %lld does not exist in %d dimensions", (long long)axis, rank);
    *out = (int)positive;
    return PCT_OK;
}

pct_status pcti_broadcast(const pct_shape *a, const pct_shape *b, pct_shape *out)
{
    char at[PCTI_SHAPE_TEXT], bt[PCTI_SHAPE_TEXT];
    *out = (pct_shape){.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int d = 1; d <= out->rank; d++) {
        int64_t x = d <= a->rank ? a->dims[a->rank - d] : 1, y = d <= b->rank ? b->dims[b->rank - d] : 1;
        if (x != y && x != 1 && y != 1)
            return pcti_fail(PCT_ERROR_SHAPE, "%s and %s do not broadcast: dimension %d from the end",
                             pcti_shape_print(a, at, sizeof at), pcti_shape_print(b, bt, sizeof bt), d);
        out->dims[out->rank - d] = x == 1 ? y : x;
    }
    return PCT_OK;
}

static const char *src_name(const pcti_op *op, int i) { return op->src_names[op->max_src == PCTI_VARIADIC ? 0 : i]; }

/* Symbols count as 1 here: they are checked again when a plan binds them. */
static pct_status check_size(const pct_shape *shape)
{
    int64_t elems;
    pct_shape bound = *shape;
    for (int d = 0; d < bound.rank; d++)
        if (pcti_dim_is_symbol(bound.dims[d])) bound.dims[d] = 1;
    return pcti_shape_elems(&bound, &elems);
}

pct_status pcti_op_infer(const pcti_op *op, const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    if (n_src < op->min_src || n_src > op->max_src)
        return pcti_fail(PCT_ERROR_SHAPE, "%s: takes %d to %d operands, not %d", op->name, op->min_src, op->max_src,
                         n_src);
    for (int i = 0; i < n_src; i++)
        if (src[i].rank == PCTI_ABSENT && (i < op->min_src || op->max_src == PCTI_VARIADIC))
            return pcti_fail(PCT_ERROR_SHAPE, "%s: operand %s is missing", op->name, src_name(op, i));
    pct_status status = op->infer(params, src, n_src, dst);
    for (int i = 0; i < op->n_dst && status == PCT_OK; i++) status = check_size(&dst[i]);
    return status == PCT_OK ? status : pcti_fail_in(status, "%s", op->name);
}

/* ---- cost ---- */

static double stored_bytes(const pcti_operand *operand)
{
    return (double)pcti_tensor_elems(&operand->tensor) * (double)pct_dtype_size(operand->tensor.dtype);
}

void pcti_call_cost(const pcti_call *call, pcti_cost *cost)
{
    *cost = (pcti_cost){0};
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i)) cost->bytes_read += stored_bytes(&call->src[i]);
    for (int i = 0; i < call->n_dst; i++) {
        cost->bytes_written += stored_bytes(&call->dst[i]);
        cost->flops += (double)pcti_tensor_elems(&call->dst[i].tensor);
    }
    if (call->op->cost) call->op->cost(call, cost);
}

/* ---- the reference of a fused call ---- */

double pcti_activation_eval(const pcti_activation *act, double x)
{
    if (act->kind == PCTI_ACT_CLIP) return x < act->low ? act->low : x > act->high ? act->high : x;
    if (act->kind == PCTI_ACT_UNARY) return pcti_unary_eval(&act->unary, x);
    return x;
}

/* 2x2, stride 2 over the last two dimensions of planes; the mean or the maximum. */
static void pool_2x2(const double *src, double *dst, int64_t planes, int64_t height, int64_t width, bool mean)
{
    for (int64_t p = 0; p < planes; p++)
        for (int64_t y = 0; y < height / 2; y++)
            for (int64_t x = 0; x < width / 2; x++) {
                const double *q = src + (p * height + 2 * y) * width + 2 * x;
                double a = q[0], b = q[1], c = q[width], d = q[width + 1];
                double high = fmax(fmax(a, b), fmax(c, d));
                *dst++ = mean ? (a + b + c + d) / 4 : isnan(a + b + c + d) ? NAN : high;
            }
}

typedef struct fused_ref {
    pcti_operand *src, dst;
    const double **data;
    double *pre, *pooled, *wide;
} fused_ref;

static pct_status apply_pre(const pcti_call *call, fused_ref *f)
{
    const pcti_fusion *fusion = call->fusion;
    pcti_tensor *x = &f->src[0].tensor;
    int64_t elems = pcti_tensor_elems(x), channels = x->dims[1], inner = 1;
    for (int d = 2; d < x->rank; d++) inner *= x->dims[d];
    if (!(f->pre = pcti_calloc((size_t)elems, sizeof(double)))) return PCT_ERROR_MEMORY;
    const double *scale = f->data[call->op->max_src + PCTI_FUSED_PRE_SCALE];
    const double *shift = f->data[call->op->max_src + PCTI_FUSED_PRE_SHIFT];
    for (int64_t i = 0; i < elems; i++) {
        int64_t c = i / inner % channels;
        double value = f->data[0][i];
        if (fusion->pre_affine) value = value * scale[c] + shift[c];
        f->pre[i] = pcti_activation_eval(&fusion->pre_act, value);
    }
    f->data[0] = f->pre;
    if (!fusion->pre_average_pool) return PCT_OK;
    if (!(f->pooled = pcti_calloc((size_t)elems / 4 + 1, sizeof(double)))) return PCT_ERROR_MEMORY;
    pool_2x2(f->pre, f->pooled, x->dims[0] * channels, x->dims[2], x->dims[3], true);
    x->dims[2] /= 2;
    x->dims[3] /= 2;
    f->data[0] = f->pooled;
    return PCT_OK;
}

pct_status pcti_call_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    if (!call->fusion) return call->op->ref(call, src, dst);
    pct_status status = PCT_OK;
    fused_ref f = {.dst = call->dst[0]};
    pcti_call plain = *call;
    pct_shape shapes[PCTI_FUSED_OPERANDS + 8], inferred;
    int n_own = call->op->max_src;
    const double *residual = pcti_call_fused(call, PCTI_FUSED_RESIDUAL) ? src[n_own + PCTI_FUSED_RESIDUAL] : NULL;
    f.src = pcti_calloc((size_t)call->n_src, sizeof *f.src);
    f.data = pcti_calloc((size_t)call->n_src, sizeof *f.data);
    if (!f.src || !f.data) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    memcpy(f.src, call->src, (size_t)call->n_src * sizeof *f.src);
    memcpy(f.data, src, (size_t)call->n_src * sizeof *f.data);
    PCTI_TRY(apply_pre(call, &f));
    for (int i = 0; i < n_own; i++) shapes[i] = pcti_tensor_shape(&f.src[i].tensor);
    PCTI_TRY(pcti_op_infer(call->op, call->params, shapes, n_own, &inferred));
    int64_t elems;
    PCTI_TRY(pcti_shape_elems(&inferred, &elems));
    if (!(f.wide = pcti_calloc((size_t)elems, sizeof(double)))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    f.dst.tensor = pcti_tensor_dense(&inferred, 1);
    plain.fusion = NULL;
    plain.n_src = n_own;
    plain.src = f.src;
    plain.dst = &f.dst;
    PCTI_TRY(call->op->ref(&plain, f.data, &f.wide));
    for (int64_t i = 0; i < elems; i++)
        f.wide[i] = pcti_activation_eval(&call->fusion->post_act, f.wide[i] + (residual ? residual[i] : 0));
    if (call->fusion->post_max_pool)
        pool_2x2(f.wide, dst[0], inferred.dims[0] * inferred.dims[1], inferred.dims[2], inferred.dims[3], false);
    else memcpy(dst[0], f.wide, (size_t)elems * sizeof(double));
fail:
    pcti_free(f.src);
    pcti_free(f.data);
    pcti_free(f.pre);
    pcti_free(f.pooled);
    pcti_free(f.wide);
    return status;
}
