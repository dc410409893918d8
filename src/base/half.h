/* 16-bit floats in memory: IEEE binary16 and bfloat16 (the upper half of a binary32). */
#ifndef PCTI_BASE_HALF_H
#define PCTI_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float pcti_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t pcti_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float pcti_from_bf16(uint16_t top) { return pcti_float_of_bits((uint32_t)top << 16); }

/* Round to nearest, ties to even; NaN stays NaN. */
static inline uint16_t pcti_to_bf16(float value)
{
    uint32_t bits = pcti_bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float pcti_from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 31) return pcti_float_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent) return pcti_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* zero or subnormal: exact */
    return sign ? -magnitude : magnitude;
}

/* Round to nearest, ties to even; beyond 65504 infinity; NaN stays NaN. */
static inline uint16_t pcti_to_f16(float value)
{
    uint32_t bits = pcti_bits_of_float(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) { /* normal */
        uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
        return (uint16_t)(sign | ((rounded >> 13) - (112u << 10)));
    }
    /* Subnormal: adding 0.5 aligns the fraction, and the addition itself rounds to even. */
    uint32_t aligned = pcti_bits_of_float(pcti_float_of_bits(magnitude) + 0.5f);
    return (uint16_t)(sign | (aligned - 0x3f000000u));
}

#endif
