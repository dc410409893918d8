/* Copies of boxes of elements on OpenCL devices. */
#include "backend/cl/cl_copy.h"

#include <stdio.h>

#include "op/copy.h"

enum { TILE = 16 };

/* ---- moves ---- */

/* An operand whose first element is where a move begins. */
static pcti_operand from_offset(const pcti_operand *operand, int64_t offset)
{
    pcti_operand moved = *operand;
    moved.tensor.offset = offset;
    return moved;
}

/* Columns are the last dimension, or one element where there is none. */
static void columns_of(const pcti_move *m, int64_t *columns, int64_t *src_stride, int64_t *dst_stride)
{
    int last = m->rank - 1;
    *columns = m->rank ? m->dims[last] : 1;
    *src_stride = m->rank ? m->src_strides[last] : 1;
    *dst_stride = m->rank ? m->dst_strides[last] : 1;
}

static pct_status add_move(pct_device *device, pcti_step *step, const pcti_move *m)
{
    int64_t columns, s, t;
    char options[96];
    columns_of(m, &columns, &s, &t);
    const size_t items[] = {(size_t)columns, (size_t)(pcti_move_elems(m) / columns)};
    snprintf(options, sizeof options, "-DTYPE=%s -DOUTER=%d%s", pcti_cl_element_type(step->dst[0].tensor.dtype),
             m->rank ? m->rank - 1 : 0, s == 1 && t == 1 ? " -DCONTIGUOUS" : "");
    return pcti_cl_launch_add(device, step, "copy", options, "move", 2, items, pcti_cl_rows_group(columns));
}

/* The dimensions but `skip` and the last, innermost first. */
static void arg_outer_dims(pcti_cl_args *args, const pcti_move *m, int skip)
{
    for (int d = m->rank - 2; d >= 0; d--) {
        if (d == skip) continue;
        pcti_cl_arg_index(args, m->dims[d]);
        pcti_cl_arg_index(args, m->src_strides[d]);
        pcti_cl_arg_index(args, m->dst_strides[d]);
    }
}

static pct_status bind_move(pct_device *device, pcti_step *step, int launch, const pcti_move *m,
                            const pcti_operand *src, const pcti_operand *dst)
{
    int64_t columns, s, t;
    columns_of(m, &columns, &s, &t);
    pcti_cl_args args = pcti_cl_args_of(device, step, launch);
    pcti_operand from = from_offset(src, m->src_offset), to = from_offset(dst, m->dst_offset);
    pcti_cl_arg_operand(&args, &from);
    pcti_cl_arg_operand(&args, &to);
    pcti_cl_arg_index(&args, columns);
    pcti_cl_arg_index(&args, s);
    pcti_cl_arg_index(&args, t);
    pcti_cl_arg_index(&args, pcti_move_elems(m) / columns);
    arg_outer_dims(&args, m, -1);
    return args.status;
}

/* ---- concat: a launch for each operand that has elements ---- */

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

/* Operands in order: `start` and `launch` are 0 at first; false past the last one. */
typedef struct concat_walk {
    int next, launch;
    int64_t start;
    const pcti_operand *src;
    pcti_operand range; /* of the result */
} concat_walk;

static bool concat_next(const pcti_step *step, concat_walk *w)
{
    int axis = concat_axis(&step->call);
    if (w->src) w->launch++;
    while (w->next < step->call.n_src) {
        w->src = &step->src[w->next++];
        w->range = step->dst[0];
        pcti_concat_range(axis, w->start, &w->src->tensor, &step->dst[0].tensor, &w->range.tensor);
        w->start += w->src->tensor.dims[axis];
        if (pcti_tensor_elems(&w->src->tensor) > 0) return true;
    }
    return false;
}

static pct_status prepare_concat(pct_device *device, pcti_step *step)
{
    for (concat_walk w = {0}; concat_next(step, &w);) {
        pcti_move move = pcti_move_same(&w.src->tensor, &w.range.tensor);
        PCTI_RETURN_IF_FAILED(add_move(device, step, &move));
    }
    return PCT_OK;
}

