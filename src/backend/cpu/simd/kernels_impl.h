/* One instruction set's kernels: included by <isa>.c, which defines VL, the type v, the v_ operations,
 * TILE_ROWS, WIDE_ROWS, TABLE and TABLE_NAME. */
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* Before a loop whose trip count (at most 16) is a constant once everything is inlined: its arrays become registers.
 */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define NO_UNROLL _Pragma("GCC unroll 1")
#endif
#define HALVES (PCTI_LANES / VL) /* registers per block */

INLINE v v_zero(void)
{
    return v_set1(0.0f);
}
/* The order of operands keeps NaN. */
INLINE v v_clip(v x, v lo, v hi)
{
    return v_min(hi, v_max(lo, x));
}
INLINE float clip1(float x, float lo, float hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

#include "backend/cpu/simd/copy_impl.h"
#include "backend/cpu/simd/gemm_impl.h"
#include "backend/cpu/simd/window_impl.h"
#include "backend/cpu/simd/winograd_impl.h"

const pcti_simd TABLE = {
    .name = TABLE_NAME,
    .tile_rows = TILE_ROWS,
    .gemm = gemm,
    .winograd_share = winograd_share,
    .winograd_input = winograd_input,
    .winograd_taps = winograd_taps,
    .winograd_output = winograd_output,
    .depthwise = depthwise,
    .gather = gather,
    .pad_rows = pad_rows,
    .first = first_layer,
    .scale_shift = scale_shift,
    .scale_shift_pool = scale_shift_pool,
    .pool_max = pool_max,
    .pool_mean = pool_mean,
    .global_max = global_max,
    .global_mean = global_mean,
    .to_blocked = to_blocked,
    .to_plain = to_plain,
    .add = add_clip,
    .clip = clip_range,
};
