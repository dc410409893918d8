/* Kernels that slide a window over blocked planes: depthwise convolution, gathering, padding, pooling; and
 * the first layer, which slides one over a plain picture. */

/* Taps lo <= t < hi of `kernel` that fall inside 0 <= first + t*dilation < size. */
INLINE void taps_inside(int first, int kernel, int dilation, int size, int *lo, int *hi)
{
    *lo = first < 0 ? simd_min(kernel, (-first + dilation - 1) / dilation) : 0;
    *hi = first < size ? simd_min(kernel, (size - 1 - first) / dilation + 1) : 0;
    if (*hi < *lo) *hi = *lo;
}

/* Output columns lo <= x < hi whose window lies inside the picture from left to right. */
INLINE void columns_inside(const pcti_simd_window *w, int *lo, int *hi)
{
    const int last = w->in_w - 1 - (w->kernel_w - 1) * w->dilation_w + w->pad_left;
    *lo = simd_min(w->out_w, (w->pad_left + w->stride_w - 1) / w->stride_w);
    *hi = last < 0 ? 0 : simd_min(w->out_w, last / w->stride_w + 1);
    if (*hi < *lo) *hi = *lo;
}

/* ---- depthwise ---- */

/* One block of a depthwise convolution at one output row, one register wide. src: tap (0, 0) of output column
 * 0. */
typedef struct depthwise_row {
    const float *src, *wei;
    float *dst;
    ptrdiff_t tap_row;
    int r0, r1; /* tap rows inside the picture */
    int kernel_w, stride, dilation;
    v bias, lo, hi;
} depthwise_row;

/* Output columns x0 <= x < x1 one by one, with those taps that lie inside the picture. */
INLINE void depthwise_edge(const depthwise_row *d, int x0, int x1, int in_x, int in_w, const int kernel_w)
{
    for (int x = x0; x < x1; x++) {
        const float *src = d->src + (ptrdiff_t)x * d->stride * PCTI_LANES;
        int s0, s1;
        taps_inside(in_x + x * d->stride, kernel_w, d->dilation, in_w, &s0, &s1);
        v sum = d->bias;
        for (int r = d->r0; r < d->r1; r++)
            for (int s = 0; s < kernel_w; s++)
                if (s >= s0 && s < s1)
                    sum = v_fma(v_load(src + r * d->tap_row + (ptrdiff_t)s * d->dilation * PCTI_LANES),
                                v_load(d->wei + (r * kernel_w + s) * PCTI_LANES), sum);
        v_store(d->dst + (ptrdiff_t)x * PCTI_LANES, v_clip(sum, d->lo, d->hi));
    }
}

/* Adds one kernel row to four neighbouring outputs, whose windows share columns: each is loaded once. */
INLINE void depthwise_four(const float *src, const v *wei, const int kernel_w, const int stride, v sum[4])
{
    v x[11];
    UNROLL
    for (int i = 0; i < 3 * stride + kernel_w; i++) {
        x[i] = v_load(src + i * PCTI_LANES);
        v_keep(x[i]);
    }
    UNROLL
    for (int s = 0; s < kernel_w; s++) UNROLL
    for (int k = 0; k < 4; k++) sum[k] = v_fma(x[k * stride + s], wei[s], sum[k]);
}

/* Output columns x0 <= x < x1, at least four, dilation 1, all tap columns; the last four may overlap the ones
 * before. `whole`: all of three kernel rows, whose weights stay in registers. */
INLINE void depthwise_inside(const depthwise_row *d, int x0, int x1, const bool whole, const int kernel_w,
                             const int stride)
{
    const v bias = d->bias, lo = d->lo, hi = d->hi;
    const ptrdiff_t tap_row = d->tap_row;
    v wei[15];
    if (whole) {
        UNROLL
        for (int t = 0; t < 3 * kernel_w; t++) wei[t] = v_load(d->wei + t * PCTI_LANES);
    }
    for (int x = x0; x < x1; x += 4) {
        x = simd_min(x, x1 - 4);
        const float *src = d->src + (ptrdiff_t)x * stride * PCTI_LANES;
        float *dst = d->dst + (ptrdiff_t)x * PCTI_LANES;
        v sum[4] = {bias, bias, bias, bias};
        if (whole) {
            UNROLL
            for (int r = 0; r < 3; r++) depthwise_four(src + r * tap_row, wei + r * kernel_w, kernel_w, stride, sum);
        } else
            for (int r = d->r0; r < d->r1; r++) {
                UNROLL
                for (int s = 0; s < kernel_w; s++) wei[s] = v_load(d->wei + (r * kernel_w + s) * PCTI_LANES);
                depthwise_four(src + r * tap_row, wei, kernel_w, stride, sum);
            }
        UNROLL
        for (int k = 0; k < 4; k++) v_store(dst + k * PCTI_LANES, v_clip(sum[k], lo, hi));
    }
}

