/* Functions of two operands: contiguous pieces, 16 at a time, where a step of 0 repeats the channels of one
 * block. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "op/binary.h"

/* dst[i] = clip(fn(a[i], b[i])) for `count` elements; after each 16 the operands move on by their steps, 16
 * or 0. */
typedef struct piece {
    pct_binary_fn fn;
    float lo, hi;
    int64_t count;
    const float *a, *b;
    int a_step, b_step;
    float *dst;
} piece;

/* Through an array of its own, so that the compiler sees no overlap and takes vectors. */
#define SOME(elems, result)                                                                                          \
    do {                                                                                                             \
        float out[PCTI_BLOCK];                                                                                       \
        for (int64_t k = 0; k < (elems); k++) {                                                                      \
            float x = a[k], y = b[k], r = (result);                                                                  \
            out[k] = r < lo ? lo : r > hi ? hi : r;                                                                  \
        }                                                                                                            \
        memcpy(dst, out, (size_t)(elems) * sizeof *dst);                                                             \
    } while (0)
#define ALL(result)                                                                                                  \
    do {                                                                                                             \
        for (int64_t g = 0; g < p->count / PCTI_BLOCK; g++) {                                                        \
            SOME(PCTI_BLOCK, result);                                                                                \
            a += p->a_step, b += p->b_step, dst += PCTI_BLOCK;                                                       \
        }                                                                                                            \
        SOME(p->count % PCTI_BLOCK, result);                                                                         \
    } while (0)

static void run_piece(const piece *p)
{
    const float *a = p->a, *b = p->b, lo = p->lo, hi = p->hi;
    float *dst = p->dst;
    switch (p->fn) {
    case PCT_BINARY_ADD:
        ALL(x + y);
        break;
    case PCT_BINARY_SUB:
        ALL(x - y);
        break;
    case PCT_BINARY_MUL:
        ALL(x * y);
        break;
    case PCT_BINARY_DIV:
        ALL(x / y);
        break;
    case PCT_BINARY_MAX:
        ALL(x > y || x != x ? x : y);
        break;
    case PCT_BINARY_MIN:
        ALL(x < y || x != x ? x : y);
        break;
    case PCT_BINARY_POW:
        ALL(powf(x, y));
        break;
    case PCT_BINARY_COUNT:
        break;
    }
}

static pct_binary_fn fn_of(const pcti_call *call)
{
    return (pct_binary_fn)((const pct_binary_params *)call->params)->fn;
}

static piece piece_of(const pcti_call *call)
{
    piece p = {.fn = fn_of(call), .a_step = PCTI_BLOCK, .b_step = PCTI_BLOCK};
    pcti_activation act = pcti_call_post_act(call);
    pcti_clip_range(&act, &p.lo, &p.hi);
    return p;
}

static bool accept_float(const pcti_call *call, pcti_why *why)
{
    pct_dtype dtype = call->src[0].tensor.dtype;
    return dtype == PCT_F32 || pcti_refuse(why, "type %s", pct_dtype_name(dtype));
}

/* Padding channels hold zeros and must go on holding them. */
static bool accept_padding(const pcti_call *call, double other, pcti_why *why)
{
    const pcti_tensor *dst = &call->dst[0].tensor;
    pcti_activation act = pcti_call_post_act(call);
    if (dst->channel_block == 1 || dst->dims[1] % PCTI_BLOCK == 0) return true;
    return pcti_activation_eval(&act, pcti_binary_eval(fn_of(call), 0, other)) == 0 ||
           pcti_refuse(why, "would fill padding channels");
}

/* ---- two operands of one shape ---- */

static bool accept_same_shape(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pct_shape a = pcti_tensor_shape(&call->src[0].tensor), b = pcti_tensor_shape(&call->src[1].tensor);
    if (fn_of(call) == PCT_BINARY_POW) return pcti_refuse(why, "pow");
    if (!pcti_shape_equal(&a, &b)) return pcti_refuse(why, "shapes differ");
    if (call->src[0].tensor.channel_block != call->src[1].tensor.channel_block)
        return pcti_refuse(why, "layouts differ");
    return accept_float(call, why) && accept_padding(call, 0, why);
}

