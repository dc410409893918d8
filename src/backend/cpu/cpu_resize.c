/* resize: taps of all rows and columns are tabled once; each thread makes its share of output rows. */
#include "backend/cpu/cpu.h"
#include "base/memory.h"
#include "op/resize.h"

static bool accept_mode(const pcti_call *call, pct_resize_mode mode, bool blocked, pcti_why *why)
{
    const pcti_tensor *src = &call->src[0].tensor;
    if (src->dtype != PCT_F32) return pcti_refuse(why, "type %s", pct_dtype_name(src->dtype));
    if (((const pct_resize_params *)call->params)->mode != (int64_t)mode) return pcti_refuse(why, "another mode");
    if (!blocked) return true;
    if (src->channel_block == 1) return pcti_refuse(why, "no picture");
    /* With fewer channels than a block, most of a blocked tensor is padding: such pictures stay plain. */
    if (src->dims[1] < PCTI_BLOCK) return pcti_refuse(why, "%d channels do not fill a block", (int)src->dims[1]);
    return true;
}
static bool accept_nearest(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_NEAREST, false, why);
}
static bool accept_nearest_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_NEAREST, true, why);
}
static bool accept_linear(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_LINEAR, false, why);
}
static bool accept_linear_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_mode(call, PCT_RESIZE_LINEAR, true, why);
}

static pct_status prepare(pct_device *device, pcti_step *step)
{
    const pcti_tensor *src = &step->src[0].tensor, *dst = &step->dst[0].tensor;
    size_t count = (size_t)(dst->dims[dst->rank - 2] + dst->dims[dst->rank - 1]);
    pcti_resize_tap *taps = pcti_calloc(count, sizeof *taps);
    if (!taps) return PCT_ERROR_MEMORY;
    pcti_resize_taps(step->call.params, src, dst, taps);
    step->state = taps;
    return PCT_OK;
}

static void release(pct_device *device, pcti_step *step)
{
    pcti_free(step->state);
    step->state = NULL;
}

/* One output row from the two input rows that it lies between; `unit` neighbours (channels) share a column's taps. */
typedef void (*row_fn)(const float *top, const float *bottom, float weight, const pcti_resize_tap *taps,
                       int64_t columns, float *dst);

static void nearest_row(const float *top, const float *bottom, float weight, const pcti_resize_tap *taps,
                        int64_t columns, float *dst)
{
    for (int64_t x = 0; x < columns; x++) dst[x] = top[taps[x].low];
}

static void nearest_row_blocked(const float *top, const float *bottom, float weight, const pcti_resize_tap *taps,
                                int64_t columns, float *dst)
{
    for (int64_t x = 0; x < columns; x++)
        for (int c = 0; c < PCTI_BLOCK; c++) dst[x * PCTI_BLOCK + c] = top[taps[x].low * PCTI_BLOCK + c];
}

static inline float mix(float a, float b, float weight)
{
    return a * (1 - weight) + b * weight;
}

static void linear_row(const float *top, const float *bottom, float weight, const pcti_resize_tap *taps,
                       int64_t columns, float *dst)
{
    for (int64_t x = 0; x < columns; x++) {
        pcti_resize_tap t = taps[x];
        dst[x] = mix(mix(top[t.low], top[t.high], t.weight), mix(bottom[t.low], bottom[t.high], t.weight), weight);
    }
}

static void linear_row_blocked(const float *top, const float *bottom, float weight, const pcti_resize_tap *taps,
                               int64_t columns, float *dst)
{
    for (int64_t x = 0; x < columns; x++) {
        float wx = taps[x].weight;
        const float *a = top + taps[x].low * PCTI_BLOCK, *b = top + taps[x].high * PCTI_BLOCK;
        const float *c = bottom + taps[x].low * PCTI_BLOCK, *d = bottom + taps[x].high * PCTI_BLOCK;
        float *out = dst + x * PCTI_BLOCK;
        for (int i = 0; i < PCTI_BLOCK; i++) out[i] = mix(mix(a[i], b[i], wx), mix(c[i], d[i], wx), weight);
    }
}

