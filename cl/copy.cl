/* Copies of boxes of elements: concat, slice, transpose, pad, reshape. -DTYPE: an unsigned integer of the element's size,
 * or float.
 *
 * A box has columns, element by element along its last dimension, and rows, numbered through its -DOUTER other dimensions
 * (0 to 7), of which dimension 0 varies fastest. n: elements of a dimension; s, t: its strides in src and dst. */

#define FOR_OUTER_0(M)
#define FOR_OUTER_1(M) M(0)
#define FOR_OUTER_2(M) FOR_OUTER_1(M) M(1)
#define FOR_OUTER_3(M) FOR_OUTER_2(M) M(2)
#define FOR_OUTER_4(M) FOR_OUTER_3(M) M(3)
#define FOR_OUTER_5(M) FOR_OUTER_4(M) M(4)
#define FOR_OUTER_6(M) FOR_OUTER_5(M) M(5)
#define FOR_OUTER_7(M) FOR_OUTER_6(M) M(6)
#define FOR_OUTER_OF(outer, M) FOR_OUTER_##outer(M)
#define FOR_OUTER_EXPAND(outer, M) FOR_OUTER_OF(outer, M)
#define FOR_OUTER(M) FOR_OUTER_EXPAND(OUTER, M)

#define DIM_ARGS(d) , index_t n##d, index_t s##d, index_t t##d
/* Takes dimension d's index off `row` and walks so far on both sides. */
#define DIM_STEP(d)                                                                                                  \
    {                                                                                                                \
        SPLIT(row, n##d, others, at);                                                                                \
        row = others;                                                                                                \
        src += at * s##d;                                                                                            \
        dst += at * t##d;                                                                                            \
    }

#if defined(OUTER) && !defined(PAD)

/* dst[i] = src[i]. Launch (columns, rows), one item an element. -DCONTIGUOUS: columns are neighbours on both sides. */
__kernel void move(__global const TYPE *src, long src_offset, __global TYPE *dst, long dst_offset, index_t columns,
                   index_t s, index_t t, index_t rows FOR_OUTER(DIM_ARGS))
{
    if (IS_BEYOND(0, columns) || IS_BEYOND(1, rows)) return;
    const index_t x = get_global_id(0);
    index_t row = get_global_id(1);
    src += src_offset;
    dst += dst_offset;
    FOR_OUTER(DIM_STEP)
#ifdef CONTIGUOUS
    dst[x] = src[x];
#else
    dst[x * t] = src[x * s];
#endif
}

#ifdef TILE
/* The transposition dst[y * t + x] = src[x * s + y] of planes (width x height), numbered through the other dimensions.
 * One item does one tile of TILE x TILE. Launch (tiles across, tiles down, planes). */
__kernel void transpose_tiles(__global const TYPE *src, long src_offset, __global TYPE *dst, long dst_offset,
                              index_t width, index_t height, index_t s, index_t t, index_t planes FOR_OUTER(DIM_ARGS))
{
    const index_t x0 = get_global_id(0) * TILE, y0 = get_global_id(1) * TILE;
    index_t row = get_global_id(2);
    if (x0 >= width || y0 >= height || row >= planes) return;
    src += src_offset;
    dst += dst_offset;
    FOR_OUTER(DIM_STEP)
    const index_t x1 = min(width, x0 + TILE), y1 = min(height, y0 + TILE);
    for (index_t y = y0; y < y1; y++)
        for (index_t x = x0; x < x1; x++) dst[y * t + x] = src[x * s + y];
}

/* The same by work-groups of any size through local memory, so that both sides are read and written in rows. Launch:
 * groups of one dimension; group g does tiles g, g + groups, ... of planes x tiles down x tiles across. */
__kernel void transpose_local(__global const TYPE *src_base, long src_offset, __global TYPE *dst_base, long dst_offset,
                              index_t width, index_t height, index_t s, index_t t, index_t planes FOR_OUTER(DIM_ARGS))
{
    __local TYPE tile[TILE * (TILE + 1)]; /* one more column, against bank conflicts */
    const index_t across = CEIL_DIV(width, TILE), down = CEIL_DIV(height, TILE);
    const uint me = get_local_id(0), n = get_local_size(0);
    for (index_t number = get_group_id(0); number < planes * down * across; number += get_num_groups(0)) {
        SPLIT(number, across, stripe, tile_x);
        SPLIT(stripe, down, plane, tile_y);
        const index_t x0 = tile_x * TILE, y0 = tile_y * TILE;
        index_t row = plane;
        __global const TYPE *src = src_base + src_offset;
        __global TYPE *dst = dst_base + dst_offset;
        FOR_OUTER(DIM_STEP)
        for (uint i = me; i < TILE * TILE; i += n) {
            const index_t x = i / TILE, y = i % TILE;
            if (x0 + x < width && y0 + y < height) tile[x * (TILE + 1) + y] = src[(x0 + x) * s + y0 + y];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = me; i < TILE * TILE; i += n) {
            const index_t x = i % TILE, y = i / TILE;
            if (x0 + x < width && y0 + y < height) dst[(y0 + y) * t + x0 + x] = tile[x * (TILE + 1) + y];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif

#endif

#ifdef PAD
/* The index among `count` that the padded index `at` - begin shows; -1: the constant. */
static inline index_t pad_constant(index_t at, index_t count) { return at >= 0 && at < count ? at : -1; }
static inline index_t pad_reflect(index_t at, index_t count)
{
    return at < 0 ? -at : at < count ? at : 2 * (count - 1) - at;
}
static inline index_t pad_edge(index_t at, index_t count) { return clamp(at, (index_t)0, (index_t)(count - 1)); }

#define PAD_ARGS(d) , index_t n##d, index_t s##d, index_t t##d, index_t begin##d, index_t count##d
#define PAD_STEP(d)                                                                                                  \
    {                                                                                                                \
        SPLIT(row, n##d, others, at);                                                                                \
        const index_t from = PAD(at - begin##d, count##d);                                                           \
        row = others;                                                                                                \
        inside = inside && from >= 0;                                                                                \
        src += from * s##d;                                                                                          \
        dst += at * t##d;                                                                                            \
    }

/* dst[i] = src[index that i shows], or the value; -DPAD names the mode's function, VALUE is float or int. A dimension of
 * src has `count` elements. Launch (columns, rows) of dst, one item an element. */
__kernel void pad(__global const TYPE *src, long src_offset, __global TYPE *dst, long dst_offset, VALUE value,
                  index_t columns, index_t s, index_t t, index_t begin, index_t count, index_t rows FOR_OUTER(PAD_ARGS))
{
    if (IS_BEYOND(0, columns) || IS_BEYOND(1, rows)) return;
    const index_t x = get_global_id(0), from_x = PAD(x - begin, count);
    index_t row = get_global_id(1);
    bool inside = from_x >= 0;
    src += src_offset;
    dst += dst_offset;
    FOR_OUTER(PAD_STEP)
    dst[x * t] = inside ? src[from_x * s] : (TYPE)value;
}
#endif

/* The same elements in row-major order on both sides, pictures of src_inner and dst_inner elements that lie src_picture
 * and dst_picture apart. Launch (elements), one item an element. */
#ifdef RESHAPE
__kernel void reshape(__global const TYPE *src, long src_offset, index_t src_inner, index_t src_picture,
                      __global TYPE *dst, long dst_offset, index_t dst_inner, index_t dst_picture, index_t count)
{
    if (IS_BEYOND(0, count)) return;
    const index_t i = get_global_id(0);
    SPLIT(i, src_inner, from, from_rest);
    SPLIT(i, dst_inner, to, to_rest);
    dst[dst_offset + to * dst_picture + to_rest] = src[src_offset + from * src_picture + from_rest];
}
#endif
