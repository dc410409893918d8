/* Sums, means, maxima, and where the maximum is. A maximum hands NaN on and is -inf of nothing. */

#ifdef MAX /* 1: maximum, 0: sum */
static inline float combine(float a, float b)
{
#if MAX
    return b > a || isnan(b) ? b : a;
#else
    return a + b;
#endif
}

/* dst[line] = combination of elements first, first + by, ... of a line, over `terms`; partial results of 64 keep
 * the rounding errors of sums small. */
static inline float reduce_line(__global const float *x, long step, index_t first, index_t by, index_t extent)
{
    const float start = MAX ? -INFINITY : 0;
    float all = start, part = start;
    int terms = 0;
    for (index_t k = first; k < extent; k += by) {
        part = combine(part, x[k * step]);
        if (++terms % 64 == 0) {
            all = combine(all, part);
            part = start;
        }
    }
    return combine(all, part);
}

/* dst[line] = sum or maximum of the line (prelude: line_start), over `terms`. One item a line. Launch (lines). */
__kernel void reduce_items(__global const float *src, long src_offset, index_t rows, long picture, long step,
                           index_t extent, index_t inner, __global float *dst, long dst_offset, index_t dst_elems,
                           long dst_picture, float terms, index_t lines)
{
    if (IS_BEYOND(0, lines)) return;
    const index_t line = get_global_id(0);
    src += src_offset + line_start(line, rows, picture, extent, inner);
    dst[dst_offset + place_of(line, dst_elems, dst_picture)] = reduce_line(src, step, 0, 1, extent) / terms;
}

/* The same with one work-group a line; shared: a float for each of its items. Launch (1 work-group, lines). */
__kernel void reduce_groups(__global const float *src, long src_offset, index_t rows, long picture, long step,
                            index_t extent, index_t inner, __global float *dst, long dst_offset, index_t dst_elems,
                            long dst_picture, float terms, __local float *shared)
{
    const index_t line = get_global_id(1), own = get_local_id(0);
    src += src_offset + line_start(line, rows, picture, extent, inner);
    shared[own] = reduce_line(src, step, own, get_local_size(0), extent);
    GROUP_COMBINE(shared, combine);
    if (own == 0) dst[dst_offset + place_of(line, dst_elems, dst_picture)] = shared[0] / terms;
}

#ifdef WIDTH
static inline vec combine_vec(vec a, vec b)
{
#if MAX
    return select(a, b, isgreater(b, a) | isnan(b));
#else
    return a + b;
#endif
}

/* dst[n][c] = maximum over all pixels of a blocked picture, or their sum over `pixels`; dst is plain. One item takes
 * WIDTH channels. Launch (blocks * 16/WIDTH, pictures). */
__kernel void reduce_picture(__global const float *src, long src_offset, long src_picture, __global float *dst,
                             long dst_offset, long dst_picture, int channels, index_t pixels)
{
    const int c = get_global_id(0) * WIDTH;
    if (c >= ROUND_UP(channels, BLOCK)) return;
    const long n = get_global_id(1);
    src += src_offset + n * src_picture + c / BLOCK * BLOCK * (long)pixels + c % BLOCK;
    const vec start = (vec)(MAX ? -INFINITY : 0.0f);
    vec all = start;
    for (index_t p = 0; p < pixels;) {
        vec part = start;
        for (const index_t end = min(pixels, p + 64); p < end; p++) part = combine_vec(part, LOAD(src + (long)p * BLOCK));
        all = combine_vec(all, part);
    }
    if (!MAX) all /= (vec)((float)pixels);
    float lanes[WIDTH];
    STORE(all, lanes);
    for (int k = 0; k < WIDTH; k++)
        if (c + k < channels) dst[dst_offset + n * dst_picture + c + k] = lanes[k];
}
#endif
#else

/* The largest value and where it is; NaN is largest, the first of equals wins. */
typedef struct candidate {
    float value;
    index_t at;
} candidate;

static inline candidate better(candidate a, candidate b)
{
    const bool a_nan = isnan(a.value), b_nan = isnan(b.value);
    const bool equal = a_nan ? b_nan : a.value == b.value;
    return b.value > a.value || (b_nan && !a_nan) || (equal && b.at < a.at) ? b : a;
}

/* Of elements first, first + by, ...; behind the line, and so worse than all, where there are none. */
static inline candidate line_best(__global const float *x, long step, index_t first, index_t by, index_t extent)
{
    candidate best = {-INFINITY, extent};
    for (index_t k = first; k < extent; k += by) {
        const candidate other = {x[k * step], k};
        best = better(best, other);
    }
    return best;
}

/* dst[line] = index of the line's largest element. One item a line. Launch (lines). */
__kernel void argmax_items(__global const float *src, long src_offset, index_t rows, long picture, long step,
                           index_t extent, index_t inner, __global long *dst, long dst_offset, index_t dst_elems,
                           long dst_picture, index_t lines)
{
    if (IS_BEYOND(0, lines)) return;
    const index_t line = get_global_id(0);
    src += src_offset + line_start(line, rows, picture, extent, inner);
    dst[dst_offset + place_of(line, dst_elems, dst_picture)] = line_best(src, step, 0, 1, extent).at;
}

/* The same with one work-group a line; shared: a candidate for each of its items. Launch (1 work-group, lines). */
__kernel void argmax_groups(__global const float *src, long src_offset, index_t rows, long picture, long step,
                            index_t extent, index_t inner, __global long *dst, long dst_offset, index_t dst_elems,
                            long dst_picture, __local candidate *shared)
{
    const index_t line = get_global_id(1), own = get_local_id(0);
    src += src_offset + line_start(line, rows, picture, extent, inner);
    shared[own] = line_best(src, step, own, get_local_size(0), extent);
    GROUP_COMBINE(shared, better);
    if (own == 0) dst[dst_offset + place_of(line, dst_elems, dst_picture)] = shared[0].at;
}
#endif
