/* Hashes and counter-based random numbers: the same on every machine, any element without the ones before it. */
#ifndef PCTI_BASE_HASH_H
#define PCTI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo). Start from PCTI_FNV_START; feed pieces by passing the result on. */
#define PCTI_FNV_START 0xcbf29ce484222325ull
static inline uint64_t pcti_fnv1a(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * 0x100000001b3ull;
    return hash;
}

/* SplitMix64's output function of one counter (Steele, Lea, Flood 2014). */
static inline uint64_t pcti_splitmix64(uint64_t counter)
{
    uint64_t z = counter + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in [-1, 1) with 24 bits. */
static inline double pcti_uniform(uint64_t counter)
{
    return (double)(pcti_splitmix64(counter) >> 40) / 8388608.0 - 1.0;
}

#endif
