/* Are an operator's results right? Computed again in double: by the operator's reference, or point by point. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "opcase.h"

enum { SAMPLES = 320 };
static const double reference_flops = 5e7; /* up to here the reference takes moments */

/* ---- single values of the heavy operators, straight from their formulas in pct/ops.h ---- */

static double conv2d_at(const opcase *c, const int64_t *at)
{
    const pct_conv2d_params *p = c->params;
    const float *src = c->data[0], *wei = c->data[1], *bias = c->n_src > 2 ? c->data[2] : NULL;
    const int64_t *s = c->shapes[0].dims, *w = c->shapes[1].dims;
    int64_t groups = p->groups ? p->groups : 1, k = at[1];
    int64_t first_channel = k / (w[0] / groups) * w[1];
    double sum = bias ? bias[k] : 0;
    for (int64_t ch = 0; ch < w[1]; ch++)
        for (int64_t r = 0; r < w[2]; r++)
            for (int64_t q = 0; q < w[3]; q++) {
                int64_t y = at[2] * pcti_max(1, p->stride[0]) + r * pcti_max(1, p->dilation[0]) - p->pad[0];
                int64_t x = at[3] * pcti_max(1, p->stride[1]) + q * pcti_max(1, p->dilation[1]) - p->pad[1];
                if (y < 0 || y >= s[2] || x < 0 || x >= s[3]) continue;
                sum += (double)wei[((k * w[1] + ch) * w[2] + r) * w[3] + q] *
                       (double)src[((at[0] * s[1] + first_channel + ch) * s[2] + y) * s[3] + x];
            }
    return sum;
}

static double dense_at(const opcase *c, const int64_t *at)
{
    const float *src = c->data[0], *wei = c->data[1], *bias = c->n_src > 2 ? c->data[2] : NULL;
    int64_t depth = c->shapes[0].dims[1];
    double sum = bias ? bias[at[1]] : 0;
    for (int64_t i = 0; i < depth; i++) sum += (double)src[at[0] * depth + i] * (double)wei[at[1] * depth + i];
    return sum;
}

/* Two plain matrices. */
static double matmul_at(const opcase *c, const int64_t *at)
{
    const pct_matmul_params *p = c->params;
    const float *a = c->data[0], *b = c->data[1];
    const int64_t *da = c->shapes[0].dims, *db = c->shapes[1].dims;
    int64_t depth = p->transpose_a ? da[0] : da[1];
    double sum = 0;
    for (int64_t i = 0; i < depth; i++)
        sum += (double)(p->transpose_a ? a[i * da[1] + at[0]] : a[at[0] * da[1] + i]) *
               (double)(p->transpose_b ? b[at[1] * db[1] + i] : b[i * db[1] + at[1]]);
    return sum;
}

typedef double (*point_fn)(const opcase *c, const int64_t *at);

static point_fn point_formula(const opcase *c)
{
    if (pcti_op_is(c->op, "conv2d")) return conv2d_at;
    if (pcti_op_is(c->op, "dense")) return dense_at;
    if (pcti_op_is(c->op, "matmul") && c->shapes[0].rank == 2 && c->shapes[1].rank == 2) return matmul_at;
    return NULL;
}

/* Sample i: the corners first, then points with one coordinate after the other on an edge, then anywhere. */
static int64_t sample_place(const pct_shape *shape, int i, int64_t *at)
{
    int64_t place = 0;
    int corners = 1 << shape->rank;
    for (int d = 0; d < shape->rank; d++) {
        int64_t n = shape->dims[d];
        uint64_t random = pcti_splitmix64((uint64_t)i * PCT_MAX_RANK + (uint64_t)d);
        bool edge = i < corners || (i < SAMPLES / 2 && i % shape->rank == d);
        bool high = i < corners ? (i >> d) & 1 : random >> 63;
        at[d] = edge ? (high ? n - 1 : 0) : (int64_t)(random % (uint64_t)n);
        place = place * n + at[d];
    }
    return place;
}

/* ---- comparing ---- */

static double class_bound(const pcti_impl *impl, double terms, double largest)
{
    switch (impl ? impl->accuracy : PCTI_ACCURACY_EXACT) {
    case PCTI_ACCURACY_WINOGRAD:
        return 2e-5 * largest;
    case PCTI_ACCURACY_FUNCTION:
        return 1e-5 * largest;
    case PCTI_ACCURACY_SUM:
        return 6e-8 * (4 + 4 * sqrt(terms)) * largest; /* as the operator tests */
    case PCTI_ACCURACY_HALF:
        return largest / 256; /* stored in 16 bits */
    case PCTI_ACCURACY_EXACT:
        break;
    }
    return 6e-8 * largest;
}

