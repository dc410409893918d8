/* The description of a tensor inside a plan: where each element of a logical shape lies. */
#ifndef PCTI_CORE_TENSOR_H
#define PCTI_CORE_TENSOR_H

#include <stdbool.h>

#include "pct/tensor.h"

/* Channels per block of the blocked layout, on every backend: one AVX-512 register, two of AVX2, one float16 of OpenCL,
 * one 64-byte cache line. */
enum { PCTI_BLOCK = 16 };

/* Element (i0, i1, ...) lies at offset + sum of i[d] * strides[d] elements from the start of its buffer.
 *
 * Layouts of a rank-4 picture tensor (N, C, H, W):
 *   plain    channel_block 1:  row-major (NCHW).
 *   blocked  channel_block 16: NCHW16c. Element (n, c, h, w) lies at
 *            offset + n*strides[0] + (c/16)*strides[1] + h*strides[2] + w*strides[3] + c%16,   strides[3] = 16.
 *            The channels from C up to the next multiple of 16 exist and hold zeros: whoever writes a blocked tensor
 *            writes them. offset and strides[0] are multiples of 16.
 * A plan's tensors are dense except that strides[0] may exceed the size of one picture (a range of channels of a wider
 * buffer, as DenseNet's concat) and offset may be anything; every implementation takes both. */
typedef struct pcti_tensor {
    pct_dtype dtype;
    int32_t rank; /* PCTI_ABSENT: an optional operand that was left out */
    int32_t channel_block;
    int64_t dims[PCT_MAX_RANK];
    int64_t strides[PCT_MAX_RANK];
    int64_t offset;
} pcti_tensor;

enum { PCTI_ABSENT = -1 };

/* Dense strides for a shape with every dimension bound; `channel_block` 1 or PCTI_BLOCK (rank 4 only). */
pcti_tensor pcti_tensor_dense(const pct_shape *shape, int channel_block);
pct_shape pcti_tensor_shape(const pcti_tensor *tensor);

/* Product of the dimensions (1 for a scalar); logical, so padding channels do not count. */
int64_t pcti_tensor_elems(const pcti_tensor *tensor);
/* Elements of one outermost slice (one picture), padding channels included; 1 for a scalar. */
int64_t pcti_tensor_picture_elems(const pcti_tensor *tensor);
/* Elements from the first to the last one touched, plus one, padding channels included; 0 if empty. */
int64_t pcti_tensor_extent_elems(const pcti_tensor *tensor);
/* Row-major (or blocked) with nothing between pictures; rank 0 and 1 always are. */
bool pcti_tensor_is_dense(const pcti_tensor *tensor);

/* More elements than any memory holds, and few enough that bytes and padding channels still fit an int64. */
#define PCTI_MAX_ELEMS ((int64_t)1 << 56)
/* Product of the bound dimensions; PCT_ERROR_SHAPE for a symbol, a negative dimension or more than PCTI_MAX_ELEMS. */
pct_status pcti_shape_elems(const pct_shape *shape, int64_t *elems);
bool pcti_shape_equal(const pct_shape *a, const pct_shape *b);
static inline bool pcti_dim_is_symbol(int64_t dim) { return dim <= -2; }

/* "f32[N,64,56,56]", cut to `bytes`; returns `text`. */
enum { PCTI_SHAPE_TEXT = 128 };
char *pcti_shape_print(const pct_shape *shape, char *text, size_t bytes);

static inline int64_t pcti_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t pcti_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t pcti_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t pcti_round_up(int64_t a, int64_t b) { return pcti_ceil_div(a, b) * b; }

#endif
