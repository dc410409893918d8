/* Choice of the instruction set, and what is alike on all of them: packing, sizes. */
#include "backend/cpu/simd/common.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const pcti_simd *pcti_simd_at(int i)
{
    const pcti_simd *usable[3];
    int n = 0;
#ifdef PCTI_SIMD_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        usable[n++] = &pcti_simd_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable[n++] = &pcti_simd_avx2;
#endif
    usable[n++] = &pcti_simd_generic;
    return i >= 0 && i < n ? usable[i] : NULL;
}

pct_status pcti_simd_select(const char *name, const pcti_simd **simd)
{
    const char *source = "instruction set";
    if (!name) {
        name = getenv("PCT_ISA");
        source = "PCT_ISA";
        if (!name || !*name) {
            *simd = pcti_simd_at(0);
            return PCT_OK;
        }
    }
    char valid[64] = "";
    for (int i = 0; pcti_simd_at(i); i++) {
        const pcti_simd *table = pcti_simd_at(i);
        if (strcmp(table->name, name) == 0) {
            *simd = table;
            return PCT_OK;
        }
        if (i > 0) strcat(valid, ", ");
        strcat(valid, table->name);
    }
    *simd = NULL;
    return pcti_fail(PCT_ERROR_ARGUMENT, "%s '%s' is unknown or not usable on this processor: choose one of %s",
                     source, name, valid);
}

size_t pcti_simd_pack_floats(int outputs, int depth)
{
    return (size_t)simd_blocks(outputs) * PCTI_LANES * (size_t)depth;
}

void pcti_simd_pack(float *dst, int outputs, int depth, int first, int count, const float *src, ptrdiff_t stride_k,
                    ptrdiff_t stride_d)
{
    for (int k0 = 0; k0 < outputs; k0 += PCTI_PANEL) {
        const int width = outputs - k0 > PCTI_LANES ? PCTI_PANEL : PCTI_LANES, valid = simd_min(outputs - k0, width);
        float *row = dst + (size_t)k0 * (size_t)depth + (size_t)first * (size_t)width;
        for (int d = 0; d < count; d++, row += width) {
            const float *from = src + k0 * stride_k + d * stride_d;
            for (int k = 0; k < valid; k++) row[k] = from[k * stride_k];
            for (int k = valid; k < width; k++) row[k] = 0.0f;
        }
    }
}

size_t pcti_winograd_weights_floats(int outputs, int channels)
{
    return WINOGRAD_TAPS * pcti_simd_pack_floats(outputs, channels);
}

/* G g G', with the G of F(4x4,3x3) for the points 0, 1, -1, 2, -2, infinity. */
void pcti_winograd_weights(float *dst, int outputs, int channels, int panel, const float *wei, ptrdiff_t stride_k,
                           ptrdiff_t stride_c)
{
    static const double g[6][3] = {{1.0 / 4, 0, 0},
                                   {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                   {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                   {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                   {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                   {0, 0, 1}};
    const size_t tap = pcti_simd_pack_floats(outputs, channels);
    const int k0 = panel * PCTI_PANEL, width = outputs - k0 > PCTI_LANES ? PCTI_PANEL : PCTI_LANES;
    const int valid = simd_min(outputs - k0, width);
    float *to = dst + (size_t)k0 * (size_t)channels;
    for (int c = 0; c < channels; c++)
        for (int k = 0; k < width; k++, to++) {
            double rows[6][3] = {{0}};
            for (int i = 0; i < 6 && k < valid; i++)
                for (int s = 0; s < 3; s++) {
                    const float *from = wei + k * stride_k + c * stride_c + s;
                    rows[i][s] = g[i][0] * from[0] + g[i][1] * from[3] + g[i][2] * from[6];
                }
            for (int i = 0; i < 6; i++)
                for (int j = 0; j < 6; j++)
                    to[(size_t)(i * 6 + j) * tap] =
                        (float)(rows[i][0] * g[j][0] + rows[i][1] * g[j][1] + rows[i][2] * g[j][2]);
        }
}

int pcti_winograd_tiles(const pcti_winograd *w)
{
    return w->pictures * ((w->out_h + 3) / 4) * ((w->out_w + 3) / 4);
}

size_t pcti_winograd_floats(int channels, int outputs, int tiles)
{
    return winograd_products(channels, tiles) + WINOGRAD_TAPS * winograd_stride(outputs, tiles);
}

int pcti_winograd_block(const pcti_simd *simd, int channels, int outputs)
{
    long l2_bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    if (l2_bytes <= 0) l2_bytes = 1 << 20;
    const int64_t tile_bytes = (int64_t)WINOGRAD_TAPS * (channels + outputs) * (int64_t)sizeof(float);
    const int fit = (int)(l2_bytes / tile_bytes), least = 12, most = 48;
    return simd_max((least + simd->tile_rows - 1) / simd->tile_rows, simd_min(fit, most) / simd->tile_rows) *
           simd->tile_rows;
}

void pcti_simd_strip(const pcti_simd_window *w, int count, int *rows, int *columns)
{
    *rows = count > 0 ? (count - 1) * w->stride_h + (w->kernel_h - 1) * w->dilation_h + 1 : 0;
    *columns = w->out_w > 0 ? (w->out_w - 1) * w->stride_w + (w->kernel_w - 1) * w->dilation_w + 1 : 0;
}

/* The offsets of gemm's taps, then the padded rows of all channels for one output row. */
size_t pcti_simd_first_floats(const pcti_simd_window *w, int channels)
{
    int rows, columns;
    pcti_simd_strip(w, 1, &rows, &columns);
    return (size_t)channels * w->kernel_h * w->kernel_w * (sizeof(ptrdiff_t) / sizeof(float)) +
           (size_t)channels * rows * columns;
}
