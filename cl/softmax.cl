/* dst[k] = exp(x[k] - max) / sum of exp(x - max), or with -DLOG=1 its logarithm, x[k] - max - log(sum), over the `extent`
 * elements of every line (prelude: line_start), which lie `step` apart. The maximum leaves NaN out, the sum hands it on.
 * dst may be src: an item writes only what it alone reads again. */

#define TENSOR(x) __global const float *x, long x##_offset, index_t x##_rows, long x##_picture, long x##_step

static inline float largest(float most, float x) { return x > most ? x : most; }
static inline float sum_of(float a, float b) { return a + b; }

/* The maximum of elements first, first + by, ... */
static inline float line_max(__global const float *x, long step, index_t first, index_t by, index_t extent)
{
    float most = -INFINITY;
    for (index_t k = first; k < extent; k += by) most = largest(most, x[k * step]);
    return most;
}

/* Sum of their exponentials, which go to dst unless LOG. Partial sums of 64 keep rounding errors small. */
static inline float line_sum(__global const float *x, long step, index_t first, index_t by, index_t extent, float most,
                             __global float *dst, long dst_step)
{
    float sum = 0, part = 0;
    int terms = 0;
    for (index_t k = first; k < extent; k += by) {
        const float e = exp(x[k * step] - most);
#if !LOG
        dst[k * dst_step] = e;
#endif
        part += e;
        if (++terms % 64 == 0) {
            sum += part;
            part = 0;
        }
    }
    return sum + part;
}

static inline void line_finish(__global const float *x, long step, index_t first, index_t by, index_t extent, float most,
                               float sum, __global float *dst, long dst_step)
{
#if LOG
    const float log_sum = log(sum);
    for (index_t k = first; k < extent; k += by) dst[k * dst_step] = x[k * step] - most - log_sum;
#else
    for (index_t k = first; k < extent; k += by) dst[k * dst_step] /= sum;
#endif
}

/* One item a line. Launch (lines). */
__kernel void softmax_items(TENSOR(src), __global float *dst, long dst_offset, index_t dst_rows, long dst_picture,
                            long dst_step, index_t extent, index_t inner, index_t lines)
{
    if (IS_BEYOND(0, lines)) return;
    const index_t line = get_global_id(0);
    src += src_offset + line_start(line, src_rows, src_picture, extent, inner);
    dst += dst_offset + line_start(line, dst_rows, dst_picture, extent, inner);
    const float most = line_max(src, src_step, 0, 1, extent);
    const float sum = line_sum(src, src_step, 0, 1, extent, most, dst, dst_step);
    line_finish(src, src_step, 0, 1, extent, most, sum, dst, dst_step);
}

/* One work-group a line; shared: a float for each of its items. Launch (1 work-group, lines). */
__kernel void softmax_groups(TENSOR(src), __global float *dst, long dst_offset, index_t dst_rows, long dst_picture,
                             long dst_step, index_t extent, index_t inner, __local float *shared)
{
    const index_t line = get_global_id(1), own = get_local_id(0), by = get_local_size(0);
    src += src_offset + line_start(line, src_rows, src_picture, extent, inner);
    dst += dst_offset + line_start(line, dst_rows, dst_picture, extent, inner);
    shared[own] = line_max(src, src_step, own, by, extent);
    GROUP_COMBINE(shared, largest);
    const float most = shared[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* everybody has read it */
    shared[own] = line_sum(src, src_step, own, by, extent, most, dst, dst_step);
    GROUP_COMBINE(shared, sum_of);
    line_finish(src, src_step, own, by, extent, most, shared[0], dst, dst_step);
}
