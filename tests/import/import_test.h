/* Weights files made in memory or taken from data/ beside the tests. */
#ifndef IMPORT_TEST_H
#define IMPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "import/weights.h"

/* Opens a copy of `bytes` in a heap block of exactly that size, so that a sanitizer sees any read beyond it. */
pct_status open_bytes(const void *bytes, size_t count, pct_weights *weights);
void close_bytes(pct_weights *weights);

/* PCT_SOURCE_DIR/tests/import/data/NAME, opened; the test fails if that fails. */
pct_weights *open_data(const char *name);
/* Its bytes; the caller frees them. */
unsigned char *load_data(const char *name, size_t *count);

/* Checks shape and, in float32, every value of a tensor: the whole at once and again in pieces of 1, 2, 3 ... */
void check_tensor(const pct_weights *weights, const char *name, pct_dtype dtype, int rank, const int64_t *dims,
                  const float *values);

/* Fails unless the last error's message holds `part`. */
void check_message(const char *part);

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define VALUES(...) ((const float[]){__VA_ARGS__})

#endif
