/* Copies of boxes of elements. Every thread takes a linear share of each box. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/memory.h"
#include "op/copy.h"

/* ---- moves ---- */

#define STRIDED(name, type)                                                                                          \
    static void name(const char *src, int64_t src_stride, char *dst, int64_t dst_stride, int64_t count)              \
    {                                                                                                                \
        const type *s = (const type *)(const void *)src;                                                             \
        type *d = (type *)(void *)dst;                                                                               \
        for (int64_t i = 0; i < count; i++) d[i * dst_stride] = s[i * src_stride];                                   \
    }
STRIDED(strided_1, uint8_t)
STRIDED(strided_2, uint16_t)
STRIDED(strided_4, uint32_t)
STRIDED(strided_8, uint64_t)
#undef STRIDED

static void copy_run(const char *src, int64_t src_stride, char *dst, int64_t dst_stride, int64_t count,
                     size_t element)
{
    if (src_stride == 1 && dst_stride == 1)
        memcpy(dst, src, (size_t)count * element);
    else if (element == 4)
        strided_4(src, src_stride, dst, dst_stride, count);
    else if (element == 8)
        strided_8(src, src_stride, dst, dst_stride, count);
    else if (element == 2)
        strided_2(src, src_stride, dst, dst_stride, count);
    else
        strided_1(src, src_stride, dst, dst_stride, count);
}

/* This thread's share of a move between two buffers. */
static void run_move(const pcti_move *m, const pcti_team *team, const pcti_operand *src, const pcti_operand *dst)
{
    size_t element = pct_dtype_size(src->tensor.dtype);
    const char *from = src->buffer->handle;
    char *to = dst->buffer->handle;
    int last = m->rank - 1;
    int64_t inner = m->rank ? m->dims[last] : 1, first, end;
    int64_t src_stride = m->rank ? m->src_strides[last] : 1, dst_stride = m->rank ? m->dst_strides[last] : 1;
    pcti_team_share(team, pcti_move_elems(m), &first, &end);
    while (first < end) {
        int64_t at = first % inner, rest = first / inner, count = pcti_min(inner - at, end - first);
        int64_t s = m->src_offset + at * src_stride, d = m->dst_offset + at * dst_stride;
        for (int i = last - 1; i >= 0; i--) {
            int64_t index = rest % m->dims[i];
            s += index * m->src_strides[i];
            d += index * m->dst_strides[i];
            rest /= m->dims[i];
        }
        copy_run(from + s * (int64_t)element, src_stride, to + d * (int64_t)element, dst_stride, count, element);
        first += count;
    }
}

/* ---- concat ---- */

static int concat_axis(const pcti_call *call)
{
    int64_t axis = ((const pct_concat_params *)call->params)->axis;
    return (int)(axis < 0 ? axis + call->dst[0].tensor.rank : axis);
}

static bool accept_concat(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pcti_tensor *dst = &call->dst[0].tensor;
    pcti_tensor range;
    int axis = concat_axis(call);
    int64_t start = 0;
    for (int i = 0; i < call->n_src; i++) {
        const pcti_tensor *src = &call->src[i].tensor;
        if (src->channel_block != dst->channel_block) return pcti_refuse(why, "operand %d has another layout", i);
        if (!pcti_concat_range(axis, start, src, dst, &range))
            return pcti_refuse(why, "operand %d has channels %lld to %lld, no whole blocks", i, (long long)start,
                               (long long)(start + src->dims[axis]));
        start += src->dims[axis];
    }
    return true;
}

static bool accept_concat_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->dst[0].tensor.channel_block == 1) return pcti_refuse(why, "no picture");
    return accept_concat(call, device, why);
}

static void run_concat(const pcti_step *step, pcti_team *team)
{
    int axis = concat_axis(&step->call);
    int64_t start = 0;
    for (int i = 0; i < step->call.n_src; i++) {
        const pcti_operand *src = &step->src[i];
        pcti_operand range = step->dst[0];
        pcti_concat_range(axis, start, &src->tensor, &step->dst[0].tensor, &range.tensor);
        start += src->tensor.dims[axis];
        if (pcti_operand_same(src, &range)) continue; /* its producer wrote it in place */
        pcti_move move = pcti_move_same(&src->tensor, &range.tensor);
        run_move(&move, team, src, &range);
    }
}

const pcti_impl pcti_cpu_impls_concat[] = {
    {.name = "copy_blocked", .layout = PCTI_LAYOUT_BLOCKED, .accept = accept_concat_blocked, .run_share = run_concat},
    {.name = "copy", .layout = PCTI_LAYOUT_PLAIN, .accept = accept_concat, .run_share = run_concat},
    {0},
};

/* ---- slice ---- */

/* With fewer channels than a block, most of a blocked tensor is padding: such pictures stay plain. */
static bool blocked_picture(const pcti_call *call, pcti_why *why)
{
    const pcti_tensor *src = &call->src[0].tensor;
    if (src->channel_block == 1 || call->dst[0].tensor.channel_block == 1) return pcti_refuse(why, "no picture");
    if (src->dims[1] < PCTI_BLOCK) return pcti_refuse(why, "%d channels do not fill a block", (int)src->dims[1]);
    return true;
}

