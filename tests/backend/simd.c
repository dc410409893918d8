/* Every kernel of every instruction set that this processor has, against plain loops in double. Buffers start
 * as NaN of one bit pattern, gaps and guards included: what is not to be read poisons the result, what is not
 * to be written must keep the pattern. Values are small integers where the result must be exact. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/simd/simd.h"
#include "base/hash.h"
#include "base/memory.h"

enum { GUARD = 64 };

static uint64_t counter;
static int pick(int least, int most) {
    return least + (int)(pcti_splitmix64(counter++) % (uint64_t)(most - least + 1));
}
static float small_integer(void) {
    return (float)pick(-3, 3);
}
static float uniform(void) {
    return (float)pcti_uniform(counter++);
}

/* ---- buffers ---- */

static const uint32_t poison = 0x7fc12345u;
static bool is_poison(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits == poison;
}

typedef struct buffer {
    float *block, *data;
    size_t n;
} buffer;

static buffer buffer_new(size_t n) {
    buffer b = {pcti_alloc_aligned((n + 2 * GUARD) * sizeof(float)), NULL, n};
    assert_non_null(b.block);
    for (size_t i = 0; i < n + 2 * GUARD; i++) memcpy(&b.block[i], &poison, 4);
    b.data = b.block + GUARD;
    return b;
}
static void buffer_free(buffer *b) {
    for (int i = 0; i < GUARD; i++) assert_true(is_poison(b->block[i]) && is_poison(b->data[b->n + i]));
    pcti_free_aligned(b->block);
}

/* A picture with gaps between rows and between channels (plain) or blocks. */
typedef struct picture {
    buffer b;
    int channels, h, w, lanes;
    ptrdiff_t outer, row; /* strides of channel or block, and of row */
} picture;

static picture picture_new(int channels, int h, int w, int lanes) {
    picture p = {.channels = channels, .h = h, .w = w, .lanes = lanes};
    const int gap = pick(0, 2);
    p.row = (ptrdiff_t)(w + gap) * lanes;
    p.outer = h * p.row + gap * lanes;
    p.b = buffer_new((size_t)((channels + lanes - 1) / lanes * p.outer));
    return p;
}
static float *picture_at(const picture *p, int c, int y, int x) {
    return p->b.data + c / p->lanes * p->outer + y * p->row + (ptrdiff_t)x * p->lanes + c % p->lanes;
}
/* Random values; zeros in the padding channels. Returns the logical [C][H][W]. */
static double *picture_fill(picture *p, float (*value)(void)) {
    double *logical = pcti_calloc((size_t)p->channels * p->h * p->w, sizeof *logical);
    const int padded = (p->channels + p->lanes - 1) / p->lanes * p->lanes;
    for (int c = 0; c < padded; c++)
        for (int y = 0; y < p->h; y++)
            for (int x = 0; x < p->w; x++) {
                float v = c < p->channels ? value() : 0.0f;
                *picture_at(p, c, y, x) = v;
                if (c < p->channels) logical[((size_t)c * p->h + y) * p->w + x] = v;
            }
    return logical;
}
/* Compares rows y0 <= y < y1 with want[C][H][W] (NaN equals NaN), padding channels with 0; all else must be
 * untouched. */
static void picture_check(picture *p, const double *want, int y0, int y1, double tolerance,
                          const char *what) {
    const int padded = (p->channels + p->lanes - 1) / p->lanes * p->lanes;
    for (int c = 0; c < padded; c++)
        for (int y = y0; y < y1; y++)
            for (int x = 0; x < p->w; x++) {
                float *got = picture_at(p, c, y, x);
                double w = c < p->channels ? want[((size_t)c * p->h + y) * p->w + x] : 0.0;
                if (!(fabs(*got - w) <= tolerance) && !(isnan(w) && isnan(*got) && !is_poison(*got)) &&
                    !(*got == w))
                    fail_msg("%s: channel %d of %d, row %d, column %d: %.9g instead of %.9g", what, c,
                             p->channels, y, x, (double)*got, w);
                memcpy(got, &poison, 4);
            }
    for (size_t i = 0; i < p->b.n; i++)
        if (!is_poison(p->b.data[i])) fail_msg("%s: wrote between rows, at float %zu", what, i);
    buffer_free(&p->b);
}

static double clip(double x, double lo, double hi) {
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}
static void pick_clip(float *lo, float *hi) {
    static const float choices[][2] = {{-INFINITY, INFINITY}, {0, INFINITY}, {0, 6}, {-5, 7}};
    const float *choice = choices[pick(0, 3)];
    *lo = choice[0], *hi = choice[1];
}

/* ---- references ---- */