/* One output row: x0 <= x < x1 are the columns whose window lies inside from left to right. */
typedef void (*depthwise_fn)(const depthwise_row *d, int out_w, int x0, int x1, int in_x, int in_w);
#define ROW(kernel, stride)                                                                                          \
    static void depthwise_row_##kernel##_##stride(const depthwise_row *d, int out_w, int x0, int x1, int in_x,       \
                                                  int in_w)                                                          \
    {                                                                                                                \
        if (x1 - x0 < 4) x0 = x1 = out_w;                                                                            \
        depthwise_edge(d, 0, x0, in_x, in_w, kernel);                                                                \
        if (x1 > x0 && (kernel) == 3 && d->r0 == 0 && d->r1 == 3)                                                    \
            depthwise_inside(d, x0, x1, true, kernel, stride);                                                       \
        else if (x1 > x0)                                                                                            \
            depthwise_inside(d, x0, x1, false, kernel, stride);                                                      \
        depthwise_edge(d, x1, out_w, in_x, in_w, kernel);                                                            \
    }
ROW(3, 1)
ROW(3, 2)
ROW(5, 1)
ROW(5, 2)
#undef ROW
static void depthwise_row_any(const depthwise_row *d, int out_w, int x0, int x1, int in_x, int in_w)
{
    depthwise_edge(d, 0, out_w, in_x, in_w, d->kernel_w);
}

static depthwise_fn depthwise_choose(const pcti_simd_window *w)
{
    if (w->dilation_w != 1 || w->stride_w > 2) return depthwise_row_any;
    if (w->kernel_w == 3) return w->stride_w == 1 ? depthwise_row_3_1 : depthwise_row_3_2;
    if (w->kernel_w == 5) return w->stride_w == 1 ? depthwise_row_5_1 : depthwise_row_5_2;
    return depthwise_row_any;
}

static void depthwise(const pcti_simd_window *w, const float *src, ptrdiff_t src_row, const float *wei,
                      const float *bias, float *dst, ptrdiff_t dst_row, int y0, int y1, float lo, float hi)
{
    const depthwise_fn row = depthwise_choose(w);
    int left, right;
    columns_inside(w, &left, &right);
    for (int y = y0; y < y1; y++)
        for (int half = 0; half < HALVES; half++) {
            const int in_y = y * w->stride_h - w->pad_top;
            depthwise_row d = {.src = src + in_y * src_row - (ptrdiff_t)w->pad_left * PCTI_LANES + half * VL,
                               .wei = wei + half * VL,
                               .dst = dst + y * dst_row + half * VL,
                               .tap_row = w->dilation_h * src_row,
                               .kernel_w = w->kernel_w,
                               .stride = w->stride_w,
                               .dilation = w->dilation_w,
                               .bias = bias ? v_load(bias + half * VL) : v_zero(),
                               .lo = v_set1(lo),
                               .hi = v_set1(hi)};
            taps_inside(in_y, w->kernel_h, w->dilation_h, w->in_h, &d.r0, &d.r1);
            row(&d, w->out_w, left, right, -w->pad_left, w->in_w);
        }
}

/* ---- gathering and padding ---- */

INLINE void copy_pixels(float *dst, const float *src, int pixels)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)pixels * PCTI_LANES; i += VL) v_store(dst + i, v_load(src + i));
}
INLINE void zero_pixels(float *dst, int pixels)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)pixels * PCTI_LANES; i += VL) v_store(dst + i, v_zero());
}

static void gather(const pcti_simd_window *w, int blocks, const float *src, ptrdiff_t src_block, ptrdiff_t src_row,
                   int p0, int p1, float *dst)
{
    for (int r = 0; r < w->kernel_h; r++)
        for (int s = 0; s < w->kernel_w; s++)
            for (int block = 0; block < blocks; block++) {
                int y = p0 / w->out_w, x = p0 % w->out_w;
                for (int p = p0; p < p1; p++, dst += PCTI_LANES) {
                    const int in_y = y * w->stride_h - w->pad_top + r * w->dilation_h;
                    const int in_x = x * w->stride_w - w->pad_left + s * w->dilation_w;
                    if (in_y >= 0 && in_y < w->in_h && in_x >= 0 && in_x < w->in_w)
                        copy_pixels(dst, src + block * src_block + in_y * src_row + (ptrdiff_t)in_x * PCTI_LANES, 1);
                    else
                        zero_pixels(dst, 1);
                    if (++x == w->out_w) x = 0, y++;
                }
            }
}

static void pad_rows(const pcti_simd_window *w, int blocks, const float *src, ptrdiff_t src_block, ptrdiff_t src_row,
                     int y0, int y1, float *dst)
{
    int rows, columns;
    pcti_simd_strip(w, y1 - y0, &rows, &columns);
    /* Columns 0 .. left - 1 and right .. columns - 1 lie outside. */
    const int left = simd_min(w->pad_left, columns), right = simd_max(left, simd_min(columns, w->pad_left + w->in_w));
    for (int block = 0; block < blocks; block++)
        for (int row = 0; row < rows; row++, dst += (ptrdiff_t)columns * PCTI_LANES) {
            const int y = y0 * w->stride_h - w->pad_top + row;
            if (y < 0 || y >= w->in_h) {
                zero_pixels(dst, columns);
                continue;
            }
            zero_pixels(dst, left);
            copy_pixels(dst + (ptrdiff_t)left * PCTI_LANES, src + block * src_block + y * src_row, right - left);
            zero_pixels(dst + (ptrdiff_t)right * PCTI_LANES, columns - right);
        }
}

