/* Convolutions on plain NCHW: im2col with OpenBLAS, and plain loops that take everything. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_conv.h"
#include "base/memory.h"

/* ---- im2col, one single-threaded sgemm for each thread's rows ---- */

enum { IM2COL_FLOATS = 256 << 10 };

typedef struct im2col_state {
    int rows; /* output rows at a time */
    size_t scratch_floats;
} im2col_state;

bool pcti_im2col_accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    for (int i = 0; i < call->n_src; i++)
        if (pcti_call_src(call, i) && call->src[i].tensor.dtype != PCT_F32) return pcti_refuse(why, "type of operand %d", i);
    for (int d = 0; d < 4; d++)
        if (call->src[0].tensor.dims[d] > INT32_MAX / 4 || call->dst[0].tensor.dims[d] > INT32_MAX / 4)
            return pcti_refuse(why, "dimension %d does not fit", d);
    if (call->dst[0].tensor.dims[2] * call->dst[0].tensor.dims[3] > INT32_MAX) return pcti_refuse(why, "a plane of more than 2^31 pixels");
    pcti_simd_window w = pcti_conv_window(call);
    int64_t depth = call->src[1].tensor.dims[1] * w.kernel_h * w.kernel_w;
    if (depth < 1) return pcti_refuse(why, "no channels");
    if (!pcti_tensor_is_dense(&call->src[1].tensor)) return pcti_refuse(why, "weights with a picture stride");
    if (depth * w.out_w > 64 << 20) return pcti_refuse(why, "one row of columns is too large");
    return true;
}

pct_status pcti_im2col_prepare(pct_device *device, pcti_step *step)
{
    pcti_simd_window w = pcti_conv_window(&step->call);
    int64_t depth = step->src[1].tensor.dims[1] * w.kernel_h * w.kernel_w;
    im2col_state *state = step->state = pcti_calloc(1, sizeof *state);
    if (!state) return PCT_ERROR_MEMORY;
    state->rows = (int)pcti_max(1, pcti_min(w.out_h, IM2COL_FLOATS / pcti_max(1, depth * w.out_w)));
    state->scratch_floats = (size_t)pcti_round_up(depth * state->rows * w.out_w, 16);
    step->workspace_bytes = state->scratch_floats * sizeof(float) * (size_t)pcti_cpu(device)->threads;
    return PCT_OK;
}

/* columns[c][r][s][pixel] of output rows y0 <= y < y1 */
static void im2col(const pcti_simd_window *w, int64_t channels, const float *src, int64_t channel_stride, int y0, int y1, float *columns)
{
    int64_t pixels = (int64_t)(y1 - y0) * w->out_w;
    for (int64_t row = 0; row < channels * w->kernel_h * w->kernel_w; row++) {
        int s = (int)(row % w->kernel_w), r = (int)(row / w->kernel_w % w->kernel_h);
        const float *plane = src + row / (w->kernel_w * w->kernel_h) * channel_stride;
        float *to = columns + row * pixels;
        for (int y = y0; y < y1; y++) {
            int iy = y * w->stride_h - w->pad_top + r * w->dilation_h;
            for (int x = 0; x < w->out_w; x++) {
                int ix = x * w->stride_w - w->pad_left + s * w->dilation_w;
                *to++ = iy >= 0 && iy < w->in_h && ix >= 0 && ix < w->in_w ? plane[(int64_t)iy * w->in_w + ix] : 0;
            }
        }
    }
}

/* Bias, residual, activation on count values that follow each other. */
static void finish_row(const pcti_activation *act, float bias, const float *residual, float *dst, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float value = dst[i] + bias + (residual ? residual[i] : 0);
        if (act->kind == PCTI_ACT_CLIP) value = value < (float)act->low ? (float)act->low : value > (float)act->high ? (float)act->high : value;
        dst[i] = value;
    }
}

void pcti_im2col_run(const pcti_step *step, pcti_team *team)
{
    const im2col_state *state = step->state;
    const pct_conv2d_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor, *y = &step->dst[0].tensor;
    const pcti_operand *bias = pcti_call_src(&step->call, 2), *residual = pcti_call_fused(&step->call, PCTI_FUSED_RESIDUAL);
    pcti_activation act = pcti_call_post_act(&step->call);
    pcti_simd_window w = pcti_conv_window(&step->call);
    int64_t channels = x->dims[1] / p->groups, outputs = y->dims[1] / p->groups, depth = channels * w.kernel_h * w.kernel_w;
    float *columns = pcti_workspace(step) + state->scratch_floats * (size_t)team->me;
    pcti_rows rows = pcti_team_rows(team, x->dims[0] * p->groups, w.out_h);
    while (pcti_rows_next(&rows)) {
        int64_t n = rows.picture / p->groups, group = rows.picture % p->groups;
        for (int y0 = rows.y0; y0 < rows.y1; y0 += state->rows) {
            int y1 = (int)pcti_min(rows.y1, y0 + state->rows);
            int64_t pixels = (int64_t)(y1 - y0) * w.out_w;
            im2col(&w, channels, pcti_f32(&step->src[0]) + n * x->strides[0] + group * channels * x->strides[1], x->strides[1], y0, y1, columns);
            float *out = pcti_f32(&step->dst[0]) + n * y->strides[0] + group * outputs * y->strides[1] + (int64_t)y0 * w.out_w;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)outputs, (int)pixels, (int)depth, 1,
                        pcti_f32(&step->src[1]) + group * outputs * depth, (int)depth, columns, (int)pixels, 0, out, (int)y->strides[1]);
            for (int64_t k = 0; k < outputs; k++) {
                const float *r = residual ? pcti_f32(residual) + n * residual->tensor.strides[0] +
                                                (group * outputs + k) * residual->tensor.strides[1] + (int64_t)y0 * w.out_w
                                          : NULL;
                finish_row(&act, bias ? pcti_f32(bias)[group * outputs + k] : 0, r, out + k * y->strides[1], pixels);
            }
        }
    }
}