/* Rows y0 <= y < y1 of one plane (or block of planes). */
static void resize_plane(const pcti_step *step, row_fn row, const float *src, float *dst, int64_t y0, int64_t y1)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int down = s->rank - 2;
    const pcti_resize_tap *rows = step->state, *columns = rows + d->dims[down];
    for (int64_t y = y0; y < y1; y++)
        row(src + rows[y].low * s->strides[down], src + rows[y].high * s->strides[down], rows[y].weight, columns,
            d->dims[down + 1], dst + y * d->strides[down]);
}

static void run_blocked(const pcti_step *step, pcti_team *team, row_fn row)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    pcti_rows rows = pcti_team_rows(team, d->dims[0], d->dims[2]);
    while (pcti_rows_next(&rows))
        for (int64_t b = 0; b < pcti_ceil_div(d->dims[1], PCTI_BLOCK); b++)
            resize_plane(step, row, pcti_f32(&step->src[0]) + rows.picture * s->strides[0] + b * s->strides[1],
                         pcti_f32(&step->dst[0]) + rows.picture * d->strides[0] + b * d->strides[1], rows.y0,
                         rows.y1);
}

static void run_plain(const pcti_step *step, pcti_team *team, row_fn row)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    int64_t planes = 1; /* of one picture */
    for (int i = 1; i < s->rank - 2; i++) planes *= s->dims[i];
    int64_t s_plane = s->rank > 3 ? s->strides[s->rank - 3] : 0, d_plane = s->rank > 3 ? d->strides[s->rank - 3] : 0;
    int64_t s_picture = s->rank > 2 ? s->strides[0] : 0, d_picture = s->rank > 2 ? d->strides[0] : 0;
    pcti_rows rows = pcti_team_rows(team, (s->rank > 2 ? d->dims[0] : 1) * planes, d->dims[s->rank - 2]);
    while (pcti_rows_next(&rows)) {
        int64_t n = rows.picture / planes, p = rows.picture % planes;
        resize_plane(step, row, pcti_f32(&step->src[0]) + n * s_picture + p * s_plane,
                     pcti_f32(&step->dst[0]) + n * d_picture + p * d_plane, rows.y0, rows.y1);
    }
}

static void run_nearest(const pcti_step *step, pcti_team *team)
{
    run_plain(step, team, nearest_row);
}
static void run_nearest_blocked(const pcti_step *step, pcti_team *team)
{
    run_blocked(step, team, nearest_row_blocked);
}
static void run_linear(const pcti_step *step, pcti_team *team)
{
    run_plain(step, team, linear_row);
}
static void run_linear_blocked(const pcti_step *step, pcti_team *team)
{
    run_blocked(step, team, linear_row_blocked);
}

#define ROW(impl, rule, bound, take, fn)                                                                             \
    {                                                                                                                \
        .name = impl, .layout = rule, .accuracy = bound, .accept = take, .prepare = prepare, .release = release,     \
        .run_share = fn                                                                                              \
    }
const pcti_impl pcti_cpu_impls_resize[] = {
    ROW("nearest_blocked", PCTI_LAYOUT_BLOCKED, PCTI_ACCURACY_EXACT, accept_nearest_blocked, run_nearest_blocked),
    ROW("linear_blocked", PCTI_LAYOUT_BLOCKED, PCTI_ACCURACY_SUM, accept_linear_blocked, run_linear_blocked),
    ROW("nearest", PCTI_LAYOUT_PLAIN, PCTI_ACCURACY_EXACT, accept_nearest, run_nearest),
    ROW("linear", PCTI_LAYOUT_PLAIN, PCTI_ACCURACY_SUM, accept_linear, run_linear),
    {0},
};
