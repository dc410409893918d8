/* Reductions: stages over a run of axes each, several neighbouring results together; pictures' means by the pooling
 * kernels. */
#include <limits.h>
#include <math.h>

#include "backend/cpu/cpu.h"
#include "op/axis.h"
#include "op/copy.h"
#include "op/reduce.h"

enum { COLUMNS = 64, PARTS = 8 };

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

static bool accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_float(call, why);
}

/* ---- blocked pictures ---- */

static bool accept_global(const pcti_call *call, pcti_why *why, pct_reduce_fn fn)
{
    const pct_reduce_params *p = call->params;
    const pcti_tensor *x = &call->src[0].tensor;
    if ((pct_reduce_fn)p->fn != fn) return pcti_refuse(why, "another function");
    if (!pcti_reduce_is_global(call)) return pcti_refuse(why, "not the last two axes of a picture");
    if (x->dims[2] == 0 || x->dims[3] == 0) return pcti_refuse(why, "an empty picture");
    if (x->dims[2] > INT_MAX || x->dims[3] > INT_MAX) return pcti_refuse(why, "the picture is too large");
    return accept_float(call, why);
}

static bool accept_global_mean(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_global(call, why, PCT_REDUCE_MEAN);
}

static bool accept_global_max(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_global(call, why, PCT_REDUCE_MAX);
}

static void run_global(const pcti_step *step, pcti_team *team)
{
    const pct_reduce_params *p = step->call.params;
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int64_t blocks = pcti_ceil_div(s->dims[1], PCTI_BLOCK), first, end;
    pcti_team_share(team, s->dims[0] * blocks, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / blocks, b = first % blocks, count = pcti_min(PCTI_BLOCK, s->dims[1] - b * PCTI_BLOCK);
        const float *src = pcti_f32(&step->src[0]) + n * s->strides[0] + b * s->strides[1];
        float *dst = pcti_f32(&step->dst[0]) + n * d->strides[0] + b * PCTI_BLOCK, lanes[PCTI_BLOCK];
        (p->fn == PCT_REDUCE_MEAN ? team->simd->global_mean : team->simd->global_max)(
            (int)s->dims[2], (int)s->dims[3], src, s->strides[2], lanes);
        for (int64_t c = 0; c < count; c++) dst[c] = lanes[c];
    }
}

/* ---- any axes ---- */

static float larger(float most, float x)
{
    return x > most || isnan(x) ? x : most;
}

/* One line of neighbours: PARTS sums side by side, so that additions need not wait for each other. */
static double sum_contiguous(const float *src, int64_t extent)
{
    double parts[PARTS] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + PARTS <= extent; k += PARTS)
        for (int j = 0; j < PARTS; j++) parts[j] += src[k + j];
    for (int j = 0; j < PARTS; j++) sum += parts[j];
    for (; k < extent; k++) sum += src[k];
    return sum;
}

static void sum_lines(int64_t extent, int64_t step, int columns, const float *src, double terms, float *dst)
{
    double sum[COLUMNS] = {0};
    if (step == 1) sum[0] = sum_contiguous(src, extent);
    for (int64_t k = 0; k < extent && step != 1; k++)
        for (int c = 0; c < columns; c++) sum[c] += src[k * step + c];
    for (int c = 0; c < columns; c++) dst[c] = (float)(sum[c] / terms);
}

static void max_lines(int64_t extent, int64_t step, int columns, const float *src, float *dst)
{
    float most[COLUMNS];
    for (int c = 0; c < columns; c++) most[c] = -INFINITY;
    for (int64_t k = 0; k < extent; k++)
        for (int c = 0; c < columns; c++) most[c] = larger(most[c], src[k * step + c]);
    for (int c = 0; c < columns; c++) dst[c] = most[c];
}

