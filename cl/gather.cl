/* dst[o][j][x] = data[o][index[j]][x] for rows (o, j) of `inner` neighbouring elements, j < count. Negative indices count
 * from the end, others out of range are clamped. -DTYPE: an unsigned integer of the element's size; -DINDEX: long or int.
 * Pictures may lie apart on all sides: index j lies at j / index_inner * index_picture + j % index_inner, element i of dst
 * likewise; row o of data has `outer` rows of a picture. Launch (inner, rows), one item an element. */
__kernel void gather(__global const TYPE *data, long data_offset, index_t data_picture, index_t outer, index_t extent,
                     index_t entry_stride, __global const INDEX *indices, long indices_offset, index_t index_inner,
                     index_t index_picture, __global TYPE *dst, long dst_offset, index_t dst_inner, index_t dst_picture,
                     index_t count, index_t inner, index_t rows)
{
    if (IS_BEYOND(0, inner) || IS_BEYOND(1, rows)) return;
    const index_t x = get_global_id(0), row = get_global_id(1), to = row * inner + x;
    SPLIT(row, count, o, j);
    SPLIT(j, index_inner, index_outer, index_rest);
    SPLIT(o, outer, data_outer, data_rest);
    SPLIT(to, dst_inner, dst_outer, dst_rest);
    INDEX index = indices[indices_offset + index_outer * index_picture + index_rest];
    if (index < 0) index += extent;
    const index_t entry = (index_t)clamp(index, (INDEX)0, (INDEX)(extent - 1));
    dst[dst_offset + dst_outer * dst_picture + dst_rest] =
        data[data_offset + data_outer * data_picture + data_rest * extent * inner + entry * entry_stride + x];
}
