/* dst = fn(src), elementwise; -DFN names the function (fn_relu, ...: built-in names are macros on some
 * compilers), a and b are its parameters. NaN gives NaN.
 * Launch (elements of a picture, pictures), one item an element; source and result may be the same. */

static inline float fn_relu(float x, float a, float b) { return x < 0 ? 0 : x; }
static inline float fn_clip(float x, float a, float b) { return x < a ? a : x > b ? b : x; }
static inline float fn_leaky_relu(float x, float a, float b) { return x < 0 ? a * x : x; }
static inline float fn_elu(float x, float a, float b) { return x < 0 ? a * expm1(x) : x; }
static inline float fn_sigmoid(float x, float a, float b) { return 1 / (1 + exp(-x)); }
static inline float fn_tanh(float x, float a, float b) { return tanh(x); }
static inline float fn_silu(float x, float a, float b) { return x / (1 + exp(-x)); }
static inline float fn_hard_swish(float x, float a, float b) { return x * fmin(fmax(x + 3, 0.0f), 6.0f) / 6 + 0 * x; }
static inline float fn_hard_sigmoid(float x, float a, float b) { return fmin(fmax(a * x + b, 0.0f), 1.0f) + 0 * x; }
static inline float fn_gelu(float x, float a, float b) { return 0.5f * x * (1 + erf(x * 0.70710678f)); }
static inline float fn_erf(float x, float a, float b) { return erf(x); }
static inline float fn_sqrt(float x, float a, float b) { return sqrt(x); }
static inline float fn_exp(float x, float a, float b) { return exp(x); }
static inline float fn_log(float x, float a, float b) { return log(x); }
static inline float fn_abs(float x, float a, float b) { return fabs(x); }
static inline float fn_neg(float x, float a, float b) { return -x; }

__kernel void unary(__global const float *src, long src_offset, long src_picture, __global float *dst, long dst_offset,
                    long dst_picture, index_t count, float a, float b)
{
    if (IS_BEYOND(0, count)) return;
    const index_t i = get_global_id(0);
    const float x = src[src_offset + (long)get_global_id(1) * src_picture + i];
    dst[dst_offset + (long)get_global_id(1) * dst_picture + i] = FN(x, a, b);
}

/* The same for blocked pictures whose last block has padding channels, which stay zero where fn(0) is not; `block` is the
 * distance between blocks. */
__kernel void unary_padded(__global const float *src, long src_offset, long src_picture, __global float *dst,
                           long dst_offset, long dst_picture, index_t count, float a, float b, index_t block,
                           int channels)
{
    if (IS_BEYOND(0, count)) return;
    const index_t i = get_global_id(0);
    const float x = src[src_offset + (long)get_global_id(1) * src_picture + i];
    SPLIT(i, block, number, in_block);
    const bool real = number * 16 + (in_block & 15) < channels;
    dst[dst_offset + (long)get_global_id(1) * dst_picture + i] = real ? FN(x, a, b) : 0;
}
