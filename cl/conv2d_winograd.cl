/* 3x3 convolution by F(4x4,3x3) on blocked pictures (Lavin & Gray, "Fast algorithms for convolutional neural networks",
 * 2015), for devices whose work-items are CPU threads; float16 over the channels of a block. A tile is 4x4 outputs from 6x6
 * inputs; tiles are counted over all pictures, a launch takes [first_tile, first_tile + tiles). Three kernels:
 *   input    points[36][tile][channel] = B^T d B
 *   gemm     products[i][tile][k] = sum over c of points[i][tile][c] * wei[i][c][k], for each of the 36 points
 *   output   dst = clip(A^T products A + bias + residual, lo, hi), with -DPOOL the maximum of 2x2 of it
 * points and products have planes of `plane` floats between points, channels padded to the block.
 * Launches: input, output (blocks, tiles); gemm (tiles / ROWS, panels of 16 NV outputs, 36); groups of one item. */

typedef __global const float16 *cvec;
typedef __global float16 *vec;

/* o = B^T d, in one dimension */
#define INPUT_TRANSFORM(d0, d1, d2, d3, d4, d5, o0, o1, o2, o3, o4, o5)                                              \
    {                                                                                                                \
        const float16 p = d4 - 4.0f * d2, q = d3 - 4.0f * d1, r = d4 - d2, s = 2.0f * (d3 - d1);                     \
        o0 = 4.0f * d0 - 5.0f * d2 + d4;                                                                             \
        o1 = p + q;                                                                                                  \
        o2 = p - q;                                                                                                  \
        o3 = r + s;                                                                                                  \
        o4 = r - s;                                                                                                  \
        o5 = 4.0f * d1 - 5.0f * d3 + d5;                                                                             \
    }
/* o = A^T m, in one dimension */
#define OUTPUT_TRANSFORM(m0, m1, m2, m3, m4, m5, o0, o1, o2, o3)                                                     \
    {                                                                                                                \
        const float16 p = m1 + m2, q = m1 - m2, r = m3 + m4, s = m3 - m4;                                            \
        o0 = m0 + p + r;                                                                                             \
        o1 = q + 2.0f * s;                                                                                           \
        o2 = p + 4.0f * r;                                                                                           \
        o3 = q + 8.0f * s + m5;                                                                                      \
    }

__kernel void winograd_input(__global const float *src, long src_offset, long src_picture, index_t src_block,
                             __global float *points, long points_offset, index_t plane, int height, int width,
                             int tiles_h, int tiles_w, int pad_top, int pad_left, int first_tile, int channels16)
{
    const int block = get_global_id(0), tile = first_tile + (int)get_global_id(1);
    SPLIT(tile, tiles_h * tiles_w, picture, in_picture);
    SPLIT(in_picture, tiles_w, tile_y, tile_x);
    const int top = tile_y * 4 - pad_top, left = tile_x * 4 - pad_left;
    src += src_offset + picture * src_picture + (long)block * src_block;
    float16 half_done[6][6];
    const bool whole = top >= 0 && left >= 0 && top + 6 <= height && left + 6 <= width;
    if (whole) {
#pragma unroll
        for (int x = 0; x < 6; x++) {
            float16 d[6];
#pragma unroll
            for (int y = 0; y < 6; y++) d[y] = load16(src + ((index_t)(top + y) * width + left + x) * 16);
            INPUT_TRANSFORM(d[0], d[1], d[2], d[3], d[4], d[5], half_done[0][x], half_done[1][x], half_done[2][x],
                            half_done[3][x], half_done[4][x], half_done[5][x])
        }
    } else {
#pragma unroll
        for (int x = 0; x < 6; x++) {
            float16 d[6];
#pragma unroll
            for (int y = 0; y < 6; y++) {
                d[y] = 0;
                if ((uint)(top + y) < (uint)height && (uint)(left + x) < (uint)width)
                    d[y] = load16(src + ((index_t)(top + y) * width + left + x) * 16);
            }
            INPUT_TRANSFORM(d[0], d[1], d[2], d[3], d[4], d[5], half_done[0][x], half_done[1][x], half_done[2][x],
                            half_done[3][x], half_done[4][x], half_done[5][x])
        }
    }
    points += points_offset + (index_t)get_global_id(1) * channels16 + block * 16;
#pragma unroll
    for (int y = 0; y < 6; y++) {
        float16 o[6];
        INPUT_TRANSFORM(half_done[y][0], half_done[y][1], half_done[y][2], half_done[y][3], half_done[y][4],
                        half_done[y][5], o[0], o[1], o[2], o[3], o[4], o[5])
#pragma unroll
        for (int x = 0; x < 6; x++) *(vec)(points + (y * 6 + x) * plane) = o[x];
    }
}

