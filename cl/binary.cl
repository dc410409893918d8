/* Functions of two operands. -DFN=fn_add, ...: the function. max and min hand NaN on.
 * -DWIDTH=16|1: channels of an item in the kernels for blocked pictures. */

#define fn_add(x, y) ((x) + (y))
#define fn_sub(x, y) ((x) - (y))
#define fn_mul(x, y) ((x) * (y))
#define fn_div(x, y) ((x) / (y))
#define fn_max(x, y) select(y, x, isgreater(x, y) | isnan(x))
#define fn_min(x, y) select(y, x, isless(x, y) | isnan(x))
#define fn_pow(x, y) pow(x, y)

#ifdef FN
/* dst[n][i] = clip(FN(a[n][i], b[n][i])), all of one shape and layout.
 * Launch: dimension 0 = elements of a picture, dimension 1 = pictures (one piece where all tensors are dense). */
__kernel void same_shape(__global const float *a, long a_offset, long a_picture, __global const float *b,
                         long b_offset, long b_picture, __global float *dst, long dst_offset, long dst_picture,
                         index_t count, float lo, float hi)
{
    if (IS_BEYOND(0, count)) return;
    const index_t i = get_global_id(0);
    const long n = get_global_id(1);
    float x = a[a_offset + n * a_picture + i], y = b[b_offset + n * b_picture + i];
    float r = FN(x, y);
    dst[dst_offset + n * dst_picture + i] = CLIP(r, lo, hi);
}

#ifdef RANK
#ifdef PCT_INDEX64
typedef long8 index8_t;
#else
typedef int8 index8_t;
#endif

/* dst[i0][i1]... = clip(FN(a[...], b[...])), strides over the result's -DRANK dimensions, 0 where an operand is repeated.
 * Launch: dimension 0 = elements of the result. */
__kernel void broadcasting(__global const float *a, long a_offset, index8_t a_strides, __global const float *b,
                           long b_offset, index8_t b_strides, __global float *dst, long dst_offset,
                           index8_t dst_strides, index8_t dims, index_t count, float lo, float hi)
{
    if (IS_BEYOND(0, count)) return;
    index_t rest = get_global_id(0), size[8], a_stride[8], b_stride[8], dst_stride[8];
    vstore8(dims, 0, size);
    vstore8(a_strides, 0, a_stride);
    vstore8(b_strides, 0, b_stride);
    vstore8(dst_strides, 0, dst_stride);
    a += a_offset;
    b += b_offset;
    dst += dst_offset;
    for (int d = RANK - 1; d >= 0; d--) {
        SPLIT(rest, size[d], outer, at);
        rest = outer;
        a += at * a_stride[d];
        b += at * b_stride[d];
        dst += at * dst_stride[d];
    }
    float x = *a, y = *b;
    float r = FN(x, y);
    *dst = CLIP(r, lo, hi);
}
#endif
#endif

#ifdef WIDTH
/* Blocked: element e of a picture belongs to channel e/plane*16 + e%16, plane = pixels*16.
 * Launch: dimension 0 = elements of a picture / WIDTH, dimension 1 = pictures. */
#ifdef FN
/* dst = clip(FN(wide, narrow[c])), operands swapped with -DSWAP. */
__kernel void channel(__global const float *wide, long wide_offset, long wide_picture,
                      __global const float *narrow, long narrow_offset, long narrow_picture, __global float *dst,
                      long dst_offset, long dst_picture, index_t plane, index_t count, float lo, float hi)
{
    if (IS_BEYOND(0, count)) return;
    const index_t e = get_global_id(0) * WIDTH;
    const long n = get_global_id(1);
    vec x = LOAD(wide + wide_offset + n * wide_picture + e);
    vec y = LOAD(narrow + narrow_offset + n * narrow_picture + e / plane * BLOCK + e % BLOCK);
#ifdef SWAP
    vec r = FN(y, x);
#else
    vec r = FN(x, y);
#endif
    STORE(CLIP(r, (vec)(lo), (vec)(hi)), dst + dst_offset + n * dst_picture + e);
}
#endif

/* dst = src > 0 ? src : slope[c]*src */
__kernel void prelu_blocked(__global const float *src, long src_offset, long src_picture,
                            __global const float *slope, long slope_offset, __global float *dst, long dst_offset,
                            long dst_picture, index_t plane, index_t count)
{
    if (IS_BEYOND(0, count)) return;
    const index_t e = get_global_id(0) * WIDTH;
    const long n = get_global_id(1);
    vec x = LOAD(src + src_offset + n * src_picture + e);
    vec negative = x * LOAD(slope + slope_offset + e / plane * BLOCK + e % BLOCK);
    STORE(select(negative, x, isgreater(x, (vec)(0.0f))), dst + dst_offset + n * dst_picture + e);
}
#endif

/* The same, plain: channel c = e/plane, slope[c*slope_stride] (stride 0: one slope).
 * Launch: dimension 0 = elements of a picture, dimension 1 = pictures. */
__kernel void prelu_plain(__global const float *src, long src_offset, long src_picture,
                          __global const float *slope, long slope_offset, long slope_stride, __global float *dst,
                          long dst_offset, long dst_picture, index_t plane, index_t count)
{
    if (IS_BEYOND(0, count)) return;
    const index_t e = get_global_id(0);
    const long n = get_global_id(1);
    float x = src[src_offset + n * src_picture + e];
    dst[dst_offset + n * dst_picture + e] = x > 0 ? x : slope[slope_offset + e / plane * slope_stride] * x;
}
