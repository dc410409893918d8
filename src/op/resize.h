/* What resize's implementations share. */
#ifndef PCTI_OP_RESIZE_H
#define PCTI_OP_RESIZE_H

#include "op/op.h"

/* What one output row or column is made of: src[low] * (1 - weight) + src[high] * weight; nearest has low = high,
 * weight 0. */
typedef struct pcti_resize_tap {
    int32_t low, high;
    float weight;
} pcti_resize_tap;

/* Of output index `at` along dimension 0 (height) or 1 (width); `weight` in full precision. Formulas: ONNX's Resize.
 */
void pcti_resize_tap_at(const pct_resize_params *params, int dim, int64_t n_in, int64_t n_out, int64_t at,
                        int64_t *low, int64_t *high, double *weight);
/* Taps of all output rows, then of all output columns. */
void pcti_resize_taps(const pct_resize_params *params, const pcti_tensor *src, const pcti_tensor *dst,
                      pcti_resize_tap *taps);

#endif