static pcti_simd_window pick_window(int most, int kernel_most) {
    pcti_simd_window w;
    do {
        w = (pcti_simd_window){.in_h = pick(1, most),
                               .in_w = pick(1, most),
                               .kernel_h = pick(1, kernel_most),
                               .kernel_w = pick(1, kernel_most),
                               .stride_h = pick(1, 3),
                               .stride_w = pick(1, 3),
                               .dilation_h = pick(1, 5) == 1 ? 2 : 1,
                               .dilation_w = pick(1, 5) == 1 ? 2 : 1};
        w.pad_top = pick(0, w.kernel_h - 1), w.pad_bottom = pick(0, w.kernel_h - 1);
        w.pad_left = pick(0, w.kernel_w - 1), w.pad_right = pick(0, w.kernel_w - 1);
        w.out_h = w.in_h + w.pad_top + w.pad_bottom - (w.kernel_h - 1) * w.dilation_h - 1;
        w.out_w = w.in_w + w.pad_left + w.pad_right - (w.kernel_w - 1) * w.dilation_w - 1;
    } while (w.out_h < 0 || w.out_w < 0);
    w.out_h = w.out_h / w.stride_h + 1;
    w.out_w = w.out_w / w.stride_w + 1;
    return w;
}
static void window_print(const pcti_simd_window *w, const char *isa, const char *kernel, char *text,
                         size_t bytes) {
    snprintf(text, bytes, "%s %s, %dx%d by %dx%d stride %d,%d dilation %d,%d pads %d,%d,%d,%d to %dx%d", isa,
             kernel, w->in_h, w->in_w, w->kernel_h, w->kernel_w, w->stride_h, w->stride_w, w->dilation_h,
             w->dilation_w, w->pad_top, w->pad_left, w->pad_bottom, w->pad_right, w->out_h, w->out_w);
}

/* src[C][H][W], wei[K][C/groups][R][S]; groups is 1 or C = K. */
static double *conv_reference(const pcti_simd_window *w, int channels, int outputs, int groups,
                              const double *src, const float *wei, const float *bias, double lo, double hi) {
    double *dst = pcti_calloc((size_t)outputs * w->out_h * w->out_w, sizeof *dst);
    const int depth = channels / groups;
    for (int k = 0; k < outputs; k++)
        for (int y = 0; y < w->out_h; y++)
            for (int x = 0; x < w->out_w; x++) {
                double sum = bias ? bias[k] : 0;
                for (int c = 0; c < depth; c++)
                    for (int r = 0; r < w->kernel_h; r++)
                        for (int s = 0; s < w->kernel_w; s++) {
                            int in_y = y * w->stride_h - w->pad_top + r * w->dilation_h;
                            int in_x = x * w->stride_w - w->pad_left + s * w->dilation_w;
                            if (in_y < 0 || in_y >= w->in_h || in_x < 0 || in_x >= w->in_w) continue;
                            int in_c = groups == 1 ? c : k;
                            sum += src[((size_t)in_c * w->in_h + in_y) * w->in_w + in_x] *
                                   wei[(((size_t)k * depth + c) * w->kernel_h + r) * w->kernel_w + s];
                        }
                dst[((size_t)k * w->out_h + y) * w->out_w + x] = clip(sum, lo, hi);
            }
    return dst;
}

/* n random values, then zeros up to a multiple of 16. */
static float *values(size_t n, float (*value)(void)) {
    float *v = pcti_calloc(n / 16 * 16 + 16, sizeof *v);
    for (size_t i = 0; i < n; i++) v[i] = value();
    return v;
}

#define FOR_EACH_ISA(simd)                                                                                   \
    for (const pcti_simd *simd, *once = (counter = 1, NULL); !once; once = pcti_simd_at(0))                  \
        for (int isa = 0; (simd = pcti_simd_at(isa)) != NULL; isa++)

/* ---- selection ---- */

static void test_select(void **state) {
    const pcti_simd *simd;
    assert_int_equal(pcti_simd_select("generic", &simd), PCT_OK);
    assert_string_equal(simd->name, "generic");
    assert_int_equal(pcti_simd_select("avx9", &simd), PCT_ERROR_ARGUMENT);
    assert_null(simd);
    assert_non_null(strstr(pct_error_message(), "avx9"));
    assert_non_null(strstr(pct_error_message(), "generic"));
    assert_int_equal(setenv("PCT_ISA", "avx9", 1), 0);
    assert_int_equal(pcti_simd_select(NULL, &simd), PCT_ERROR_ARGUMENT);
    assert_non_null(strstr(pct_error_message(), "PCT_ISA"));
    assert_int_equal(setenv("PCT_ISA", "", 1), 0); /* as if it were not set */
    assert_int_equal(pcti_simd_select(NULL, &simd), PCT_OK);
    assert_ptr_equal(simd, pcti_simd_at(0));
    for (int i = 0; pcti_simd_at(i); i++) {
        assert_int_equal(setenv("PCT_ISA", pcti_simd_at(i)->name, 1), 0);
        assert_int_equal(pcti_simd_select(NULL, &simd), PCT_OK);
        assert_ptr_equal(simd, pcti_simd_at(i));
    }
    unsetenv("PCT_ISA");
    assert_int_equal(pcti_simd_select(NULL, &simd), PCT_OK);
    assert_ptr_equal(simd, pcti_simd_at(0));
    assert_null(pcti_simd_at(-1));
}

