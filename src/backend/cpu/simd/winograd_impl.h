/* Winograd F(4x4,3x3): Y = A'[(G g G') * (B' d B)]A on tiles of 4x4 outputs from 6x6 inputs (Lavin and Gray
 * 2016). V[tap][block][tile][16] are transformed inputs, Q[tap][block][tile][16] their products with the
 * weights of a tap. */

/* r = B' d */
INLINE void winograd_bt(const v d[6], v r[6])
{
    const v four = v_set1(4.0f), minus4 = v_set1(-4.0f), minus5 = v_set1(-5.0f), two = v_set1(2.0f),
            minus2 = v_set1(-2.0f);
    v a = v_fma(minus4, d[2], d[4]), b = v_fma(minus4, d[1], d[3]), c = d[4] - d[2], e = d[3] - d[1];
    r[0] = v_fma(four, d[0], v_fma(minus5, d[2], d[4]));
    r[1] = a + b;
    r[2] = a - b;
    r[3] = v_fma(two, e, c);
    r[4] = v_fma(minus2, e, c);
    r[5] = v_fma(four, d[1], v_fma(minus5, d[3], d[5]));
}

/* r = A' d */
INLINE void winograd_at(const v d[6], v r[4])
{
    v a = d[1] + d[2], b = d[1] - d[2], c = d[3] + d[4], e = d[3] - d[4];
    r[0] = d[0] + a + c;
    r[1] = v_fma(v_set1(2.0f), e, b);
    r[2] = v_fma(v_set1(4.0f), c, a);
    r[3] = v_fma(v_set1(8.0f), e, b) + d[5];
}

typedef struct winograd_grid {
    int across, tiles; /* tiles in a row of tiles, in a picture */
} winograd_grid;

INLINE winograd_grid winograd_grid_of(const pcti_winograd *w)
{
    int across = (w->out_w + 3) / 4;
    return (winograd_grid){across, across * ((w->out_h + 3) / 4)};
}

/* One input column of six rows, of which lo <= i < hi lie in the picture. */
INLINE void winograd_column(const float *src, ptrdiff_t row, int lo, int hi, v r[6])
{
    v d[6];
    if (lo == 0 && hi == 6) UNROLL
    for (int i = 0; i < 6; i++) d[i] = v_load(src + i * row);
    else UNROLL for (int i = 0; i < 6; i++) d[i] = i >= lo && i < hi ? v_load(src + i * row) : v_zero();
    winograd_bt(d, r);
}

/* `count` tiles from column tx on, all in one row of tiles. src: row 0, column 0 of the block (lane `half`
 * on). Neighbours share two columns, so B'd is kept for three tiles' columns and only four are new in each.
 */
INLINE void winograd_input_run(const pcti_winograd *w, const float *src, int ty, int tx, int count, float *to,
                               size_t tap_stride)
{
    const int y = ty * 4 - w->pad_top, lo = simd_max(0, -y), hi = simd_min(6, w->in_h - y);
    v columns[12][6];
    src += (ptrdiff_t)y * w->src_row;
    for (int t = 0, slot = 0; t < count; t++, to += PCTI_LANES, slot = slot == 8 ? 0 : slot + 4) {
        const int x = (tx + t) * 4 - w->pad_left;
        const v *d[6];
        for (int j = 0; j < 6; j++) {
            v *column = columns[slot + j < 12 ? slot + j : slot + j - 12];
            d[j] = column;
            if (t > 0 && j < 2) continue;
            if (x + j >= 0 && x + j < w->in_w && lo < hi)
                winograd_column(src + (ptrdiff_t)(x + j) * PCTI_LANES, w->src_row, lo, hi, column);
            else
                for (int i = 0; i < 6; i++) column[i] = v_zero();
        }
        UNROLL
        for (int i = 0; i < 6; i++) {
            v s[6], r[6];
            UNROLL
            for (int j = 0; j < 6; j++) s[j] = d[j][i];
            winograd_bt(s, r);
            UNROLL
            for (int j = 0; j < 6; j++) v_store(to + (i * 6 + j) * tap_stride, r[j]);
        }
    }
}

