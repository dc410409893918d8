/* Convolution on blocked pictures for GPUs, as an implicit matrix product through local memory: rows are the output pixels
 * of all pictures, columns the outputs, the sum runs over taps and channels.
 *
 *   dst[n][k][p] = clip(bias[k] + residual[n][k][p] + sum over taps t, channels c of src[n][c][pixel(p, t)] * wei[t][c][k], lo, hi)
 *
 * A work-group makes BM x BN elements, TM x TN an item, in steps of BK channels of one tap and one block of channels. The
 * next step's elements wait in registers while the present ones are used. wei: panels of 32 outputs, [tap][channel][32].
 * Launch (outputs / BN groups, pixels / BM groups), groups of (BM / TM) * (BN / TN) x 1 items.
 * -DPRE: src is clip(x * scale[c] + shift[c], pre_lo, pre_hi) inside the picture, 0 in the padding. */

#define ITEMS ((BM / TM) * (BN / TN))
#define ACROSS (BN / TN)
#define DOWN (BM / TM)
#define PITCH_A (BM + 4) /* no bank conflicts while A is stored transposed */
#define LOADS_A (BM * BK / 4 / ITEMS)
#define LOADS_B (BN * BK / 4 / ITEMS)
#define QUADS_A (BK / 4)
#define QUADS_B (BN / 4)
#if BM *BK / 4 % ITEMS || BN *BK / 4 % ITEMS || BM % TM || BN % TN || TM % 4 || TN % 4 || 16 % BK
#error tile does not divide among the work-items
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
conv_local(__global const float *src, long src_offset, long src_picture, index_t src_block, __global const float *wei,
           long wei_offset, __global const float *bias, long bias_offset, __global const float *residual,
           long residual_offset, long residual_picture, index_t residual_block, __global float *dst, long dst_offset,
           long dst_picture, index_t dst_block, int height, int width, int out_width, int pixels, int all_pixels,
           int kernel_h, int kernel_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int pad_top,
           int pad_left, int channels, int out_blocks, float lo, float hi
#ifdef PRE
           ,
           __global const float *scale, long scale_offset, __global const float *shift, long shift_offset, float pre_lo,
           float pre_hi
#endif
)
{
    __local float4 tile_a[BK * PITCH_A / 4], tile_b[BK * BN / 4];
    __local float *const stored_a = (__local float *)tile_a;
    const uint item = get_local_id(0), across = item % ACROSS, down = item / ACROSS;
    const int m0 = get_group_id(1) * BM, n0 = get_group_id(0) * BN;
    const int panels = CEIL_DIV(out_blocks, 2), depth = kernel_h * kernel_w * channels;
    src += src_offset;
    wei += wei_offset;

    /* What this item loads: four channels of LOADS_A pixels. */
    long start[LOADS_A];
    int top[LOADS_A], left[LOADS_A];
#pragma unroll
    for (int i = 0; i < LOADS_A; i++) {
        const int m = m0 + (item + i * ITEMS) / QUADS_A;
        SPLIT(min(m, all_pixels - 1), pixels, picture, pixel);
        SPLIT(pixel, out_width, y, x);
        top[i] = m < all_pixels ? y * stride_h - pad_top : INT_MAX / 2; /* beyond the last: outside, zeros */
        left[i] = x * stride_w - pad_left;
        start[i] = picture * src_picture;
    }
    float sum[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] = 0;
    }
    float4 next_a[LOADS_A], next_b[LOADS_B];
    int ty = 0, tx = 0, c0 = 0; /* of the step that is loaded next */
    const int steps = kernel_h * kernel_w * CEIL_DIV(channels, BK);
    for (int step = -1; step < steps; step++) {
        if (step >= 0) {
#pragma unroll
            for (int i = 0; i < LOADS_A; i++) {
                const uint e = item + i * ITEMS, m = e / QUADS_A, k = e % QUADS_A * 4;
                stored_a[k * PITCH_A + m] = next_a[i].x;
                stored_a[(k + 1) * PITCH_A + m] = next_a[i].y;
                stored_a[(k + 2) * PITCH_A + m] = next_a[i].z;
                stored_a[(k + 3) * PITCH_A + m] = next_a[i].w;
            }
#pragma unroll
            for (int i = 0; i < LOADS_B; i++) tile_b[item + i * ITEMS] = next_b[i];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (step + 1 < steps) {
#pragma unroll
            for (int i = 0; i < LOADS_A; i++) {
                const uint c = c0 + (item + i * ITEMS) % QUADS_A * 4;
                const int iy = top[i] + ty * dilation_h, ix = left[i] + tx * dilation_w;
                next_a[i] = 0;
                if ((uint)iy < (uint)height && (uint)ix < (uint)width) {
                    next_a[i] = *(__global const float4 *)(src + start[i] + (long)(c / 16) * src_block +
                                                           ((index_t)iy * width + ix) * 16 + c % 16);
#ifdef PRE
                    next_a[i] = clip4(next_a[i] * *(__global const float4 *)(scale + scale_offset + c) +
                                          *(__global const float4 *)(shift + shift_offset + c),
                                      pre_lo, pre_hi);
#endif
                }
            }
#pragma unroll
            for (int i = 0; i < LOADS_B; i++) {
                const uint e = item + i * ITEMS, c = c0 + e / QUADS_B, n = n0 + e % QUADS_B * 4;
                next_b[i] = 0;
                if (c < (uint)channels && n < (uint)panels * 32)
                    next_b[i] = *(__global const float4 *)(wei + (long)(n / 32) * depth * 32 +
                                                           ((long)(ty * kernel_w + tx) * channels + c) * 32 + n % 32);
            }
            c0 += BK;
            if (c0 >= channels) {
                c0 = 0;
                if (++tx == kernel_w) {
                    tx = 0;
                    ty++;
                }
            }
        }
        if (step >= 0) {
#pragma unroll 2
            for (int k = 0; k < BK; k++) {
                float a[TM], b[TN];
#pragma unroll
                for (int i = 0; i < TM; i += 4) vstore4(tile_a[k * PITCH_A / 4 + i / 4 * DOWN + down], 0, a + i);
#pragma unroll
                for (int j = 0; j < TN; j += 4) vstore4(tile_b[k * QUADS_B + j / 4 * ACROSS + across], 0, b + j);
#pragma unroll
                for (int i = 0; i < TM; i++) {
#pragma unroll
                    for (int j = 0; j < TN; j++)
                        sum[i][j] = MUL_ADD(a[i], b[j], sum[i][j]);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int m = m0 + (i / 4 * DOWN + down) * 4 + i % 4;
        if (m < all_pixels) {
            SPLIT(m, pixels, picture, pixel);
#pragma unroll
            for (int j = 0; j < TN; j += 4) {
                const uint n = n0 + (j / 4 * ACROSS + across) * 4, block = n / 16;
                if (block < (uint)out_blocks) {
                    float4 y = (float4)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
                    if (bias_offset >= 0) y += *(__global const float4 *)(bias + bias_offset + n);
                    if (residual_offset >= 0)
                        y += *(__global const float4 *)(residual + residual_offset + picture * residual_picture +
                                                        (long)block * residual_block + (index_t)pixel * 16 + n % 16);
                    *(__global float4 *)(dst + dst_offset + picture * dst_picture + (long)block * dst_block +
                                         (index_t)pixel * 16 + n % 16) = clip4(y, lo, hi);
                }
            }
        }
    }
}
