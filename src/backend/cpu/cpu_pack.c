#include "backend/cpu/cpu_pack.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"

/* Rows [first, first + count) of a constant: where they lie, or copied to `copy`. */
static pct_status rows_of(const pcti_constant *constant, int64_t first, int64_t count, int64_t row_elems, float *copy,
                          const float **rows)
{
    *rows = copy;
    if (!constant->data) return pcti_constant_read(constant, first * row_elems, count * row_elems, copy);
    *rows = (const float *)constant->data + first * row_elems;
    return PCT_OK;
}

/* What to do with one panel of rows. */
typedef void (*panel_fn)(void *dst, const int64_t *dims, int64_t first_row, int64_t count, const float *rows,
                         int groups);

/* Panel after panel on all cores; each leaves memory (a mapped file's pages) when it is packed. */
static pct_status for_panels(const pcti_constant *constant, void *dst, int groups, panel_fn fn)
{
    const int64_t *dims = constant->shape.dims;
    int64_t row_elems = 1, per_group = dims[0] / groups, panels = pcti_ceil_div(per_group, PCTI_PANEL);
    for (int d = 1; d < constant->shape.rank; d++) row_elems *= dims[d];
    atomic_int failed = PCT_OK;
#pragma omp parallel
    {
        float *copy = constant->data ? NULL : pcti_alloc_aligned((size_t)(PCTI_PANEL * row_elems) * sizeof *copy);
        if (!copy && !constant->data) failed = PCT_ERROR_MEMORY;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < panels * groups; i++) {
            int64_t first = i / panels * per_group + i % panels * PCTI_PANEL;
            int64_t count = pcti_min(PCTI_PANEL, per_group - i % panels * PCTI_PANEL);
            const float *rows;
            if (failed) continue;
            pct_status status = rows_of(constant, first, count, row_elems, copy, &rows);
            if (status != PCT_OK) {
                failed = status;
                continue;
            }
            fn(dst, dims, first, count, rows, groups);
            pcti_constant_drop(constant, first * row_elems, count * row_elems);
        }
        pcti_free_aligned(copy);
    }
    return failed == PCT_OK ? PCT_OK : pcti_fail((pct_status)failed, "cannot read %s", constant->name);
}

static int64_t taps_of(const pct_shape *shape)
{
    int64_t taps = 1;
    for (int d = 2; d < shape->rank; d++) taps *= shape->dims[d];
    return taps;
}

/* Taps are known to the panel functions through the dimensions that follow the first two. */
static void panel_channels_fastest(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows,
                                   int groups)
{
    int64_t channels = dims[1], taps = dims[2] * dims[3], depth = channels * taps;
    int64_t per_group = dims[0] / groups, group_size = pcti_round_up(per_group, PCTI_BLOCK) * depth;
    float *panel = (float *)to + first / per_group * group_size + first % per_group * depth;
    for (int64_t t = 0; t < taps; t++)
        pcti_simd_pack(panel, (int)count, (int)depth, (int)(t * channels), (int)channels, rows + t, depth, taps);
}

static void panel_stored(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows, int groups)
{
    int64_t depth = dims[1] * dims[2] * dims[3];
    pcti_simd_pack((float *)to + first * depth, (int)count, (int)depth, 0, (int)depth, rows, depth, 1);
}

static void panel_winograd(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows, int groups)
{
    pcti_winograd_weights(to, (int)dims[0], (int)dims[1], (int)(first / PCTI_PANEL), rows, dims[1] * 9, 9);
}

static void panel_depthwise(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows,
                            int groups)
{
    int64_t taps = dims[2] * dims[3];
    float *dst = to;
    for (int64_t k = 0; k < count; k++)
        for (int64_t t = 0; t < taps; t++)
            dst[((first + k) / PCTI_BLOCK * taps + t) * PCTI_BLOCK + (first + k) % PCTI_BLOCK] = rows[k * taps + t];
}

static void panel_16(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows,
                     uint16_t (*round)(float))
{
    int64_t depth = dims[1], width = count > PCTI_BLOCK ? PCTI_PANEL : PCTI_BLOCK;
    uint16_t *panel = (uint16_t *)to + first * depth;
    for (int64_t c = 0; c < depth; c++)
        for (int64_t k = 0; k < width; k++) panel[c * width + k] = k < count ? round(rows[k * depth + c]) : 0;
}

