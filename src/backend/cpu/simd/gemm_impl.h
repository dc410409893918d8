/* The register tile that carries 1x1, Winograd, gathered and dense layers, and the walk over panels and rows
 * above it.
 *
 * A tile holds `rows` x `width` sums in registers. One step of the channel loop loads a row of B (1 to 4
 * vectors), broadcasts one value of A per row and multiplies. With a_row = 16 the rows of A are constant
 * offsets of one pointer; other strides go through one pointer for each four rows. */

typedef struct tile_args {
    const pcti_simd_gemm *g;
    const float *a, *bias, *residual;
    const char *b;
    const char *ahead; /* what to prefetch: 2 lines every 4 steps, all 8 (4 of 16-bit panels) with `stream` */
    float *out;
    ptrdiff_t out_block, out_row, res_block, res_row;
    bool stream;
} tile_args;

/* Columns in one tile: a whole panel where the registers allow. */
#define TILE_WIDTH(rows, panel) ((panel) == PCTI_PANEL && (rows) > WIDE_ROWS ? PCTI_LANES : (panel))

#define STORED_BYTES(storage) ((storage) == PCTI_SIMD_F32 ? 4 : 2)

/* A vector of a panel, widened to float32. */
INLINE v load_stored(const pcti_simd_storage storage, const char *p)
{
    if (storage == PCTI_SIMD_BF16) return v_load_bf16(p);
    if (storage == PCTI_SIMD_F16) return v_load_f16(p);
    return v_load((const float *)(const void *)p);
}

/* One step: sums[i][j] += A[i] * B[j]. Operands of which there are fewer are kept in registers. */
INLINE void tile_step(const int rows, const int vectors, v (*sums)[8], const float *const *a, ptrdiff_t a_row,
                      const int q, const pcti_simd_storage storage, const char *b)
{
    const int vector_bytes = VL * STORED_BYTES(storage);
    if (rows < vectors) {
        v x[TILE_ROWS];
        UNROLL
        for (int i = 0; i < rows; i++) x[i] = v_set1(a[i / 4][i % 4 * a_row + q]);
        UNROLL
        for (int j = 0; j < vectors; j++) {
            v y = load_stored(storage, b + j * vector_bytes);
            UNROLL
            for (int i = 0; i < rows; i++) sums[i][j] = v_fma(x[i], y, sums[i][j]);
        }
        return;
    }
    v y[8];
    UNROLL
    for (int j = 0; j < vectors; j++) y[j] = load_stored(storage, b + j * vector_bytes);
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

INLINE void tile(const int rows, const int panel, const bool dense_rows, const pcti_simd_storage storage, const tile_args *t)
{
    const int row_bytes = panel * STORED_BYTES(storage), stream_lines = storage == PCTI_SIMD_F32 ? 8 : 4;
    const int vectors = TILE_WIDTH(rows, panel) / VL;
    const pcti_simd_gemm *g = t->g;
    const ptrdiff_t a_row = dense_rows ? PCTI_LANES : g->a_row, a_block = g->a_block;
    const char *b = t->b, *ahead = t->ahead;
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
                    for (int k = 0; k < stream_lines; k++) v_prefetch_l1(ahead + k * 64);
                    ahead += stream_lines * 64;
                } else {
                    v_prefetch_l2(ahead);
                    v_prefetch_l2(ahead + 64);
                    ahead += 2 * 64;
                }
                UNROLL
                for (int q = 0; q < 4; q++) tile_step(rows, vectors, sums, a, a_row, q, storage, b + q * row_bytes);
                a[0] += 4, a[1] += 4, a[2] += 4, a[3] += 4;
                b += 4 * row_bytes;
            }
            NO_UNROLL
            for (; n > 0; n--) {
                tile_step(rows, vectors, sums, a, a_row, 0, storage, b);
                a[0]++, a[1]++, a[2]++, a[3]++;
                b += row_bytes;
            }
        }
    }
    tile_finish(rows, vectors, sums, t);
}

typedef void (*tile_fn)(const tile_args *t);
#define TILE(m, panel, kind, dense, storage)                                                                         \
    static void tile_##m##_##panel##_##kind(const tile_args *t)                                                      \
    {                                                                                                                \
        tile(m, panel, dense, storage, t);                                                                           \
    }
