/* Ops that put values elsewhere and change none: concat, slice, pad, transpose, reshape. Most of them are
 * views. */
#include "op/copy.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char *const src_names[] = {"src"};

static void copy_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops = 0;
}

/* ---- moves ---- */

int64_t pcti_move_elems(const pcti_move *move)
{
    int64_t elems = 1;
    for (int d = 0; d < move->rank; d++) elems *= move->dims[d];
    return elems;
}

static void add_dim(pcti_move *move, int64_t count, int64_t src_stride, int64_t dst_stride)
{
    int last = move->rank - 1;
    if (count == 1) return;
    if (last >= 0 && move->src_strides[last] == count * src_stride && move->dst_strides[last] == count * dst_stride) {
        move->dims[last] *= count;
        move->src_strides[last] = src_stride;
        move->dst_strides[last] = dst_stride;
        return;
    }
    move->dims[move->rank] = count;
    move->src_strides[move->rank] = src_stride;
    move->dst_strides[move->rank++] = dst_stride;
}

/* The box of dst's indices; src_strides are those of dst's dimensions. */
static pcti_move box_of(const pcti_tensor *dst, const int64_t *src_strides, int64_t src_offset)
{
    pcti_move move = {.src_offset = src_offset, .dst_offset = dst->offset};
    if (dst->channel_block == 1) {
        for (int d = 0; d < dst->rank; d++) add_dim(&move, dst->dims[d], src_strides[d], dst->strides[d]);
        return move;
    }
    add_dim(&move, dst->dims[0], src_strides[0], dst->strides[0]);
    add_dim(&move, dst->dims[2], src_strides[2], dst->strides[2]);
    add_dim(&move, pcti_ceil_div(dst->dims[1], PCTI_BLOCK), src_strides[1], dst->strides[1]);
    add_dim(&move, dst->dims[3], src_strides[3], dst->strides[3]);
    add_dim(&move, PCTI_BLOCK, 1, 1);
    return move;
}

pcti_move pcti_move_same(const pcti_tensor *src, const pcti_tensor *dst)
{
    return box_of(dst, src->strides, src->offset);
}

/* ---- concat ---- */

static const pcti_field concat_fields[] = {PCTI_INT(pct_concat_params, axis, 0, false)};

static pct_status concat_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    char name[16] = "src", first[PCTI_SHAPE_TEXT], other[PCTI_SHAPE_TEXT];
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 1, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_axis(((const pct_concat_params *)params)->axis, src[0].rank, &axis));
    *dst = src[0];
    for (int i = 1; i < n_src; i++) {
        snprintf(name, sizeof name, "src%d", i);
        PCTI_RETURN_IF_FAILED(pcti_check_rank(name, &src[i], src[0].rank, src[0].rank));
        if (src[i].dtype != src[0].dtype)
            return pcti_fail(PCT_ERROR_SHAPE, "%s is %s, but src is %s: types differ", name,
                             pcti_shape_print(&src[i], other, sizeof other),
                             pcti_shape_print(&src[0], first, sizeof first));
        for (int d = 0; d < src[0].rank; d++)
            if (d != axis) PCTI_RETURN_IF_FAILED(pcti_check_dim(name, &src[i], d, src[0].dims[d]));
        if (pcti_dim_is_symbol(src[i].dims[axis]) || pcti_dim_is_symbol(dst->dims[axis]))
            return pcti_fail(PCT_ERROR_SHAPE, "%s: dimension %d, along which it is joined, has no value yet", name,
                             axis);
        dst->dims[axis] += src[i].dims[axis];
    }
    return PCT_OK;
}

