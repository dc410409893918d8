/* topk: a heap of the k best so far, in the memory of the result's indices. */
#include "backend/cpu/cpu.h"
#include "op/axis.h"
#include "op/topk.h"

static bool accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

/* Indices at[i*step] into a line x, the last one in order at the root. */
typedef struct heap {
    const float *x;
    int64_t x_step;
    int64_t *at, step;
} heap;

static bool before(const heap *h, int64_t i, int64_t j)
{
    return pcti_topk_before(h->x[i * h->x_step], i, h->x[j * h->x_step], j);
}

/* Puts `index` where it belongs at or below the place `hole`. */
static void sift(const heap *h, int64_t hole, int64_t count, int64_t index)
{
    for (int64_t child; (child = 2 * hole + 1) < count; hole = child) {
        if (child + 1 < count && before(h, h->at[child * h->step], h->at[(child + 1) * h->step])) child++;
        if (!before(h, index, h->at[child * h->step])) break;
        h->at[hole * h->step] = h->at[child * h->step];
    }
    h->at[hole * h->step] = index;
}

static void topk_line(const heap *h, int64_t extent, int64_t k, float *values, int64_t values_step)
{
    for (int64_t i = 0; i < k; i++) h->at[i * h->step] = i;
    for (int64_t i = k / 2 - 1; i >= 0; i--) sift(h, i, k, i);
    for (int64_t i = k; i < extent; i++)
        if (before(h, i, h->at[0])) sift(h, 0, k, i);
    for (int64_t count = k - 1; count > 0; count--) { /* the last one in order goes behind the others */
        int64_t index = h->at[count * h->step];
        h->at[count * h->step] = h->at[0];
        sift(h, 0, count, index);
    }
    for (int64_t i = 0; i < k; i++) values[i * values_step] = h->x[h->at[i * h->step] * h->x_step];
}

static void run_share(const pcti_step *step, pcti_team *team)
{
    const pct_topk_params *p = step->call.params;
    pcti_axis s = pcti_axis_of(&step->src[0].tensor, p->axis), v = pcti_axis_of(&step->dst[0].tensor, p->axis);
    pcti_axis d = pcti_axis_of(&step->dst[1].tensor, p->axis);
    int64_t *indices = pcti_operand_address(&step->dst[1]), line, end;
    pcti_team_share(team, s.outer * s.inner, &line, &end);
    for (; line < end; line++) {
        heap h = {pcti_f32(&step->src[0]) + pcti_axis_line(&s, line), s.step, indices + pcti_axis_line(&d, line),
                  d.step};
        topk_line(&h, s.extent, p->k, pcti_f32(&step->dst[0]) + pcti_axis_line(&v, line), v.step);
    }
}

const pcti_impl pcti_cpu_impls_topk[] = {
    {.name = "heap", .layout = PCTI_LAYOUT_PLAIN, .accept = accept, .run_share = run_share},
    {0},
};