#define TILES(m)                                                                                                     \
    TILE(m, 16, strided, false, PCTI_SIMD_F32)                                                                       \
    TILE(m, 16, dense, true, PCTI_SIMD_F32)                                                                          \
    TILE(m, 16, bf16, false, PCTI_SIMD_BF16)                                                                         \
    TILE(m, 16, f16, false, PCTI_SIMD_F16)                                                                           \
    TILE(m, 32, strided, false, PCTI_SIMD_F32)                                                                       \
    TILE(m, 32, dense, true, PCTI_SIMD_F32)                                                                          \
    TILE(m, 32, bf16, false, PCTI_SIMD_BF16)                                                                         \
    TILE(m, 32, f16, false, PCTI_SIMD_F16)
#define TILE_ENTRY(m)                                                                                                \
    {{tile_##m##_16_strided, tile_##m##_16_dense, tile_##m##_16_bf16, tile_##m##_16_f16},                            \
     {tile_##m##_32_strided, tile_##m##_32_dense, tile_##m##_32_bf16, tile_##m##_32_f16}},
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
/* [rows - 1][panel is 32 wide][kind]; 16-bit panels are for dense layers, whose rows are strided */
enum { TILE_STRIDED, TILE_DENSE, TILE_BF16, TILE_F16, TILE_KINDS };
static const tile_fn tile_table[TILE_ROWS][2][TILE_KINDS] = {EACH_TILE(TILE_ENTRY)};

static int tile_kind(const pcti_simd_gemm *g)
{
    if (g->b_storage == PCTI_SIMD_BF16) return TILE_BF16;
    if (g->b_storage == PCTI_SIMD_F16) return TILE_F16;
    return g->a_row == PCTI_LANES ? TILE_DENSE : TILE_STRIDED;
}

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
static void gemm_panel(const pcti_simd_gemm *g, const char *b, int first, int panel, int columns, const char *next)
{
    const size_t quarter = (size_t)g->n_taps * (size_t)g->depth * 8 * (size_t)STORED_BYTES(g->b_storage);
    const int groups = (g->rows + TILE_ROWS - 1) / TILE_ROWS, size = g->rows / groups, larger = g->rows % groups;
    const int block0 = first / PCTI_LANES, passes = panel / TILE_WIDTH(size + (larger > 0), panel);
    const bool stream = (int64_t)g->runs * groups * passes == 1;
    int part = 0;
    for (int run = 0; run < g->runs; run++) {
        int row = 0;
        for (int group = 0; group < groups; group++) {
            const int rows = size + (group < larger), width = TILE_WIDTH(rows, panel);
            const tile_fn fn = tile_table[rows - 1][panel == PCTI_PANEL][tile_kind(g)];
            for (int j = 0; j < simd_min(columns, panel); j += width, part++) {
                const ptrdiff_t block = block0 + j / PCTI_LANES;
                tile_args t = {.g = g,
                               .a = g->a + run * g->a_run + row * g->a_row,
                               .b = b + j * STORED_BYTES(g->b_storage),
                               .bias = g->bias ? g->bias + first + j : NULL,
                               .out = g->out + block * g->out_block + run * g->out_run + row * g->out_row,
                               .out_block = g->out_block,
                               .out_row = g->out_row,
                               .res_block = g->res_block,
                               .res_row = g->res_row,
                               .stream = stream};
                t.ahead = stream ? b + 16384 : next + (size_t)simd_min(part, 3) * quarter;
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
    const size_t panel_bytes = (size_t)g->n_taps * (size_t)g->depth * PCTI_PANEL * (size_t)STORED_BYTES(g->b_storage);
    const char *b = g->b;
    for (int j = 0; j < g->columns; j += PCTI_PANEL) {
        const int left = g->columns - j, panel = left > PCTI_LANES ? PCTI_PANEL : PCTI_LANES;
        const char *next = left > PCTI_PANEL ? b + panel_bytes : g->prefetch ? g->prefetch : b;
        gemm_panel(g, b, j, panel, simd_min(left, panel), next);
        b += panel_bytes;
    }
}