/* Tiles first <= t < first + count of one channel block; `to` is tile `first` in tap 0 of V. */
static void winograd_input_block(const pcti_winograd *w, int block, int first, int count, float *to,
                                 size_t tap_stride)
{
    const winograd_grid grid = winograd_grid_of(w);
    while (count > 0) {
        const int picture = first / grid.tiles, in_picture = first % grid.tiles;
        const int ty = in_picture / grid.across, tx = in_picture % grid.across, n = simd_min(count, grid.across - tx);
        const float *src = w->src + picture * w->src_picture + block * w->src_block;
        for (int half = 0; half < HALVES; half++)
            winograd_input_run(w, src + half * VL, ty, tx, n, to + half * VL, tap_stride);
        to += (ptrdiff_t)n * PCTI_LANES;
        first += n;
        count -= n;
    }
}

/* r = A' Q A of one tile. */
INLINE void winograd_inverse(const float *from, size_t tap_stride, v r[4][4])
{
    v s[4][6];
    UNROLL
    for (int j = 0; j < 6; j++) {
        v d[6], c[4];
        UNROLL
        for (int i = 0; i < 6; i++) d[i] = v_load(from + (i * 6 + j) * tap_stride);
        winograd_at(d, c);
        UNROLL
        for (int i = 0; i < 4; i++) s[i][j] = c[i];
    }
    UNROLL
    for (int i = 0; i < 4; i++) winograd_at(s[i], r[i]);
}

/* Bias, residual, activation, pooling and the store of one tile, `rows` x `columns` of it inside the picture.
 */
INLINE void winograd_store(const pcti_winograd *w, v r[4][4], v bias, const float *residual, float *dst,
                           const int rows, const int columns)
{
    const v lo = v_set1(w->lo), hi = v_set1(w->hi);
    UNROLL
    for (int i = 0; i < 4; i++) UNROLL
    for (int j = 0; j < 4; j++) {
        if (i >= rows || j >= columns) continue;
        r[i][j] = r[i][j] + bias;
        if (residual) r[i][j] = r[i][j] + v_load(residual + i * w->res_row + j * PCTI_LANES);
        r[i][j] = v_clip(r[i][j], lo, hi);
        if (!w->pool) v_store(dst + i * w->dst_row + j * PCTI_LANES, r[i][j]);
    }
    if (!w->pool) return;
    UNROLL
    for (int i = 0; i < 2; i++) UNROLL
    for (int j = 0; j < 2; j++)
        if (i * 2 + 1 < rows && j * 2 + 1 < columns)
            v_store(dst + i * w->dst_row + j * PCTI_LANES,
                    v_max_nan(v_max_nan(r[i * 2][j * 2], r[i * 2][j * 2 + 1]),
                              v_max_nan(r[i * 2 + 1][j * 2], r[i * 2 + 1][j * 2 + 1])));
}

static void winograd_output_block(const pcti_winograd *w, int block, int first, int count, const float *from,
                                  size_t tap_stride)
{
    const winograd_grid grid = winograd_grid_of(w);
    const int scale = w->pool ? 2 : 4;
    for (; count > 0; count--, first++, from += PCTI_LANES) {
        const int picture = first / grid.tiles, in_picture = first % grid.tiles;
        const int y = in_picture / grid.across, x = in_picture % grid.across;
        const int rows = simd_min(4, w->out_h - y * 4), columns = simd_min(4, w->out_w - x * 4);
        float *dst = w->dst + picture * w->dst_picture + block * w->dst_block + (ptrdiff_t)y * scale * w->dst_row +
                     (ptrdiff_t)x * scale * PCTI_LANES;
        const float *residual = NULL;
        if (w->residual)
            residual = w->residual + picture * w->res_picture + block * w->res_block + (ptrdiff_t)y * 4 * w->res_row +
                       (ptrdiff_t)x * 4 * PCTI_LANES;
        for (int half = 0; half < HALVES; half++) {
            v r[4][4], bias = w->bias ? v_load(w->bias + block * PCTI_LANES + half * VL) : v_zero();
            const float *res = residual ? residual + half * VL : NULL;
            winograd_inverse(from + half * VL, tap_stride, r);
            if (rows == 4 && columns == 4)
                winograd_store(w, r, bias, res, dst + half * VL, 4, 4);
            else
                winograd_store(w, r, bias, res, dst + half * VL, rows, columns);
        }
    }
}