/* ---- gemm ---- */

/* One random case: blocked or row-major operands, taps, runs, every epilogue. */
static void gemm_case(const pcti_simd *simd) {
    const int depth = pick(1, 4) == 1 ? pick(17, 70) : pick(1, 20), n_taps = pick(1, 3), runs = pick(1, 3);
    const int rows = pick(0, 3) == 0 ? pick(15, 60) : pick(1, 16), blocks = (depth + 15) / 16;
    const bool plain = pick(0, 1), bias = pick(0, 1), residual = pick(0, 1), taps = n_taps > 1 || pick(0, 1);
    const int columns = plain ? pick(1, 100) : 16 * pick(1, 6), step = pick(1, 2),
              padded = (columns + 15) / 16 * 16;
    pcti_simd_gemm g = {.n_taps = n_taps, .depth = depth, .runs = runs, .rows = rows, .columns = columns};
    g.accumulate = pick(0, 1);
    pick_clip(&g.lo, &g.hi);
    /* A and out: [tap][block][run][row][16], or a row-major matrix. */
    g.a_row = plain ? n_taps * depth + 3 : 16 * step;
    g.a_run = rows * g.a_row + 16;
    g.a_block = plain ? 16 : runs * g.a_run;
    g.out_row = plain ? columns + pick(0, 1) : 16 * step;
    g.out_run = rows * g.out_row + 5;
    g.out_block = plain ? 16 : runs * g.out_run;
    g.res_row = plain ? columns + 2 : 16;
    g.res_run = rows * g.res_row;
    g.res_block = plain ? 16 : runs * g.res_run;
    ptrdiff_t offsets[3];
    for (int t = 0; t < 3; t++) offsets[t] = plain ? t * depth : t * blocks * g.a_block;
    const size_t a_floats = (size_t)(plain ? runs * g.a_run : n_taps * blocks * g.a_block);
    const size_t out_floats = (size_t)(plain ? runs * g.out_run : padded / 16 * g.out_block);
    const size_t res_floats = (size_t)(plain ? runs * g.res_run : padded / 16 * g.res_block);
    buffer a = buffer_new(a_floats), out = buffer_new(out_floats), res = buffer_new(res_floats);
    buffer b = buffer_new(pcti_simd_pack_floats(columns, n_taps * depth)),
           bias_values = buffer_new((size_t)padded);
    float *wei = values((size_t)columns * n_taps * depth, small_integer);
    for (int t = 0; t < n_taps; t++) /* wei[k][c][t] */
        pcti_simd_pack(b.data, columns, n_taps * depth, t * depth, depth, wei + t, (ptrdiff_t)n_taps * depth,
                       n_taps);
    for (int j = 0; j < padded; j++) bias_values.data[j] = j < columns ? small_integer() : 0;
    g.a = a.data, g.b = b.data, g.out = out.data;
    if (taps) g.taps = offsets;
    if (bias) g.bias = bias_values.data;
    if (residual) g.residual = res.data;
#define OUT(run, row, j) ((j) / 16 * g.out_block + (run)*g.out_run + (row)*g.out_row + (j) % 16)
#define RES(run, row, j) ((j) / 16 * g.res_block + (run)*g.res_run + (row)*g.res_row + (j) % 16)
    float *want = pcti_calloc(out_floats, sizeof *want);
    for (int run = 0; run < runs; run++)
        for (int row = 0; row < rows; row++) {
            for (int t = 0; t < n_taps; t++)
                for (int c = 0; c < depth; c++)
                    a.data[offsets[t] + c / 16 * g.a_block + run * g.a_run + row * g.a_row + c % 16] =
                        small_integer();
            for (int j = 0; j < columns; j++) {
                double sum = bias ? bias_values.data[j] : 0;
                for (int t = 0; t < n_taps; t++)
                    for (int c = 0; c < depth; c++)
                        sum += (double)a.data[offsets[t] + c / 16 * g.a_block + run * g.a_run +
                                              row * g.a_row + c % 16] *
                               wei[((size_t)j * depth + c) * n_taps + t];
                if (g.accumulate) sum += out.data[OUT(run, row, j)] = small_integer();
                if (residual) sum += res.data[RES(run, row, j)] = small_integer();
                want[OUT(run, row, j)] = (float)clip(sum, g.lo, g.hi);
            }
        }
    simd->gemm(&g);
    for (int run = 0; run < runs; run++)
        for (int row = 0; row < rows; row++)
            for (int j = 0; j < columns; j++) {
                float *got = &out.data[OUT(run, row, j)];
                if (*got != want[OUT(run, row, j)])
                    fail_msg("%s gemm, %d taps x %d, %d x %d rows, %d columns: run %d row %d column %d: %g "
                             "instead of %g",
                             simd->name, n_taps, depth, runs, rows, columns, run, row, j, (double)*got,
                             (double)want[OUT(run, row, j)]);
                memcpy(got, &poison, 4);
            }
#undef OUT
#undef RES
    for (size_t i = 0; i < out_floats; i++) assert_true(is_poison(out.data[i]));
    buffer_free(&a), buffer_free(&b), buffer_free(&out), buffer_free(&res), buffer_free(&bias_values);
    pcti_free(wei), pcti_free(want);
}