/* Where element `at` of picture n lies. */
static int64_t place(const pcti_operand *operand, int64_t n, int64_t at)
{
    return (operand->tensor.rank ? n * operand->tensor.strides[0] : 0) + at;
}

static void run_same_piece(const pcti_step *step, pcti_team *team, piece *p, int64_t n, int64_t at, int64_t count)
{
    p->count = count;
    p->a = pcti_f32(&step->src[0]) + place(&step->src[0], n, at);
    p->b = pcti_f32(&step->src[1]) + place(&step->src[1], n, at);
    p->dst = pcti_f32(&step->dst[0]) + place(&step->dst[0], n, at);
    if (p->fn == PCT_BINARY_ADD)
        team->simd->add((size_t)count, p->a, p->b, p->dst, p->lo, p->hi);
    else
        run_piece(p);
}

static void run_same_shape(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    piece p = piece_of(&step->call);
    if (d->rank == 4) { /* by rows, as the steps before and after */
        int64_t planes = pcti_ceil_div(d->dims[1], d->channel_block), row = d->strides[2];
        pcti_rows rows = pcti_team_rows(team, d->dims[0], d->dims[2]);
        while (pcti_rows_next(&rows))
            for (int64_t plane = 0; plane < planes; plane++)
                run_same_piece(step, team, &p, rows.picture, plane * d->strides[1] + rows.y0 * row,
                               (rows.y1 - rows.y0) * row);
        return;
    }
    int64_t inner = pcti_tensor_picture_elems(d), pictures = d->rank ? d->dims[0] : 1, first, end;
    pcti_team_share(team, pictures * inner, &first, &end);
    while (first < end) {
        int64_t at = first % inner, count = pcti_min(inner - at, end - first);
        run_same_piece(step, team, &p, first / inner, at, count);
        first += count;
    }
}

/* ---- one operand by channel ---- */

static bool accept_channel(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    pcti_by_channel by;
    if (fn_of(call) == PCT_BINARY_POW) return pcti_refuse(why, "pow");
    if (!accept_float(call, why) || !pcti_binary_by_channel(call, &by, why)) return false;
    double other = by.narrow_is_constant ? pcti_binary_beyond(fn_of(call)) : 0;
    if (by.wide == 1 && fn_of(call) == PCT_BINARY_DIV) other = 0; /* the zeros of the picture are the divisor */
    return accept_padding(call, other, why);
}

static pct_status prepare_channel(pct_device *device, pcti_step *step)
{
    pcti_by_channel by;
    pcti_why why;
    pcti_binary_by_channel(&step->call, &by, &why);
    if (!by.narrow_is_constant) return PCT_OK;
    return pcti_pack_channels(device, step, by.narrow, step->dst[0].tensor.dims[1],
                              pcti_binary_beyond(fn_of(&step->call)));
}

static void run_channel(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    pcti_by_channel by;
    pcti_why why;
    pcti_binary_by_channel(&step->call, &by, &why);
    const pcti_operand *wide = &step->src[by.wide], *narrow = &step->src[by.narrow];
    int64_t blocks = pcti_ceil_div(d->dims[1], PCTI_BLOCK);
    piece p = piece_of(&step->call);
    *(by.narrow ? &p.b_step : &p.a_step) = 0;
    pcti_rows rows = pcti_team_rows(team, d->dims[0], d->dims[2]);
    while (pcti_rows_next(&rows))
        for (int64_t block = 0; block < blocks; block++) {
            const float *picture =
                pcti_f32(wide) + place(wide, rows.picture, block * d->strides[1] + rows.y0 * d->strides[2]);
            const float *channel = pcti_f32(narrow) + block * PCTI_BLOCK;
            if (by.narrow_picture) channel += rows.picture * narrow->tensor.strides[0];
            p.a = by.narrow ? picture : channel;
            p.b = by.narrow ? channel : picture;
            p.dst = pcti_f32(&step->dst[0]) +
                    place(&step->dst[0], rows.picture, block * d->strides[1] + rows.y0 * d->strides[2]);
            p.count = (rows.y1 - rows.y0) * d->strides[2];
            run_piece(&p);
        }
}

