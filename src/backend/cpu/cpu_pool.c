/* Pooling. Blocked rows run the window kernels on picture rows; the plain one takes every geometry. */
#include <limits.h>
#include <math.h>

#include "backend/cpu/cpu.h"
#include "op/pool.h"

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

/* The kernels count in int. */
static bool accept_sizes(const pcti_pool *p, pcti_why *why)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t furthest = p->in[axis] + p->pad[axis] + p->pad[axis + 2] + p->kernel[axis] * p->dilation[axis];
        if (furthest + p->out[axis] * p->stride[axis] > INT_MAX)
            return pcti_refuse(why, "size %lld is too large", (long long)p->in[axis]);
    }
    return true;
}

static bool accept_window(const pcti_call *call, pcti_why *why, bool mean)
{
    pcti_pool p = pcti_pool_of(call);
    if (p.mean != mean) return pcti_refuse(why, "another kind of pooling");
    if (p.global) return pcti_refuse(why, "global");
    return accept_float(call, why) && accept_sizes(&p, why);
}

static bool accept_window_max(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_pool p = pcti_pool_of(call);
    /* Between dilated taps the picture can vanish: -inf, also in padding channels. */
    bool can_miss = (p.dilation[0] > 1 && p.pad[0]) || (p.dilation[1] > 1 && p.pad[1]);
    if (can_miss && call->src[0].tensor.dims[1] % PCTI_BLOCK)
        return pcti_refuse(why, "dilated windows beside the picture would fill padding channels");
    return accept_window(call, why, false);
}

static bool accept_window_mean(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_window(call, why, true);
}

static pcti_simd_window window_of(const pcti_pool *p)
{
    return (pcti_simd_window){.in_h = (int)p->in[0],
                              .in_w = (int)p->in[1],
                              .out_h = (int)p->out[0],
                              .out_w = (int)p->out[1],
                              .kernel_h = (int)p->kernel[0],
                              .kernel_w = (int)p->kernel[1],
                              .stride_h = (int)p->stride[0],
                              .stride_w = (int)p->stride[1],
                              .dilation_h = (int)p->dilation[0],
                              .dilation_w = (int)p->dilation[1],
                              .pad_top = (int)p->pad[0],
                              .pad_left = (int)p->pad[1],
                              .pad_bottom = (int)p->pad[2],
                              .pad_right = (int)p->pad[3]};
}

static void run_window(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const pcti_pool p = pcti_pool_of(&step->call);
    const pcti_simd_window w = window_of(&p);
    int64_t blocks = pcti_ceil_div(s->dims[1], PCTI_BLOCK);
    pcti_rows rows = pcti_team_rows(team, d->dims[0], d->dims[2]);
    while (pcti_rows_next(&rows))
        for (int64_t b = 0; b < blocks; b++) {
            const float *src = pcti_f32(&step->src[0]) + rows.picture * s->strides[0] + b * s->strides[1];
            float *dst = pcti_f32(&step->dst[0]) + rows.picture * d->strides[0] + b * d->strides[1];
            if (p.mean)
                team->simd->pool_mean(&w, p.include_pad, src, s->strides[2], dst, d->strides[2], rows.y0, rows.y1);
            else
                team->simd->pool_max(&w, src, s->strides[2], dst, d->strides[2], rows.y0, rows.y1);
        }
}

static bool accept_global(const pcti_call *call, pcti_why *why, bool mean)
{
    pcti_pool p = pcti_pool_of(call);
    if (p.mean != mean) return pcti_refuse(why, "another kind of pooling");
    if (!p.global) return pcti_refuse(why, "not global");
    return accept_float(call, why) && accept_sizes(&p, why);
}

static bool accept_global_max(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_global(call, why, false);
}

static bool accept_global_mean(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_global(call, why, true);
}