static pct_status concat_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pcti_tensor *out = &call->dst[0].tensor;
    int axis, rank = out->rank;
    PCTI_RETURN_IF_FAILED(pcti_check_axis(((const pct_concat_params *)call->params)->axis, rank, &axis));
    int64_t outer = 1, inner = 1, start = 0;
    for (int d = 0; d < axis; d++) outer *= out->dims[d];
    for (int d = axis + 1; d < rank; d++) inner *= out->dims[d];
    for (int i = 0; i < call->n_src; i++) {
        int64_t count = call->src[i].tensor.dims[axis] * inner;
        for (int64_t o = 0; o < outer; o++) /* an operand may lie in its place already */
            memmove(dst[0] + o * out->dims[axis] * inner + start, src[i] + o * count, (size_t)count * sizeof(double));
        start += count;
    }
    return PCT_OK;
}

bool pcti_concat_range(int axis, int64_t start, const pcti_tensor *src, const pcti_tensor *dst, pcti_tensor *range)
{
    int64_t count = src->dims[axis], blocks = start;
    if (axis == 1 && dst->channel_block > 1) {
        if (start % PCTI_BLOCK || (count % PCTI_BLOCK && start + count != dst->dims[1])) return false;
        blocks = start / PCTI_BLOCK;
    }
    *range = *dst;
    range->dims[axis] = count;
    range->offset = dst->offset + blocks * dst->strides[axis];
    return true;
}

/* Along the two outermost dimensions only: elsewhere a range would have a stride that tensors cannot have. */
static bool concat_view_into(const void *params, int i, const pcti_tensor *srcs, const pcti_tensor *dst,
                             pcti_tensor *src)
{
    int64_t axis = ((const pct_concat_params *)params)->axis, start = 0;
    if (axis < 0) axis += dst->rank;
    if (axis > 1) return false;
    for (int j = 0; j < i; j++) start += srcs[j].dims[axis];
    return pcti_concat_range((int)axis, start, &srcs[i], dst, src);
}

const pcti_op pcti_op_concat = {
    .name = "concat",
    .family = "copy",
    .summary = "the operands one after the other along an axis",
    .params_bytes = sizeof(pct_concat_params),
    .fields = concat_fields,
    .n_fields = 1,
    .src_names = src_names,
    .min_src = 1,
    .max_src = PCTI_VARIADIC,
    .n_dst = 1,
    .infer = concat_infer,
    .cost = copy_cost,
    .ref = concat_ref,
    .view_into = concat_view_into,
};

/* ---- slice ---- */

static const pcti_field slice_fields[] = {
    PCTI_LIST(pct_slice_params, axes, n_axes),
    PCTI_LIST(pct_slice_params, starts, n_axes),
    PCTI_LIST(pct_slice_params, ends, n_axes),
    PCTI_LIST(pct_slice_params, steps, n_axes),
};

/* One range of a dimension of n elements by ONNX's rules. */
static void clamp_range(int64_t n, int64_t from, int64_t to, int64_t by, int64_t *start, int64_t *step,
                        int64_t *count)
{
    int64_t low = by < 0 ? -1 : 0, high = by < 0 ? n - 1 : n;
    if (from < 0) from += n;
    if (to < 0) to += n;
    from = pcti_max(0, from);
    *start = pcti_min(high, from);
    to = pcti_max(low, pcti_min(high, to));
    *step = pcti_max(-n - 1, pcti_min(n + 1, by)); /* further is no different, and cannot overflow */
    int64_t distance = *step < 0 ? *start - to : to - *start, stride = *step < 0 ? -*step : *step;
    *count = distance > 0 ? pcti_ceil_div(distance, stride) : 0;
}

/* The range that params asks of dimension d; the whole dimension where none. */
static void range_of(const pct_slice_params *p, const pct_shape *src, int d, int64_t *start, int64_t *step,
                     int64_t *count)
{
    *start = 0;
    *step = 1;
    *count = src->dims[d];
    for (int i = 0; i < p->n_axes; i++) {
        int64_t axis = p->axes[i] < 0 ? p->axes[i] + src->rank : p->axes[i];
        if (axis == d)
            clamp_range(src->dims[d], p->starts[i], p->ends[i], p->steps[i] ? p->steps[i] : 1, start, step, count);
    }
}