typedef struct difference {
    double error, largest, got, want;
    int64_t place;
} difference;

static void note(difference *worst, double got, double want, int64_t place)
{
    bool alike = got == want || (isnan(got) && isnan(want));
    double error = alike ? 0 : fabs(got - want);
    if (isfinite(want)) worst->largest = fmax(worst->largest, fabs(want));
    if (error <= worst->error) return;
    worst->error = isnan(error) ? INFINITY : error;
    worst->got = got;
    worst->want = want;
    worst->place = place;
}

/* The largest value that was looked at decides about the bound. */
static void judge(const difference *worst, double bound, opcheck *check)
{
    check->bound = bound;
    check->max_error = isfinite(worst->error) ? worst->error : INFINITY;
    check->right = worst->error <= bound;
    if (check->right) return;
    snprintf(check->what, sizeof check->what, "element %lld is %.9g, must be %.9g within %.3g",
             (long long)worst->place, worst->got, worst->want, bound);
}

static double terms_of(const pct_plan *plan, int step)
{
    if (step < 0) return 1;
    return plan->costs[step].flops / fmax(1, 2.0 * (double)pcti_tensor_elems(&plan->steps[step].dst[0].tensor));
}

static bool has_relu(const opcase *c)
{
    return c->graph->n_nodes > 1;
}

static pct_status check_points(const opcase *c, point_fn formula, const pcti_impl *impl, double terms, opcheck *check)
{
    difference worst = {0};
    const float *out = c->outputs[0];
    const pct_shape *shape = &c->out_shapes[0];
    int64_t at[PCT_MAX_RANK] = {0};
    for (int64_t i = 0; i < c->out_elems[0]; i++) {
        if (isfinite(out[i])) continue;
        note(&worst, (double)out[i], 0, i);
        judge(&worst, 0, check);
        return PCT_OK;
    }
    for (int i = 0; i < SAMPLES; i++) {
        int64_t place = sample_place(shape, i, at);
        double want = formula(c, at);
        if (has_relu(c)) want = want > 0 ? want : 0;
        note(&worst, (double)out[place], want, place);
    }
    check->checked = SAMPLES;
    judge(&worst, class_bound(impl, terms, worst.largest), check);
    return PCT_OK;
}

static pct_status check_all(const opcase *c, const pcti_impl *impl, double terms, opcheck *check)
{
    pct_status status;
    pct_device *reference = NULL;
    pct_plan *plan = NULL;
    void *want[2] = {NULL, NULL};
    difference worst = {0};
    PCTI_TRY(bench_open_device("ref", NULL, NULL, 0, &reference));
    PCTI_TRY(pct_plan_create(reference, c->graph, NULL, &plan));
    for (int d = 0; d < c->op->n_dst; d++)
        if (!(want[d] = pcti_calloc((size_t)c->out_elems[d], pct_dtype_size(c->out_shapes[d].dtype)))) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
    PCTI_TRY(pct_plan_run(plan, c->inputs, want, NULL));
    for (int d = 0; d < c->op->n_dst; d++)
        for (int64_t i = 0; i < c->out_elems[d]; i++) {
            if (c->out_shapes[d].dtype == PCT_F32)
                note(&worst, (double)((float *)c->outputs[d])[i], (double)((float *)want[d])[i], i);
            else /* indices must be the same */
                note(&worst, ((int64_t *)c->outputs[d])[i] == ((int64_t *)want[d])[i] ? 0 : INFINITY, 0, i);
            check->checked++;
        }
    judge(&worst, class_bound(impl, terms, worst.largest), check);
fail:
    pct_plan_destroy(plan);
    pct_device_close(reference);
    pcti_free(want[0]);
    pcti_free(want[1]);
    return status;
}

pct_status opcase_check(const opcase *c, const pct_plan *plan, int step, bool all, opcheck *check)
{
    const pcti_impl *impl = step >= 0 ? plan->steps[step].impl : NULL;
    point_fn formula = point_formula(c);
    *check = (opcheck){0};
    bool points =
        formula && !all && c->out_elems[0] > SAMPLES && step >= 0 && plan->costs[step].flops > reference_flops;
    return points ? check_points(c, formula, impl, terms_of(plan, step), check)
                  : check_all(c, impl, terms_of(plan, step), check);
}