/* Q = V U for panels p0 <= p < p1 of one tap. */
static void winograd_tap(const pcti_winograd *w, int tap, int p0, int p1, int count, float *scratch)
{
    const int columns = simd_blocks(w->outputs) * PCTI_LANES;
    const float *wei = w->wei + (size_t)tap * columns * w->channels,
                *products = scratch + winograd_products(w->channels, count);
    const ptrdiff_t block = (ptrdiff_t)count * PCTI_LANES;
    const size_t panel = (size_t)PCTI_PANEL * w->channels;
    gemm(&(pcti_simd_gemm){.a = scratch + tap * winograd_stride(w->channels, count),
                           .b = wei + p0 * panel,
                           .n_taps = 1,
                           .depth = w->channels,
                           .runs = 1,
                           .rows = count,
                           .columns = simd_min(p1 * PCTI_PANEL, columns) - p0 * PCTI_PANEL,
                           .a_block = block,
                           .a_row = PCTI_LANES,
                           .out = (float *)products + tap * winograd_stride(w->outputs, count) + 2 * p0 * block,
                           .out_block = block,
                           .out_row = PCTI_LANES,
                           .prefetch = tap + 1 < WINOGRAD_TAPS ? wei + (size_t)columns * w->channels : NULL,
                           .lo = -INFINITY,
                           .hi = INFINITY});
}

static void winograd_share(const pcti_winograd *w, int block, float *scratch, int me, int n)
{
    const int tiles = pcti_winograd_tiles(w), begin = simd_share(tiles, me, n), end = simd_share(tiles, me + 1, n);
    const int steps = (end - begin + block - 1) / block, panels = (w->outputs + PCTI_PANEL - 1) / PCTI_PANEL;
    for (int step = 0; step < steps; step++) {
        const int first = begin + simd_share(end - begin, step, steps);
        const int count = begin + simd_share(end - begin, step + 1, steps) - first;
        const float *products = scratch + winograd_products(w->channels, count);
        for (int c = 0; c < simd_blocks(w->channels); c++)
            winograd_input_block(w, c, first, count, scratch + (size_t)c * count * PCTI_LANES,
                                 winograd_stride(w->channels, count));
        for (int tap = 0; tap < WINOGRAD_TAPS; tap++) winograd_tap(w, tap, 0, panels, count, scratch);
        for (int k = 0; k < simd_blocks(w->outputs); k++)
            winograd_output_block(w, k, first, count, products + (size_t)k * count * PCTI_LANES,
                                  winograd_stride(w->outputs, count));
    }
}

/* Units of (block, tile), so that few blocks and few tiles both spread evenly. */
static void winograd_input(const pcti_winograd *w, int first, int count, float *scratch, int me, int n)
{
    const int64_t units = (int64_t)simd_blocks(w->channels) * count;
    const size_t stride = winograd_stride(w->channels, count);
    for (int64_t unit = units * me / n, end = units * (me + 1) / n; unit < end;) {
        const int block = (int)(unit / count), tile = (int)(unit % count);
        const int some = (int)(end - unit < count - tile ? end - unit : count - tile);
        winograd_input_block(w, block, first + tile, some, scratch + (size_t)unit * PCTI_LANES, stride);
        unit += some;
    }
}

/* Units of (tap, panel). */
static void winograd_taps(const pcti_winograd *w, int count, float *scratch, int me, int n)
{
    const int panels = (w->outputs + PCTI_PANEL - 1) / PCTI_PANEL;
    int unit = simd_share(WINOGRAD_TAPS * panels, me, n);
    const int end = simd_share(WINOGRAD_TAPS * panels, me + 1, n);
    while (unit < end) {
        const int tap = unit / panels, panel = unit % panels, some = simd_min(panels - panel, end - unit);
        winograd_tap(w, tap, panel, panel + some, count, scratch);
        unit += some;
    }
}

static void winograd_output(const pcti_winograd *w, int first, int count, float *scratch, int me, int n)
{
    const int64_t units = (int64_t)simd_blocks(w->outputs) * count;
    const float *products = scratch + winograd_products(w->channels, count);
    const size_t stride = winograd_stride(w->outputs, count);
    for (int64_t unit = units * me / n, end = units * (me + 1) / n; unit < end;) {
        const int block = (int)(unit / count), tile = (int)(unit % count);
        const int some = (int)(end - unit < count - tile ? end - unit : count - tile);
        winograd_output_block(w, block, first + tile, some, products + (size_t)unit * PCTI_LANES, stride);
        unit += some;
    }
}
