/* The CPU path: an OpenMP region is its launch, memcpy its copy, vector registers its peak. */
#include <math.h>
#include <omp.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/clock.h"
#include "base/memory.h"
#include "probe.h"

enum { ACCUMULATORS = 12, ROUNDS = 4096, TRIAD_FLOATS = 16 << 20 };

struct probe {
    int threads;
    long long launches, counted;
    float *host, *inside;
    size_t floats;
    float *triad[3];
};

static void free_triad(probe *p)
{
    for (int i = 0; i < 3; i++) {
        pcti_free_aligned(p->triad[i]);
        p->triad[i] = NULL;
    }
}

static pct_status cpu_open(pct_device *device, probe **p)
{
    if (!(*p = pcti_calloc(1, sizeof **p))) return PCT_ERROR_MEMORY;
    (*p)->threads = pct_device_get_info(device)->threads;
    return PCT_OK;
}

static void copy_end(probe *p)
{
    pcti_free_aligned(p->host);
    pcti_free_aligned(p->inside);
    p->host = p->inside = NULL;
}

static void cpu_close(probe *p)
{
    if (!p) return;
    copy_end(p);
    free_triad(p);
    pcti_free(p);
}

static probe_sample sample_since(uint64_t start_ns)
{
    double ms = (double)(pcti_clock_ns() - start_ns) * 1e-6;
    return (probe_sample){ms, NAN, NAN, ms};
}

/* ---- launches: a parallel region whose threads share the items ---- */

static pct_status launch(probe *p, size_t items, int count, probe_sample *sample)
{
    uint64_t start = pcti_clock_ns();
    for (int i = 0; i < count; i++) {
        long long done = 0;
#pragma omp parallel num_threads(p->threads) reduction(+ : done)
        {
            size_t n = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
            done += (long long)(items * (me + 1) / n - items * me / n);
        }
        p->counted += done == (long long)items;
    }
    *sample = sample_since(start);
    p->launches += count;
    return PCT_OK;
}

static pct_status launch_error(probe *p, double *error)
{
    *error = fabs((double)(p->launches - p->counted));
    return PCT_OK;
}

/* ---- copies ---- */

static pct_status copy_begin(probe *p, probe_memory memory, size_t bytes)
{
    copy_end(p);
    p->floats = bytes / sizeof(float);
    p->host = pcti_alloc_aligned(bytes);
    p->inside = pcti_alloc_aligned(bytes);
    if (!p->host || !p->inside) return PCT_ERROR_MEMORY;
    for (size_t i = 0; i < p->floats; i++) p->host[i] = (float)(i % 8191);
    memcpy(p->inside, p->host, bytes);
    return PCT_OK;
}

static pct_status copy(probe *p, bool upload, probe_sample *sample)
{
    uint64_t start = pcti_clock_ns();
    memcpy(upload ? p->inside : p->host, upload ? p->host : p->inside, p->floats * sizeof(float));
    *sample = sample_since(start);
    return PCT_OK;
}

static pct_status copy_error(probe *p, double *error)
{
    probe_sample sample;
    memset(p->host, 0xff, p->floats * sizeof(float));
    PCTI_RETURN_IF_FAILED(copy(p, false, &sample));
    *error = 0;
    for (size_t i = 0; i < p->floats; i++) {
        double difference = fabs((double)p->host[i] - (double)(i % 8191));
        *error = isnan(difference) ? INFINITY : fmax(*error, difference);
    }
    return PCT_OK;
}

/* ---- peaks ---- */

/* ACCUMULATORS chains of x = x*m + c, which with m = c = 1 counts rounds; the compiler does not know m and c. The
 * rounds are written out, so that every chain lives in a register. */
#define ROUND(fma, x, m, c)                                                                                          \
    x##0 = fma(x##0, m, c), x##1 = fma(x##1, m, c), x##2 = fma(x##2, m, c), x##3 = fma(x##3, m, c),                  \
    x##4 = fma(x##4, m, c), x##5 = fma(x##5, m, c), x##6 = fma(x##6, m, c), x##7 = fma(x##7, m, c),                  \
    x##8 = fma(x##8, m, c), x##9 = fma(x##9, m, c), x##10 = fma(x##10, m, c), x##11 = fma(x##11, m, c)
#define CHAINS(name, attribute, type, width, set1, fma, store)                                                       \
    attribute static double name(int rounds, float m, float c)                                                       \
    {                                                                                                                \
        type x0 = set1(0.f), x1 = set1(1.f), x2 = set1(2.f), x3 = set1(3.f), x4 = set1(4.f), x5 = set1(5.f);         \
        type x6 = set1(6.f), x7 = set1(7.f), x8 = set1(8.f), x9 = set1(9.f), x10 = set1(10.f), x11 = set1(11.f);     \
        type vm = set1(m), vc = set1(c);                                                                             \
        float out[width];                                                                                            \
        double sum = 0;                                                                                              \
        for (int r = 0; r < rounds; r++) ROUND(fma, x, vm, vc);                                                      \
        const type ends[ACCUMULATORS] = {x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11};                          \
        for (int i = 0; i < ACCUMULATORS; i++) {                                                                     \
            store(out, ends[i]);                                                                                     \
            for (int j = 0; j < width; j++) sum += (double)out[j] - i - rounds;                                      \
        }                                                                                                            \
        return sum;                                                                                                  \
    }