static pct_status slice_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_slice_params *p = params;
    bool seen[PCT_MAX_RANK] = {false};
    *dst = src[0];
    if (p->n_axes < 0 || p->n_axes > PCT_MAX_RANK)
        return pcti_fail(PCT_ERROR_ARGUMENT, "n_axes %lld: must be 0 to %d", (long long)p->n_axes, PCT_MAX_RANK);
    for (int i = 0; i < p->n_axes; i++) {
        int axis;
        int64_t start, step;
        PCTI_RETURN_IF_FAILED(pcti_check_axis(p->axes[i], src->rank, &axis));
        if (seen[axis]) return pcti_fail(PCT_ERROR_ARGUMENT, "axes name dimension %d twice", axis);
        seen[axis] = true;
        if (!pcti_dim_is_symbol(src->dims[axis])) {
            range_of(p, src, axis, &start, &step, &dst->dims[axis]);
            continue;
        }
        bool whole = p->starts[i] == 0 && p->ends[i] >= INT32_MAX && (p->steps[i] == 0 || p->steps[i] == 1);
        if (!whole)
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d has no value yet and can only be taken whole", axis);
    }
    return PCT_OK;
}

void pcti_slice_resolve(const pct_slice_params *params, const pct_shape *src, int64_t *starts, int64_t *steps)
{
    int64_t count;
    for (int d = 0; d < src->rank; d++) range_of(params, src, d, &starts[d], &steps[d], &count);
}

static pct_status slice_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pcti_tensor *in = &call->src[0].tensor, *out = &call->dst[0].tensor;
    int64_t starts[PCT_MAX_RANK], steps[PCT_MAX_RANK], elems = pcti_tensor_elems(out);
    pct_shape shape = pcti_tensor_shape(in);
    pcti_slice_resolve(call->params, &shape, starts, steps);
    for (int64_t i = 0; i < elems; i++) {
        int64_t rest = i, at = 0, pitch = 1;
        for (int d = out->rank - 1; d >= 0; d--) {
            at += (starts[d] + rest % out->dims[d] * steps[d]) * pitch;
            rest /= out->dims[d];
            pitch *= in->dims[d];
        }
        dst[0][i] = src[0][at];
    }
    return PCT_OK;
}

bool pcti_slice_keeps_blocks(const pct_slice_params *params, const pct_shape *src, const pct_shape *dst)
{
    int64_t start, step, count;
    range_of(params, src, 1, &start, &step, &count);
    return step == 1 && start % PCTI_BLOCK == 0 && (dst->dims[1] % PCTI_BLOCK == 0 || start + count == src->dims[1]);
}

static int64_t slice_offset(const pcti_tensor *src, const int64_t *starts)
{
    int64_t offset = src->offset;
    for (int d = 0; d < src->rank; d++)
        offset += (d == 1 ? starts[d] / src->channel_block : starts[d]) * src->strides[d];
    return offset;
}

pcti_move pcti_move_slice(const pct_slice_params *params, const pcti_tensor *src, const pcti_tensor *dst)
{
    int64_t starts[PCT_MAX_RANK], steps[PCT_MAX_RANK], strides[PCT_MAX_RANK];
    pct_shape shape = pcti_tensor_shape(src);
    pcti_slice_resolve(params, &shape, starts, steps);
    for (int d = 0; d < src->rank; d++) strides[d] = steps[d] * src->strides[d];
    return box_of(dst, strides, slice_offset(src, starts));
}

static bool slice_view(const void *params, const pcti_tensor *src, pcti_tensor *dst)
{
    int64_t starts[PCT_MAX_RANK], steps[PCT_MAX_RANK];
    pct_shape from = pcti_tensor_shape(src), to = pcti_tensor_shape(dst);
    pcti_slice_resolve(params, &from, starts, steps);
    for (int d = 0; d < src->rank; d++)
        if (to.dims[d] != from.dims[d] && (d > 1 || steps[d] != 1)) return false;
    for (int d = 0; d < src->rank; d++)
        if (steps[d] < 0 && to.dims[d] > 1) return false;
    if (src->channel_block > 1 && !pcti_slice_keeps_blocks(params, &from, &to)) return false;
    *dst = *src;
    memcpy(dst->dims, to.dims, sizeof dst->dims);
    dst->offset = slice_offset(src, starts);
    return true;
}

