/* Elementwise passes over blocked tensors, and the way between plain and blocked pictures. */

static void scale_shift(int blocks, int pixels, const float *src, ptrdiff_t src_block, const float *scale,
                        const float *shift, float *dst, ptrdiff_t dst_block, float low, float high)
{
    const v lo = v_set1(low), hi = v_set1(high);
    for (int block = 0; block < blocks; block++)
        for (int half = 0; half < HALVES; half++) {
            const int lane = block * PCTI_LANES + half * VL;
            const v a = v_load(scale + lane), b = v_load(shift + lane);
            const float *from = src + block * src_block + half * VL;
            float *to = dst + block * dst_block + half * VL;
            for (int p = 0; p < pixels; p++, from += PCTI_LANES, to += PCTI_LANES)
                v_store(to, v_clip(v_fma(v_load(from), a, b), lo, hi));
        }
}

static void scale_shift_pool(int blocks, int out_w, int p0, int p1, const float *src, ptrdiff_t src_block,
                             ptrdiff_t src_row, const float *scale, const float *shift, float *dst,
                             ptrdiff_t dst_block, float low, float high)
{
    const v lo = v_set1(low), hi = v_set1(high), quarter = v_set1(0.25f);
    for (int block = 0; block < blocks; block++)
        for (int half = 0; half < HALVES; half++) {
            const int lane = block * PCTI_LANES + half * VL;
            const v a = v_load(scale + lane), b = v_load(shift + lane);
            float *to = dst + block * dst_block + half * VL;
            int y = p0 / out_w, x = p0 % out_w;
            for (int p = p0; p < p1; p++, to += PCTI_LANES) {
                const float *from =
                    src + block * src_block + 2 * y * src_row + 2 * (ptrdiff_t)x * PCTI_LANES + half * VL;
                v top = v_clip(v_fma(v_load(from), a, b), lo, hi) +
                        v_clip(v_fma(v_load(from + PCTI_LANES), a, b), lo, hi);
                from += src_row;
                v bottom = v_clip(v_fma(v_load(from), a, b), lo, hi) +
                           v_clip(v_fma(v_load(from + PCTI_LANES), a, b), lo, hi);
                v_store(to, (top + bottom) * quarter);
                if (++x == out_w) x = 0, y++;
            }
        }
}

static void add_clip(size_t n, const float *a, const float *b, float *dst, float low, float high)
{
    const v lo = v_set1(low), hi = v_set1(high);
    size_t i = 0;
    for (; i + VL <= n; i += VL) v_store(dst + i, v_clip(v_load(a + i) + v_load(b + i), lo, hi));
    for (; i < n; i++) dst[i] = clip1(a[i] + b[i], low, high);
}

static void clip_range(size_t n, const float *src, float *dst, float low, float high)
{
    const v lo = v_set1(low), hi = v_set1(high);
    size_t i = 0;
    for (; i + VL <= n; i += VL) v_store(dst + i, v_clip(v_load(src + i), lo, hi));
    for (; i < n; i++) dst[i] = clip1(src[i], low, high);
}

/* VL x VL transposition: log2(VL) perfect shuffles of register i with register i + VL/2. */
#if VL == 16
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif VL == 8
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif
INLINE void transpose(v a[VL])
{
    v b[VL];
    UNROLL
    for (int stage = 1; stage < VL; stage *= 2) {
        UNROLL
        for (int i = 0; i < VL / 2; i++) {
            b[2 * i] = ZIP_LOW(a[i], a[i + VL / 2]);
            b[2 * i + 1] = ZIP_HIGH(a[i], a[i + VL / 2]);
        }
        UNROLL
        for (int i = 0; i < VL; i++) a[i] = b[i];
    }
}

static void to_blocked(int channels, int rows, int columns, const float *src, ptrdiff_t src_channel,
                       ptrdiff_t src_row, float *dst, ptrdiff_t dst_block, ptrdiff_t dst_row)
{
    for (int c0 = 0; c0 < simd_blocks(channels) * PCTI_LANES; c0 += VL) {
        const int valid = simd_max(0, simd_min(VL, channels - c0));
        for (int y = 0; y < rows; y++) {
            const float *from = src + c0 * src_channel + y * src_row;
            float *to = dst + c0 / PCTI_LANES * dst_block + y * dst_row + c0 % PCTI_LANES;
            int x = 0;
            for (; x + VL <= columns; x += VL) {
                v a[VL];
                UNROLL
                for (int k = 0; k < VL; k++) a[k] = k < valid ? v_load(from + k * src_channel + x) : v_zero();
                transpose(a);
                UNROLL
                for (int k = 0; k < VL; k++) v_store(to + (ptrdiff_t)(x + k) * PCTI_LANES, a[k]);
            }
            for (; x < columns; x++)
                for (int k = 0; k < VL; k++)
                    to[(ptrdiff_t)x * PCTI_LANES + k] = k < valid ? from[k * src_channel + x] : 0.0f;
        }
    }
}

static void to_plain(int channels, int rows, int columns, const float *src, ptrdiff_t src_block, ptrdiff_t src_row,
                     float *dst, ptrdiff_t dst_channel, ptrdiff_t dst_row)
{
    for (int c0 = 0; c0 < channels; c0 += VL) {
        const int valid = simd_min(VL, channels - c0);
        for (int y = 0; y < rows; y++) {
            const float *from = src + c0 / PCTI_LANES * src_block + y * src_row + c0 % PCTI_LANES;
            float *to = dst + c0 * dst_channel + y * dst_row;
            int x = 0;
            for (; x + VL <= columns; x += VL) {
                v a[VL];
                UNROLL
                for (int k = 0; k < VL; k++) a[k] = v_load(from + (ptrdiff_t)(x + k) * PCTI_LANES);
                transpose(a);
                UNROLL
                for (int k = 0; k < VL; k++)
                    if (k < valid) v_store(to + k * dst_channel + x, a[k]);
            }
            for (; x < columns; x++)
                for (int k = 0; k < valid; k++) to[k * dst_channel + x] = from[(ptrdiff_t)x * PCTI_LANES + k];
        }
    }
}
