/* What the rows that move elements share. */
#ifndef PCTI_BACKEND_CL_COPY_H
#define PCTI_BACKEND_CL_COPY_H

#include "backend/cl/cl_backend.h"

/* An unsigned OpenCL type of the element's size: copies keep every bit. */
static inline const char *pcti_cl_element_type(pct_dtype dtype)
{
    static const char *const types[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    return types[pct_dtype_size(dtype)];
}

/* A work-group for launches over (columns, rows) that wastes few items on narrow ones; one of four sizes. */
static inline const size_t *pcti_cl_rows_group(int64_t columns)
{
    static const size_t groups[][3] = {{4, 64, 1}, {16, 16, 1}, {64, 4, 1}, {256, 1, 1}};
    return groups[columns <= 8 ? 0 : columns <= 48 ? 1 : columns <= 512 ? 2 : 3];
}

#endif
