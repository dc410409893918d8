/* Normalisations. */

/* dst = clip(src*scale[c] + shift[c]); affine holds scale for `padded` channels, then shift.
 * Element e of a picture belongs to channel e/plane*LANES + e%LANES, where a plane is a channel (LANES 1: plain) or a block
 * of 16 (LANES 16: blocked). Launch: dimension 0 = elements of a picture / WIDTH, dimension 1 = pictures. */
#ifdef LANES
__kernel void affine(__global const float *src, long src_offset, long src_picture, __global float *dst,
                     long dst_offset, long dst_picture, __global const float *affine, long affine_offset,
                     int padded, index_t plane, index_t count, float lo, float hi)
{
    if (IS_BEYOND(0, count)) return;
    const index_t e = get_global_id(0) * WIDTH;
    const long n = get_global_id(1);
    __global const float *scale = affine + affine_offset + e / plane * LANES + e % LANES;
    vec x = LOAD(src + src_offset + n * src_picture + e);
    vec y = MUL_ADD(x, LOAD(scale), LOAD(scale + padded));
    STORE(CLIP(y, (vec)(lo), (vec)(hi)), dst + dst_offset + n * dst_picture + e);
}
#endif

/* dst = clip((src - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + shift[c]), plain.
 * Launch: dimension 0 = elements of a picture, dimension 1 = pictures. */
__kernel void batch_norm(__global const float *src, long src_offset, long src_picture, __global const float *scale,
                         long scale_offset, __global const float *shift, long shift_offset, __global const float *mean,
                         long mean_offset, __global const float *variance, long variance_offset, __global float *dst,
                         long dst_offset, long dst_picture, index_t plane, index_t count, float epsilon, float lo,
                         float hi)
{
    if (IS_BEYOND(0, count)) return;
    const index_t e = get_global_id(0), c = e / plane;
    const long n = get_global_id(1);
    float factor = scale[scale_offset + c] / sqrt(variance[variance_offset + c] + epsilon);
    float y = MUL_ADD(src[src_offset + n * src_picture + e] - mean[mean_offset + c], factor, shift[shift_offset + c]);
    dst[dst_offset + n * dst_picture + e] = CLIP(y, lo, hi);
}

/* dst = (src - mean) / sqrt(variance + epsilon) * scale + shift over the `runs` pieces of `length` elements of a row, each
 * `..._run` apart; row o begins at o/rows_of_picture*..._picture + o%rows_of_picture * (runs*length).
 * Absent scale and shift have offset -1. Launch: dimension 0 = rows. */
__kernel void layer_norm(__global const float *src, long src_offset, long src_picture, long src_run,
                         __global const float *scale, long scale_offset, long scale_run,
                         __global const float *shift, long shift_offset, long shift_run, __global float *dst,
                         long dst_offset, long dst_picture, long dst_run, index_t rows, index_t rows_of_picture,
                         index_t runs, index_t length, float epsilon)
{
    if (IS_BEYOND(0, rows)) return;
    SPLIT((index_t)get_global_id(0), rows_of_picture, n, row);
    const index_t within = row * runs * length;
    src += src_offset + (long)n * src_picture + within;
    dst += dst_offset + (long)n * dst_picture + within;
    float mean = 0, variance = 0;
    for (index_t r = 0; r < runs; r++)
        for (index_t i = 0; i < length; i++) mean += src[r * src_run + i];
    mean /= (float)(runs * length);
    for (index_t r = 0; r < runs; r++)
        for (index_t i = 0; i < length; i++) {
            float away = src[r * src_run + i] - mean;
            variance = MUL_ADD(away, away, variance);
        }
    float factor = 1 / sqrt(variance / (float)(runs * length) + epsilon);
    for (index_t r = 0; r < runs; r++)
        for (index_t i = 0; i < length; i++) {
            float y = (src[r * src_run + i] - mean) * factor;
            if (scale_offset >= 0) y *= scale[scale_offset + r * scale_run + i];
            if (shift_offset >= 0) y += shift[shift_offset + r * shift_run + i];
            dst[r * dst_run + i] = y;
        }
}

/* dst[c] = src[c] / (bias + alpha * sum of src[k]^2, c - below <= k <= c + above)^beta; alpha is already over the window.
 * Launch: dimension 0 = elements of a picture, dimension 1 = pictures. */
__kernel void lrn(__global const float *src, long src_offset, long src_picture, __global float *dst,
                  long dst_offset, long dst_picture, int channels, index_t plane, int below, int above, float alpha,
                  float beta, float bias)
{
    if (IS_BEYOND(0, channels * plane)) return;
    const index_t e = get_global_id(0);
    const long n = get_global_id(1);
    SPLIT(e, plane, c, pixel);
    const index_t last = min((index_t)channels - 1, c + above);
    src += src_offset + n * src_picture + pixel;
    float squares = 0;
    for (index_t k = max((index_t)0, c - below); k <= last; k++) {
        float x = src[k * plane];
        squares = MUL_ADD(x, x, squares);
    }
    dst[dst_offset + n * dst_picture + e] = src[c * plane] / pow(bias + alpha * squares, beta);
}