static void test_gemm(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 1000; i++) gemm_case(simd);
}

/* The bits of a row must not depend on the rows beside it, nor on which panels a call covers. */
static void test_gemm_same_bits(void **state) {
    enum { ROWS = 49, DEPTH = 100, COLUMNS = 112 };
    FOR_EACH_ISA(simd) {
        float *a = values(ROWS * 112, uniform), *wei = values(COLUMNS * DEPTH, uniform);
        float *b = values(COLUMNS * DEPTH, uniform), *whole = values(ROWS * COLUMNS, uniform);
        float *parts = values(ROWS * COLUMNS, uniform);
        pcti_simd_pack(b, COLUMNS, DEPTH, 0, DEPTH, wei, DEPTH, 1);
        pcti_simd_gemm g = {.a = a,
                            .b = b,
                            .n_taps = 1,
                            .depth = DEPTH,
                            .runs = 1,
                            .rows = ROWS,
                            .columns = COLUMNS,
                            .a_block = ROWS * 16,
                            .a_row = 16,
                            .out = whole,
                            .out_block = ROWS * 16,
                            .out_row = 16,
                            .lo = -INFINITY,
                            .hi = INFINITY};
        simd->gemm(&g);
        for (int panel = 0; panel * 32 < COLUMNS; panel++)
            for (int row = 0, n; row < ROWS; row += n) {
                pcti_simd_gemm part = g;
                n = row == 0 ? 5 : row + 16 > ROWS ? ROWS - row : 16;
                part.a = a + row * 16;
                part.b = b + panel * 32 * DEPTH;
                part.rows = n;
                part.columns = panel * 32 + 32 > COLUMNS ? COLUMNS - panel * 32 : 32;
                part.out = parts + panel * 2 * g.out_block + row * 16;
                simd->gemm(&part);
            }
        assert_memory_equal(whole, parts, ROWS * COLUMNS * sizeof(float));
        pcti_free(a), pcti_free(b), pcti_free(wei), pcti_free(whole), pcti_free(parts);
    }
}

/* NaN in, NaN out, through every activation; infinities are clipped. */
static void test_nan(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 4; i++) {
        static const float clips[][2] = {{-INFINITY, INFINITY}, {0, INFINITY}, {0, 6}, {-5, 7}};
        const float lo = clips[i][0], hi = clips[i][1];
        float src[35], dst[35];
        for (int j = 0; j < 35; j++) src[j] = j % 3 == 0 ? NAN : j % 3 == 1 ? -INFINITY : INFINITY;
        simd->clip(35, src, dst, lo, hi);
        for (int j = 0; j < 35; j++)
            assert_true(j % 3 == 0 ? isnan(dst[j]) : dst[j] == (j % 3 == 1 ? lo : hi));
        float one[16] = {1}, wei[16], out[16];
        for (int j = 0; j < 16; j++) wei[j] = src[j];
        simd->gemm(&(pcti_simd_gemm){.a = one,
                                     .b = wei,
                                     .n_taps = 1,
                                     .depth = 1,
                                     .runs = 1,
                                     .rows = 1,
                                     .columns = 16,
                                     .a_row = 16,
                                     .out = out,
                                     .lo = lo,
                                     .hi = hi});
        for (int j = 0; j < 16; j++)
            assert_true(j % 3 == 0 ? isnan(out[j]) : out[j] == (j % 3 == 1 ? lo : hi));
    }
}

/* ---- Winograd ---- */

static double *pool_2x2(const double *src, int channels, int h, int w) {
    double *dst = pcti_calloc((size_t)channels * (h / 2) * (w / 2), sizeof *dst);
    for (int c = 0; c < channels; c++)
        for (int y = 0; y < h / 2; y++)
            for (int x = 0; x < w / 2; x++) {
                const double *from = src + ((size_t)c * h + 2 * y) * w + 2 * x;
                dst[((size_t)c * (h / 2) + y) * (w / 2) + x] =
                    fmax(fmax(from[0], from[1]), fmax(from[w], from[w + 1]));
            }
    return dst;
}

static void winograd_run(const pcti_simd *simd, const pcti_winograd *w, bool share, int block, int threads) {
    const int tiles = pcti_winograd_tiles(w);
    buffer scratch = buffer_new(pcti_winograd_floats(w->channels, w->outputs, block));
    for (int first = 0; first < tiles && !share; first += block) {
        const int count = tiles - first < block ? tiles - first : block;
        for (int me = threads - 1; me >= 0; me--)
            simd->winograd_input(w, first, count, scratch.data, me, threads);
        for (int me = 0; me < threads; me++) simd->winograd_taps(w, count, scratch.data, me, threads);
        for (int me = 0; me < threads; me++)
            simd->winograd_output(w, first, count, scratch.data, me, threads);
    }
    for (int me = 0; me < threads && share; me++) simd->winograd_share(w, block, scratch.data, me, threads);
    buffer_free(&scratch);
}

