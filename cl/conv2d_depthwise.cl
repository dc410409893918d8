/* Depthwise convolution on blocked pictures, one filter for each channel:
 *   dst[n][c][y][x] = clip(bias[c] + sum over r, s of src[n][c][y * SH + r * dilation_h - pad_top][...] * wei[c][r][s], lo, hi)
 * wei: [C / 16][tap][16]. */

#if defined(KH)
/* For CPU threads, filter and stride known (-DKH -DKW -DSH -DSW, small): an item is one output row of 16 channels, weights in
 * registers. Launch (output rows, blocks of channels, pictures), groups of one item. */
typedef __global const float16 *cvec;
typedef __global float16 *vec;

__kernel void depthwise_row(__global const float *src, long src_offset, long src_picture, index_t src_block,
                            __global const float *wei, long wei_offset, __global const float *bias, long bias_offset,
                            __global float *dst, long dst_offset, long dst_picture, index_t dst_block, int height,
                            int width, int out_width, int dilation_h, int dilation_w, int pad_top, int pad_left,
                            float lo, float hi)
{
    const int oy = get_global_id(0), block = get_global_id(1), picture = get_global_id(2);
    const int top = oy * SH - pad_top;
    src += src_offset + picture * src_picture + (long)block * src_block;
    dst += dst_offset + picture * dst_picture + (long)block * dst_block + (index_t)oy * out_width * 16;
    wei += wei_offset + (long)block * KH * KW * 16;
    const float16 start = bias_offset < 0 ? (float16)0 : *(cvec)(bias + bias_offset + block * 16);
    float16 w[KH][KW];
#pragma unroll
    for (int r = 0; r < KH; r++) {
#pragma unroll
        for (int s = 0; s < KW; s++) w[r][s] = ((cvec)wei)[r * KW + s];
    }
    /* Outputs [first, end) have all their columns inside the picture. */
    const int first = min(out_width, CEIL_DIV(pad_left, SW));
    const int end = max(first, min(out_width, (width - 1 - (KW - 1) * dilation_w + pad_left + SW) / SW));
    for (int ox = 0; ox < out_width; ox++) {
        const int left = ox * SW - pad_left;
        const bool whole = ox >= first && ox < end;
        float16 sum = start;
#pragma unroll
        for (int r = 0; r < KH; r++) {
            const int iy = top + r * dilation_h;
            if ((uint)iy >= (uint)height) continue;
            __global const float *row = src + ((index_t)iy * width + left) * 16;
#pragma unroll
            for (int s = 0; s < KW; s++)
                if (whole || (uint)(left + s * dilation_w) < (uint)width)
                    sum = MUL_ADD(*(cvec)(row + (index_t)s * dilation_w * 16), w[r][s], sum);
        }
        ((vec)dst)[ox] = clip16(sum, lo, hi);
    }
}

#else
/* For any filter and device: an item is one output, channels of a block side by side.
 * Launch (output pixels x 16, blocks of channels, pictures). */
__kernel void depthwise_item(__global const float *src, long src_offset, long src_picture, index_t src_block,
                             __global const float *wei, long wei_offset, __global const float *bias, long bias_offset,
                             __global float *dst, long dst_offset, long dst_picture, index_t dst_block, int height,
                             int width, int out_width, int out_height, int kernel_h, int kernel_w, int stride_h,
                             int stride_w, int dilation_h, int dilation_w, int pad_top, int pad_left, float lo, float hi)
{
    if (IS_BEYOND(0, (index_t)out_height * out_width * 16)) return;
    const index_t i = get_global_id(0);
    const int block = get_global_id(1), picture = get_global_id(2);
    SPLIT(i, 16, pixel, lane);
    SPLIT(pixel, out_width, y, x);
    const int top = y * stride_h - pad_top, left = x * stride_w - pad_left;
    src += src_offset + picture * src_picture + (long)block * src_block + lane;
    wei += wei_offset + (long)block * kernel_h * kernel_w * 16 + lane;
    float sum = bias_offset < 0 ? 0 : bias[bias_offset + block * 16 + lane];
    for (int r = 0; r < kernel_h; r++)
        for (int s = 0; s < kernel_w; s++, wei += 16) {
            const int iy = top + r * dilation_h, ix = left + s * dilation_w;
            if ((uint)iy < (uint)height && (uint)ix < (uint)width)
                sum = MUL_ADD(src[((index_t)iy * width + ix) * 16], *wei, sum);
        }
    dst[dst_offset + picture * dst_picture + (long)block * dst_block + i] = clip1(sum, lo, hi);
}
#endif