const pcti_op pcti_op_slice = {
    .name = "slice",
    .family = "copy",
    .summary = "a range of each of some dimensions",
    .params_bytes = sizeof(pct_slice_params),
    .fields = slice_fields,
    .n_fields = sizeof slice_fields / sizeof *slice_fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = slice_infer,
    .cost = copy_cost,
    .ref = slice_ref,
    .view = slice_view,
};

/* ---- pad ---- */

static const char *const pad_modes[] = {"constant", "reflect", "edge", NULL};
static const pcti_field pad_fields[] = {
    PCTI_ENUM(pct_pad_params, mode, pad_modes),
    PCTI_FLOAT(pct_pad_params, value, 0, false),
    PCTI_LIST(pct_pad_params, begin, rank),
    PCTI_LIST(pct_pad_params, end, rank),
};

static pct_status pad_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_pad_params *p = params;
    if (p->rank != src->rank)
        return pcti_fail(PCT_ERROR_SHAPE, "pads are given for %lld dimensions, src has %d", (long long)p->rank,
                         src->rank);
    *dst = src[0];
    for (int d = 0; d < src->rank; d++) {
        int64_t n = src->dims[d], begin = p->begin[d], end = p->end[d];
        if (begin == 0 && end == 0) continue;
        if (pcti_dim_is_symbol(n))
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d has no value yet and cannot be padded", d);
        int64_t wider = pcti_max(begin, end);
        if (begin < -n || end < -n || wider > INT32_MAX || begin + end < -n)
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d of %lld cannot have pads %lld and %lld", d,
                             (long long)n, (long long)begin, (long long)end);
        dst->dims[d] = n + begin + end;
        if (p->mode == PCT_PAD_REFLECT && wider > 0 && wider >= n)
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d of %lld can be reflected by %lld at most, not %lld",
                             d, (long long)n, (long long)pcti_max(0, n - 1), (long long)wider);
        if (p->mode == PCT_PAD_EDGE && wider > 0 && n == 0)
            return pcti_fail(PCT_ERROR_SHAPE, "src: dimension %d is empty and has no edge", d);
    }
    return PCT_OK;
}

static pct_status pad_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_pad_params *p = call->params;
    const pcti_tensor *in = &call->src[0].tensor, *out = &call->dst[0].tensor;
    int64_t elems = pcti_tensor_elems(out);
    for (int64_t i = 0; i < elems; i++) {
        int64_t rest = i, at = 0, pitch = 1;
        bool inside = true;
        for (int d = out->rank - 1; d >= 0; d--) {
            int64_t index = pcti_pad_index((pct_pad_mode)p->mode, rest % out->dims[d], p->begin[d], in->dims[d]);
            inside = inside && index >= 0;
            at += index * pitch;
            rest /= out->dims[d];
            pitch *= in->dims[d];
        }
        dst[0][i] = inside ? src[0][at] : p->value;
    }
    return PCT_OK;
}

const pcti_op pcti_op_pad = {
    .name = "pad",
    .family = "copy",
    .summary = "elements added (or removed) at the ends of dimensions",
    .params_bytes = sizeof(pct_pad_params),
    .fields = pad_fields,
    .n_fields = sizeof pad_fields / sizeof *pad_fields,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = pad_infer,
    .cost = copy_cost,
    .ref = pad_ref,
};

/* ---- transpose ---- */

static const pcti_field transpose_fields[] = {PCTI_LIST(pct_transpose_params, axes, rank)};

static int source_axis(const pct_transpose_params *p, int d, int rank)
{
    if (p->rank == 0) return rank - 1 - d;
    return (int)(p->axes[d] < 0 ? p->axes[d] + rank : p->axes[d]);
}

