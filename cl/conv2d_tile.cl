/* Convolution on blocked pictures for devices whose work-items are CPU threads:
 *
 *   dst[n][k][p] = clip(bias[k] + residual[n][k][p] + sum over taps t, channels c of src[n][c][pixel(p, t)] * wei[t][c][k], lo, hi)
 *
 * One item is a register tile of ROWS output pixels (in reading order; those of the last tile beyond the picture repeat its
 * last pixel) x NV float16 of outputs, without local memory. wei: panels of 16 NV outputs, [tap][channel][16 NV].
 * Launch (tiles of pixels, panels of all groups, pictures), groups of one item.
 * -DROWS, -DNV; -DPRE: src is clip(x * scale[c] + shift[c], pre_lo, pre_hi), for 1x1 without pads. */

#define SPAN (16 * NV)
typedef __global const float16 *cvec;
typedef __global float16 *vec;

__kernel void conv_tile(__global const float *src, long src_offset, long src_picture, index_t src_block,
                        __global const float *wei, long wei_offset, __global const float *bias, long bias_offset,
                        __global const float *residual, long residual_offset, long residual_picture,
                        index_t residual_block, __global float *dst, long dst_offset, long dst_picture,
                        index_t dst_block, __global const float *zeros, int height, int width, int out_width, int pixels,
                        int kernel_h, int kernel_w, int stride_h, int stride_w, int dilation_h, int dilation_w,
                        int pad_top, int pad_left, int channels, int blocks, int out_blocks, float lo, float hi
#ifdef PRE
                        ,
                        __global const float *scale, long scale_offset, __global const float *shift, long shift_offset,
                        float pre_lo, float pre_hi
#endif
)
{
    const int tile = get_global_id(0), panel = get_global_id(1), picture = get_global_id(2);
    const int panels = CEIL_DIV(out_blocks, NV), group = panel / panels, first_block = (panel - group * panels) * NV;
    src += src_offset + picture * src_picture + (long)group * blocks * src_block;
    wei += wei_offset + (long)panel * kernel_h * kernel_w * channels * SPAN;
    int pixel[ROWS], top[ROWS], left[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        pixel[r] = min(tile * ROWS + r, pixels - 1);
        SPLIT(pixel[r], out_width, y, x);
        top[r] = y * stride_h - pad_top;
        left[r] = x * stride_w - pad_left;
    }
    float16 sum[ROWS][NV];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int v = 0; v < NV; v++) sum[r][v] = 0;
    }
    for (int ty = 0; ty < kernel_h; ty++)
        for (int tx = 0; tx < kernel_w; tx++) {
            __global const float *x[ROWS];
            index_t step[ROWS]; /* to the next block of channels: none in the padding, where zeros lie */
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int iy = top[r] + ty * dilation_h, ix = left[r] + tx * dilation_w;
                const bool inside = (uint)iy < (uint)height && (uint)ix < (uint)width;
                x[r] = inside ? src + ((index_t)iy * width + ix) * 16 : zeros;
                step[r] = inside ? src_block : 0;
            }
            for (int c = 0; c < channels; c += 16) {
                const int count = min(16, channels - c);
#ifdef PRE
                const float16 factor = *(cvec)(scale + scale_offset + c), term = *(cvec)(shift + shift_offset + c);
                float ready[ROWS][16];
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    vstore16(clip16(*(cvec)x[r] * factor + term, pre_lo, pre_hi), 0, ready[r]);
#define X(r, k) ready[r][k]
#else
#define X(r, k) x[r][k]
#endif
                for (int k = 0; k < count; k++) {
                    float16 w[NV];
#pragma unroll
                    for (int v = 0; v < NV; v++) w[v] = ((cvec)wei)[v];
#pragma unroll
                    for (int r = 0; r < ROWS; r++) {
                        const float16 a = X(r, k);
#pragma unroll
                        for (int v = 0; v < NV; v++) sum[r][v] = MUL_ADD(a, w[v], sum[r][v]);
                    }
                    wei += SPAN;
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++) x[r] += step[r];
            }
        }
    const int block = group * out_blocks + first_block;
    dst += dst_offset + picture * dst_picture + (long)block * dst_block;
#pragma unroll
    for (int v = 0; v < NV; v++)
        if (first_block + v < out_blocks) {
            const float16 add = bias_offset < 0 ? (float16)0 : *(cvec)(bias + bias_offset + (block + v) * 16);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float16 y = sum[r][v] + add;
                if (residual_offset >= 0)
                    y += *(cvec)(residual + residual_offset + picture * residual_picture +
                                 (long)(block + v) * residual_block + (index_t)pixel[r] * 16);
                *(vec)(dst + v * dst_block + (index_t)pixel[r] * 16) = clip16(y, lo, hi);
            }
        }
}
