/* Kernels that slide a window over blocked planes: depthwise convolution, gathering, padding, pooling; and
 * the first layer, which slides one over a plain picture. */

/* Taps lo <= t < hi of `kernel` that fall inside 0 <= first + t*dilation < size. */
INLINE void taps_inside(int first, int kernel, int dilation, int size, int *lo, int *hi) {
    *lo = first < 0 ? simd_min(kernel, (-first + dilation - 1) / dilation) : 0;
    *hi = first < size ? simd_min(kernel, (size - 1 - first) / dilation + 1) : 0;
    if (*hi < *lo) *hi = *lo;
}

/* Output columns lo <= x < hi whose window lies inside the picture from left to right. */
INLINE void columns_inside(const pcti_simd_window *w, int *lo, int *hi) {
    const int last = w->in_w - 1 - (w->kernel_w - 1) * w->dilation_w + w->pad_left;
    *lo = simd_min(w->out_w, (w->pad_left + w->stride_w - 1) / w->stride_w);
    *hi = last < 0 ? 0 : simd_min(w->out_w, last / w->stride_w + 1);
    if (*hi < *lo) *hi = *lo;
}

/* ---- depthwise ---- */

/* `count` outputs side by side from output column x, taps r0..r1 x s0..s1. src: tap row 0. The kernel's size,
 * stride and dilation are constants in the fast cases, where the loads of neighbours coincide. */
INLINE void depthwise_pixels(const int count, const int kernel_w, const int stride, const int dilation,
                             int r0, int r1, int s0, int s1, const float *src, ptrdiff_t tap_row,
                             const float *wei, v bias, float *dst, v lo, v hi) {
    v sum[4];
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) sum[k] = bias;
    for (int r = r0; r < r1; r++) {
#pragma GCC unroll 5
        for (int s = s0; s < s1; s++) {
            v x = v_load(wei + (r * kernel_w + s) * PCTI_LANES);
#pragma GCC unroll 4
            for (int k = 0; k < count; k++)
                sum[k] =
                    v_fma(v_load(src + r * tap_row + (k * stride + s * dilation) * PCTI_LANES), x, sum[k]);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < count; k++) v_store(dst + k * PCTI_LANES, v_clip(sum[k], lo, hi));
}

INLINE void depthwise_rows(const pcti_simd_window *w, const int kernel_w, const int stride,
                           const int dilation, const float *src, ptrdiff_t src_row, const float *wei,
                           const float *bias, float *dst, ptrdiff_t dst_row, int y0, int y1, float low,
                           float high) {
    const v lo = v_set1(low), hi = v_set1(high);
    int left, right;
    columns_inside(w, &left, &right);
    for (int y = y0; y < y1; y++) {
        const int in_y = y * w->stride_h - w->pad_top;
        int r0, r1, s0, s1;
        taps_inside(in_y, w->kernel_h, w->dilation_h, w->in_h, &r0, &r1);
        for (int half = 0; half < HALVES; half++) {
            const float *from = src + in_y * src_row - (ptrdiff_t)w->pad_left * PCTI_LANES + half * VL,
                        *wei_half = wei + half * VL;
            const ptrdiff_t tap_row = w->dilation_h * src_row;
            const v b = bias ? v_load(bias + half * VL) : v_zero();
            float *to = dst + y * dst_row + half * VL;
            int x = 0;
            for (; x < w->out_w; x++) {
                if (x == left) {
                    for (; x + 4 <= right; x += 4)
                        depthwise_pixels(4, kernel_w, stride, dilation, r0, r1, 0, kernel_w,
                                         from + (ptrdiff_t)x * stride * PCTI_LANES, tap_row, wei_half, b,
                                         to + (ptrdiff_t)x * PCTI_LANES, lo, hi);
                    if (x == w->out_w) break;
                }
                taps_inside(x * stride - w->pad_left, kernel_w, dilation, w->in_w, &s0, &s1);
                depthwise_pixels(1, kernel_w, stride, dilation, r0, r1, s0, s1,
                                 from + (ptrdiff_t)x * stride * PCTI_LANES, tap_row, wei_half, b,
                                 to + (ptrdiff_t)x * PCTI_LANES, lo, hi);
            }
        }
    }
}