/* ---- first layer ---- */

/* Rows of the padded strip are rows of A with neighbours a stride apart; with dilation 1 a kernel row is
 * `kernel_w` adjacent values, so each (channel, kernel row) is one tap of gemm. */
static void first_layer(const pcti_simd_window *w, int channels, int outputs, const float *src, ptrdiff_t src_channel,
                        ptrdiff_t src_row, const float *wei, const float *bias, float *dst, ptrdiff_t dst_block,
                        ptrdiff_t dst_row, int y0, int y1, float lo, float hi, float *scratch)
{
    int rows, columns;
    pcti_simd_strip(w, 1, &rows, &columns);
    const int parts = w->dilation_w == 1 ? 1 : w->kernel_w, taps = channels * w->kernel_h * parts;
    ptrdiff_t *offset = (ptrdiff_t *)(void *)scratch;
    float *strip =
        scratch + (ptrdiff_t)channels * w->kernel_h * w->kernel_w * (ptrdiff_t)(sizeof *offset / sizeof *strip);
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
    const int left = simd_min(w->pad_left, columns), right = simd_max(left, simd_min(columns, w->pad_left + w->in_w));
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
                memcpy(row + left, src + c * src_channel + in_y * src_row, (size_t)(right - left) * sizeof *row);
                memset(row + right, 0, (size_t)(columns - right) * sizeof *row);
            }
        g.out = dst + y * dst_row;
        gemm(&g);
    }
}

/* ---- pooling ---- */

/* Taps r0..r1 x s0..s1 of one output; src: its tap (0, 0). */
INLINE v pool_max_pixel(int r0, int r1, int s0, int s1, const float *src, ptrdiff_t tap_row, ptrdiff_t tap_column)
{
    v most = v_set1(-INFINITY);
    for (int r = r0; r < r1; r++)
        for (int s = s0; s < s1; s++) most = v_max_nan(most, v_load(src + r * tap_row + s * tap_column));
    return most;
}
INLINE v pool_sum_pixel(int r0, int r1, int s0, int s1, const float *src, ptrdiff_t tap_row, ptrdiff_t tap_column)
{
    v sum = v_zero();
    for (int r = r0; r < r1; r++)
        for (int s = s0; s < s1; s++) sum = sum + v_load(src + r * tap_row + s * tap_column);
    return sum;
}

/* `kernel` > 0: the width of the kernel as a constant. */
INLINE void pool_rows(const pcti_simd_window *w, const int kernel, const bool mean, bool include_pad,
                      const float *src, ptrdiff_t src_row, float *dst, ptrdiff_t dst_row, int y0, int y1)
{
    int left, right;
    columns_inside(w, &left, &right);
    for (int y = y0; y < y1; y++) {
        const int in_y = y * w->stride_h - w->pad_top;
        const ptrdiff_t tap_row = w->dilation_h * src_row, tap_column = (ptrdiff_t)w->dilation_w * PCTI_LANES;
        int r0, r1, rows_low, rows_high;
        taps_inside(in_y, w->kernel_h, w->dilation_h, w->in_h, &r0, &r1);
        taps_inside(y * w->stride_h, w->kernel_h, w->dilation_h, w->in_h + w->pad_top + w->pad_bottom, &rows_low,
                    &rows_high);
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
                    taps_inside(x * w->stride_w, w->kernel_w, w->dilation_w, w->in_w + w->pad_left + w->pad_right,
                                &low, &high);
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

static void pool_max(const pcti_simd_window *w, const float *src, ptrdiff_t src_row, float *dst, ptrdiff_t dst_row,
                     int y0, int y1)
{
    if (w->kernel_w == 2)
        pool_rows(w, 2, false, false, src, src_row, dst, dst_row, y0, y1);
    else if (w->kernel_w == 3)
        pool_rows(w, 3, false, false, src, src_row, dst, dst_row, y0, y1);
    else
        pool_rows(w, 0, false, false, src, src_row, dst, dst_row, y0, y1);
}

static void pool_mean(const pcti_simd_window *w, bool include_pad, const float *src, ptrdiff_t src_row, float *dst,
                      ptrdiff_t dst_row, int y0, int y1)
{
    if (w->kernel_w == 2)
        pool_rows(w, 2, true, include_pad, src, src_row, dst, dst_row, y0, y1);
    else
        pool_rows(w, 0, true, include_pad, src, src_row, dst, dst_row, y0, y1);
}

/* Four chains, by column, hide the latency of the operation. */
static void global_max(int rows, int columns, const float *src, ptrdiff_t src_row, float *dst)
{
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

static void global_mean(int rows, int columns, const float *src, ptrdiff_t src_row, float *dst)
{
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
