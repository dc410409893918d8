/* What the tables of all instruction sets share. */
#ifndef PCTI_CPU_SIMD_COMMON_H
#define PCTI_CPU_SIMD_COMMON_H

#include "backend/cpu/simd/simd.h"

enum { WINOGRAD_TAPS = 36 };

extern const pcti_simd pcti_simd_generic;
#ifdef PCTI_SIMD_X86
extern const pcti_simd pcti_simd_avx2, pcti_simd_avx512;
#endif

static inline int simd_min(int a, int b)
{
    return a < b ? a : b;
}
static inline int simd_max(int a, int b)
{
    return a > b ? a : b;
}
static inline int simd_blocks(int channels)
{
    return (channels + PCTI_LANES - 1) / PCTI_LANES;
}
/* Where share `i` of `n` begins, of `count` units. */
static inline int simd_share(int64_t count, int i, int n)
{
    return (int)(count * i / n);
}

/* Floats between the taps of Winograd's V or Q: an odd number of cache lines, so that the 36 values of a tile
 * fall into different sets of the L1. */
static inline size_t winograd_stride(int channels, int tiles)
{
    return ((size_t)simd_blocks(channels) * (size_t)tiles | 1) * PCTI_LANES;
}
/* Q begins 4 KiB beyond the end of V for the same reason. */
static inline size_t winograd_products(int channels, int tiles)
{
    return WINOGRAD_TAPS * winograd_stride(channels, tiles) + 1024;
}

#endif