#define SPAN (16 * NV)
__kernel void winograd_gemm(__global const float *points, long points_offset, index_t points_plane,
                            __global const float *wei, long wei_offset, __global float *products, long products_offset,
                            index_t products_plane, int tiles, int channels, int channels16, int out_blocks)
{
    const int group = get_global_id(0), panel = get_global_id(1), point = get_global_id(2);
    const int panels = CEIL_DIV(out_blocks, NV);
    points += points_offset + point * points_plane;
    wei += wei_offset + ((long)point * panels + panel) * channels * SPAN;
    __global const float *x[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) x[r] = points + (index_t)min(group * ROWS + r, tiles - 1) * channels16;
    float16 sum[ROWS][NV];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int v = 0; v < NV; v++) sum[r][v] = 0;
    }
    for (int k = 0; k < channels; k++, wei += SPAN) {
        float16 w[NV];
#pragma unroll
        for (int v = 0; v < NV; v++) w[v] = load16(wei + v * 16);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const float16 a = x[r][k];
#pragma unroll
            for (int v = 0; v < NV; v++) sum[r][v] = MUL_ADD(a, w[v], sum[r][v]);
        }
    }
    products += products_offset + point * products_plane + panel * SPAN;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        __global float *row = products + (index_t)min(group * ROWS + r, tiles - 1) * out_blocks * 16;
#pragma unroll
        for (int v = 0; v < NV; v++)
            if (panel * NV + v < out_blocks) ((vec)row)[v] = sum[r][v];
    }
}

__kernel void winograd_output(__global const float *products, long products_offset, index_t plane,
                              __global const float *bias, long bias_offset, __global const float *residual,
                              long residual_offset, long residual_picture, index_t residual_block, __global float *dst,
                              long dst_offset, long dst_picture, index_t dst_block, int out_height, int out_width,
                              int tiles_h, int tiles_w, int first_tile, int out_blocks, float lo, float hi)
{
    const int block = get_global_id(0), tile = first_tile + (int)get_global_id(1);
    SPLIT(tile, tiles_h * tiles_w, picture, in_picture);
    SPLIT(in_picture, tiles_w, tile_y, tile_x);
    const int top = tile_y * 4, left = tile_x * 4;
    products += products_offset + (index_t)get_global_id(1) * out_blocks * 16 + block * 16;
    dst += dst_offset + picture * dst_picture + (long)block * dst_block;
    residual += residual_offset + picture * residual_picture + (long)block * residual_block;
    float16 half_done[4][6];
#pragma unroll
    for (int x = 0; x < 6; x++) {
        float16 m[6];
#pragma unroll
        for (int y = 0; y < 6; y++) m[y] = *(cvec)(products + (y * 6 + x) * plane);
        OUTPUT_TRANSFORM(m[0], m[1], m[2], m[3], m[4], m[5], half_done[0][x], half_done[1][x], half_done[2][x],
                         half_done[3][x])
    }
    const float16 add = bias_offset < 0 ? (float16)0 : *(cvec)(bias + bias_offset + block * 16);
#ifdef POOL
    float16 above[4];
#endif
#pragma unroll
    for (int y = 0; y < 4; y++) {
        float16 o[4];
        if (top + y >= out_height) break;
        OUTPUT_TRANSFORM(half_done[y][0], half_done[y][1], half_done[y][2], half_done[y][3], half_done[y][4],
                         half_done[y][5], o[0], o[1], o[2], o[3])
#pragma unroll
        for (int x = 0; x < 4; x++) {
            if (left + x >= out_width) break;
            const index_t at = ((index_t)(top + y) * out_width + left + x) * 16;
            o[x] += add;
            if (residual_offset >= 0) o[x] += *(cvec)(residual + at);
            o[x] = clip16(o[x], lo, hi);
#ifndef POOL
            *(vec)(dst + at) = o[x];
#endif
        }
#ifdef POOL
        /* An odd last row or column has no partner and falls away. */
#pragma unroll
        for (int x = 0; x < 4; x += 2) {
            if (left + x + 1 >= out_width) break;
            const float16 pair = o[x] < o[x + 1] || o[x + 1] != o[x + 1] ? o[x + 1] : o[x];
            if (y % 2 == 0) above[x] = pair;
            else
                *(vec)(dst + ((index_t)((top + y) / 2) * (out_width / 2) + (left + x) / 2) * 16) =
                    above[x] < pair || pair != pair ? pair : above[x];
        }
#endif
    }
}
