/* A destination pixel is the weighted mean of the source pixels under a triangle around its centre. The
 * triangle reaches one pixel to each side when enlarging, one destination pixel when shrinking (that is the
 * antialiasing). Horizontal pass first, then vertical; each rounds to 8 bits. Weights are integers with 22
 * fraction bits.
 *
 * Both passes are one loop, weighted_sum: 16 neighbouring bytes at a time, the taps a fixed step apart. In
 * the vertical pass the bytes are neighbours in a row and a tap is a row. For the horizontal pass, 16 rows
 * are transposed, so that the bytes are one channel of one column and a tap is a column; the result is
 * transposed back. */
#include "data/resample.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { FRACTION_BITS = 22, LANES = 16, CHANNELS = 3 };

/* The same integers on every processor, so that a wider clone changes only the time. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__OPTIMIZE__)
#define VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define VECTOR_CLONES
#endif

/* One direction of the window: what each of its `count` pixels takes from the source. */
typedef struct axis {
    int32_t count, max_taps;
    int32_t *first, *taps; /* per pixel: first source pixel, number of source pixels */
    int32_t *weights;      /* per pixel: max_taps of them, `taps` in use */
} axis;

static void axis_release(axis *a) {
    pcti_free(a->first);
    pcti_free(a->taps);
    pcti_free(a->weights);
    *a = (axis){0};
}