static pct_status transpose_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_transpose_params *p = params;
    bool seen[PCT_MAX_RANK] = {false};
    if (p->rank != 0 && p->rank != src->rank)
        return pcti_fail(PCT_ERROR_SHAPE, "axes are given for %lld dimensions, src has %d", (long long)p->rank,
                         src->rank);
    *dst = src[0];
    for (int d = 0; d < src->rank; d++) {
        int axis;
        PCTI_RETURN_IF_FAILED(pcti_check_axis(p->rank ? p->axes[d] : source_axis(p, d, src->rank), src->rank, &axis));
        if (seen[axis]) return pcti_fail(PCT_ERROR_ARGUMENT, "axes name dimension %d twice", axis);
        seen[axis] = true;
        dst->dims[d] = src->dims[axis];
    }
    return PCT_OK;
}

pcti_move pcti_move_transpose(const pct_transpose_params *params, const pcti_tensor *src, const pcti_tensor *dst)
{
    int64_t strides[PCT_MAX_RANK];
    for (int d = 0; d < src->rank; d++) strides[d] = src->strides[source_axis(params, d, src->rank)];
    return box_of(dst, strides, src->offset);
}

static pct_status transpose_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pcti_tensor *in = &call->src[0].tensor, *out = &call->dst[0].tensor;
    int64_t pitches[PCT_MAX_RANK], pitch = 1, elems = pcti_tensor_elems(out);
    for (int d = in->rank - 1; d >= 0; d--) {
        pitches[d] = pitch;
        pitch *= in->dims[d];
    }
    for (int64_t i = 0; i < elems; i++) {
        int64_t rest = i, at = 0;
        for (int d = out->rank - 1; d >= 0; d--) {
            at += rest % out->dims[d] * pitches[source_axis(call->params, d, in->rank)];
            rest /= out->dims[d];
        }
        dst[0][i] = src[0][at];
    }
    return PCT_OK;
}

const pcti_op pcti_op_transpose = {
    .name = "transpose",
    .family = "copy",
    .summary = "dimensions in another order",
    .params_bytes = sizeof(pct_transpose_params),
    .fields = transpose_fields,
    .n_fields = 1,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = transpose_infer,
    .cost = copy_cost,
    .ref = transpose_ref,
};

/* ---- reshape ---- */

static const pcti_field reshape_fields[] = {PCTI_LIST(pct_reshape_params, dims, rank)};

/* The product of the dimensions that stand on one side only; symbols among them are counted apart. */
typedef struct unmatched {
    int64_t product, symbol;
    int n_symbols;
} unmatched;

static pct_status add_unmatched(unmatched *u, const pct_shape *src, int64_t dim)
{
    char text[PCTI_SHAPE_TEXT];
    if (pcti_dim_is_symbol(dim)) {
        u->symbol = dim;
        u->n_symbols++;
    } else if (!pcti_mul_int64(u->product, dim, &u->product))
        return pcti_fail(PCT_ERROR_SHAPE, "src %s has too many elements", pcti_shape_print(src, text, sizeof text));
    return PCT_OK;
}

