/* The first layer: convolution from a plain picture of few channels to a blocked one, for devices whose work-items are CPU
 * threads: conv2d_tile.cl's tile with the taps as stored, wei [channel][tap][16 NV].
 * Launch (tiles of pixels, panels, pictures), groups of one item. -DROWS, -DNV. */

#define SPAN (16 * NV)
typedef __global const float16 *cvec;
typedef __global float16 *vec;

/* sum += src[...] * wei over everything; GET says how to read pixel r of a tap. */
#define ACCUMULATE(GET)                                                                                              \
    for (int c = 0; c < channels; c++, src += src_plane)                                                             \
        for (int ty = 0; ty < kernel_h; ty++)                                                                        \
            for (int tx = 0; tx < kernel_w; tx++, wei += SPAN) {                                                     \
                const int down = ty * dilation_h, right = tx * dilation_w;                                           \
                float16 w[NV];                                                                                       \
                _Pragma("unroll") for (int v = 0; v < NV; v++) w[v] = ((cvec)wei)[v];                                \
                _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                     \
                {                                                                                                    \
                    const float16 a = GET(r);                                                                        \
                    _Pragma("unroll") for (int v = 0; v < NV; v++) sum[r][v] = MUL_ADD(a, w[v], sum[r][v]);          \
                }                                                                                                    \
            }
#define INSIDE(r) src[start[r] + down * width + right]
#define AT_BORDER(r)                                                                                                 \
    ((uint)(top[r] + down) < (uint)height && (uint)(left[r] + right) < (uint)width ? INSIDE(r) : 0.0f)

__kernel void conv_first(__global const float *src, long src_offset, long src_picture, index_t src_plane,
                         __global const float *wei, long wei_offset, __global const float *bias, long bias_offset,
                         __global float *dst, long dst_offset, long dst_picture, index_t dst_block, int height, int width,
                         int out_width, int pixels, int kernel_h, int kernel_w, int stride_h, int stride_w,
                         int dilation_h, int dilation_w, int pad_top, int pad_left, int channels, int out_blocks,
                         float lo, float hi)
{
    const int tile = get_global_id(0), panel = get_global_id(1), picture = get_global_id(2);
    src += src_offset + picture * src_picture;
    wei += wei_offset + (long)panel * channels * kernel_h * kernel_w * SPAN;
    int pixel[ROWS], top[ROWS], left[ROWS], start[ROWS];
    bool inside = true;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        pixel[r] = min(tile * ROWS + r, pixels - 1);
        SPLIT(pixel[r], out_width, y, x);
        top[r] = y * stride_h - pad_top;
        left[r] = x * stride_w - pad_left;
        start[r] = top[r] * width + left[r];
        inside = inside && top[r] >= 0 && left[r] >= 0 && top[r] + (kernel_h - 1) * dilation_h < height &&
                 left[r] + (kernel_w - 1) * dilation_w < width;
    }
    float16 sum[ROWS][NV];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int v = 0; v < NV; v++) sum[r][v] = 0;
    }
    if (inside) {
        ACCUMULATE(INSIDE)
    } else {
        ACCUMULATE(AT_BORDER)
    }
    dst += dst_offset + picture * dst_picture + (long)panel * NV * dst_block;
#pragma unroll
    for (int v = 0; v < NV; v++)
        if (panel * NV + v < out_blocks) {
            const float16 add = bias_offset < 0 ? (float16)0 : *(cvec)(bias + bias_offset + (panel * NV + v) * 16);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                *(vec)(dst + v * dst_block + (index_t)pixel[r] * 16) = clip16(sum[r][v] + add, lo, hi);
        }
}