static void depthwise(const pcti_simd_window *w, const float *src, ptrdiff_t src_row, const float *wei,
                      const float *bias, float *dst, ptrdiff_t dst_row, int y0, int y1, float lo, float hi) {
#define CASE(kernel, stride)                                                                                 \
    if (w->kernel_w == (kernel) && w->stride_w == (stride) && w->dilation_w == 1) {                          \
        depthwise_rows(w, kernel, stride, 1, src, src_row, wei, bias, dst, dst_row, y0, y1, lo, hi);         \
        return;                                                                                              \
    }
    CASE(3, 1)
    CASE(3, 2)
    CASE(5, 1)
    CASE(5, 2)
#undef CASE
    depthwise_rows(w, w->kernel_w, w->stride_w, w->dilation_w, src, src_row, wei, bias, dst, dst_row, y0, y1,
                   lo, hi);
}

/* ---- gathering and padding ---- */

INLINE void copy_pixels(float *dst, const float *src, int pixels) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)pixels * PCTI_LANES; i += VL) v_store(dst + i, v_load(src + i));
}
INLINE void zero_pixels(float *dst, int pixels) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)pixels * PCTI_LANES; i += VL) v_store(dst + i, v_zero());
}

static void gather(const pcti_simd_window *w, int blocks, const float *src, ptrdiff_t src_block,
                   ptrdiff_t src_row, int p0, int p1, float *dst) {
    for (int r = 0; r < w->kernel_h; r++)
        for (int s = 0; s < w->kernel_w; s++)
            for (int block = 0; block < blocks; block++) {
                int y = p0 / w->out_w, x = p0 % w->out_w;
                for (int p = p0; p < p1; p++, dst += PCTI_LANES) {
                    const int in_y = y * w->stride_h - w->pad_top + r * w->dilation_h;
                    const int in_x = x * w->stride_w - w->pad_left + s * w->dilation_w;
                    if (in_y >= 0 && in_y < w->in_h && in_x >= 0 && in_x < w->in_w)
                        copy_pixels(
                            dst, src + block * src_block + in_y * src_row + (ptrdiff_t)in_x * PCTI_LANES, 1);
                    else
                        zero_pixels(dst, 1);
                    if (++x == w->out_w) x = 0, y++;
                }
            }
}

static void pad_rows(const pcti_simd_window *w, int blocks, const float *src, ptrdiff_t src_block,
                     ptrdiff_t src_row, int y0, int y1, float *dst) {
    int rows, columns;
    pcti_simd_strip(w, y1 - y0, &rows, &columns);
    /* Columns 0 .. left - 1 and right .. columns - 1 lie outside. */
    const int left = simd_min(w->pad_left, columns),
              right = simd_max(left, simd_min(columns, w->pad_left + w->in_w));
    for (int block = 0; block < blocks; block++)
        for (int row = 0; row < rows; row++, dst += (ptrdiff_t)columns * PCTI_LANES) {
            const int y = y0 * w->stride_h - w->pad_top + row;
            if (y < 0 || y >= w->in_h) {
                zero_pixels(dst, columns);
                continue;
            }
            zero_pixels(dst, left);
            copy_pixels(dst + (ptrdiff_t)left * PCTI_LANES, src + block * src_block + y * src_row,
                        right - left);
            zero_pixels(dst + (ptrdiff_t)right * PCTI_LANES, columns - right);
        }
}

/* ---- first layer ---- */

/* Rows of the padded strip are rows of A with neighbours a stride apart; with dilation 1 a kernel row is
 * `kernel_w` adjacent values, so each (channel, kernel row) is one tap of gemm. */
