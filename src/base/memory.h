/* Host memory. Every allocation of the library goes through here, so that sizes are overflow-checked in one place and a
 * test can let the Nth one fail and count what a run allocates. */
#ifndef PCTI_BASE_MEMORY_H
#define PCTI_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed memory for count * size bytes; NULL with the message set on overflow or exhaustion. count * size = 0 gives a
 * valid pointer. Free with pcti_free. */
void *pcti_calloc(size_t count, size_t size);
/* As realloc, old contents kept; the part beyond is not zeroed. On failure the old block stays valid. */
void *pcti_realloc(void *block, size_t count, size_t size);
char *pcti_strdup(const char *text);
char *pcti_format(const char *format, ...) PCTI_PRINTF(1, 2);
void pcti_free(void *block);

/* For tensors: 64-byte aligned, huge pages where large, contents undefined. Free with pcti_free_aligned. */
void *pcti_alloc_aligned(size_t bytes);
void pcti_free_aligned(void *block);

/* *product = a * b; false on overflow. */
bool pcti_mul_size(size_t a, size_t b, size_t *product);
bool pcti_mul_int64(int64_t a, int64_t b, int64_t *product);

/* Makes room for one more element in a growing array: `items` and `capacity` are updated; PCT_ERROR_MEMORY keeps both. */
pct_status pcti_grow(void *items_pointer, size_t *capacity, size_t count, size_t item_bytes);

/* Test hooks: the Nth allocation from now fails (0 = never); allocations so far in this process. */
void pcti_memory_fail_at(uint64_t nth);
uint64_t pcti_memory_allocations(void);

#endif
