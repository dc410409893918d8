/* Any processor: vectors of 4 by the compiler's vector types, NEON's fused multiply-add where there is one.
 */
#include <string.h>

#include "backend/cpu/simd/common.h"
#include "base/half.h"

#define VL 4
#define TABLE pcti_simd_generic
#define TABLE_NAME "generic"

typedef float v __attribute__((vector_size(16)));
typedef int32_t v_mask __attribute__((vector_size(16)));

static inline v v_load(const float *p)
{
    v x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline v v_load_bf16(const void *p)
{
    uint16_t h[4];
    memcpy(h, p, sizeof h);
    return (v){pcti_from_bf16(h[0]), pcti_from_bf16(h[1]), pcti_from_bf16(h[2]), pcti_from_bf16(h[3])};
}
static inline v v_load_f16(const void *p)
{
    uint16_t h[4];
    memcpy(h, p, sizeof h);
    return (v){pcti_from_f16(h[0]), pcti_from_f16(h[1]), pcti_from_f16(h[2]), pcti_from_f16(h[3])};
}
static inline void v_store(float *p, v x)
{
    memcpy(p, &x, sizeof x);
}
static inline v v_set1(float x)
{
    return (v){x, x, x, x};
}
static inline v v_select(v_mask m, v a, v b)
{
    return (v)((m & (v_mask)a) | (~m & (v_mask)b));
}

#if defined(__aarch64__)
#include <arm_neon.h>
#define TILE_ROWS                                                                                                    \
    4 /* 4 x 4 accumulators, 4 of B, 4 of A with four channels each; more rows spill (gcc 12)                        \
       */
#define WIDE_ROWS 2
static inline v v_fma(v a, v b, v c)
{
    return (v)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#else
#define TILE_ROWS 2 /* 2 x 4 accumulators, 4 of B, 1 of A and the product: 14 of 16 registers (SSE2) */
#define WIDE_ROWS 1
static inline v v_fma(v a, v b, v c)
{
    return a * b + c;
}
#endif
/* Where either operand is NaN the result is the second one. */
static inline v v_max(v a, v b)
{
    return v_select(a > b, a, b);
}
static inline v v_min(v a, v b)
{
    return v_select(a < b, a, b);
}
/* NaN where either operand is NaN. */
static inline v v_max_nan(v a, v b)
{
    return v_select((a > b) | (a != a), a, b);
}
#define v_keep(x) ((void)(x))
#define v_prefetch_l2(p) __builtin_prefetch(p, 0, 2)
#define v_prefetch_l1(p) __builtin_prefetch(p, 0, 3)

#include "backend/cpu/simd/kernels_impl.h"