static void first_layer(const pcti_simd_window *w, int channels, int outputs, const float *src,
                        ptrdiff_t src_channel, ptrdiff_t src_row, const float *wei, const float *bias,
                        float *dst, ptrdiff_t dst_block, ptrdiff_t dst_row, int y0, int y1, float lo,
                        float hi, float *scratch) {
    int rows, columns;
    pcti_simd_strip(w, 1, &rows, &columns);
    const int parts = w->dilation_w == 1 ? 1 : w->kernel_w, taps = channels * w->kernel_h * parts;
    ptrdiff_t *offset = (ptrdiff_t *)(void *)scratch;
    float *strip = scratch + (ptrdiff_t)channels * w->kernel_h * w->kernel_w *
                                 (ptrdiff_t)(sizeof *offset / sizeof *strip);
    for (int t = 0; t < taps; t++) {
        const int s = t % parts, r = t / parts % w->kernel_h, c = t / parts / w->kernel_h;
        offset[t] = ((ptrdiff_t)c * rows + r * w->dilation_h) * columns + s * w->dilation_w;
    }
    pcti_simd_gemm g = {.a = strip,
                        .b = wei,
                        .taps = offset,
                        .n_taps = taps,
                        .depth = w->kernel_w / parts,
                        .runs = 1,
                        .rows = w->out_w,
                        .columns = simd_blocks(outputs) * PCTI_LANES,
                        .a_block = PCTI_LANES,
                        .a_row = w->stride_w,
                        .out_block = dst_block,
                        .out_row = PCTI_LANES,
                        .bias = bias,
                        .lo = lo,
                        .hi = hi};
    const int left = simd_min(w->pad_left, columns),
              right = simd_max(left, simd_min(columns, w->pad_left + w->in_w));
    for (int y = y0; y < y1; y++) {
        for (int c = 0; c < channels; c++)
            for (int r = 0; r < w->kernel_h; r++) {
                const int in_y = y * w->stride_h - w->pad_top + r * w->dilation_h;
                float *row = strip + ((ptrdiff_t)c * rows + r * w->dilation_h) * columns;
                if (in_y < 0 || in_y >= w->in_h) {
                    memset(row, 0, (size_t)columns * sizeof *row);
                    continue;
                }
                memset(row, 0, (size_t)left * sizeof *row);
                memcpy(row + left, src + c * src_channel + in_y * src_row,
                       (size_t)(right - left) * sizeof *row);
                memset(row + right, 0, (size_t)(columns - right) * sizeof *row);
            }
        g.out = dst + y * dst_row;
        gemm(&g);
    }
}

/* ---- pooling ---- */

/* Taps r0..r1 x s0..s1 of one output; src: its tap (0, 0). */
INLINE v pool_max_pixel(int r0, int r1, int s0, int s1, const float *src, ptrdiff_t tap_row,
                        ptrdiff_t tap_column) {
    v most = v_set1(-INFINITY);
    for (int r = r0; r < r1; r++)
#pragma GCC unroll 3
        for (int s = s0; s < s1; s++) most = v_max_nan(most, v_load(src + r * tap_row + s * tap_column));
    return most;
}
INLINE v pool_sum_pixel(int r0, int r1, int s0, int s1, const float *src, ptrdiff_t tap_row,
                        ptrdiff_t tap_column) {
    v sum = v_zero();
    for (int r = r0; r < r1; r++)
#pragma GCC unroll 3
        for (int s = s0; s < s1; s++) sum = sum + v_load(src + r * tap_row + s * tap_column);
    return sum;
}