static pct_status bind_concat(pct_device *device, pcti_step *step)
{
    for (concat_walk w = {0}; concat_next(step, &w);) {
        pcti_move move = pcti_move_same(&w.src->tensor, &w.range.tensor);
        PCTI_RETURN_IF_FAILED(bind_move(device, step, w.launch, &move, w.src, &w.range));
    }
    return PCT_OK;
}

static pct_status run_concat(pct_device *device, pcti_step *step)
{
    for (concat_walk w = {0}; concat_next(step, &w);)
        if (!pcti_operand_same(w.src, &w.range)) /* else its producer wrote it in place */
            PCTI_RETURN_IF_FAILED(pcti_cl_run_launch(device, step, w.launch));
    return PCT_OK;
}

#define ROW(impl, rule, take, prepares, binds, runs)                                                                 \
    {                                                                                                                \
        .name = impl, .layout = rule, .accept = take, .prepare = prepares, .bind = binds, .run = runs,               \
        .release = pcti_cl_release                                                                                   \
    }
const pcti_impl pcti_cl_impls_concat[] = {
    ROW("copy_blocked", PCTI_LAYOUT_BLOCKED, accept_concat_blocked, prepare_concat, bind_concat, run_concat),
    ROW("copy", PCTI_LAYOUT_PLAIN, accept_concat, prepare_concat, bind_concat, run_concat),
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
    return pcti_slice_keeps_blocks(call->params, &src, &dst) || pcti_refuse(why, "not of whole channel blocks");
}

static pcti_move move_of(const pcti_call *call)
{
    const pcti_tensor *src = &call->src[0].tensor, *dst = &call->dst[0].tensor;
    return call->op == &pcti_op_slice ? pcti_move_slice(call->params, src, dst)
                                      : pcti_move_transpose(call->params, src, dst);
}

static pct_status prepare_move(pct_device *device, pcti_step *step)
{
    pcti_move move = move_of(&step->call);
    return add_move(device, step, &move);
}

static pct_status bind_only_move(pct_device *device, pcti_step *step)
{
    pcti_move move = move_of(&step->call);
    return bind_move(device, step, 0, &move, &step->src[0], &step->dst[0]);
}

const pcti_impl pcti_cl_impls_slice[] = {
    ROW("copy_blocked", PCTI_LAYOUT_BLOCKED, accept_slice_blocked, prepare_move, bind_only_move, pcti_cl_run),
    ROW("copy", PCTI_LAYOUT_PLAIN, NULL, prepare_move, bind_only_move, pcti_cl_run),
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

static bool accept_local(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_move move = move_of(call);
    return source_row_dim(&move) >= 0 || pcti_refuse(why, "rows stay rows");
}

/* Without local memory the reads of neighbouring items are far apart: only caches bear that. */
static bool accept_tiles(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (!pcti_cl_is_cpu(device)) return pcti_refuse(why, "no CPU");
    return accept_local(call, device, why);
}

static pct_status prepare_transpose(pct_device *device, pcti_step *step, const char *kernel, bool local)
{
    pcti_move m = move_of(&step->call);
    int last = m.rank - 1, down = source_row_dim(&m);
    int64_t across = pcti_ceil_div(m.dims[last], TILE), tiles_down = pcti_ceil_div(m.dims[down], TILE);
    int64_t planes = pcti_move_elems(&m) / (m.dims[last] * m.dims[down]);
    int64_t groups = pcti_min(across * tiles_down * planes, 1 << 16);
    const size_t tiles[] = {(size_t)across, (size_t)tiles_down, (size_t)planes}, one[] = {1, 1, 1};
    const size_t items[] = {(size_t)groups * TILE * TILE};
    char options[64];
    snprintf(options, sizeof options, "-DTYPE=%s -DOUTER=%d -DTILE=%d",
             pcti_cl_element_type(step->dst[0].tensor.dtype), m.rank - 2, TILE);
    if (local) return pcti_cl_launch_add(device, step, "copy", options, kernel, 1, items, NULL);
    return pcti_cl_launch_add(device, step, "copy", options, kernel, 3, tiles, one);
}

static pct_status prepare_tiles(pct_device *device, pcti_step *step)
{
    return prepare_transpose(device, step, "transpose_tiles", false);
}

static pct_status prepare_local(pct_device *device, pcti_step *step)
{
    return prepare_transpose(device, step, "transpose_local", true);
}

static pct_status bind_transpose(pct_device *device, pcti_step *step)
{
    pcti_move m = move_of(&step->call);
    int last = m.rank - 1, down = source_row_dim(&m);
    pcti_operand from = from_offset(&step->src[0], m.src_offset), to = from_offset(&step->dst[0], m.dst_offset);
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, &from);
    pcti_cl_arg_operand(&args, &to);
    pcti_cl_arg_index(&args, m.dims[last]);
    pcti_cl_arg_index(&args, m.dims[down]);
    pcti_cl_arg_index(&args, m.src_strides[last]);
    pcti_cl_arg_index(&args, m.dst_strides[down]);
    pcti_cl_arg_index(&args, pcti_move_elems(&m) / (m.dims[last] * m.dims[down]));
    arg_outer_dims(&args, &m, down);
    return args.status;
}