/* ---- any broadcast, plain ---- */

static bool accept_broadcast(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (fn_of(call) == PCT_BINARY_POW) return pcti_refuse(why, "pow");
    return accept_float(call, why);
}

static bool accept_power(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (fn_of(call) != PCT_BINARY_POW) return pcti_refuse(why, "only pow");
    return accept_float(call, why);
}

enum { A, B, DST, TENSORS };

/* The result's elements as nested loops, outermost first, neighbours joined where every tensor allows it. The
 * innermost has stride 1 in the result, and 1 or 0 (repeated) in the operands. */
typedef struct loops {
    int rank;
    int64_t dims[PCT_MAX_RANK + 1], strides[TENSORS][PCT_MAX_RANK + 1];
} loops;

static bool can_join(const loops *l, int64_t dim, const int64_t strides[TENSORS])
{
    bool joined = l->rank > 0;
    for (int t = 0; t < TENSORS && joined; t++) joined = l->strides[t][l->rank - 1] == strides[t] * dim;
    return joined;
}

static void add_loop(loops *l, int64_t dim, const int64_t strides[TENSORS])
{
    if (can_join(l, dim, strides))
        l->dims[l->rank - 1] *= dim;
    else
        l->dims[l->rank++] = dim;
    for (int t = 0; t < TENSORS; t++) l->strides[t][l->rank - 1] = strides[t];
}

static loops loops_of(const pcti_step *step)
{
    const pcti_tensor *tensors[TENSORS] = {&step->src[0].tensor, &step->src[1].tensor, &step->dst[0].tensor};
    const pcti_tensor *d = tensors[DST];
    loops l = {0};
    for (int i = 0; i < d->rank; i++) {
        int64_t strides[TENSORS];
        for (int t = 0; t < TENSORS; t++) {
            int own = i - (d->rank - tensors[t]->rank);
            strides[t] = own < 0 || tensors[t]->dims[own] == 1 ? 0 : tensors[t]->strides[own];
        }
        if (d->dims[i] != 1) add_loop(&l, d->dims[i], strides);
    }
    bool fits = l.rank > 0 && l.strides[DST][l.rank - 1] == 1;
    for (int t = A; t <= B && fits; t++) fits = l.strides[t][l.rank - 1] == 1 || l.strides[t][l.rank - 1] == 0;
    if (!fits) { /* one element at a time */
        l.dims[l.rank] = 1;
        for (int t = 0; t < TENSORS; t++) l.strides[t][l.rank] = 1;
        l.rank++;
    }
    return l;
}

/* An operand of a run from `from` on: as it lies, or its one value 16 times over. */
static const float *run_operand(const float *from, int64_t stride, float repeated[PCTI_BLOCK], int *step)
{
    *step = stride ? PCTI_BLOCK : 0;
    if (stride) return from;
    for (int k = 0; k < PCTI_BLOCK; k++) repeated[k] = *from;
    return repeated;
}

static void run_broadcast(const pcti_step *step, pcti_team *team)
{
    const loops l = loops_of(step);
    int inner = l.rank - 1;
    int64_t first, end;
    float a[PCTI_BLOCK], b[PCTI_BLOCK];
    piece p = piece_of(&step->call);
    pcti_team_share(team, pcti_tensor_elems(&step->dst[0].tensor), &first, &end);
    while (first < end) {
        int64_t rest = first / l.dims[inner], begin = first % l.dims[inner], at[TENSORS];
        for (int t = 0; t < TENSORS; t++) at[t] = begin * l.strides[t][inner];
        for (int i = inner - 1; i >= 0; i--) {
            for (int t = 0; t < TENSORS; t++) at[t] += rest % l.dims[i] * l.strides[t][i];
            rest /= l.dims[i];
        }
        p.count = pcti_min(l.dims[inner] - begin, end - first);
        p.a = run_operand(pcti_f32(&step->src[0]) + at[A], l.strides[A][inner], a, &p.a_step);
        p.b = run_operand(pcti_f32(&step->src[1]) + at[B], l.strides[B][inner], b, &p.b_step);
        p.dst = pcti_f32(&step->dst[0]) + at[DST];
        run_piece(&p);
        first += p.count;
    }
}