static void run_global(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const pcti_pool p = pcti_pool_of(&step->call);
    int64_t channels = s->dims[1], blocks = pcti_ceil_div(channels, PCTI_BLOCK), first, end;
    pcti_team_share(team, s->dims[0] * blocks, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / blocks, b = first % blocks, count = pcti_min(PCTI_BLOCK, channels - b * PCTI_BLOCK);
        const float *src = pcti_f32(&step->src[0]) + n * s->strides[0] + b * s->strides[1];
        float *dst = pcti_f32(&step->dst[0]) + n * d->strides[0] + b * PCTI_BLOCK, lanes[PCTI_BLOCK];
        (p.mean ? team->simd->global_mean : team->simd->global_max)((int)p.in[0], (int)p.in[1], src, s->strides[2],
                                                                    lanes);
        for (int64_t c = 0; c < count; c++) dst[c] = lanes[c];
    }
}

/* ---- plain ---- */

static bool accept_plain(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_float(call, why);
}

/* Taps first <= t < end of an axis that fall on 0 .. size - 1, tap 0 being at `start`. */
static void taps_within(int64_t start, int64_t kernel, int64_t dilation, int64_t size, int64_t *first, int64_t *end)
{
    *first = start < 0 ? pcti_min(kernel, pcti_ceil_div(-start, dilation)) : 0;
    *end = start < size ? pcti_min(kernel, (size - 1 - start) / dilation + 1) : 0;
    *end = pcti_max(*first, *end);
}

static float plain_window(const pcti_pool *p, const float *plane, int64_t row_stride, int64_t y, int64_t x)
{
    int64_t top = y * p->stride[0] - p->pad[0], left = x * p->stride[1] - p->pad[1], r0, r1, s0, s1;
    taps_within(top, p->kernel[0], p->dilation[0], p->in[0], &r0, &r1);
    taps_within(left, p->kernel[1], p->dilation[1], p->in[1], &s0, &s1);
    float most = -INFINITY;
    double sum = 0;
    for (int64_t r = r0; r < r1; r++) {
        const float *row = plane + (top + r * p->dilation[0]) * row_stride + left;
        for (int64_t s = s0; s < s1; s++) {
            float value = row[s * p->dilation[1]];
            sum += value;
            if (value > most || isnan(value)) most = value;
        }
    }
    if (!p->mean) return most;
    int64_t count = (r1 - r0) * (s1 - s0);
    if (p->include_pad) {
        taps_within(top + p->pad[0], p->kernel[0], p->dilation[0], p->in[0] + p->pad[0] + p->pad[2], &r0, &r1);
        taps_within(left + p->pad[1], p->kernel[1], p->dilation[1], p->in[1] + p->pad[1] + p->pad[3], &s0, &s1);
        count = (r1 - r0) * (s1 - s0);
    }
    return count ? (float)(sum / (double)count) : 0;
}

static void run_plain(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    const pcti_pool p = pcti_pool_of(&step->call);
    int64_t height = p.out[0], first, end;
    pcti_team_share(team, d->dims[0] * d->dims[1] * height, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / height / d->dims[1], c = first / height % d->dims[1], y = first % height;
        const float *src = pcti_f32(&step->src[0]) + n * s->strides[0] + c * s->strides[1];
        float *dst = pcti_f32(&step->dst[0]) + n * d->strides[0] + c * d->strides[1] + y * d->strides[2];
        for (int64_t x = 0; x < p.out[1]; x++) dst[x] = plain_window(&p, src, s->strides[2], y, x);
    }
}

const pcti_impl pcti_cpu_impls_pool2d[] = {
    {.name = "blocked_max", .layout = PCTI_LAYOUT_BLOCKED, .accept = accept_window_max, .run_share = run_window},
    {.name = "blocked_mean",
     .layout = PCTI_LAYOUT_BLOCKED,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_window_mean,
     .run_share = run_window},
    {.name = "global_max", .layout = PCTI_LAYOUT_BLOCKED_PLAIN, .accept = accept_global_max, .run_share = run_global},
    {.name = "global_mean",
     .layout = PCTI_LAYOUT_BLOCKED_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_global_mean,
     .run_share = run_global},
    {.name = "plain",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_SUM,
     .accept = accept_plain,
     .run_share = run_plain},
    {0},
};
