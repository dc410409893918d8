/* Softmax: lines that are neighbours in memory together, three passes over them. */
#include <math.h>

#include "backend/cpu/cpu.h"
#include "op/axis.h"

enum { COLUMNS = 64 };

/* The maximum comes off first, so that nothing overflows and the largest term of the sum is 1. The maximum leaves NaN
 * out; the sum hands it on. */
static void softmax_lines(bool log_of_it, int64_t extent, int columns, const float *src, int64_t src_step, float *dst,
                          int64_t dst_step)
{
    float most[COLUMNS];
    double sum[COLUMNS];
    for (int c = 0; c < columns; c++) {
        most[c] = -INFINITY;
        sum[c] = 0;
    }
    for (int64_t k = 0; k < extent; k++)
        for (int c = 0; c < columns; c++) {
            float x = src[k * src_step + c];
            most[c] = x > most[c] ? x : most[c];
        }
    for (int64_t k = 0; k < extent; k++)
        for (int c = 0; c < columns; c++) {
            float e = expf(src[k * src_step + c] - most[c]);
            sum[c] += e;
            if (!log_of_it) dst[k * dst_step + c] = e;
        }
    for (int c = 0; c < columns; c++) sum[c] = log_of_it ? log(sum[c]) : 1 / sum[c];
    for (int64_t k = 0; k < extent; k++)
        for (int c = 0; c < columns; c++) {
            float *y = &dst[k * dst_step + c];
            *y = log_of_it ? (float)(src[k * src_step + c] - most[c] - sum[c]) : (float)(*y * sum[c]);
        }
}

static bool accept(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

static void run_share(const pcti_step *step, pcti_team *team)
{
    const pct_softmax_params *p = step->call.params;
    pcti_axis s = pcti_axis_of(&step->src[0].tensor, p->axis), d = pcti_axis_of(&step->dst[0].tensor, p->axis);
    int64_t line, end;
    pcti_team_share(team, s.outer * s.inner, &line, &end);
    while (line < end) {
        int columns = (int)pcti_min(pcti_min(COLUMNS, s.inner - line % s.inner), end - line);
        softmax_lines(p->log, s.extent, columns, pcti_f32(&step->src[0]) + pcti_axis_line(&s, line), s.step,
                      pcti_f32(&step->dst[0]) + pcti_axis_line(&d, line), d.step);
        line += columns;
    }
}

const pcti_impl pcti_cpu_impls_softmax[] = {
    {.name = "lines",
     .layout = PCTI_LAYOUT_PLAIN,
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .in_place = true,
     .accept = accept,
     .run_share = run_share},
    {0},
};
