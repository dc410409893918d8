/* AVX-512: one register is one block of channels. */
#include <immintrin.h>

#include "backend/cpu/simd/common.h"

#define VL 16
#define TILE_ROWS 14 /* 14 x 2 accumulators, 2 of B and 1 or 2 of A: all 32 registers */
#define WIDE_ROWS 14
#define TABLE pcti_simd_avx512
#define TABLE_NAME "avx512"

typedef __m512 v;
#define v_load(p) _mm512_loadu_ps(p)
#define v_load_bf16(p)                                                                                               \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p))), 16))
#define v_load_f16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define v_store(p, x) _mm512_storeu_ps(p, x)
/* Pins a loaded value to a register, where the compiler would rather load it again for each use. */
#define v_keep(x) __asm__("" : "+v"(x))
#define v_set1(x) _mm512_set1_ps(x)
#define v_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
/* Where either operand is NaN the result is the second one. */
#define v_max(a, b) _mm512_max_ps(a, b)
#define v_min(a, b) _mm512_min_ps(a, b)
/* NaN where either operand is NaN. */
#define v_max_nan(a, b) _mm512_mask_mov_ps(v_max(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a)
#define v_prefetch_l2(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define v_prefetch_l1(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)

#include "backend/cpu/simd/kernels_impl.h"
