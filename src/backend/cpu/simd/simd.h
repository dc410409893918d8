/* The CPU backend's kernels: plain functions on pointers, counts and strides, one table per instruction set.
 *
 * Conventions
 * - Strides are in floats. A blocked plane (one picture, one block of 16 channels) has pixel (y, x) at
 *   plane + y*row_stride + x*16; its block stride leads to the next 16 channels.
 * - Padding channels of inputs hold zeros (or are never read, see `depth`); weights, bias, scale and shift
 *   are padded with zeros, so that outputs hold zeros there too (a clip with lo > 0 or hi < 0 would not).
 * - clip(lo, hi) is the activation: (-INFINITY, INFINITY) none, (0, INFINITY) ReLU, (0, 6) ReLU6. NaN stays.
 * - Nothing allocates, nothing keeps state; any number of threads may call, each writing its own outputs.
 *   Every output is a sum in a fixed order, so that the bits do not depend on how work is split.
 * - Pointers are aligned to 4 bytes at least; 64 bytes is what is fast.
 * - Rows and counts may be 0: nothing happens.
 * Sources: tiles as in Goto and van de Geijn 2008; Winograd as in Lavin and Gray 2016 (arXiv:1509.09308). */
#ifndef PCTI_CPU_SIMD_H
#define PCTI_CPU_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { PCTI_LANES = 16, PCTI_PANEL = 32 };

/* How a panel's elements lie in memory. */
typedef enum pcti_simd_storage { PCTI_SIMD_F32, PCTI_SIMD_BF16, PCTI_SIMD_F16 } pcti_simd_storage;

/* out[i][j] = clip(bias[j] + sum over taps t and channels c of A[t][c][i] * B[t*depth + c][j]
 *                  (+ out[i][j]) (+ residual[i][j]))
 *
 * Row i = (run, r), r < rows: a 1x1 convolution of a dense picture is one run of H*W rows; a strided one has
 * a run per output row. A tile of registers never spans two runs.
 *   A[t][c][i]   at a + taps[t] + (c/16)*a_block + run*a_run + r*a_row + c%16; taps NULL: one at offset 0
 *   out[i][j]    at out + (j/16)*out_block + run*out_run + r*out_row + j%16; residual alike
 *   B            panels as pcti_simd_pack makes them, total depth n_taps*depth
 * So blocked pictures have a_block = plane, a_row = 16; a row-major matrix [i][c] has a_block = 16, a_row =
 * its pitch (dense layers: no copy), out alike.
 * `columns` need not be a multiple of 16: just so many are stored per row, and a row-major out may be exactly
 * so wide; blocked outputs pass a multiple of 16. Only channels c < depth of A are read.
 * Panels are walked outside, rows inside: rows whose part of A stays in the L2 (56 to 112 pixels) are best.
 * To split columns over threads, start at panel p: b + p*32*n_taps*depth, out + 2*p*out_block, bias + 32*p. */
typedef struct pcti_simd_gemm {
    const float *a;
    const void *b;
    pcti_simd_storage b_storage; /* of the panels; arithmetic is float32 whatever they hold */
    const ptrdiff_t *taps; /* NULL or n_taps offsets */
    int n_taps, depth;     /* depth = channels of a tap */
    int runs, rows, columns;
    ptrdiff_t a_block, a_run, a_row;
    float *out;
    ptrdiff_t out_block, out_run, out_row;
    const float *bias;     /* NULL, or `columns` rounded up to 16 */
    const float *residual; /* NULL, or laid out with the strides below; may be `out` itself */
    ptrdiff_t res_block, res_run, res_row;
    const void *prefetch; /* NULL, or the panel that the same thread will read after this call's last one */
    float lo, hi;
    bool accumulate; /* add to what is in `out` */
} pcti_simd_gemm;

/* The geometry of a sliding window, for everything but Winograd: input row of tap r at output row y is
 * y*stride_h - pad_top + r*dilation_h, columns alike. */
typedef struct pcti_simd_window {
    int in_h, in_w, out_h, out_w;
    int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int pad_top, pad_left, pad_bottom, pad_right; /* bottom and right matter to average pooling only */
} pcti_simd_window;

/* 3x3 convolution with stride 1 by Winograd F(4x4,3x3), on tiles of 4x4 outputs numbered row by row through
 * all pictures. out_h = in_h + pad_top + pad_bottom - 2; pads 0 or 1, bottom and right follow from out_h and
 * out_w. With pool, dst is the 2x2 stride 2 maximum (out_h/2 x out_w/2, rounded down) of the activated
 * outputs. */