static bool accept_slice_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (!blocked_picture(call, why)) return false;
    pct_shape src = pcti_tensor_shape(&call->src[0].tensor), dst = pcti_tensor_shape(&call->dst[0].tensor);
    if (!pcti_slice_keeps_blocks(call->params, &src, &dst)) return pcti_refuse(why, "not of whole channel blocks");
    return true;
}

static void run_slice(const pcti_step *step, pcti_team *team)
{
    pcti_move move = pcti_move_slice(step->call.params, &step->src[0].tensor, &step->dst[0].tensor);
    run_move(&move, team, &step->src[0], &step->dst[0]);
}

const pcti_impl pcti_cpu_impls_slice[] = {
    {.name = "copy_blocked", .layout = PCTI_LAYOUT_BLOCKED, .accept = accept_slice_blocked, .run_share = run_slice},
    {.name = "copy", .layout = PCTI_LAYOUT_PLAIN, .run_share = run_slice},
    {0},
};

/* ---- pad ---- */

static bool accept_pad(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    const pct_pad_params *p = call->params;
    if (p->mode == PCT_PAD_CONSTANT && p->value != 0 && (dtype == PCT_F16 || dtype == PCT_BF16))
        return pcti_refuse(why, "a constant of type %s", pct_dtype_name(dtype));
    return true;
}

static bool accept_pad_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_pad_params *p = call->params;
    if (!blocked_picture(call, why)) return false;
    if (p->begin[1] || p->end[1]) return pcti_refuse(why, "pads channels");
    if (p->mode == PCT_PAD_CONSTANT && p->value != 0 && call->src[0].tensor.dims[1] % PCTI_BLOCK)
        return pcti_refuse(why, "would fill padding channels");
    return true;
}

/* The constant in the tensor's type. */
static void store_value(pct_dtype dtype, double value, void *dst)
{
    switch (dtype) {
    case PCT_F32:
        *(float *)dst = (float)value;
        break;
    case PCT_F64:
        *(double *)dst = value;
        break;
    case PCT_I32:
        *(int32_t *)dst = (int32_t)value;
        break;
    case PCT_I64:
        *(int64_t *)dst = (int64_t)value;
        break;
    case PCT_U8:
    case PCT_BOOL:
        *(uint8_t *)dst = (uint8_t)value;
        break;
    case PCT_F16:
    case PCT_BF16:
        *(uint16_t *)dst = 0;
        break;
    }
}

/* One innermost row: `count` units of `unit` bytes, from a source row (NULL: all outside). */
static void pad_row(const pct_pad_params *p, int64_t begin, int64_t n_src, int64_t count, const char *src, char *dst,
                    size_t unit, const char *fill)
{
    int64_t first = src ? pcti_max(0, pcti_min(begin, count)) : count;
    int64_t end = src ? pcti_max(first, pcti_min(count, begin + n_src)) : count;
    for (int64_t i = 0; i < count; i++) {
        if (i == first) i = end;
        if (i >= count) break;
        int64_t at = src ? pcti_pad_index((pct_pad_mode)p->mode, i, begin, n_src) : -1;
        memcpy(dst + (size_t)i * unit, at >= 0 ? src + (size_t)at * unit : fill, unit);
    }
    if (end > first)
        memcpy(dst + (size_t)first * unit, src + (first - begin) * (int64_t)unit, (size_t)(end - first) * unit);
}

/* The tensor's dimensions, the innermost last; a block of channels counts as one unit. */
static int pad_order(const pcti_tensor *dst, int *order)
{
    static const int blocked[] = {0, 2, 1, 3};
    for (int d = 0; d < dst->rank; d++) order[d] = dst->channel_block > 1 ? blocked[d] : d;
    return dst->rank;
}

static void run_pad(const pcti_step *step, pcti_team *team)
{
    const pct_pad_params *p = step->call.params;
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    size_t element = pct_dtype_size(d->dtype), unit = element * (size_t)d->channel_block;
    const char *src = pcti_operand_address(&step->src[0]);
    char *dst = pcti_operand_address(&step->dst[0]);
    _Alignas(8) char fill[8 * PCTI_BLOCK];
    int order[PCT_MAX_RANK], rank = pad_order(d, order), last = rank ? order[rank - 1] : 0;
    int64_t begin = rank ? p->begin[last] : 0, n_src = rank ? s->dims[last] : 1, count = rank ? d->dims[last] : 1;
    int64_t rows = 1, first, end, dims[PCT_MAX_RANK] = {0};
    for (int i = 0; i < d->channel_block; i++) store_value(d->dtype, p->value, fill + (size_t)i * element);
    for (int i = 0; i < rank - 1; i++) {
        dims[i] = order[i] == 1 ? pcti_ceil_div(d->dims[1], d->channel_block) : d->dims[order[i]];
        rows *= dims[i];
    }
    pcti_team_share(team, rows, &first, &end);
    for (int64_t row = first; row < end; row++) {
        int64_t rest = row, from = 0, to = 0;
        bool inside = true;
        for (int i = rank - 2; i >= 0; i--) {
            int axis = order[i];
            int64_t index = rest % dims[i];
            int64_t at = axis == 1 && d->channel_block > 1
                             ? index
                             : pcti_pad_index((pct_pad_mode)p->mode, index, p->begin[axis], s->dims[axis]);
            rest /= dims[i];
            inside = inside && at >= 0;
            from += at * s->strides[axis];
            to += index * d->strides[axis];
        }
        pad_row(p, begin, n_src, count, inside ? src + from * (int64_t)element : NULL, dst + to * (int64_t)element,
                unit, fill);
    }
}

