#define _GNU_SOURCE
#include "base/memory.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20 };

static atomic_uint_fast64_t allocations, fail_at;

static bool allowed(size_t bytes)
{
    uint64_t number = atomic_fetch_add(&allocations, 1) + 1;
    uint64_t failing = atomic_load(&fail_at);
    if (failing && number == failing) {
        pcti_fail(PCT_ERROR_MEMORY, "out of memory: %zu bytes (made to fail by a test)", bytes);
        return false;
    }
    return true;
}

void pcti_memory_fail_at(uint64_t nth)
{
    atomic_store(&fail_at, nth ? atomic_load(&allocations) + nth : 0);
}

uint64_t pcti_memory_allocations(void) { return atomic_load(&allocations); }

bool pcti_mul_size(size_t a, size_t b, size_t *product) { return !__builtin_mul_overflow(a, b, product); }
bool pcti_mul_int64(int64_t a, int64_t b, int64_t *product) { return !__builtin_mul_overflow(a, b, product); }

void *pcti_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!pcti_mul_size(count, size, &bytes)) {
        pcti_fail(PCT_ERROR_MEMORY, "size overflow: %zu elements of %zu bytes", count, size);
        return NULL;
    }
    if (!allowed(bytes)) return NULL;
    void *block = calloc(1, bytes ? bytes : 1);
    if (!block) pcti_fail(PCT_ERROR_MEMORY, "out of memory: %zu bytes", bytes);
    return block;
}

void *pcti_realloc(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!pcti_mul_size(count, size, &bytes)) {
        pcti_fail(PCT_ERROR_MEMORY, "size overflow: %zu elements of %zu bytes", count, size);
        return NULL;
    }
    if (!allowed(bytes)) return NULL;
    void *grown = realloc(block, bytes ? bytes : 1);
    if (!grown) pcti_fail(PCT_ERROR_MEMORY, "out of memory: %zu bytes", bytes);
    return grown;
}

char *pcti_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = pcti_calloc(bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

char *pcti_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = pcti_calloc((size_t)length + 1, 1);
    if (!text) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void pcti_free(void *block) { free(block); }

void *pcti_alloc_aligned(size_t bytes)
{
    /* Huge pages gain 10 % on weights read once; a block under one page would only waste memory. */
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : CACHE_LINE;
    if (bytes > SIZE_MAX - alignment) {
        pcti_fail(PCT_ERROR_MEMORY, "size overflow: %zu bytes", bytes);
        return NULL;
    }
    size_t rounded = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (!allowed(bytes)) return NULL;
    void *block = NULL;
    if (posix_memalign(&block, alignment, rounded ? rounded : CACHE_LINE)) {
        pcti_fail(PCT_ERROR_MEMORY, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    if (bytes >= HUGE_PAGE) madvise(block, rounded, MADV_HUGEPAGE);
    return block;
}

void pcti_free_aligned(void *block) { free(block); }

pct_status pcti_grow(void *items_pointer, size_t *capacity, size_t count, size_t item_bytes)
{
    if (count < *capacity) return PCT_OK;
    void *items, *grown;
    memcpy(&items, items_pointer, sizeof items);
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (!(grown = pcti_realloc(items, wanted, item_bytes))) return PCT_ERROR_MEMORY;
    memcpy(items_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return PCT_OK;
}