typedef struct pcti_winograd {
    int pictures, channels, outputs; /* channels are read exactly, outputs written rounded up to 16 */
    int in_h, in_w, out_h, out_w, pad_top, pad_left;
    const float *src;
    ptrdiff_t src_picture, src_block, src_row;
    const float *wei; /* pcti_winograd_weights */
    const float *bias;
    const float *residual; /* NULL, or shaped out_h x out_w, also with pool */
    ptrdiff_t res_picture, res_block, res_row;
    float *dst;
    ptrdiff_t dst_picture, dst_block, dst_row;
    float lo, hi;
    bool pool;
} pcti_winograd;

typedef struct pcti_simd {
    const char *name; /* "avx512", "avx2", "generic" */
    int tile_rows;    /* most rows of a register tile; multiples of it are good block sizes */

    void (*gemm)(const pcti_simd_gemm *g);

    /* Schedule "share": thread `me` of `n` takes its contiguous share of the tiles, `block` at a time,
     * through all three steps. Best while transformed weights stay below some 10 MB. scratch: this thread's
     * own, pcti_winograd_floats(channels, outputs, block) floats. */
    void (*winograd_share)(const pcti_winograd *w, int block, float *scratch, int me, int n);
    /* Schedule "phases": for each chunk of tiles (first, count) these three with a barrier after each; the
     * scratch of pcti_winograd_floats(channels, outputs, count) floats is common to all threads. Each weight
     * is read by one thread, once a chunk. */
    void (*winograd_input)(const pcti_winograd *w, int first, int count, float *scratch, int me, int n);
    void (*winograd_taps)(const pcti_winograd *w, int count, float *scratch, int me, int n);
    void (*winograd_output)(const pcti_winograd *w, int first, int count, float *scratch, int me, int n);

    /* Depthwise convolution of one block: output rows y0 <= y < y1. src, dst: the block's planes (row 0).
     * wei [kernel_h*kernel_w][16], bias [16] or NULL. */
    void (*depthwise)(const pcti_simd_window *w, const float *src, ptrdiff_t src_row, const float *wei,
                      const float *bias, float *dst, ptrdiff_t dst_row, int y0, int y1, float lo, float hi);

    /* im2col of output pixels p0 <= p < p1 (p = y*out_w + x) of one picture:
     * dst[tap][C/16][p - p0][16], zeros outside the picture. For gemm: taps[t] = t*blocks*(p1-p0)*16,
     * a_block = (p1-p0)*16, a_row = 16. */
    void (*gather)(const pcti_simd_window *w, int blocks, const float *src, ptrdiff_t src_block, ptrdiff_t src_row,
                   int p0, int p1, float *dst);
    /* The input rows that output rows y0 <= y < y1 need, with the picture's borders as zeros:
     * dst[C/16][row][column][16], row 0 = input row y0*stride_h - pad_top, column 0 = input column -pad_left;
     * pcti_simd_strip gives the size. For gemm: taps[r*kernel_w + s] = (r*dilation_h*columns +
     * s*dilation_w)*16, a_run = stride_h*columns*16, a_row = stride_w*16, a_block = rows*columns*16: a direct
     * convolution without im2col. */
    void (*pad_rows)(const pcti_simd_window *w, int blocks, const float *src, ptrdiff_t src_block, ptrdiff_t src_row,
                     int y0, int y1, float *dst);
    /* Convolution of a plain NCHW picture (any channel count; meant for 1 to 4) to blocked output rows
     * y0 <= y < y1. wei: panels of total depth channels*kernel_h*kernel_w in that order (as the weights are
     * stored). scratch: pcti_simd_first_floats floats, aligned to 8 bytes. */
    void (*first)(const pcti_simd_window *w, int channels, int outputs, const float *src, ptrdiff_t src_channel,
                  ptrdiff_t src_row, const float *wei, const float *bias, float *dst, ptrdiff_t dst_block,
                  ptrdiff_t dst_row, int y0, int y1, float lo, float hi, float *scratch);

    /* dst[b][p] = clip(src[b][p]*scale[b] + shift[b]) for `pixels` contiguous pixels of `blocks` blocks;
     * scale, shift [blocks*16]. With dst_block = pixels*16 this is the pre-pass before a 1x1. src may be dst.
     */
    void (*scale_shift)(int blocks, int pixels, const float *src, ptrdiff_t src_block, const float *scale,
                        const float *shift, float *dst, ptrdiff_t dst_block, float lo, float hi);
    /* The same followed by the mean of 2x2 (stride 2): pooled pixels p0 <= p < p1 (p = y*out_w + x) to
     * dst[b][p - p0]. */
    void (*scale_shift_pool)(int blocks, int out_w, int p0, int p1, const float *src, ptrdiff_t src_block,
                             ptrdiff_t src_row, const float *scale, const float *shift, float *dst,
                             ptrdiff_t dst_block, float lo, float hi);

    /* Pooling of one block, output rows y0 <= y < y1. Maximum: NaN in the window gives NaN; -inf where the
     * window lies outside. Mean: over the taps inside the picture, or with include_pad over those inside
     * picture and pads (PyTorch's and ONNX's rule, ceil mode included); 0 where there are none. */
    void (*pool_max)(const pcti_simd_window *w, const float *src, ptrdiff_t src_row, float *dst, ptrdiff_t dst_row,
                     int y0, int y1);
    void (*pool_mean)(const pcti_simd_window *w, bool include_pad, const float *src, ptrdiff_t src_row, float *dst,
                      ptrdiff_t dst_row, int y0, int y1);
    /* dst[0..15] = maximum / mean over rows x columns of one block. */
    void (*global_max)(int rows, int columns, const float *src, ptrdiff_t src_row, float *dst);
    void (*global_mean)(int rows, int columns, const float *src, ptrdiff_t src_row, float *dst);

    /* Plain NCHW rows to blocked ones (padding channels become zeros) and back; all channels of one picture.
     */
    void (*to_blocked)(int channels, int rows, int columns, const float *src, ptrdiff_t src_channel,
                       ptrdiff_t src_row, float *dst, ptrdiff_t dst_block, ptrdiff_t dst_row);
    void (*to_plain)(int channels, int rows, int columns, const float *src, ptrdiff_t src_block, ptrdiff_t src_row,
                     float *dst, ptrdiff_t dst_channel, ptrdiff_t dst_row);

    /* Contiguous ranges, any n; dst may be an operand. */
    void (*add)(size_t n, const float *a, const float *b, float *dst, float lo, float hi);
    void (*clip)(size_t n, const float *src, float *dst, float lo, float hi);
} pcti_simd;

