/* Batch normalisation as one scale and shift a channel, packed for a device: what every backend's fast rows
 * use. */
#ifndef PCTI_OP_NORM_H
#define PCTI_OP_NORM_H

#include "op/backend.h"

/* Are all four statistics known at plan time? Refuses with a reason. */
bool pcti_batch_norm_is_constant(const pcti_call *call, pcti_why *why);

/* Puts scale'[c] and shift'[c] with dst = src*scale' + shift', computed in double and rounded once, into one
 * float buffer: scale' for the channels rounded up to whole blocks (zeros beyond C), then shift' alike. It
 * becomes src[1].buffer. */
pct_status pcti_batch_norm_pack(pct_device *device, pcti_step *step);

/* The elements that layer_norm normalises together, a row: `runs` contiguous pieces of `length`, strides[axis] apart
 * in src and dst and strides[0] apart in scale and shift. There are several only where a first dimension is one of
 * them whose slices lie apart. Rows of one picture follow each other. */
typedef struct pcti_layer_rows {
    int axis;
    int64_t rows, rows_of_picture, runs, length;
} pcti_layer_rows;
pcti_layer_rows pcti_layer_norm_rows(const pcti_call *call);
static inline int64_t pcti_layer_row_offset(const pcti_tensor *x, const pcti_layer_rows *rows, int64_t row)
{
    int64_t n = row / rows->rows_of_picture, within = row % rows->rows_of_picture;
    return n * x->strides[0] + within * rows->runs * rows->length;
}

#endif
