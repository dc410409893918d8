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
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/memory.h"

enum { FRACTION_BITS = 22, LANES = 16, CHANNELS = 3, LOW_BITS = 11 };

/* Weights of two neighbouring taps, each cut into high * 2^11 + low so that 16-bit multiplications do. */
typedef struct weight_pair {
    int16_t low[2], high[2];
} weight_pair;

/* One direction of the window: what each of its `count` pixels takes from the source. */
typedef struct axis {
    int32_t count, max_pairs;
    int32_t *first, *taps; /* per pixel: first source pixel, number of source pixels */
    weight_pair *weights;  /* per pixel: max_pairs of them; what lies beyond `taps` is 0 */
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
static void weigh(double center, double reach, int32_t first, int32_t taps, double *row,
                  weight_pair *weights) {
    double sum = 0, scale = 1 / reach;
    for (int32_t i = 0; i < taps; i++) sum += row[i] = triangle((i + first - center + 0.5) * scale);
    for (int32_t i = 0; i < taps; i++) {
        int32_t weight = (int32_t)(0.5 + row[i] / sum * (1 << FRACTION_BITS));
        weights[i / 2].low[i % 2] = (int16_t)(weight % (1 << LOW_BITS));
        weights[i / 2].high[i % 2] = (int16_t)(weight >> LOW_BITS);
    }
}

static pct_status axis_init(axis *a, int32_t src, int64_t full, int64_t start, int32_t count) {
    double ratio = (double)src / (double)full, reach = ratio < 1 ? 1 : ratio;
    *a = (axis){.count = count, .max_pairs = (int32_t)ceil(reach) + 1};
    double *row = pcti_calloc((size_t)a->max_pairs, 2 * sizeof *row);
    a->first = pcti_calloc((size_t)count, sizeof *a->first);
    a->taps = pcti_calloc((size_t)count, sizeof *a->taps);
    size_t weights;
    if (!pcti_mul_size((size_t)count, (size_t)a->max_pairs, &weights)) weights = SIZE_MAX;
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
        weigh(center, reach, first, end - first, row, a->weights + (size_t)i * (size_t)a->max_pairs);
    }
    pcti_free(row);
    return PCT_OK;
}

#if defined(__SSE2__)
/* dst[l] = round(sum over taps of weight[t] * src[t * step + l] / 2^22), l = 0..15. One multiply-add
 * instruction takes two taps of four lanes. */
static inline void weighted_sum(const uint8_t *src, size_t step, const weight_pair *weights, int32_t taps,
                                uint8_t *dst) {
    const __m128i zero = _mm_setzero_si128(), half = _mm_set1_epi32(1 << (FRACTION_BITS - 1));
    __m128i low[4] = {half, half, half, half}, high[4] = {zero, zero, zero, zero};
    for (int32_t t = 0; t < taps; t += 2, src += 2 * step, weights++) {
        __m128i a = _mm_loadu_si128((const __m128i *)src);
        __m128i b = t + 1 < taps ? _mm_loadu_si128((const __m128i *)(src + step)) : zero;
        __m128i ab_low = _mm_unpacklo_epi8(a, b), ab_high = _mm_unpackhi_epi8(a, b);
        __m128i pairs[4] = {_mm_unpacklo_epi8(ab_low, zero), _mm_unpackhi_epi8(ab_low, zero),
                            _mm_unpacklo_epi8(ab_high, zero), _mm_unpackhi_epi8(ab_high, zero)};
        int32_t low_pair, high_pair;
        memcpy(&low_pair, weights->low, sizeof low_pair);
        memcpy(&high_pair, weights->high, sizeof high_pair);
        for (int i = 0; i < 4; i++) {
            low[i] = _mm_add_epi32(low[i], _mm_madd_epi16(pairs[i], _mm_set1_epi32(low_pair)));
            high[i] = _mm_add_epi32(high[i], _mm_madd_epi16(pairs[i], _mm_set1_epi32(high_pair)));
        }
    }
    for (int i = 0; i < 4; i++)
        low[i] = _mm_srai_epi32(_mm_add_epi32(low[i], _mm_slli_epi32(high[i], LOW_BITS)), FRACTION_BITS);
    __m128i words[2] = {_mm_packs_epi32(low[0], low[1]), _mm_packs_epi32(low[2], low[3])};
    _mm_storeu_si128((__m128i *)dst, _mm_packus_epi16(words[0], words[1]));
}
#else
static inline void weighted_sum(const uint8_t *src, size_t step, const weight_pair *weights, int32_t taps,
                                uint8_t *dst) {
    int32_t low[LANES], high[LANES];
    for (int l = 0; l < LANES; l++) low[l] = 1 << (FRACTION_BITS - 1), high[l] = 0;
    for (int32_t t = 0; t < taps; t++, src += step) {
        int16_t low_weight = weights[t / 2].low[t % 2], high_weight = weights[t / 2].high[t % 2];
        for (int l = 0; l < LANES; l++) low[l] += low_weight * src[l];
        for (int l = 0; l < LANES; l++) high[l] += high_weight * src[l];
    }
    for (int l = 0; l < LANES; l++) {
        int32_t value = (low[l] + (high[l] << LOW_BITS)) >> FRACTION_BITS;
        dst[l] = (uint8_t)(value > 255 ? 255 : value); /* rounded weights may add up to more than 1 */
    }
}
#endif

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
static void horizontal_pass(const uint8_t *const rows[LANES], const axis *x, uint8_t *columns, uint8_t *sums,
                            uint8_t *dst, size_t dst_step) {
    size_t origin = (size_t)x->first[0];
    size_t source_columns = (size_t)(x->first[x->count - 1] + x->taps[x->count - 1]) - origin;
    transpose_rows(rows, source_columns * CHANNELS, columns);
    for (int32_t i = 0; i < x->count; i++)
        for (size_t c = 0; c < CHANNELS; c++)
            weighted_sum(columns + (((size_t)x->first[i] - origin) * CHANNELS + c) * LANES, CHANNELS * LANES,
                         x->weights + (size_t)i * (size_t)x->max_pairs, x->taps[i],
                         sums + ((size_t)i * CHANNELS + c) * LANES);
    for (size_t byte = 0; byte < dst_step; byte += LANES) {
        const uint8_t *tile[LANES];
        for (size_t i = 0; i < LANES; i++) tile[i] = sums + (byte + i) * LANES;
        transpose_tile(tile, 0, dst + byte, dst_step);
    }
}

static void vertical_pass(const uint8_t *rows, size_t step, const axis *y, int32_t i, uint8_t *dst) {
    const uint8_t *first = rows + (size_t)(y->first[i] - y->first[0]) * step;
    const weight_pair *weights = y->weights + (size_t)i * (size_t)y->max_pairs;
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
