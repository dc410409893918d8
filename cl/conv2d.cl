/* Convolution and its adjoint, plainly: an item is one output of a plain picture; any parameters, types of operands aside.
 * Launch (output pixels, outputs, pictures). Strides are {picture, channel plane, row, 1}; wei (K, C / groups, R, S). */

__kernel void conv_plain(__global const float *src, long src_offset, long src_picture, index_t src_plane,
                         __global const float *wei, long wei_offset, long wei_output, __global const float *bias,
                         long bias_offset, __global float *dst, long dst_offset, long dst_picture, index_t dst_plane,
                         int height, int width, int out_height, int out_width, int kernel_h, int kernel_w, int stride_h,
                         int stride_w, int dilation_h, int dilation_w, int pad_top, int pad_left, int channels,
                         int outputs_per_group)
{
    if (IS_BEYOND(0, (index_t)out_height * out_width)) return;
    const index_t pixel = get_global_id(0), k = get_global_id(1);
    SPLIT(pixel, out_width, y, x);
    const int top = y * stride_h - pad_top, left = x * stride_w - pad_left;
    src += src_offset + (long)get_global_id(2) * src_picture + (long)(k / outputs_per_group) * channels * src_plane;
    wei += wei_offset + k * wei_output;
    float sum = bias_offset < 0 ? 0 : bias[bias_offset + k];
    for (int c = 0; c < channels; c++, src += src_plane)
        for (int r = 0; r < kernel_h; r++)
            for (int s = 0; s < kernel_w; s++, wei++) {
                const int iy = top + r * dilation_h, ix = left + s * dilation_w;
                if ((uint)iy < (uint)height && (uint)ix < (uint)width)
                    sum = MUL_ADD(src[(index_t)iy * width + ix], *wei, sum);
            }
    dst[dst_offset + (long)get_global_id(2) * dst_picture + (long)k * dst_plane + pixel] = sum;
}

/* dst[n][k][y][x] gathers what reaches it: src[c][iy][ix] * wei[c][k][r][s] with y = iy * stride - pad + r * dilation.
 * wei (C, K / groups, R, S); `channels` are those of a group. */
__kernel void conv_transpose_plain(__global const float *src, long src_offset, long src_picture, index_t src_plane,
                                   __global const float *wei, long wei_offset, long wei_channel,
                                   __global const float *bias, long bias_offset, __global float *dst, long dst_offset,
                                   long dst_picture, index_t dst_plane, int height, int width, int out_height,
                                   int out_width, int kernel_h, int kernel_w, int stride_h, int stride_w, int dilation_h,
                                   int dilation_w, int pad_top, int pad_left, int channels, int outputs_per_group)
{
    if (IS_BEYOND(0, (index_t)out_height * out_width)) return;
    const index_t pixel = get_global_id(0), k = get_global_id(1);
    SPLIT(pixel, out_width, y, x);
    SPLIT(k, outputs_per_group, group, member);
    const long first = (long)group * channels;
    src += src_offset + (long)get_global_id(2) * src_picture + first * src_plane;
    wei += wei_offset + first * wei_channel + (long)member * kernel_h * kernel_w;
    float sum = bias_offset < 0 ? 0 : bias[bias_offset + k];
    for (int c = 0; c < channels; c++, src += src_plane, wei += wei_channel)
        for (int r = 0; r < kernel_h; r++) {
            const int down = y + pad_top - r * dilation_h;
            SPLIT(down, stride_h, iy, rest_y);
            if (down < 0 || rest_y || iy >= height) continue;
            for (int s = 0; s < kernel_w; s++) {
                const int right = x + pad_left - s * dilation_w;
                SPLIT(right, stride_w, ix, rest_x);
                if (right < 0 || rest_x || ix >= width) continue;
                sum = MUL_ADD(src[(index_t)iy * width + ix], wei[r * kernel_w + s], sum);
            }
        }
    dst[dst_offset + (long)get_global_id(2) * dst_picture + (long)k * dst_plane + pixel] = sum;
}