static void panel_bf16(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows, int groups)
{
    panel_16(to, dims, first, count, rows, pcti_to_bf16);
}

static void panel_f16(void *to, const int64_t *dims, int64_t first, int64_t count, const float *rows, int groups)
{
    panel_16(to, dims, first, count, rows, pcti_to_f16);
}

typedef struct pack_plan {
    int groups;
    panel_fn fn;
} pack_plan;

/* Missing trailing dimensions count as 1, so that one set of functions serves (K, C) and (K, C, R, S). */
static pct_status fill_panels(const pcti_constant *constant, const void *cookie, void *dst)
{
    const pack_plan *plan = cookie;
    pcti_constant four = *constant;
    for (int d = four.shape.rank; d < 4; d++) four.shape.dims[d] = 1;
    four.shape.rank = 4;
    return for_panels(&four, dst, plan->groups, plan->fn);
}

static pct_status pack(pct_device *device, pcti_operand *operand, const char *packing, int64_t floats, int groups,
                       panel_fn fn)
{
    pack_plan plan = {groups, fn};
    return pcti_pack_get(device, operand->constant, packing, (size_t)floats * sizeof(float), fill_panels, &plan,
                         &operand->buffer);
}

pct_status pcti_cpu_pack_panels(pct_device *device, pcti_operand *operand, int groups)
{
    char packing[48];
    const pct_shape *shape = &operand->constant->shape;
    int64_t depth = shape->dims[1] * taps_of(shape), per_group = shape->dims[0] / groups;
    snprintf(packing, sizeof packing, "panels32 groups %d", groups);
    return pack(device, operand, packing, groups * pcti_round_up(per_group, PCTI_BLOCK) * depth, groups,
                panel_channels_fastest);
}

pct_status pcti_cpu_pack_panels_stored(pct_device *device, pcti_operand *operand)
{
    const pct_shape *shape = &operand->constant->shape;
    int64_t depth = shape->dims[1] * taps_of(shape);
    return pack(device, operand, "panels32 as stored", pcti_round_up(shape->dims[0], PCTI_BLOCK) * depth, 1,
                panel_stored);
}

pct_status pcti_cpu_pack_panels16(pct_device *device, pcti_operand *operand, pct_dtype dtype)
{
    const int64_t *dims = operand->constant->shape.dims;
    bool bf16 = dtype == PCT_BF16;
    pack_plan plan = {1, bf16 ? panel_bf16 : panel_f16};
    size_t bytes = (size_t)(pcti_round_up(dims[0], PCTI_BLOCK) * dims[1]) * sizeof(uint16_t);
    return pcti_pack_get(device, operand->constant, bf16 ? "panels32 bf16" : "panels32 f16", bytes, fill_panels,
                         &plan, &operand->buffer);
}

pct_status pcti_cpu_pack_winograd(pct_device *device, pcti_operand *operand)
{
    const int64_t *dims = operand->constant->shape.dims;
    return pack(device, operand, "winograd 4x4 3x3",
                (int64_t)pcti_winograd_weights_floats((int)dims[0], (int)dims[1]), 1, panel_winograd);
}

pct_status pcti_cpu_pack_depthwise(pct_device *device, pcti_operand *operand)
{
    const pct_shape *shape = &operand->constant->shape;
    return pack(device, operand, "depthwise16", pcti_round_up(shape->dims[0], PCTI_BLOCK) * taps_of(shape), 1,
                panel_depthwise);
}

static pct_status fill_vector(const pcti_constant *constant, const void *cookie, void *dst)
{
    return pcti_constant_read(constant, 0, constant->shape.dims[0], dst);
}

pct_status pcti_cpu_pack_vector(pct_device *device, pcti_operand *operand)
{
    if (operand->tensor.rank == PCTI_ABSENT) return PCT_OK;
    int64_t floats = pcti_round_up(operand->constant->shape.dims[0], PCTI_PANEL);
    return pcti_pack_get(device, operand->constant, "vector32", (size_t)floats * sizeof(float), fill_vector, NULL,
                         &operand->buffer);
}