static void winograd_case(const pcti_simd *simd) {
    const int pictures = pick(1, 2), channels = pick(1, 40), outputs = pick(1, 70);
    pcti_simd_window window = {
        .in_h = pick(1, 19), .in_w = pick(1, 19), .kernel_h = 3, .kernel_w = 3, .stride_h = 1};
    window.stride_w = window.dilation_h = window.dilation_w = 1;
    window.pad_top = window.in_h < 3 || pick(0, 1), window.pad_left = window.in_w < 3 || pick(0, 1);
    window.out_h = window.in_h + window.pad_top + (window.in_h < 3 || pick(0, 1)) - 2;
    window.out_w = window.in_w + window.pad_left + (window.in_w < 3 || pick(0, 1)) - 2;
    const bool pool = window.out_h > 1 && window.out_w > 1 && pick(0, 1), with_residual = pick(0, 1);
    const int dst_h = pool ? window.out_h / 2 : window.out_h, dst_w = pool ? window.out_w / 2 : window.out_w;
    pcti_winograd w = {.pictures = 1,
                       .channels = channels,
                       .outputs = outputs,
                       .in_h = window.in_h,
                       .in_w = window.in_w,
                       .out_h = window.out_h,
                       .out_w = window.out_w,
                       .pad_top = window.pad_top,
                       .pad_left = window.pad_left,
                       .pool = pool};
    pick_clip(&w.lo, &w.hi);
    float *wei = values((size_t)outputs * channels * 9, uniform), *bias = values((size_t)outputs, uniform);
    buffer u = buffer_new(pcti_winograd_weights_floats(outputs, channels));
    for (int panel = 0; panel * PCTI_PANEL < outputs; panel++)
        pcti_winograd_weights(u.data, outputs, channels, panel,
                              wei + (size_t)panel * PCTI_PANEL * channels * 9, (ptrdiff_t)channels * 9, 9);
    w.wei = u.data, w.bias = bias;
    char text[256];
    window_print(&window, simd->name, pool ? "winograd with pool" : "winograd", text, sizeof text);
    const uint64_t start = counter;
    float *first_bits = NULL;
    for (int variant = 0; variant < 3; variant++) { /* the same data for each schedule and split */
        counter = start;
        picture src =
            picture_new(channels, window.in_h, window.in_w * pictures, 16); /* side by side: a view each */
        picture res = picture_new(outputs, window.out_h, window.out_w * pictures, 16);
        picture dst = picture_new(outputs, dst_h, dst_w * pictures, 16);
        double *logical = picture_fill(&src, uniform), *added = picture_fill(&res, uniform);
        w.src = src.b.data, w.src_block = src.outer, w.src_row = src.row, w.src_picture = window.in_w * 16;
        w.dst = dst.b.data, w.dst_block = dst.outer, w.dst_row = dst.row, w.dst_picture = dst_w * 16;
        if (with_residual) w.residual = res.b.data;
        w.res_block = res.outer, w.res_row = res.row, w.res_picture = window.out_w * 16;
        w.pictures = pictures;
        double *want = pcti_calloc((size_t)outputs * dst_h * dst_w * pictures, sizeof *want), most = 0;
        for (int n = 0; n < pictures; n++) {
            double *one = pcti_calloc((size_t)channels * window.in_h * window.in_w, sizeof *one);
            for (int i = 0; i < channels * window.in_h; i++)
                memcpy(one + i * window.in_w, logical + ((size_t)i * pictures + n) * window.in_w,
                       window.in_w * sizeof *one);
            double *out = conv_reference(&window, channels, outputs, 1, one, wei, bias, -INFINITY, INFINITY);
            for (int i = 0; i < outputs * window.out_h; i++)
                for (int x = 0; x < window.out_w; x++) {
                    double *o = &out[i * window.out_w + x];
                    if (with_residual) *o += added[((size_t)i * pictures + n) * window.out_w + x];
                    most = fmax(most, fabs(*o));
                    *o = clip(*o, w.lo, w.hi);
                }
            double *pooled = pool ? pool_2x2(out, outputs, window.out_h, window.out_w) : out;
            for (int i = 0; i < outputs * dst_h; i++)
                memcpy(want + ((size_t)i * pictures + n) * dst_w, pooled + i * dst_w, dst_w * sizeof *want);
            if (pool) pcti_free(pooled);
            pcti_free(one), pcti_free(out);
        }
        winograd_run(simd, &w, variant < 2, variant == 0 ? 14 : pick(1, 30), variant + 1);
        if (variant == 0) {
            first_bits = pcti_calloc(dst.b.n + 1, sizeof(float));
            memcpy(first_bits, dst.b.data, dst.b.n * sizeof(float));
        } else
            assert_memory_equal(first_bits, dst.b.data, dst.b.n * sizeof(float));
        picture_check(&dst, want, 0, dst_h, 1e-5 * most, text);
        buffer_free(&src.b), buffer_free(&res.b);
        pcti_free(logical), pcti_free(added), pcti_free(want);
    }
    buffer_free(&u);
    pcti_free(wei), pcti_free(bias), pcti_free(first_bits);
}

