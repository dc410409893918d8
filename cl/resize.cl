/* dst[p][y][x] = mix of src[p][low or high row of y][low or high column of x]; taps holds (low, high, bits of the weight)
 * of every output row, then of every output column. Planes p are numbered through pictures of `planes` planes; -DLANES:
 * neighbouring elements that share a column (16 channels of a block, or 1). -DLINEAR or nearest.
 * Launch (columns * LANES, rows, all planes), one item an element. */
__kernel void resize(__global const float *src, long src_offset, long src_picture, index_t src_plane, index_t src_row,
                     __global float *dst, long dst_offset, long dst_picture, index_t dst_plane, index_t dst_row,
                     __global const int *taps, long taps_offset, int planes, int rows, int columns, int all_planes)
{
    if (IS_BEYOND(0, columns * LANES) || IS_BEYOND(1, rows) || IS_BEYOND(2, all_planes)) return;
    const int x = get_global_id(0) / LANES, lane = get_global_id(0) % LANES, y = get_global_id(1);
    SPLIT((index_t)get_global_id(2), planes, picture, plane);
    const int3 v = vload3(y, taps + taps_offset), h = vload3(rows + x, taps + taps_offset);
    src += src_offset + picture * src_picture + plane * src_plane + lane;
    dst += dst_offset + picture * dst_picture + plane * dst_plane + y * dst_row + x * LANES + lane;
    __global const float *top = src + v.x * src_row;
#ifdef LINEAR
    __global const float *bottom = src + v.y * src_row;
    const float wx = as_float(h.z), wy = as_float(v.z);
    const float upper = top[h.x * LANES] * (1 - wx) + top[h.y * LANES] * wx;
    const float lower = bottom[h.x * LANES] * (1 - wx) + bottom[h.y * LANES] * wx;
    *dst = upper * (1 - wy) + lower * wy;
#else
    *dst = top[h.x * LANES];
#endif
}
