#include "backend/cl/cl_pack.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/memory.h"

/* Rows of a constant, outputs first, in panels of `width` rows that never cross a group. */
typedef struct rows {
    int64_t outputs, channels, taps; /* of a row: channels x taps */
    int64_t groups, width, panels;   /* panels of one group */
} rows;

/* Packs rows [first, first + count), which begin panel `panel` (counted over all groups). */
typedef void (*panel_fn)(const rows *r, int64_t panel, int64_t count, const float *src, float *dst);

typedef struct pack_plan {
    rows rows;
    panel_fn fn;
} pack_plan;

static rows rows_of(const pcti_operand *operand, int groups, int width)
{
    const pct_shape *shape = &operand->constant->shape;
    rows r = {.outputs = shape->dims[0], .channels = shape->dims[1], .taps = 1, .groups = groups, .width = width};
    for (int d = 2; d < shape->rank; d++) r.taps *= shape->dims[d];
    r.panels = pcti_ceil_div(r.outputs / groups, width);
    return r;
}

/* Panel after panel on all cores; each leaves memory (a mapped file's pages) when it is packed. */
static pct_status fill_panels(const pcti_constant *constant, const void *cookie, void *dst)
{
    const pack_plan *plan = cookie;
    const rows *r = &plan->rows;
    int64_t row = r->channels * r->taps, per_group = r->outputs / r->groups;
    atomic_int failed = PCT_OK;
#pragma omp parallel
    {
        float *copy = constant->data ? NULL : pcti_alloc_aligned((size_t)(r->width * row) * sizeof *copy);
        if (!copy && !constant->data) failed = PCT_ERROR_MEMORY;
#pragma omp for schedule(dynamic)
        for (int64_t panel = 0; panel < r->panels * r->groups; panel++) {
            int64_t at = panel % r->panels * r->width, first = panel / r->panels * per_group + at;
            int64_t count = pcti_min(r->width, per_group - at);
            const float *src = copy;
            if (failed) continue;
            if (constant->data) {
                src = (const float *)constant->data + first * row;
            } else {
                pct_status status = pcti_constant_read(constant, first * row, count * row, copy);
                if (status != PCT_OK) {
                    failed = status;
                    continue;
                }
            }
            plan->fn(r, panel, count, src, dst);
            pcti_constant_drop(constant, first * row, count * row);
        }
        pcti_free_aligned(copy);
    }
    return failed == PCT_OK ? PCT_OK : pcti_fail((pct_status)failed, "cannot read %s", constant->name);
}

static void panel_channels_fastest(const rows *r, int64_t panel, int64_t count, const float *src, float *dst)
{
    int64_t row = r->channels * r->taps;
    float *to = dst + panel * row * r->width;
    for (int64_t t = 0; t < r->taps; t++)
        for (int64_t c = 0; c < r->channels; c++, to += r->width)
            for (int64_t k = 0; k < count; k++) to[k] = src[k * row + c * r->taps + t];
}

static void panel_as_stored(const rows *r, int64_t panel, int64_t count, const float *src, float *dst)
{
    int64_t row = r->channels * r->taps;
    float *to = dst + panel * row * r->width;
    for (int64_t i = 0; i < row; i++, to += r->width)
        for (int64_t k = 0; k < count; k++) to[k] = src[k * row + i];
}

static void panel_depthwise(const rows *r, int64_t panel, int64_t count, const float *src, float *dst)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t t = 0; t < r->taps; t++) dst[(panel * r->taps + t) * r->width + k] = src[k * r->taps + t];
}

/* One dimension of the filter transform: G g, G from Lavin & Gray, "Fast algorithms for convolutional neural
 * networks" (2015), for F(4,3). */
static void transform_filter(const double g[3], double out[6])
{
    double even = g[0] + g[2], fourth = g[0] / 24 + g[2] / 6;
    out[0] = g[0] / 4;
    out[1] = -(even + g[1]) / 6;
    out[2] = -(even - g[1]) / 6;
    out[3] = fourth + g[1] / 12;
    out[4] = fourth - g[1] / 12;
    out[5] = g[2];
}

static void panel_winograd(const rows *r, int64_t panel, int64_t count, const float *src, float *dst)
{
    int64_t row = r->channels * 9, plane = r->panels * r->channels * r->width;
    for (int64_t c = 0; c < r->channels; c++)
        for (int64_t k = 0; k < count; k++) {
            const float *g = src + k * row + c * 9;
            double half[6][3], column[6];
            for (int s = 0; s < 3; s++) {
                transform_filter((const double[3]){g[s], g[3 + s], g[6 + s]}, column);
                for (int i = 0; i < 6; i++) half[i][s] = column[i];
            }
            float *to = dst + (panel * r->channels + c) * r->width + k;
            for (int i = 0; i < 6; i++) {
                transform_filter(half[i], column);
                for (int j = 0; j < 6; j++) to[(i * 6 + j) * plane] = (float)column[j];
            }
        }
}

static pct_status pack(pct_device *device, pcti_operand *operand, const char *packing, rows r, int64_t floats_a_row,
                       panel_fn fn)
{
    pack_plan plan = {r, fn};
    size_t floats = (size_t)(r.groups * r.panels * r.width * floats_a_row);
    return pcti_pack_get(device, operand->constant, packing, floats * sizeof(float), fill_panels, &plan,
                         &operand->buffer);
}

pct_status pcti_cl_pack_panels(pct_device *device, pcti_operand *operand, int groups, int width)
{
    char packing[64];
    rows r = rows_of(operand, groups, width);
    snprintf(packing, sizeof packing, "panels%d groups %d", width, groups);
    return pack(device, operand, packing, r, r.channels * r.taps, panel_channels_fastest);
}

pct_status pcti_cl_pack_panels_stored(pct_device *device, pcti_operand *operand, int width)
{
    char packing[64];
    rows r = rows_of(operand, 1, width);
    snprintf(packing, sizeof packing, "panels%d as stored", width);
    return pack(device, operand, packing, r, r.channels * r.taps, panel_as_stored);
}

pct_status pcti_cl_pack_winograd(pct_device *device, pcti_operand *operand)
{
    rows r = rows_of(operand, 1, PCTI_CL_PANEL);
    return pack(device, operand, "winograd 4x4 3x3", r, PCTI_CL_WINOGRAD_POINTS * r.channels, panel_winograd);
}

pct_status pcti_cl_pack_depthwise(pct_device *device, pcti_operand *operand)
{
    rows r = rows_of(operand, 1, PCTI_BLOCK);
    return pack(device, operand, "depthwise16", r, r.taps, panel_depthwise);
}

static pct_status fill_vector(const pcti_constant *constant, const void *cookie, void *dst)
{
    return pcti_constant_read(constant, 0, constant->shape.dims[0], dst);
}

pct_status pcti_cl_pack_vector(pct_device *device, pcti_operand *operand)
{
    if (operand->tensor.rank == PCTI_ABSENT) return PCT_OK;
    size_t floats = (size_t)pcti_round_up(operand->constant->shape.dims[0], PCTI_CL_PANEL);
    return pcti_pack_get(device, operand->constant, "vector32", floats * sizeof(float), fill_vector, NULL,
                         &operand->buffer);
}