static void test_winograd(void **state) {
    FOR_EACH_ISA(simd) {
        for (int i = 0; i < 60; i++) winograd_case(simd);
        assert_true(pcti_winograd_block(simd, 1, 1) % simd->tile_rows == 0);
        assert_true(pcti_winograd_block(simd, 4096, 4096) >= 12);
    }
}

/* ---- windows ---- */

static void depthwise_case(const pcti_simd *simd) {
    pcti_simd_window w = pick_window(14, 5);
    if (pick(0, 3) == 0) w.kernel_w = w.kernel_w > 3 ? 5 : 3;
    if (w.in_w + w.pad_left + w.pad_right < (w.kernel_w - 1) * w.dilation_w + 1) return;
    w.out_w = (w.in_w + w.pad_left + w.pad_right - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1;
    const int channels = pick(1, 16), y0 = pick(0, w.out_h - 1), y1 = pick(y0, w.out_h),
              area = w.kernel_h * w.kernel_w;
    picture src = picture_new(channels, w.in_h, w.in_w, 16),
            dst = picture_new(channels, w.out_h, w.out_w, 16);
    double *logical = picture_fill(&src, small_integer);
    float *wei = values((size_t)channels * area, small_integer),
          *bias = values((size_t)channels, small_integer), lo, hi;
    float *packed = values((size_t)area * 16, small_integer);
    const bool with_bias = pick(0, 1);
    for (int t = 0; t < area; t++)
        for (int c = 0; c < 16; c++) packed[t * 16 + c] = c < channels ? wei[c * area + t] : 0;
    pick_clip(&lo, &hi);
    double *want =
        conv_reference(&w, channels, channels, channels, logical, wei, with_bias ? bias : NULL, lo, hi);
    simd->depthwise(&w, src.b.data, src.row, packed, with_bias ? bias : NULL, dst.b.data, dst.row, y0, y1, lo,
                    hi);
    char text[256];
    window_print(&w, simd->name, "depthwise", text, sizeof text);
    picture_check(&dst, want, y0, y1, 0, text);
    buffer_free(&src.b);
    pcti_free(logical), pcti_free(wei), pcti_free(bias), pcti_free(packed), pcti_free(want);
}

static void test_depthwise(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 1000; i++) depthwise_case(simd);
}

enum { GATHERED, DIRECT, FIRST };

/* A convolution from gather or pad_rows with gemm, or by first. */
static void conv_case(const pcti_simd *simd, int how) {
    static const char *const names[] = {"gather", "pad_rows", "first"};
    const pcti_simd_window w = pick_window(13, pick(0, 4) == 0 ? 7 : 3);
    const int channels = how == FIRST ? pick(1, 4) : pick(1, 40), outputs = pick(1, 70),
              area = w.kernel_h * w.kernel_w;
    const int y0 = pick(0, w.out_h - 1), y1 = pick(y0, w.out_h), blocks = (channels + 15) / 16;
    picture src = picture_new(channels, w.in_h, w.in_w, how == FIRST ? 1 : 16);
    picture dst = picture_new(outputs, w.out_h, w.out_w, 16);
    double *logical = picture_fill(&src, small_integer);
    float *wei = values((size_t)outputs * channels * area, small_integer),
          *bias = values((size_t)outputs, small_integer);
    buffer b = buffer_new(pcti_simd_pack_floats(outputs, channels * area));
    pcti_simd_gemm g = {.b = b.data, .n_taps = area, .depth = channels, .bias = bias};
    pick_clip(&g.lo, &g.hi);
    double *want = conv_reference(&w, channels, outputs, 1, logical, wei, bias, g.lo, g.hi);
    ptrdiff_t taps[49];
    g.taps = taps;
    g.columns = (outputs + 15) / 16 * 16;
    g.out = dst.b.data + y0 * dst.row, g.out_block = dst.outer, g.out_row = 16, g.out_run = dst.row;
    for (int t = 0; t < area && how != FIRST; t++)
        pcti_simd_pack(b.data, outputs, area * channels, t * channels, channels, wei + t,
                       (ptrdiff_t)channels * area, area);
    buffer scratch;
    if (how == GATHERED) {
        const int p0 = y0 * w.out_w, n = (y1 - y0) * w.out_w;
        scratch = buffer_new((size_t)area * blocks * n * 16);
        simd->gather(&w, blocks, src.b.data, src.outer, src.row, p0, p0 + n, scratch.data);
        for (int t = 0; t < area; t++) taps[t] = (ptrdiff_t)t * blocks * n * 16;
        g.runs = y1 - y0, g.rows = w.out_w, g.a_run = w.out_w * 16, g.a_block = n * 16, g.a_row = 16;
    } else if (how == DIRECT) {
        int rows, columns;
        pcti_simd_strip(&w, y1 - y0, &rows, &columns);
        scratch = buffer_new((size_t)blocks * rows * columns * 16);
        simd->pad_rows(&w, blocks, src.b.data, src.outer, src.row, y0, y1, scratch.data);
        for (int t = 0; t < area; t++)
            taps[t] =
                (ptrdiff_t)(t / w.kernel_w * w.dilation_h * columns + t % w.kernel_w * w.dilation_w) * 16;
        g.runs = y1 - y0, g.rows = w.out_w, g.a_run = (ptrdiff_t)w.stride_h * columns * 16;
        g.a_block = (ptrdiff_t)rows * columns * 16, g.a_row = w.stride_w * 16;
    } else {
        scratch = buffer_new(pcti_simd_first_floats(&w, channels));
        pcti_simd_pack(b.data, outputs, area * channels, 0, area * channels, wei, (ptrdiff_t)channels * area,
                       1);
        simd->first(&w, channels, outputs, src.b.data, src.outer, src.row, b.data, bias, dst.b.data,
                    dst.outer, dst.row, y0, y1, g.lo, g.hi, scratch.data);
    }
    g.a = scratch.data;
    if (how != FIRST) simd->gemm(&g);
    char text[256];
    window_print(&w, simd->name, names[how], text, sizeof text);
    picture_check(&dst, want, y0, y1, 0, text);
    buffer_free(&src.b), buffer_free(&b), buffer_free(&scratch);
    pcti_free(logical), pcti_free(wei), pcti_free(bias), pcti_free(want);
}