static double triangle(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* Fills `weights` for one destination pixel; `row` is scratch for as many doubles. */
static void weigh(double center, double reach, int32_t first, int32_t taps, double *row, int32_t *weights) {
    double sum = 0, scale = 1 / reach;
    for (int32_t i = 0; i < taps; i++) sum += row[i] = triangle((i + first - center + 0.5) * scale);
    for (int32_t i = 0; i < taps; i++) weights[i] = (int32_t)(0.5 + row[i] / sum * (1 << FRACTION_BITS));
}

static pct_status axis_init(axis *a, int32_t src, int64_t full, int64_t start, int32_t count) {
    double ratio = (double)src / (double)full, reach = ratio < 1 ? 1 : ratio;
    *a = (axis){.count = count, .max_taps = 2 * (int32_t)ceil(reach) + 1};
    double *row = pcti_calloc((size_t)a->max_taps, sizeof *row);
    a->first = pcti_calloc((size_t)count, sizeof *a->first);
    a->taps = pcti_calloc((size_t)count, sizeof *a->taps);
    size_t weights;
    if (!pcti_mul_size((size_t)count, (size_t)a->max_taps, &weights)) weights = SIZE_MAX;
    a->weights = pcti_calloc(weights, sizeof *a->weights);
    if (!row || !a->first || !a->taps || !a->weights) {
        pcti_free(row);
        axis_release(a);
        return PCT_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < count; i++) {
        double center = ((double)(start + i) + 0.5) * ratio;
        int32_t first = (int32_t)(center - reach + 0.5), end = (int32_t)(center + reach + 0.5);
        if (first < 0) first = 0;
        if (end > src) end = src;
        a->first[i] = first;
        a->taps[i] = end - first;
        weigh(center, reach, first, end - first, row, a->weights + (size_t)i * (size_t)a->max_taps);
    }
    pcti_free(row);
    return PCT_OK;
}

/* dst[l] = round(sum over taps of weights[t] * src[t * step + l] / 2^22), l = 0..15. */
static inline void weighted_sum(const uint8_t *src, size_t step, const int32_t *weights, int32_t taps,
                                uint8_t *dst) {
    int32_t sum[LANES];
    for (int l = 0; l < LANES; l++) sum[l] = 1 << (FRACTION_BITS - 1);
    for (int32_t t = 0; t < taps; t++, src += step)
        for (int l = 0; l < LANES; l++) sum[l] += weights[t] * src[l];
    for (int l = 0; l < LANES; l++) {
        int32_t value = sum[l] >> FRACTION_BITS;
        dst[l] = (uint8_t)(value > 255 ? 255 : value); /* rounded weights may add up to more than 1 */
    }
}

#if defined(__GNUC__)
typedef uint8_t byte_vector __attribute__((vector_size(LANES)));

/* A 16x16 matrix of bytes is transposed by interleaving its upper and lower half four times. */
static inline void transpose_tile(const uint8_t *const src[LANES], size_t offset, uint8_t *dst,
                                  size_t dst_step) {
    byte_vector a[LANES], b[LANES];
    for (int i = 0; i < LANES; i++) memcpy(&a[i], src[i] + offset, LANES);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < LANES / 2; i++) {
            byte_vector p = a[i], q = a[i + LANES / 2];
            b[2 * i] = __builtin_shufflevector(p, q, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            b[2 * i + 1] =
                __builtin_shufflevector(p, q, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(a, b, sizeof a);
    }
    for (int i = 0; i < LANES; i++) memcpy(dst + (size_t)i * dst_step, &a[i], LANES);
}
#else
static inline void transpose_tile(const uint8_t *const src[LANES], size_t offset, uint8_t *dst,
                                  size_t dst_step) {
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++) dst[(size_t)i * dst_step + (size_t)j] = src[j][offset + (size_t)i];
}
#endif

/* Columns [0, bytes) of 16 rows to dst[column][16]; `dst` has room for `bytes` rounded up to 16. */
static inline void transpose_rows(const uint8_t *const rows[LANES], size_t bytes, uint8_t *dst) {
    size_t x = 0;
    for (; x + LANES <= bytes; x += LANES) transpose_tile(rows, x, dst + x * LANES, LANES);
    if (x == bytes) return;
    uint8_t rest[LANES][LANES] = {{0}};
    const uint8_t *rest_rows[LANES];
    for (int i = 0; i < LANES; i++) rest_rows[i] = memcpy(rest[i], rows[i] + x, bytes - x);
    transpose_tile(rest_rows, 0, dst + x * LANES, LANES);
}

/* One strip of 16 rows: `columns` holds source columns from `origin` on, `sums` takes the window's columns.
 */
VECTOR_CLONES static void horizontal_pass(const uint8_t *const rows[LANES], const axis *x, uint8_t *columns,
                                          uint8_t *sums, uint8_t *dst, size_t dst_step) {
    size_t origin = (size_t)x->first[0];
    size_t source_columns = (size_t)(x->first[x->count - 1] + x->taps[x->count - 1]) - origin;
    transpose_rows(rows, source_columns * CHANNELS, columns);
    for (int32_t i = 0; i < x->count; i++)
        for (size_t c = 0; c < CHANNELS; c++)
            weighted_sum(columns + (((size_t)x->first[i] - origin) * CHANNELS + c) * LANES, CHANNELS * LANES,
                         x->weights + (size_t)i * (size_t)x->max_taps, x->taps[i],
                         sums + ((size_t)i * CHANNELS + c) * LANES);
    for (size_t byte = 0; byte < dst_step; byte += LANES) {
        const uint8_t *tile[LANES];
        for (size_t i = 0; i < LANES; i++) tile[i] = sums + (byte + i) * LANES;
        transpose_tile(tile, 0, dst + byte, dst_step);
    }
}

VECTOR_CLONES static void vertical_pass(const uint8_t *rows, size_t step, const axis *y, int32_t i,
                                        uint8_t *dst) {
    const uint8_t *first = rows + (size_t)(y->first[i] - y->first[0]) * step;
    const int32_t *weights = y->weights + (size_t)i * (size_t)y->max_taps;
    for (size_t byte = 0; byte < step; byte += LANES)
        weighted_sum(first + byte, step, weights, y->taps[i], dst + byte);
}

static size_t round_up_to_lanes(size_t bytes) {
    return (bytes + LANES - 1) / LANES * LANES;
}

pct_status pcti_resample(const uint8_t *src, int32_t width, int32_t height, const pcti_window *window,
                         uint8_t *dst) {
    axis x = {0}, y = {0};
    uint8_t *scratch = NULL;
    pct_status status;
    PCTI_TRY(axis_init(&x, width, window->full_width, window->x, window->width));
    PCTI_TRY(axis_init(&y, height, window->full_height, window->y, window->height));
    int32_t first_row = y.first[0], row_count = y.first[y.count - 1] + y.taps[y.count - 1] - first_row;
    int32_t column_count = x.first[x.count - 1] + x.taps[x.count - 1] - x.first[0];
    size_t dst_bytes = (size_t)window->width * CHANNELS, step = round_up_to_lanes(dst_bytes);
    size_t columns_bytes = round_up_to_lanes((size_t)column_count * CHANNELS) * LANES,
           sums_bytes = step * LANES;
    size_t rows_bytes;
    if (!pcti_mul_size(round_up_to_lanes((size_t)row_count), step, &rows_bytes)) rows_bytes = SIZE_MAX / 2;
    /* The four pieces: transposed source strip, its sums, the horizontally resized rows, one finished row. */
    if (!(scratch = pcti_alloc_aligned(columns_bytes + sums_bytes + rows_bytes + step))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    uint8_t *sums = scratch + columns_bytes, *rows = sums + sums_bytes, *finished = rows + rows_bytes;
    memset(sums, 0, sums_bytes); /* the columns beyond the window's last are transposed along */
    for (int32_t strip = 0; strip < row_count; strip += LANES) {
        const uint8_t *from[LANES];
        for (int32_t i = 0; i < LANES; i++) {
            int32_t row = strip + i < row_count ? strip + i : row_count - 1;
            from[i] = src + ((size_t)(first_row + row) * (size_t)width + (size_t)x.first[0]) * CHANNELS;
        }
        horizontal_pass(from, &x, scratch, sums, rows + (size_t)strip * step, step);
    }
    for (int32_t i = 0; i < y.count; i++) {
        vertical_pass(rows, step, &y, i, finished);
        memcpy(dst + (size_t)i * dst_bytes, finished, dst_bytes);
    }
fail:
    axis_release(&x);
    axis_release(&y);
    pcti_free_aligned(scratch);
    return status;
}