/* The table by name; NULL takes the environment's PCT_ISA, and where that is unset the best this processor
 * has. PCT_ERROR_ARGUMENT names what there is. Static storage. */
pct_status pcti_simd_select(const char *name, const pcti_simd **simd);
/* Tables usable on this processor, best first: i = 0, 1, ...; NULL past the last. */
const pcti_simd *pcti_simd_at(int i);

/* Panels of 32 columns: B[d][k] at dst + (k/32)*32*depth + d*width + k%32; width is 32, in the last panel 16
 * if it holds at most 16 columns. Packs rows first <= d < first + count from src[k*stride_k + (d -
 * first)*stride_d]; columns beyond K become zeros. Call per tap for [K][C][R][S] (first = tap*C, count = C,
 * src + tap, stride_d = R*S). */
void pcti_simd_pack(float *dst, int outputs, int depth, int first, int count, const float *src, ptrdiff_t stride_k,
                    ptrdiff_t stride_d);
/* Floats of all panels: outputs rounded up to 16, times depth. */
size_t pcti_simd_pack_floats(int outputs, int depth);

/* One panel of U[tap][panel][C][32]: wei[k*stride_k + c*stride_c + r*3 + s], k counted from the panel's first
 * output, computed in double and rounded once. */
void pcti_winograd_weights(float *dst, int outputs, int channels, int panel, const float *wei, ptrdiff_t stride_k,
                           ptrdiff_t stride_c);
size_t pcti_winograd_weights_floats(int outputs, int channels);
/* Tiles of all pictures. */
int pcti_winograd_tiles(const pcti_winograd *w);
/* Scratch for `tiles` tiles, in floats. */
size_t pcti_winograd_floats(int channels, int outputs, int tiles);
/* A good `block` for winograd_share: as many whole register tiles as keep the scratch in the L2, 12 to 48. */
int pcti_winograd_block(const pcti_simd *simd, int channels, int outputs);

/* Rows and columns of pad_rows' strip for `count` output rows. */
void pcti_simd_strip(const pcti_simd_window *w, int count, int *rows, int *columns);
size_t pcti_simd_first_floats(const pcti_simd_window *w, int channels);

#endif