static void test_conv(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 450; i++) conv_case(simd, i % 3);
}

static void pool_case(const pcti_simd *simd) {
    pcti_simd_window w = pick_window(11, 4);
    if (pick(0, 2) == 0) { /* ceil mode: a last window may begin inside and end beyond the pads */
        w.out_h += (w.out_h * w.stride_h < w.in_h + w.pad_top),
            w.out_w += (w.out_w * w.stride_w < w.in_w + w.pad_left);
    }
    const int channels = pick(1, 16), mode = pick(0, 2), y0 = pick(0, w.out_h - 1), y1 = pick(y0, w.out_h);
    picture src = picture_new(channels, w.in_h, w.in_w, 16),
            dst = picture_new(channels, w.out_h, w.out_w, 16);
    double *logical = picture_fill(&src, uniform),
           *want = pcti_calloc((size_t)channels * w.out_h * w.out_w, sizeof *want);
    const bool poisoned = mode == 0 && pick(0, 1);
    if (poisoned) {
        int y = pick(0, w.in_h - 1), x = pick(0, w.in_w - 1);
        *picture_at(&src, 0, y, x) = NAN;
        logical[y * w.in_w + x] = NAN;
    }
    bool outside = false;
    for (int i = 0; i < channels * w.out_h * w.out_w; i++) {
        const int c = i / w.out_h / w.out_w, y = i / w.out_w % w.out_h, x = i % w.out_w;
        double most = -INFINITY, sum = 0;
        int inside = 0, padded = 0;
        for (int t = 0; t < w.kernel_h * w.kernel_w; t++) {
            const int in_y = y * w.stride_h - w.pad_top + t / w.kernel_w * w.dilation_h;
            const int in_x = x * w.stride_w - w.pad_left + t % w.kernel_w * w.dilation_w;
            padded += in_y < w.in_h + w.pad_bottom && in_x < w.in_w + w.pad_right;
            if (in_y < 0 || in_y >= w.in_h || in_x < 0 || in_x >= w.in_w) continue;
            const double value = logical[((size_t)c * w.in_h + in_y) * w.in_w + in_x];
            most = isnan(value) || value > most ? value : most;
            sum += value;
            inside++;
        }
        outside |= inside == 0;
        const int count = mode == 1 ? inside : padded;
        want[i] = mode == 0 ? most : count > 0 ? sum / count : 0;
    }
    if (mode == 0)
        simd->pool_max(&w, src.b.data, src.row, dst.b.data, dst.row, y0, y1);
    else
        simd->pool_mean(&w, mode == 2, src.b.data, src.row, dst.b.data, dst.row, y0, y1);
    char text[256];
    window_print(&w, simd->name,
                 mode == 0   ? "pool_max"
                 : mode == 1 ? "pool_mean"
                             : "pool_mean with pads",
                 text, sizeof text);
    if (outside && mode == 0) { /* padding channels are -inf then: not a pooling that frameworks allow */
        pcti_free_aligned(dst.b.block);
    } else
        picture_check(&dst, want, y0, y1, mode == 0 ? 0 : 1e-6, text);
    buffer_free(&src.b);
    pcti_free(logical), pcti_free(want);
}

static void test_pool(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 1000; i++) pool_case(simd);
}

