/* What the copy family's ops mean as memory, for every backend: boxes of elements that move. */
#ifndef PCTI_OP_COPY_H
#define PCTI_OP_COPY_H

#include "op/op.h"

/* For every index i of a box: dst[dst_offset + sum i[d]*dst_strides[d]] = src[src_offset + sum
 * i[d]*src_strides[d]], in elements from each buffer's start. Dimensions of 1 are left out and neighbours
 * that lie end to end are one. Blocked pictures are boxes (N, H, C/16, W, 16), so that linear shares of a box
 * are picture rows. */
typedef struct pcti_move {
    int rank;
    int64_t dims[PCT_MAX_RANK], src_strides[PCT_MAX_RANK], dst_strides[PCT_MAX_RANK];
    int64_t src_offset, dst_offset;
} pcti_move;

int64_t pcti_move_elems(const pcti_move *move);

/* Two tensors of one shape and layout, whatever their strides. */
pcti_move pcti_move_same(const pcti_tensor *src, const pcti_tensor *dst);
/* slice: steps may be negative. Blocked operands as pcti_slice_keeps_blocks allows. */
pcti_move pcti_move_slice(const pct_slice_params *params, const pcti_tensor *src, const pcti_tensor *dst);
/* transpose of plain operands. */
pcti_move pcti_move_transpose(const pct_transpose_params *params, const pcti_tensor *src, const pcti_tensor *dst);

/* The part of concat's result that begins at `start` along the axis and is shaped like src; false where it
 * does not consist of whole channel blocks. */
bool pcti_concat_range(int axis, int64_t start, const pcti_tensor *src, const pcti_tensor *dst, pcti_tensor *range);

/* First index and step of every dimension of src, after ONNX's clamping. */
void pcti_slice_resolve(const pct_slice_params *params, const pct_shape *src, int64_t *starts, int64_t *steps);
/* Does the slice of a blocked tensor consist of whole channel blocks, padding channels included? */
bool pcti_slice_keeps_blocks(const pct_slice_params *params, const pct_shape *src, const pct_shape *dst);

/* The index in a dimension of `count` elements that pad shows at index i; -1 for the constant. */
static inline int64_t pcti_pad_index(pct_pad_mode mode, int64_t i, int64_t begin, int64_t count)
{
    int64_t at = i - begin;
    if (at >= 0 && at < count) return at;
    if (mode == PCT_PAD_EDGE) return at < 0 ? 0 : count - 1;
    if (mode == PCT_PAD_REFLECT) return at < 0 ? -at : 2 * (count - 1) - at;
    return -1;
}

/* Offset of element `at` (row-major) of a plain tensor from its first, and how many elements follow it without a gap.
 */
static inline int64_t pcti_place_of(const pcti_tensor *tensor, int64_t at, int64_t *follow)
{
    int64_t inner = pcti_tensor_picture_elems(tensor);
    *follow = inner - at % inner;
    return tensor->rank ? at / inner * tensor->strides[0] + at % inner : 0;
}

#endif
