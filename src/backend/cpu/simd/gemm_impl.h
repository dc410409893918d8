/* The register tile that carries 1x1, Winograd, gathered and dense layers, and the walk over panels and rows
 * above it.
 *
 * A tile holds `rows` x `width` sums in registers. One step of the channel loop loads a row of B (1 to 4
 * vectors), broadcasts one value of A per row and multiplies. With a_row = 16 the rows of A are constant
 * offsets of one pointer; other strides go through one pointer for each four rows. */

typedef struct tile_args {
    const pcti_simd_gemm *g;
    const float *a, *b, *bias, *residual;
    const float *ahead; /* what to prefetch: 2 lines every 4 steps, all 8 with `stream` */
    float *out;
    ptrdiff_t out_block, out_row, res_block, res_row;
    bool stream;
} tile_args;

/* Columns in one tile: a whole panel where the registers allow. */
#define TILE_WIDTH(rows, panel) ((panel) == PCTI_PANEL && (rows) > WIDE_ROWS ? PCTI_LANES : (panel))

/* One step: sums[i][j] += A[i] * B[j]. Operands of which there are fewer are kept in registers. */
INLINE void tile_step(const int rows, const int vectors, v (*sums)[8], const float *const *a, ptrdiff_t a_row,
                      const int q, const float *b)
{
    if (rows < vectors) {
        v x[TILE_ROWS];
        UNROLL
        for (int i = 0; i < rows; i++) x[i] = v_set1(a[i / 4][i % 4 * a_row + q]);
        UNROLL
        for (int j = 0; j < vectors; j++) {
            v y = v_load(b + j * VL);
            UNROLL
            for (int i = 0; i < rows; i++) sums[i][j] = v_fma(x[i], y, sums[i][j]);
        }
        return;
    }
    v y[8];
    UNROLL
    for (int j = 0; j < vectors; j++) y[j] = v_load(b + j * VL);
    UNROLL
    for (int i = 0; i < rows; i++) {
        v x = v_set1(a[i / 4][i % 4 * a_row + q]);
        UNROLL
        for (int j = 0; j < vectors; j++) sums[i][j] = v_fma(x, y[j], sums[i][j]);
    }
}

INLINE void tile_finish(const int rows, const int vectors, v (*sums)[8], const tile_args *t)
{
#define EACH(statement)                                                                                              \
    UNROLL for (int i = 0; i < rows; i++)                                                                            \
    {                                                                                                                \
        UNROLL for (int j = 0; j < vectors; j++)                                                                     \
        {                                                                                                            \
            statement;                                                                                               \
        }                                                                                                            \
    }
#define AT(base, block, row) ((base) + i * (row) + j * VL / PCTI_LANES * (block) + j * VL % PCTI_LANES)
    if (t->g->accumulate) EACH(sums[i][j] = sums[i][j] + v_load(AT(t->out, t->out_block, t->out_row)))
    if (t->residual) EACH(sums[i][j] = sums[i][j] + v_load(AT(t->residual, t->res_block, t->res_row)))
    if (t->g->lo > -INFINITY) {
        v lo = v_set1(t->g->lo);
        EACH(sums[i][j] = v_max(lo, sums[i][j]))
    }
    if (t->g->hi < INFINITY) {
        v hi = v_set1(t->g->hi);
        EACH(sums[i][j] = v_min(hi, sums[i][j]))
    }
    EACH(v_store(AT(t->out, t->out_block, t->out_row), sums[i][j]))
#undef AT
#undef EACH
}

INLINE void tile(const int rows, const int panel, const bool dense_rows, const tile_args *t)
{
    const int vectors = TILE_WIDTH(rows, panel) / VL;
    const pcti_simd_gemm *g = t->g;
    const ptrdiff_t a_row = dense_rows ? PCTI_LANES : g->a_row, a_block = g->a_block;
    const float *b = t->b, *ahead = t->ahead;
    const bool stream = t->stream;
    v sums[TILE_ROWS][8];
    UNROLL
    for (int j = 0; j < vectors; j++) {
        v bias = t->bias ? v_load(t->bias + j * VL) : v_zero();
        UNROLL
        for (int i = 0; i < rows; i++) sums[i][j] = bias;
    }
    for (int tap = 0; tap < g->n_taps; tap++) {
        const float *block = t->a + (g->taps ? g->taps[tap] : 0);
        for (int left = g->depth; left > 0; left -= PCTI_LANES, block += a_block) {
            const float *a[4] = {block, block + 4 * a_row, block + 8 * a_row, block + 12 * a_row};
            int n = simd_min(left, PCTI_LANES);
            for (; n >= 4; n -= 4) {
                if (stream) {
                    UNROLL
                    for (int k = 0; k < 8; k++) v_prefetch_l1(ahead + k * 16);
                    ahead += 8 * 16;
                } else {
                    v_prefetch_l2(ahead);
                    v_prefetch_l2(ahead + 16);
                    ahead += 2 * 16;
                }
                UNROLL
                for (int q = 0; q < 4; q++) tile_step(rows, vectors, sums, a, a_row, q, b + q * panel);
                a[0] += 4, a[1] += 4, a[2] += 4, a[3] += 4;
                b += 4 * panel;
            }
            NO_UNROLL
            for (; n > 0; n--) {
                tile_step(rows, vectors, sums, a, a_row, 0, b);
                a[0]++, a[1]++, a[2]++, a[3]++;
                b += panel;
            }
        }
    }
    tile_finish(rows, vectors, sums, t);
}