static void test_global(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 60; i++) {
        const int channels = pick(1, 16), h = pick(1, 9), w = pick(1, 9);
        picture src = picture_new(channels, h, w, 16);
        double *logical = picture_fill(&src, uniform);
        buffer most = buffer_new(16), mean = buffer_new(16);
        simd->global_max(h, w, src.b.data, src.row, most.data);
        simd->global_mean(h, w, src.b.data, src.row, mean.data);
        for (int c = 0; c < 16; c++) {
            double max = -INFINITY, sum = 0;
            for (int j = 0; j < h * w; j++) {
                double value = c < channels ? logical[c * h * w + j] : 0;
                max = fmax(max, value), sum += value;
            }
            assert_true(most.data[c] == max);
            assert_true(fabs(mean.data[c] - sum / (h * w)) <= 1e-6);
        }
        buffer_free(&src.b), buffer_free(&most), buffer_free(&mean);
        pcti_free(logical);
    }
}

/* ---- copies and elementwise ---- */

static void test_scale_shift(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 100; i++) {
        const int channels = pick(1, 40), blocks = (channels + 15) / 16, h = 2 * pick(1, 6),
                  w = 2 * pick(1, 6);
        picture src = picture_new(channels, h, w, 16);
        src.row = w * 16; /* scale_shift reads contiguous pixels */
        double *logical = picture_fill(&src, small_integer);
        float *scale = values((size_t)channels, small_integer),
              *shift = values((size_t)channels, small_integer), lo, hi;
        pick_clip(&lo, &hi);
        for (int pooled = 0; pooled < 2; pooled++) {
            const int out_w = pooled ? w / 2 : w, area = h / (pooled + 1) * out_w;
            const int p0 = pooled ? pick(0, area - 1) : 0, n = pooled ? pick(1, area - p0) : area;
            picture dst = picture_new(channels, 1, n, 16);
            double *want = pcti_calloc((size_t)channels * n, sizeof *want);
            for (int j = 0; j < channels * n; j++) {
                const int c = j / n, p = p0 + j % n;
                for (int t = 0; t < (pooled ? 4 : 1); t++) {
                    const int y = pooled ? p / out_w * 2 + t / 2 : p / w,
                              x = pooled ? p % out_w * 2 + t % 2 : p % w;
                    want[j] += clip(logical[((size_t)c * h + y) * w + x] * scale[c] + shift[c], lo, hi) /
                               (pooled ? 4 : 1);
                }
            }
            if (pooled)
                simd->scale_shift_pool(blocks, out_w, p0, p0 + n, src.b.data, src.outer, src.row, scale,
                                       shift, dst.b.data, dst.outer, lo, hi);
            else
                simd->scale_shift(blocks, n, src.b.data, src.outer, scale, shift, dst.b.data, dst.outer, lo,
                                  hi);
            picture_check(&dst, want, 0, 1, 0, pooled ? "scale_shift_pool" : "scale_shift");
            pcti_free(want);
        }
        buffer_free(&src.b);
        pcti_free(logical), pcti_free(scale), pcti_free(shift);
    }
}

static void test_layouts(void **state) {
    FOR_EACH_ISA(simd)
    for (int i = 0; i < 200; i++) {
        const int channels = pick(1, 40), h = pick(1, 5), w = pick(1, 40);
        picture plain = picture_new(channels, h, w, 1), blocked = picture_new(channels, h, w, 16);
        picture back = picture_new(channels, h, w, 1);
        double *logical = picture_fill(&plain, uniform);
        simd->to_blocked(channels, h, w, plain.b.data, plain.outer, plain.row, blocked.b.data, blocked.outer,
                         blocked.row);
        simd->to_plain(channels, h, w, blocked.b.data, blocked.outer, blocked.row, back.b.data, back.outer,
                       back.row);
        picture_check(&blocked, logical, 0, h, 0, "to_blocked");
        picture_check(&back, logical, 0, h, 0, "to_plain");
        buffer_free(&plain.b);
        pcti_free(logical);
    }
}

static void test_elementwise(void **state) {
    FOR_EACH_ISA(simd)
    for (int n = 0; n < 70; n++) {
        float *a = values((size_t)n, small_integer), *b = values((size_t)n, small_integer), lo, hi;
        buffer sum = buffer_new((size_t)n), clipped = buffer_new((size_t)n);
        pick_clip(&lo, &hi);
        simd->add((size_t)n, a, b, sum.data, lo, hi);
        simd->clip((size_t)n, a, clipped.data, lo, hi);
        for (int i = 0; i < n; i++) {
            assert_true(sum.data[i] == (float)clip(a[i] + b[i], lo, hi));
            assert_true(clipped.data[i] == (float)clip(a[i], lo, hi));
        }
        simd->add((size_t)n, a, b, a, lo, hi); /* in place */
        for (int i = 0; i < n; i++) assert_true(a[i] == sum.data[i]);
        buffer_free(&sum), buffer_free(&clipped);
        pcti_free(a), pcti_free(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select),         cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_same_bits), cmocka_unit_test(test_nan),
        cmocka_unit_test(test_winograd),       cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_conv),           cmocka_unit_test(test_pool),
        cmocka_unit_test(test_global),         cmocka_unit_test(test_scale_shift),
        cmocka_unit_test(test_layouts),        cmocka_unit_test(test_elementwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
