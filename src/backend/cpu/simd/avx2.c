/* AVX2 with FMA: two registers are one block of channels. */
#include <immintrin.h>

#include "backend/cpu/simd/common.h"

#define VL 8
#define TILE_ROWS 6 /* 6 x 2 accumulators, 2 of B and 1 of A: 15 of 16 registers */
#define WIDE_ROWS 3 /* 3 x 4 accumulators, 3 of A and 1 of B: all 16 */
#define TABLE pcti_simd_avx2
#define TABLE_NAME "avx2"

typedef __m256 v;
#define v_load(p) _mm256_loadu_ps(p)
#define v_load_bf16(p)                                                                                               \
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))), 16))
#define v_load_f16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define v_store(p, x) _mm256_storeu_ps(p, x)
/* Pins a loaded value to a register, where the compiler would rather load it again for each use. */
#define v_keep(x) __asm__("" : "+x"(x))
#define v_set1(x) _mm256_set1_ps(x)
#define v_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
/* Where either operand is NaN the result is the second one. */
#define v_max(a, b) _mm256_max_ps(a, b)
#define v_min(a, b) _mm256_min_ps(a, b)
/* NaN where either operand is NaN. */
#define v_max_nan(a, b) _mm256_blendv_ps(v_max(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q))
#define v_prefetch_l2(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define v_prefetch_l1(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)

#include "backend/cpu/simd/kernels_impl.h"