typedef void (*tile_fn)(const tile_args *t);
#define TILES(m)                                                                                                     \
    static void tile_##m##_16_strided(const tile_args *t)                                                            \
    {                                                                                                                \
        tile(m, 16, false, t);                                                                                       \
    }                                                                                                                \
    static void tile_##m##_16_dense(const tile_args *t)                                                              \
    {                                                                                                                \
        tile(m, 16, true, t);                                                                                        \
    }                                                                                                                \
    static void tile_##m##_32_strided(const tile_args *t)                                                            \
    {                                                                                                                \
        tile(m, 32, false, t);                                                                                       \
    }                                                                                                                \
    static void tile_##m##_32_dense(const tile_args *t)                                                              \
    {                                                                                                                \
        tile(m, 32, true, t);                                                                                        \
    }
#define TILE_ENTRY(m) {{tile_##m##_16_strided, tile_##m##_16_dense}, {tile_##m##_32_strided, tile_##m##_32_dense}},
#if TILE_ROWS == 14
#define EACH_TILE(x) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14)
#elif TILE_ROWS == 6
#define EACH_TILE(x) x(1) x(2) x(3) x(4) x(5) x(6)
#elif TILE_ROWS == 4
#define EACH_TILE(x) x(1) x(2) x(3) x(4)
#else
#define EACH_TILE(x) x(1) x(2)
#endif
EACH_TILE(TILES)
/* [rows - 1][panel is 32 wide][a_row is 16] */
static const tile_fn tile_table[TILE_ROWS][2][2] = {EACH_TILE(TILE_ENTRY)};

/* Runs a tile of which only `columns` are stored, through a copy. */
static void tile_partial(tile_fn fn, tile_args *t, int rows, int columns)
{
    _Alignas(64) float out[TILE_ROWS * PCTI_PANEL] = {0}, residual[TILE_ROWS * PCTI_PANEL] = {0};
    float *to = t->out;
    const ptrdiff_t out_block = t->out_block, out_row = t->out_row;
#define AT(base, block, row) (base)[i * (row) + j / PCTI_LANES * (block) + j % PCTI_LANES]
#define EACH                                                                                                         \
    for (int i = 0; i < rows; i++)                                                                                   \
        for (int j = 0; j < columns; j++)
    if (t->g->accumulate) EACH out[i * PCTI_PANEL + j] = AT(to, out_block, out_row);
    if (t->residual) {
        EACH residual[i * PCTI_PANEL + j] = AT(t->residual, t->res_block, t->res_row);
        t->residual = residual;
    }
    t->out = out;
    t->out_row = t->res_row = PCTI_PANEL;
    t->out_block = t->res_block = PCTI_LANES;
    fn(t);
    EACH AT(to, out_block, out_row) = out[i * PCTI_PANEL + j];
#undef EACH
#undef AT
}

/* One panel of `panel` columns, of which `columns` are wanted, against all rows. `next` is the panel read
 * after it. The tiles of a panel share its prefetch: the first four bring a quarter each. A single tile
 * instead runs some KiB ahead of itself: the panel may be longer than the cache (dense layers), and nobody
 * reads it again. */
static void gemm_panel(const pcti_simd_gemm *g, const float *b, int first, int panel, int columns, const float *next)
{
    const size_t depth = (size_t)g->n_taps * (size_t)g->depth;
    const int groups = (g->rows + TILE_ROWS - 1) / TILE_ROWS, size = g->rows / groups, larger = g->rows % groups;
    const int block0 = first / PCTI_LANES, passes = panel / TILE_WIDTH(size + (larger > 0), panel);
    const bool stream = (int64_t)g->runs * groups * passes == 1;
    int part = 0;
    for (int run = 0; run < g->runs; run++) {
        int row = 0;
        for (int group = 0; group < groups; group++) {
            const int rows = size + (group < larger), width = TILE_WIDTH(rows, panel);
            const tile_fn fn = tile_table[rows - 1][panel == PCTI_PANEL][g->a_row == PCTI_LANES];
            for (int j = 0; j < simd_min(columns, panel); j += width, part++) {
                const ptrdiff_t block = block0 + j / PCTI_LANES;
                tile_args t = {.g = g,
                               .a = g->a + run * g->a_run + row * g->a_row,
                               .b = b + j,
                               .bias = g->bias ? g->bias + first + j : NULL,
                               .out = g->out + block * g->out_block + run * g->out_run + row * g->out_row,
                               .out_block = g->out_block,
                               .out_row = g->out_row,
                               .res_block = g->res_block,
                               .res_row = g->res_row,
                               .stream = stream};
                t.ahead = stream ? b + 4096 : next + (size_t)simd_min(part, 3) * depth * 8;
                if (g->residual)
                    t.residual = g->residual + block * g->res_block + run * g->res_run + row * g->res_row;
                if (columns - j < width)
                    tile_partial(fn, &t, rows, columns - j);
                else
                    fn(&t);
            }
            row += rows;
        }
    }
}

static void gemm(const pcti_simd_gemm *g)
{
    if (g->rows <= 0 || g->runs <= 0) return;
    const size_t depth = (size_t)g->n_taps * (size_t)g->depth;
    const float *b = g->b;
    for (int j = 0; j < g->columns; j += PCTI_PANEL) {
        const int left = g->columns - j, panel = left > PCTI_LANES ? PCTI_PANEL : PCTI_LANES;
        const float *next = left > PCTI_PANEL ? b + depth * PCTI_PANEL : g->prefetch ? g->prefetch : b;
        gemm_panel(g, b, j, panel, simd_min(left, panel), next);
        b += depth * PCTI_PANEL;
    }
}