#define STORE_1(out, x) ((out)[0] = (x))
#define SAME(x) (x)
#if defined(__x86_64__)
#define TARGET(isa) __attribute__((target(isa)))
static inline TARGET("fma") float fma_1(float a, float b, float c)
{
    return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
}
CHAINS(chains_1, TARGET("fma"), float, 1, SAME, fma_1, STORE_1)
CHAINS(chains_4, TARGET("fma"), __m128, 4, _mm_set1_ps, _mm_fmadd_ps, _mm_storeu_ps)
CHAINS(chains_8, TARGET("fma,avx2"), __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps)
CHAINS(chains_16, TARGET("avx512f"), __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps)

static double (*chains_of(int width))(int, float, float)
{
    bool fma = __builtin_cpu_supports("fma");
    switch (width) {
    case 1:
        return fma ? chains_1 : NULL;
    case 4:
        return fma ? chains_4 : NULL;
    case 8:
        return fma && __builtin_cpu_supports("avx2") ? chains_8 : NULL;
    case 16:
        return __builtin_cpu_supports("avx512f") ? chains_16 : NULL;
    }
    return NULL;
}
#else
typedef float float4 __attribute__((vector_size(16)));
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define SET_4(x) ((float4){x, x, x, x})
#define STORE_4(out, x) memcpy(out, &(x), sizeof(float4))
CHAINS(chains_1, , float, 1, SAME, fmaf, STORE_1)
CHAINS(chains_4, __attribute__((optimize("fp-contract=fast"))), float4, 4, SET_4, MULTIPLY_ADD, STORE_4)

static double (*chains_of(int width))(int, float, float)
{
    return width == 1 ? chains_1 : width == 4 ? chains_4 : NULL;
}
#endif

static const int widths[] = {1, 4, 8, 16, 0};

static pct_status multiply_add(probe *p, int width, double *flops, double *error, probe_sample *sample)
{
    enum { REPEATS = 240 };
    double (*chains)(int, float, float) = chains_of(width);
    volatile float one = 1;
    double sum = 0;
    if (!chains) return pcti_fail(PCT_ERROR_UNSUPPORTED, "this processor has no multiply-add on %d floats", width);
    float m = one, c = one;
    uint64_t start = pcti_clock_ns();
#pragma omp parallel for num_threads(p->threads) reduction(+ : sum) schedule(static)
    for (int t = 0; t < p->threads * REPEATS; t++) sum += chains(ROUNDS, m, c);
    *sample = sample_since(start);
    *error = fabs(sum);
    *flops = 2.0 * width * ACCUMULATORS * ROUNDS * REPEATS * p->threads;
    return PCT_OK;
}

static pct_status make_triad(probe *p)
{
    for (int i = 0; i < 3; i++) {
        float *data = p->triad[i] = pcti_alloc_aligned((size_t)TRIAD_FLOATS * sizeof(float));
        if (!data) return PCT_ERROR_MEMORY;
#pragma omp parallel for num_threads(p->threads) schedule(static)
        for (int j = 0; j < TRIAD_FLOATS; j++) data[j] = (float)(j % 1021 + i);
    }
    return PCT_OK;
}

static pct_status triad(probe *p, double *bytes, double *error, probe_sample *sample)
{
    if (!p->triad[2]) PCTI_RETURN_IF_FAILED(make_triad(p));
    const float *a = p->triad[0], *b = p->triad[1];
    float *c = p->triad[2];
    uint64_t start = pcti_clock_ns();
#pragma omp parallel for simd num_threads(p->threads) schedule(static)
    for (int i = 0; i < TRIAD_FLOATS; i++) c[i] = a[i] + 2 * b[i];
    *sample = sample_since(start);
    *bytes = 3.0 * TRIAD_FLOATS * sizeof(float);
    *error = 0;
    for (int i = 0; i < TRIAD_FLOATS; i += 4093) *error = fmax(*error, fabs((double)c[i] - (3.0 * (i % 1021) + 2)));
    return PCT_OK;
}

const probe_table probe_cpu = {.memories = 1,
                               .widths = widths,
                               .open = cpu_open,
                               .close = cpu_close,
                               .launch = launch,
                               .launch_error = launch_error,
                               .copy_begin = copy_begin,
                               .copy = copy,
                               .copy_error = copy_error,
                               .copy_end = copy_end,
                               .multiply_add = multiply_add,
                               .triad = triad};