/* ---- plain loops ---- */

void pcti_plain_conv_run(const pcti_step *step, pcti_team *team)
{
    const pct_conv2d_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor, *wt = &step->src[1].tensor, *y = &step->dst[0].tensor;
    const float *bias = pcti_f32(pcti_call_src(&step->call, 2));
    pcti_simd_window w = pcti_conv_window(&step->call);
    int64_t channels = wt->dims[1], per_group = y->dims[1] / p->groups;
    pcti_rows rows = pcti_team_rows(team, y->dims[0] * y->dims[1], w.out_h);
    while (pcti_rows_next(&rows)) {
        int64_t n = rows.picture / y->dims[1], k = rows.picture % y->dims[1];
        const float *src = pcti_f32(&step->src[0]) + n * x->strides[0] + k / per_group * channels * x->strides[1];
        const float *wei = pcti_f32(&step->src[1]) + k * wt->strides[0];
        float *dst = pcti_f32(&step->dst[0]) + n * y->strides[0] + k * y->strides[1];
        for (int oy = rows.y0; oy < rows.y1; oy++)
            for (int ox = 0; ox < w.out_w; ox++) {
                float sum = bias ? bias[k] : 0;
                for (int64_t c = 0; c < channels; c++)
                    for (int r = 0; r < w.kernel_h; r++) {
                        int iy = oy * w.stride_h - w.pad_top + r * w.dilation_h;
                        if (iy < 0 || iy >= w.in_h) continue;
                        for (int s = 0; s < w.kernel_w; s++) {
                            int ix = ox * w.stride_w - w.pad_left + s * w.dilation_w;
                            if (ix < 0 || ix >= w.in_w) continue;
                            sum += src[c * x->strides[1] + (int64_t)iy * w.in_w + ix] * wei[(c * w.kernel_h + r) * w.kernel_w + s];
                        }
                    }
                dst[(int64_t)oy * w.out_w + ox] = sum;
            }
    }
}

/* Gathers: each output looks for the inputs that reach it, so that no sum crosses threads. */
void pcti_plain_conv_transpose_run(const pcti_step *step, pcti_team *team)
{
    const pct_conv_transpose2d_params *p = step->call.params;
    const pcti_tensor *x = &step->src[0].tensor, *wt = &step->src[1].tensor, *y = &step->dst[0].tensor;
    const float *bias = pcti_f32(pcti_call_src(&step->call, 2));
    int64_t in_channels = x->dims[1] / p->groups, per_group = wt->dims[1], kernel_h = wt->dims[2], kernel_w = wt->dims[3], width = y->dims[3];
    pcti_rows rows = pcti_team_rows(team, y->dims[0] * y->dims[1], y->dims[2]);
    while (pcti_rows_next(&rows)) {
        int64_t n = rows.picture / y->dims[1], k = rows.picture % y->dims[1], group = k / per_group;
        float *dst = pcti_f32(&step->dst[0]) + n * y->strides[0] + k * y->strides[1] + rows.y0 * width;
        for (int64_t i = 0; i < (rows.y1 - rows.y0) * width; i++) dst[i] = bias ? bias[k] : 0;
        for (int64_t c = group * in_channels; c < (group + 1) * in_channels; c++) {
            const float *src = pcti_f32(&step->src[0]) + n * x->strides[0] + c * x->strides[1];
            const float *wei = pcti_f32(&step->src[1]) + c * wt->strides[0] + k % per_group * wt->strides[1];
            for (int64_t oy = rows.y0; oy < rows.y1; oy++)
                for (int64_t r = 0; r < kernel_h; r++) {
                    int64_t up = oy + p->pad[0] - r * p->dilation[0], iy = up / p->stride[0];
                    if (up < 0 || up % p->stride[0] || iy >= x->dims[2]) continue;
                    for (int64_t ix = 0; ix < x->dims[3]; ix++)
                        for (int64_t s = 0; s < kernel_w; s++) {
                            int64_t ox = ix * p->stride[1] - p->pad[1] + s * p->dilation[1];
                            if (ox >= 0 && ox < width) dst[(oy - rows.y0) * width + ox] += src[iy * x->dims[3] + ix] * wei[r * kernel_w + s];
                        }
                }
        }
    }
}