const pcti_impl pcti_cpu_impls_binary[] = {
    {.name = "same_shape",
     .layout = PCTI_LAYOUT_SAME,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_same_shape,
     .run_share = run_same_shape},
    {.name = "channel",
     .layout = PCTI_LAYOUT_BLOCKED,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_channel,
     .prepare = prepare_channel,
     .run_share = run_channel},
    {.name = "broadcast",
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_broadcast,
     .run_share = run_broadcast},
    {.name = "power",
     .accuracy = PCTI_ACCURACY_FUNCTION,
     .fusions = PCTI_FUSE_CLIP,
     .in_place = true,
     .accept = accept_power,
     .run_share = run_broadcast},
    {0},
};

/* ---- prelu ---- */

static inline float prelu(float x, float slope)
{
    return x > 0 ? x : slope * x;
}

static bool accept_prelu_blocked(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    if (call->src[0].tensor.rank != 4) return pcti_refuse(why, "no picture");
    if (!call->src[1].constant) return pcti_refuse(why, "slope is computed by the run");
    return accept_float(call, why);
}

static pct_status prepare_prelu(pct_device *device, pcti_step *step)
{
    return pcti_pack_channels(device, step, 1, step->dst[0].tensor.dims[1], 0);
}

static void run_prelu_blocked(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *d = &step->dst[0].tensor;
    int64_t blocks = pcti_ceil_div(d->dims[1], PCTI_BLOCK);
    pcti_rows rows = pcti_team_rows(team, d->dims[0], d->dims[2]);
    while (pcti_rows_next(&rows))
        for (int64_t block = 0; block < blocks; block++) {
            int64_t at = block * d->strides[1] + rows.y0 * d->strides[2];
            const float *slope = pcti_f32(&step->src[1]) + block * PCTI_BLOCK;
            const float *src = pcti_f32(&step->src[0]) + place(&step->src[0], rows.picture, at);
            float *dst = pcti_f32(&step->dst[0]) + place(&step->dst[0], rows.picture, at);
            for (int64_t i = 0; i < (rows.y1 - rows.y0) * d->strides[2]; i += PCTI_BLOCK) {
                float out[PCTI_BLOCK];
                for (int k = 0; k < PCTI_BLOCK; k++) out[k] = prelu(src[i + k], slope[k]);
                memcpy(dst + i, out, sizeof out);
            }
        }
}

static bool accept_prelu(const pcti_call *call, const pct_device *device, pcti_why *why)
{
    return accept_float(call, why);
}

static void run_prelu(const pcti_step *step, pcti_team *team)
{
    const pcti_tensor *s = &step->src[0].tensor, *d = &step->dst[0].tensor, *a = &step->src[1].tensor;
    int64_t channels = s->rank > 1 ? s->dims[1] : 1, inner = 1, pictures = s->rank ? s->dims[0] : 1, first, end;
    bool shared = pcti_tensor_elems(a) == 1;
    int64_t slope_stride = a->rank && a->dims[0] == channels ? a->strides[0] : 1; /* of a range of a wider tensor */
    for (int i = 2; i < s->rank; i++) inner *= s->dims[i];
    pcti_team_share(team, pictures * channels, &first, &end);
    for (; first < end; first++) {
        int64_t n = first / channels, c = first % channels;
        float slope = pcti_f32(&step->src[1])[shared ? 0 : c * slope_stride];
        const float *src = pcti_f32(&step->src[0]) + place(&step->src[0], n, c * inner);
        float *dst = pcti_f32(&step->dst[0]) + (d->rank ? n * d->strides[0] : 0) + c * inner;
        for (int64_t i = 0; i < inner; i++) dst[i] = prelu(src[i], slope);
    }
}

const pcti_impl pcti_cpu_impls_prelu[] = {
    {.name = "blocked",
     .layout = PCTI_LAYOUT_BLOCKED,
     .in_place = true,
     .accept = accept_prelu_blocked,
     .prepare = prepare_prelu,
     .run_share = run_prelu_blocked},
    {.name = "plain", .in_place = true, .accept = accept_prelu, .run_share = run_prelu},
    {0},
};
