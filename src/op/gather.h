/* What gather's implementations share. */
#ifndef PCTI_OP_GATHER_H
#define PCTI_OP_GATHER_H

#include "op/op.h"

/* The result is (outer, count, inner): data[outer][index[count]][inner] with `extent` entries along the axis. */
typedef struct pcti_gather_shape {
    int axis;
    int64_t outer, extent, count, inner;
} pcti_gather_shape;
pcti_gather_shape pcti_gather_shape_of(const pcti_call *call);

/* Where the indices are constant: PCT_ERROR_SHAPE naming the first that is out of range. */
pct_status pcti_gather_check(const pcti_call *call);

/* The entry that an index means; indices that a run computes are clamped into range. */
static inline int64_t pcti_gather_entry(int64_t index, int64_t extent)
{
    int64_t entry = index < 0 ? index + extent : index;
    return pcti_max(0, pcti_min(extent - 1, entry));
}

#endif