const pcti_impl pcti_cl_impls_transpose[] = {
    ROW("tiles", PCTI_LAYOUT_PLAIN, accept_tiles, prepare_tiles, bind_transpose, pcti_cl_run),
    ROW("tiles_local", PCTI_LAYOUT_PLAIN, accept_local, prepare_local, bind_transpose, pcti_cl_run),
    ROW("elements", PCTI_LAYOUT_PLAIN, NULL, prepare_move, bind_only_move, pcti_cl_run),
    {0},
};

/* ---- pad ---- */

static bool accept_pad(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    const pct_pad_params *p = call->params;
    pct_dtype dtype = call->src[0].tensor.dtype;
    bool is_whole = p->value >= INT32_MIN && p->value <= INT32_MAX && p->value == (double)(int32_t)p->value;
    if (p->mode != PCT_PAD_CONSTANT || p->value == 0 || dtype == PCT_F32) return true;
    if (dtype == PCT_F64 || dtype == PCT_F16 || dtype == PCT_BF16 || !is_whole)
        return pcti_refuse(why, "the constant %g of type %s", p->value, pct_dtype_name(dtype));
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

/* The result's dimensions, outermost first; those without pads are joined where both sides allow it. */
typedef struct pad_box {
    int rank;
    int64_t dims[PCT_MAX_RANK], src_strides[PCT_MAX_RANK], dst_strides[PCT_MAX_RANK], begin[PCT_MAX_RANK],
        count[PCT_MAX_RANK];
} pad_box;

static void add_pad_dim(pad_box *box, int64_t n, int64_t s, int64_t t, int64_t begin, int64_t count)
{
    int d = box->rank - 1;
    bool bare = begin == 0 && n == count;
    if (bare && n == 1) return;
    if (bare && d >= 0 && box->begin[d] == 0 && box->dims[d] == box->count[d] && box->src_strides[d] == n * s &&
        box->dst_strides[d] == n * t) {
        box->dims[d] *= n;
        box->count[d] *= n;
    } else {
        d = box->rank++;
        box->dims[d] = n;
        box->begin[d] = begin;
        box->count[d] = count;
    }
    box->src_strides[d] = s;
    box->dst_strides[d] = t;
}

static pad_box pad_box_of(const pcti_call *call)
{
    const pct_pad_params *p = call->params;
    const pcti_tensor *s = &call->src[0].tensor, *d = &call->dst[0].tensor;
    int64_t block = d->channel_block;
    pad_box box = {0};
    for (int i = 0; i < d->rank; i++) {
        int64_t n = i == 1 ? pcti_ceil_div(d->dims[1], block) : d->dims[i];
        int64_t count = i == 1 ? pcti_ceil_div(s->dims[1], block) : s->dims[i];
        add_pad_dim(&box, n, s->strides[i], d->strides[i], p->begin[i], count);
    }
    add_pad_dim(&box, block, 1, 1, 0, block);
    if (box.rank == 0) { /* one element */
        box.rank = 1;
        box.dims[0] = box.count[0] = 1;
    }
    return box;
}

static pct_status prepare_pad(pct_device *device, pcti_step *step)
{
    static const char *const modes[] = {"pad_constant", "pad_reflect", "pad_edge"};
    const pct_pad_params *p = step->call.params;
    pct_dtype dtype = step->dst[0].tensor.dtype;
    bool floats = dtype == PCT_F32;
    pad_box box = pad_box_of(&step->call);
    int64_t columns = box.dims[box.rank - 1], rows = 1;
    char options[128];
    for (int d = 0; d < box.rank - 1; d++) rows *= box.dims[d];
    const size_t items[] = {(size_t)columns, (size_t)rows};
    snprintf(options, sizeof options, "-DTYPE=%s -DVALUE=%s -DPAD=%s -DOUTER=%d",
             floats ? "float" : pcti_cl_element_type(dtype), floats ? "float" : "int", modes[p->mode], box.rank - 1);
    return pcti_cl_launch_add(device, step, "copy", options, "pad", 2, items, pcti_cl_rows_group(columns));
}

static pct_status bind_pad(pct_device *device, pcti_step *step)
{
    const pct_pad_params *p = step->call.params;
    pad_box box = pad_box_of(&step->call);
    int64_t rows = 1;
    for (int d = 0; d < box.rank - 1; d++) rows *= box.dims[d];
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    pcti_cl_arg_operand(&args, &step->src[0]);
    pcti_cl_arg_operand(&args, &step->dst[0]);
    if (step->dst[0].tensor.dtype == PCT_F32)
        pcti_cl_arg_float(&args, p->value);
    else
        pcti_cl_arg_int(&args, p->mode == PCT_PAD_CONSTANT ? (int64_t)p->value : 0);
    for (int d = box.rank - 1; d >= 0; d--) {
        pcti_cl_arg_index(&args, box.dims[d]);
        pcti_cl_arg_index(&args, box.src_strides[d]);
        pcti_cl_arg_index(&args, box.dst_strides[d]);
        pcti_cl_arg_index(&args, box.begin[d]);
        pcti_cl_arg_index(&args, box.count[d]);
        if (d == box.rank - 1) pcti_cl_arg_index(&args, rows);
    }
    return args.status;
}

const pcti_impl pcti_cl_impls_pad[] = {
    ROW("elements_blocked", PCTI_LAYOUT_BLOCKED, accept_pad_blocked, prepare_pad, bind_pad, pcti_cl_run),
    ROW("elements", PCTI_LAYOUT_PLAIN, accept_pad, prepare_pad, bind_pad, pcti_cl_run),
    {0},
};

/* ---- reshape ---- */

static pct_status prepare_reshape(pct_device *device, pcti_step *step)
{
    const pcti_tensor *dst = &step->dst[0].tensor;
    const size_t items[] = {(size_t)pcti_tensor_elems(dst)};
    char options[48];
    snprintf(options, sizeof options, "-DRESHAPE -DTYPE=%s", pcti_cl_element_type(dst->dtype));
    return pcti_cl_launch_add(device, step, "copy", options, "reshape", 1, items, NULL);
}

static pct_status bind_reshape(pct_device *device, pcti_step *step)
{
    pcti_cl_args args = pcti_cl_args_of(device, step, 0);
    for (int i = 0; i < 2; i++) {
        const pcti_operand *operand = i ? &step->dst[0] : &step->src[0];
        pcti_cl_arg_operand(&args, operand);
        pcti_cl_arg_index(&args, pcti_tensor_picture_elems(&operand->tensor));
        pcti_cl_arg_index(&args, operand->tensor.rank ? operand->tensor.strides[0] : 1);
    }
    pcti_cl_arg_index(&args, pcti_tensor_elems(&step->dst[0].tensor));
    return args.status;
}

const pcti_impl pcti_cl_impls_reshape[] = {
    ROW("copy", PCTI_LAYOUT_PLAIN, NULL, prepare_reshape, bind_reshape, pcti_cl_run),
    {0},
};
