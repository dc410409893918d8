/* Copies between layouts (see core/tensor.h): element (n, c, h, w) lies at
 *   plain    n * picture + c * plane + pixel
 *   blocked  n * picture + (c / 16) * plane + pixel * 16 + c % 16,   pixel = h * W + w; channels beyond the last are zero.
 * Launch of the first two: (pixels, blocks of 16 channels, pictures), one item moves a pixel's 16 channels. */

__kernel void plain_to_blocked(__global const float *src, long src_offset, long src_picture, index_t src_plane,
                               __global float *dst, long dst_offset, long dst_picture, index_t dst_plane, int channels,
                               index_t pixels)
{
    if (IS_BEYOND(0, pixels)) return;
    const index_t pixel = get_global_id(0), block = get_global_id(1);
    src += src_offset + (long)get_global_id(2) * src_picture + block * 16 * src_plane + pixel;
    dst += dst_offset + (long)get_global_id(2) * dst_picture + block * dst_plane + pixel * 16;
    const int count = channels - (int)block * 16;
    for (int c = 0; c < 16; c++) dst[c] = c < count ? src[c * src_plane] : 0;
}

__kernel void blocked_to_plain(__global const float *src, long src_offset, long src_picture, index_t src_plane,
                               __global float *dst, long dst_offset, long dst_picture, index_t dst_plane, int channels,
                               index_t pixels)
{
    if (IS_BEYOND(0, pixels)) return;
    const index_t pixel = get_global_id(0), block = get_global_id(1);
    src += src_offset + (long)get_global_id(2) * src_picture + block * src_plane + pixel * 16;
    dst += dst_offset + (long)get_global_id(2) * dst_picture + block * 16 * dst_plane + pixel;
    const int count = min(16, channels - (int)block * 16);
    for (int c = 0; c < count; c++) dst[c * dst_plane] = src[c];
}

/* The same layout on both sides: only the distance between pictures differs. Launch (elements of a picture, pictures).
 * -DTYPE: an unsigned integer of the element's size. */
#ifdef TYPE
__kernel void copy(__global const TYPE *src, long src_offset, long src_picture, __global TYPE *dst, long dst_offset,
                   long dst_picture, index_t count)
{
    if (IS_BEYOND(0, count)) return;
    const index_t i = get_global_id(0);
    dst[dst_offset + (long)get_global_id(1) * dst_picture + i] = src[src_offset + (long)get_global_id(1) * src_picture + i];
}
#endif
