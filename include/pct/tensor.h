/* Element types and shapes. */
#ifndef PCT_TENSOR_H
#define PCT_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "pct/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PCT_MAX_RANK 8

typedef enum pct_dtype { PCT_F32, PCT_F64, PCT_F16, PCT_BF16, PCT_I32, PCT_I64, PCT_U8, PCT_BOOL } pct_dtype;

/* A dimension is a count, or a symbol that a plan binds to a count. Symbol 0 is the batch. */
#define PCT_DIM_SYMBOL(i) (-2 - (int64_t)(i))
#define PCT_DIM_BATCH PCT_DIM_SYMBOL(0)

/* Logical shape, outermost dimension first. A plain value: copy it freely. */
typedef struct pct_shape {
    pct_dtype dtype;
    int32_t rank; /* 0 is a scalar */
    int64_t dims[PCT_MAX_RANK];
} pct_shape;

/* "f32", "i64", ...; static storage. */
PCT_API const char *pct_dtype_name(pct_dtype dtype);
/* Bytes of one element. */
PCT_API size_t pct_dtype_size(pct_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