const pcti_impl pcti_cpu_impls_pad[] = {
    {.name = "rows_blocked", .layout = PCTI_LAYOUT_BLOCKED, .accept = accept_pad_blocked, .run_share = run_pad},
    {.name = "rows", .layout = PCTI_LAYOUT_PLAIN, .accept = accept_pad, .run_share = run_pad},
    {0},
};

/* ---- transpose ---- */

/* The dimension whose elements are neighbours in src, where it is not the innermost of dst; -1. */
static int source_row_dim(const pcti_move *move)
{
    int last = move->rank - 1;
    if (last < 1 || move->src_strides[last] == 1) return -1;
    for (int d = 0; d < last; d++)
        if (move->src_strides[d] == 1) return d;
    return -1;
}

static pcti_move move_of_transpose(const pcti_call *call)
{
    return pcti_move_transpose(call->params, &call->src[0].tensor, &call->dst[0].tensor);
}

static bool accept_tiles(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_move move = move_of_transpose(call);
    if (pct_dtype_size(call->src[0].tensor.dtype) != 4) return pcti_refuse(why, "elements are not of 4 bytes");
    if (source_row_dim(&move) < 0) return pcti_refuse(why, "rows stay rows");
    return true;
}

/* Tiles of TILE x TILE, so that each cache line of either side is fetched once. */
static void run_tiles(const pcti_step *step, pcti_team *team)
{
    enum { TILE = 16 };
    pcti_move m = move_of_transpose(&step->call);
    const uint32_t *src = (const uint32_t *)step->src[0].buffer->handle + m.src_offset;
    uint32_t *dst = (uint32_t *)step->dst[0].buffer->handle + m.dst_offset;
    int last = m.rank - 1, across = source_row_dim(&m);
    int64_t n_across = m.dims[across], n_last = m.dims[last], src_row = m.src_strides[last],
            dst_row = m.dst_strides[across];
    int64_t tiles = pcti_ceil_div(n_across, TILE), planes = 1, first, end;
    for (int d = 0; d < last; d++)
        if (d != across) planes *= m.dims[d];
    pcti_team_share(team, planes * tiles, &first, &end);
    for (int64_t t = first; t < end; t++) {
        int64_t rest = t / tiles, from = 0, to = 0, y0 = t % tiles * TILE, y1 = pcti_min(n_across, y0 + TILE);
        for (int d = last - 1; d >= 0; d--) {
            if (d == across) continue;
            from += rest % m.dims[d] * m.src_strides[d];
            to += rest % m.dims[d] * m.dst_strides[d];
            rest /= m.dims[d];
        }
        for (int64_t x0 = 0; x0 < n_last; x0 += TILE)
            for (int64_t y = y0; y < y1; y++)
                for (int64_t x = x0; x < pcti_min(n_last, x0 + TILE); x++)
                    dst[to + y * dst_row + x] = src[from + x * src_row + y];
    }
}

static void run_transpose(const pcti_step *step, pcti_team *team)
{
    pcti_move move = move_of_transpose(&step->call);
    run_move(&move, team, &step->src[0], &step->dst[0]);
}

const pcti_impl pcti_cpu_impls_transpose[] = {
    {.name = "tiles", .layout = PCTI_LAYOUT_PLAIN, .accept = accept_tiles, .run_share = run_tiles},
    {.name = "rows", .layout = PCTI_LAYOUT_PLAIN, .run_share = run_transpose},
    {0},
};

/* ---- reshape ---- */

/* Runs where a view would not do: a constant, or pictures that lie apart and are cut anew. */
static void run_reshape(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor;
    size_t element = pct_dtype_size(d->dtype);
    const char *src = pcti_operand_address(&step->src[0]);
    char *dst = pcti_operand_address(&step->dst[0]);
    int64_t first, end, follow_src, follow_dst;
    pcti_team_share(team, pcti_tensor_elems(d), &first, &end);
    while (first < end) {
        int64_t from = pcti_place_of(s, first, &follow_src), to = pcti_place_of(d, first, &follow_dst);
        int64_t count = pcti_min(end - first, pcti_min(follow_src, follow_dst));
        memcpy(dst + to * (int64_t)element, src + from * (int64_t)element, (size_t)count * element);
        first += count;
    }
}

const pcti_impl pcti_cpu_impls_reshape[] = {
    {.name = "copy", .layout = PCTI_LAYOUT_PLAIN, .run_share = run_reshape},
    {0},
};