/* `kernel` > 0: the width of the kernel as a constant. */
INLINE void pool_rows(const pcti_simd_window *w, const int kernel, const bool mean, bool include_pad,
                      const float *src, ptrdiff_t src_row, float *dst, ptrdiff_t dst_row, int y0, int y1) {
    int left, right;
    columns_inside(w, &left, &right);
    for (int y = y0; y < y1; y++) {
        const int in_y = y * w->stride_h - w->pad_top;
        const ptrdiff_t tap_row = w->dilation_h * src_row, tap_column = (ptrdiff_t)w->dilation_w * PCTI_LANES;
        int r0, r1, rows_low, rows_high;
        taps_inside(in_y, w->kernel_h, w->dilation_h, w->in_h, &r0, &r1);
        taps_inside(y * w->stride_h, w->kernel_h, w->dilation_h, w->in_h + w->pad_top + w->pad_bottom,
                    &rows_low, &rows_high);
        for (int x = 0; x < w->out_w; x++) {
            const int in_x = x * w->stride_w - w->pad_left;
            const float *from = src + in_y * src_row + (ptrdiff_t)in_x * PCTI_LANES;
            float *to = dst + y * dst_row + (ptrdiff_t)x * PCTI_LANES;
            const bool inside = kernel > 0 && x >= left && x < right;
            int s0 = 0, s1 = kernel;
            if (!inside) taps_inside(in_x, w->kernel_w, w->dilation_w, w->in_w, &s0, &s1);
            v scale = v_zero();
            if (mean) {
                int count = (r1 - r0) * (s1 - s0);
                if (include_pad) {
                    int low, high;
                    taps_inside(x * w->stride_w, w->kernel_w, w->dilation_w,
                                w->in_w + w->pad_left + w->pad_right, &low, &high);
                    count = (rows_high - rows_low) * (high - low);
                }
                scale = v_set1(count > 0 ? 1.0f / (float)count : 0.0f);
            }
            for (int half = 0; half < HALVES; half++) {
                const float *part = from + half * VL;
                v result;
                if (mean)
                    result = (inside ? pool_sum_pixel(r0, r1, 0, kernel, part, tap_row, tap_column)
                                     : pool_sum_pixel(r0, r1, s0, s1, part, tap_row, tap_column)) *
                             scale;
                else
                    result = inside ? pool_max_pixel(r0, r1, 0, kernel, part, tap_row, tap_column)
                                    : pool_max_pixel(r0, r1, s0, s1, part, tap_row, tap_column);
                v_store(to + half * VL, result);
            }
        }
    }
}

static void pool_max(const pcti_simd_window *w, const float *src, ptrdiff_t src_row, float *dst,
                     ptrdiff_t dst_row, int y0, int y1) {
    if (w->kernel_w == 2)
        pool_rows(w, 2, false, false, src, src_row, dst, dst_row, y0, y1);
    else if (w->kernel_w == 3)
        pool_rows(w, 3, false, false, src, src_row, dst, dst_row, y0, y1);
    else
        pool_rows(w, 0, false, false, src, src_row, dst, dst_row, y0, y1);
}

static void pool_mean(const pcti_simd_window *w, bool include_pad, const float *src, ptrdiff_t src_row,
                      float *dst, ptrdiff_t dst_row, int y0, int y1) {
    if (w->kernel_w == 2)
        pool_rows(w, 2, true, include_pad, src, src_row, dst, dst_row, y0, y1);
    else
        pool_rows(w, 0, true, include_pad, src, src_row, dst, dst_row, y0, y1);
}

/* Four chains, by column, hide the latency of the operation. */
static void global_max(int rows, int columns, const float *src, ptrdiff_t src_row, float *dst) {
    for (int half = 0; half < HALVES; half++) {
        v most[4] = {v_set1(-INFINITY), v_set1(-INFINITY), v_set1(-INFINITY), v_set1(-INFINITY)};
        for (int y = 0; y < rows; y++) {
            const float *from = src + y * src_row + half * VL;
            int x = 0;
            for (; x + 4 <= columns; x += 4, from += 4 * PCTI_LANES)
                for (int k = 0; k < 4; k++) most[k] = v_max_nan(most[k], v_load(from + k * PCTI_LANES));
            for (; x < columns; x++, from += PCTI_LANES) most[0] = v_max_nan(most[0], v_load(from));
        }
        v_store(dst + half * VL, v_max_nan(v_max_nan(most[0], most[1]), v_max_nan(most[2], most[3])));
    }
}

static void global_mean(int rows, int columns, const float *src, ptrdiff_t src_row, float *dst) {
    const v scale = v_set1(1.0f / ((float)rows * (float)columns));
    for (int half = 0; half < HALVES; half++) {
        v sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
        for (int y = 0; y < rows; y++) {
            const float *from = src + y * src_row + half * VL;
            int x = 0;
            for (; x + 4 <= columns; x += 4, from += 4 * PCTI_LANES)
                for (int k = 0; k < 4; k++) sum[k] = sum[k] + v_load(from + k * PCTI_LANES);
            for (; x < columns; x++, from += PCTI_LANES) sum[0] = sum[0] + v_load(from);
        }
        v_store(dst + half * VL, ((sum[0] + sum[1]) + (sum[2] + sum[3])) * scale);
    }
}