/* dst: a tensor for the last stage, NULL for dense results in between. */
static void run_stage(const pcti_reduce_stage *s, bool max, double terms, pcti_team *team, const float *src,
                      float *dst, const pcti_tensor *dst_tensor)
{
    int64_t line, end;
    pcti_team_share(team, s->outer * s->inner, &line, &end);
    while (line < end) {
        int64_t o = line / s->inner, i = line % s->inner, follow = COLUMNS;
        int64_t to = dst_tensor ? pcti_place_of(dst_tensor, line, &follow) : line;
        int columns = (int)pcti_min(pcti_min(pcti_min(COLUMNS, follow), s->inner - i), end - line);
        const float *from = src + o / s->rows * s->picture + o % s->rows * s->extent * s->inner + i;
        if (max)
            max_lines(s->extent, s->step, columns, from, dst + to);
        else
            sum_lines(s->extent, s->step, columns, from, terms, dst + to);
        line += columns;
    }
}

static pct_status prepare(pct_device *device, pcti_step *step)
{
    pcti_reduce_stage stages[PCT_MAX_RANK];
    int64_t second;
    int count = pcti_reduce_stages(&step->call, stages);
    step->workspace_bytes = (size_t)pcti_reduce_between(stages, count, &second) * sizeof(float);
    return PCT_OK;
}

static void run_stages(const pcti_step *step, pcti_team *team)
{
    const pct_reduce_params *p = step->call.params;
    pcti_reduce_stage stages[PCT_MAX_RANK];
    int64_t second;
    int count = pcti_reduce_stages(&step->call, stages);
    bool between = pcti_reduce_between(stages, count, &second) > 0;
    const float *src = pcti_f32(&step->src[0]);
    for (int s = 0; s < count; s++) {
        bool last = s == count - 1, mean = last && p->fn == PCT_REDUCE_MEAN;
        float *dst = last ? pcti_f32(&step->dst[0]) : between ? pcti_workspace(step) + (s % 2 ? second : 0) : NULL;
        run_stage(&stages[s], p->fn == PCT_REDUCE_MAX, mean ? (double)pcti_reduce_terms(&step->call) : 1, team, src,
                  dst, last ? &step->dst[0].tensor : NULL);
        if (!last) pcti_team_barrier(team);
        src = dst;
    }
}

const pcti_impl pcti_cpu_impls_reduce[] = {
    {.name = "blocked_mean",
     .layout = PCTI_LAYOUT_BLOCKED_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_global_mean,
     .run_share = run_global},
    {.name = "blocked_max",
     .layout = PCTI_LAYOUT_BLOCKED_PLAIN,
     .accept = accept_global_max,
     .run_share = run_global},
    {.name = "stages",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept,
     .prepare = prepare,
     .run_share = run_stages},
    {0},
};

/* ---- argmax ---- */

static void argmax_lines(const pcti_axis *a, int columns, const float *src, int64_t *dst)
{
    float most[COLUMNS];
    for (int c = 0; c < columns; c++) {
        most[c] = src[c];
        dst[c] = 0;
    }
    for (int64_t k = 1; k < a->extent; k++)
        for (int c = 0; c < columns; c++) {
            float x = src[k * a->step + c];
            if (!(x > most[c] || (isnan(x) && !isnan(most[c])))) continue;
            most[c] = x;
            dst[c] = k;
        }
}

static void run_argmax(const pcti_step *step, pcti_team *team)
{
    pcti_axis a = pcti_axis_of(&step->src[0].tensor, ((const pct_argmax_params *)step->call.params)->axis);
    int64_t *dst = pcti_operand_address(&step->dst[0]), line, end, follow;
    pcti_team_share(team, a.outer * a.inner, &line, &end);
    while (line < end) {
        int64_t to = pcti_place_of(&step->dst[0].tensor, line, &follow);
        int columns = (int)pcti_min(pcti_min(pcti_min(COLUMNS, follow), a.inner - line % a.inner), end - line);
        argmax_lines(&a, columns, pcti_f32(&step->src[0]) + pcti_axis_line(&a, line), dst + to);
        line += columns;
    }
}

const pcti_impl pcti_cpu_impls_argmax[] = {
    {.name = "lines", .layout = PCTI_LAYOUT_PLAIN, .accept = accept, .run_share = run_argmax},
    {0},
};
