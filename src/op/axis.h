/* The lines of a tensor along one axis, for ops that work on each by itself: softmax, argmax, topk. */
#ifndef PCTI_OP_AXIS_H
#define PCTI_OP_AXIS_H

#include "core/tensor.h"

/* A plain tensor as (outer, extent, inner), the axis in the middle. Line l = o*inner + i begins at pcti_axis_line,
 * and its `extent` elements lie `step` apart. Lines of one o are neighbours in memory. */
typedef struct pcti_axis {
    int64_t outer, extent, inner, step;
    int64_t rows, picture; /* lines o of one picture, and the distance between pictures */
} pcti_axis;

/* `axis` may count from the end; it exists. */
static inline pcti_axis pcti_axis_of(const pcti_tensor *tensor, int64_t axis)
{
    int at = (int)(axis < 0 ? axis + tensor->rank : axis);
    pcti_axis a = {.outer = 1, .extent = tensor->dims[at], .inner = 1, .step = tensor->strides[at], .rows = 1};
    for (int d = 0; d < at; d++) a.outer *= tensor->dims[d];
    for (int d = 1; d < at; d++) a.rows *= tensor->dims[d];
    for (int d = at + 1; d < tensor->rank; d++) a.inner *= tensor->dims[d];
    if (at > 0) a.picture = tensor->strides[0];
    return a;
}

/* Elements from the tensor's first one to the line's. */
static inline int64_t pcti_axis_line(const pcti_axis *a, int64_t line)
{
    int64_t o = line / a->inner, i = line % a->inner;
    return o / a->rows * a->picture + o % a->rows * a->extent * a->inner + i;
}

#endif