static pct_status reshape_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_reshape_params *p = params;
    char text[PCTI_SHAPE_TEXT], wanted[PCTI_SHAPE_TEXT];
    unmatched have = {.product = 1}, want = {.product = 1};
    int inferred = -1;
    if (p->rank < 0 || p->rank > PCT_MAX_RANK)
        return pcti_fail(PCT_ERROR_ARGUMENT, "rank %lld: must be 0 to %d", (long long)p->rank, PCT_MAX_RANK);
    *dst = (pct_shape){.dtype = src->dtype, .rank = (int32_t)p->rank};
    for (int d = 0; d < p->rank; d++) {
        int64_t dim = p->dims[d];
        if (dim < -1 || (dim == -1 && inferred >= 0))
            return pcti_fail(PCT_ERROR_ARGUMENT, "dims: %lld at %d: only one may be -1, the others are counts or 0",
                             (long long)dim, d);
        if (dim == 0 && d >= src->rank)
            return pcti_fail(PCT_ERROR_SHAPE, "dims: 0 at %d copies a dimension that src %s does not have", d,
                             pcti_shape_print(src, text, sizeof text));
        if (dim == -1) inferred = d;
        dst->dims[d] = dim == 0 ? src->dims[d] : dim;
        if (dim > 0) PCTI_RETURN_IF_FAILED(add_unmatched(&want, src, dim));
    }
    for (int d = 0; d < src->rank; d++) /* what a 0 copies stands on both sides */
        if (d >= p->rank || p->dims[d] != 0) PCTI_RETURN_IF_FAILED(add_unmatched(&have, src, src->dims[d]));
    bool good = false;
    if (inferred >= 0 && have.n_symbols == 1) { /* the symbol itself, where the rest fits */
        good = have.product == want.product;
        dst->dims[inferred] = have.symbol;
    } else if (inferred >= 0 && have.n_symbols == 0) {
        good = want.product > 0 && have.product % want.product == 0;
        dst->dims[inferred] = good ? have.product / want.product : -1;
    } else if (have.n_symbols == 0)
        good = have.product == want.product;
    if (good) return PCT_OK;
    return pcti_fail(PCT_ERROR_SHAPE, "src %s does not fill %s", pcti_shape_print(src, text, sizeof text),
                     pcti_shape_print(dst, wanted, sizeof wanted));
}

static pct_status reshape_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    memcpy(dst[0], src[0], (size_t)pcti_tensor_elems(&call->dst[0].tensor) * sizeof(double));
    return PCT_OK;
}

/* Blocked (N,C,1,1) and plain (N,C) lie alike but for the padding channels, which the plain one leaves out.
 */
static bool view_of_vectors(const pcti_tensor *src, pcti_tensor *dst)
{
    bool alike = src->dims[0] == dst->dims[0] && src->dims[1] == dst->dims[1];
    if (src->channel_block > 1) {
        if (!alike || dst->rank != 2 || src->dims[2] != 1 || src->dims[3] != 1) return false;
        dst->strides[0] = src->strides[0];
        dst->offset = src->offset;
        return true;
    }
    if (!alike || src->dtype != PCT_F32 || src->rank != 2 || dst->rank != 4 || dst->dims[2] != 1 || dst->dims[3] != 1)
        return false;
    if (src->dims[1] == 0 || src->dims[1] % PCTI_BLOCK || src->strides[0] % PCTI_BLOCK || src->offset % PCTI_BLOCK)
        return false;
    pct_shape shape = pcti_tensor_shape(dst);
    *dst = pcti_tensor_dense(&shape, PCTI_BLOCK);
    dst->strides[0] = src->strides[0];
    dst->offset = src->offset;
    return true;
}

static bool reshape_view(const void *params, const pcti_tensor *src, pcti_tensor *dst)
{
    pct_shape from = pcti_tensor_shape(src), to = pcti_tensor_shape(dst);
    if (pcti_shape_equal(&from, &to)) {
        *dst = *src;
        return true;
    }
    *dst = pcti_tensor_dense(&to, 1);
    if (view_of_vectors(src, dst)) return true;
    if (src->channel_block > 1) return false;
    dst->offset = src->offset;
    if (pcti_tensor_is_dense(src)) return true;
    if (dst->rank < 2 || dst->dims[0] != src->dims[0]) return false;
    dst->strides[0] = src->strides[0];
    return true;
}

const pcti_op pcti_op_reshape = {
    .name = "reshape",
    .family = "copy",
    .summary = "the same elements, in row-major order, under another shape (flatten, squeeze, unsqueeze)",
    .params_bytes = sizeof(pct_reshape_params),
    .fields = reshape_fields,
    .n_fields = 1,
    .src_names = src_names,
    .min_src = 1,
    .max_src = 1,
    .n_dst = 1,
    .infer = reshape_infer,
    .cost = copy_cost,
    .ref = reshape_ref,
    .view = reshape_view,
};
