/* values[0..k) = the k largest of every line (prelude: line_start) in descending order, indices where they are; NaN is
 * largest, the first of equals comes first. */

#define LINE_OF(tensor, count) tensor##_offset + line_start(line, tensor##_rows, tensor##_picture, count, inner)

/* Does value a at index i come before value b at index j? */
static inline bool before(float a, index_t i, float b, index_t j)
{
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || i < j);
    return a > b || (a == b && i < j);
}

/* Puts `index` where it belongs at or below the place `hole` of a heap of indices into the line x, whose root is the last
 * one in order. */
static inline void sift(__global const float *x, long x_step, __global long *at, long step, index_t hole, index_t count,
                        index_t index)
{
    for (index_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
        index_t other = at[child * step];
        if (child + 1 < count) {
            const index_t next = at[(child + 1) * step];
            if (before(x[other * x_step], other, x[next * x_step], next)) {
                other = next;
                child++;
            }
        }
        if (!before(x[index * x_step], index, x[other * x_step], other)) break;
        at[hole * step] = other;
        hole = child;
    }
    at[hole * step] = index;
}

/* A heap of the k best so far, in the memory of `indices`. One item a line. Launch (lines). */
__kernel void topk_heap(__global const float *src, long src_offset, index_t src_rows, long src_picture, long src_step,
                        __global float *values, long values_offset, index_t values_rows, long values_picture,
                        long values_step, __global long *indices, long indices_offset, index_t indices_rows,
                        long indices_picture, long indices_step, index_t extent, index_t inner, index_t k, index_t lines)
{
    if (IS_BEYOND(0, lines)) return;
    const index_t line = get_global_id(0);
    src += LINE_OF(src, extent);
    values += LINE_OF(values, k);
    indices += LINE_OF(indices, k);
    for (index_t i = 0; i < k; i++) indices[i * indices_step] = i;
    for (index_t i = k / 2 - 1; i >= 0; i--) sift(src, src_step, indices, indices_step, i, k, i);
    for (index_t i = k; i < extent; i++) {
        const index_t last = indices[0];
        if (before(src[i * src_step], i, src[last * src_step], last))
            sift(src, src_step, indices, indices_step, 0, k, i);
    }
    for (index_t count = k - 1; count > 0; count--) { /* the last one in order goes behind the others */
        const index_t index = indices[count * indices_step];
        indices[count * indices_step] = indices[0];
        sift(src, src_step, indices, indices_step, 0, count, index);
    }
    for (index_t i = 0; i < k; i++) values[i * values_step] = src[indices[i * indices_step] * src_step];
}

/* An element's place is the number of those before it. One item an element. Launch (extent, lines). */
__kernel void topk_ranks(__global const float *src, long src_offset, index_t src_rows, long src_picture, long src_step,
                         __global float *values, long values_offset, index_t values_rows, long values_picture,
                         long values_step, __global long *indices, long indices_offset, index_t indices_rows,
                         long indices_picture, long indices_step, index_t extent, index_t inner, index_t k,
                         index_t lines)
{
    if (IS_BEYOND(0, extent) || IS_BEYOND(1, lines)) return;
    const index_t own = get_global_id(0), line = get_global_id(1);
    src += LINE_OF(src, extent);
    const float value = src[own * src_step];
    index_t rank = 0;
    for (index_t i = 0; i < extent; i++) rank += before(src[i * src_step], i, value, own) ? 1 : 0;
    if (rank >= k) return;
    values[LINE_OF(values, k) + rank * values_step] = value;
    indices[LINE_OF(indices, k) + rank * indices_step] = own;
}
