/* Operators: what each one is called, takes, gives, costs and means. The meaning is `ref`, plain loops in double. */
#ifndef PCTI_OP_OP_H
#define PCTI_OP_OP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"
#include "core/tensor.h"
#include "pct/graph.h"
#include "pct/ops.h"

/* ---- parameter structs, described, so that one printer and one parser serve all ---- */

typedef enum pcti_field_kind { PCTI_FIELD_INT, PCTI_FIELD_FLOAT, PCTI_FIELD_ENUM } pcti_field_kind;

typedef struct pcti_field {
    const char *name;
    pcti_field_kind kind;
    int count;               /* elements of the array; 1 for a single value */
    ptrdiff_t offset;        /* in the parameter struct; every member is int64_t or double */
    ptrdiff_t length_offset; /* of the int64_t that counts a list's valid elements; -1: all `count` are */
    double fallback;         /* value where it is left out */
    bool zero_is_fallback;   /* 0 makes no sense and stands for the fallback */
    const char *const *names; /* of an enum's values, NULL-terminated */
} pcti_field;

#define PCTI_INT(type, member, fallback, zero) {#member, PCTI_FIELD_INT, 1, offsetof(type, member), -1, fallback, zero, NULL}
#define PCTI_INTS(type, member, n, fallback, zero) {#member, PCTI_FIELD_INT, n, offsetof(type, member), -1, fallback, zero, NULL}
#define PCTI_LIST(type, member, length) {#member, PCTI_FIELD_INT, PCT_MAX_RANK, offsetof(type, member), offsetof(type, length), 0, false, NULL}
#define PCTI_FLOAT(type, member, fallback, zero) {#member, PCTI_FIELD_FLOAT, 1, offsetof(type, member), -1, fallback, zero, NULL}
#define PCTI_FLOATS(type, member, n, fallback, zero) {#member, PCTI_FIELD_FLOAT, n, offsetof(type, member), -1, fallback, zero, NULL}
#define PCTI_ENUM(type, member, names) {#member, PCTI_FIELD_ENUM, 1, offsetof(type, member), -1, 0, false, names}

/* ---- calls ---- */

struct pcti_op;

/* clip(x, low, high) carries relu (0, inf) and relu6 (0, 6). NaN stays NaN. */
typedef enum pcti_activation_kind { PCTI_ACT_NONE, PCTI_ACT_CLIP, PCTI_ACT_UNARY } pcti_activation_kind;
typedef struct pcti_activation {
    pcti_activation_kind kind;
    double low, high;       /* CLIP */
    pct_unary_params unary; /* UNARY: any other function of the unary family */
} pcti_activation;

/* What a node computes beside its op, put there by the fusion pass:
 *   x    = src[0]
 *   x    = pre_act(x * pre_scale[c] + pre_shift[c])      if pre_affine; operands max_src + 0 and + 1
 *   x    = average of 2x2, stride 2                      if pre_average_pool
 *   y    = op(x, other operands)
 *   y    = post_act(y + residual)                        residual, shaped like y: operand max_src + 2, if present
 *   dst  = maximum of 2x2, stride 2                      if post_max_pool */
typedef struct pcti_fusion {
    bool pre_affine, pre_average_pool, post_max_pool;
    pcti_activation pre_act, post_act;
} pcti_fusion;
enum { PCTI_FUSED_PRE_SCALE, PCTI_FUSED_PRE_SHIFT, PCTI_FUSED_RESIDUAL, PCTI_FUSED_OPERANDS };

typedef struct pcti_constant pcti_constant;
typedef struct pcti_buffer pcti_buffer;

/* One operand: where its elements lie and, when its values are known at plan time, what they are. */
typedef struct pcti_operand {
    pcti_tensor tensor;             /* rank PCTI_ABSENT: left out */
    const pcti_constant *constant;  /* NULL: computed by a run */
    pcti_buffer *buffer;            /* NULL until the plan has placed it, or an implementation has packed it */
} pcti_operand;

/* An op with its parameters and operands, shapes bound. n_src is the op's own operands (absent ones included) and, where
 * there is a fusion, op->max_src + PCTI_FUSED_OPERANDS. */
typedef struct pcti_call {
    const struct pcti_op *op;
    const void *params;
    const pcti_fusion *fusion; /* NULL: none */
    int n_src, n_dst;
    const pcti_operand *src, *dst;
    pct_dtype weight_storage; /* of constant weights, where an implementation offers it: PCT_F32, PCT_F16 or PCT_BF16 */
} pcti_call;

/* The operand, or NULL where it was left out. */
static inline const pcti_operand *pcti_call_src(const pcti_call *call, int i)
{
    return i < call->n_src && call->src[i].tensor.rank != PCTI_ABSENT ? &call->src[i] : NULL;
}
/* A fused operand (PCTI_FUSED_...), or NULL. */
const pcti_operand *pcti_call_fused(const pcti_call *call, int which);
/* The activation after the op; kind NONE where nothing is fused. */
pcti_activation pcti_call_post_act(const pcti_call *call);

/* ---- the op table ---- */

typedef struct pcti_cost {
    double flops;                    /* a multiply-add counts two */
    double bytes_read, bytes_written;
} pcti_cost;

typedef struct pcti_op {
    const char *name, *family, *summary;
    size_t params_bytes;
    const pcti_field *fields;
    int n_fields;
    const char *const *src_names; /* max_src names for messages, and for the operands of `clbench op` */
    int min_src, max_src;         /* variadic: max_src = PCTI_VARIADIC, src_names holds one name */
    int n_dst;

    /* Checks parameters and operand shapes and gives result shapes. Dimensions may be symbols: copy them where the op leaves
     * a dimension alone, and fail with PCT_ERROR_SHAPE (pcti_dim_is_symbol) where it would compute with one. Absent
     * operands have rank PCTI_ABSENT. Messages name operand and dimension; the caller puts op and node before them. */
    pct_status (*infer)(const void *params, const pct_shape *src, int n_src, pct_shape *dst);
    /* NULL: one flop for each result element, each operand read once. Fusion is added by pcti_call_cost. */
    void (*cost)(const pcti_call *call, pcti_cost *cost);
    /* The meaning, on dense row-major doubles (integers as doubles too). src[i] is NULL for an absent operand. Ignores
     * call->fusion, strides and layouts: use pcti_tensor.dims. May use OpenMP. */
    pct_status (*ref)(const pcti_call *call, const double *const *src, double *const *dst);

    /* For ops that only rename memory. `view`: can the (only) result be described in place over operand 0, laid out as
     * src says? Fills dst's strides, block and offset (relative to the same buffer). `view_into`: can operand i be a range of
     * the result, laid out as dst says? Fills src's strides and offset. NULL: never. */
    bool (*view)(const void *params, const pcti_tensor *src, pcti_tensor *dst);
    bool (*view_into)(const void *params, int i, const pcti_tensor *srcs, const pcti_tensor *dst, pcti_tensor *src);
} pcti_op;

enum { PCTI_VARIADIC = 1 << 16 };

#define PCT_OP(name, family) extern const pcti_op pcti_op_##name;
#include "op/ops.def"
#undef PCT_OP
extern const pcti_op *const pcti_ops[]; /* in ops.def's order */
extern const int pcti_op_count;
int pcti_op_index(const pcti_op *op);
bool pcti_op_is(const pcti_op *op, const char *name);
/* NULL where there is none. */
const pcti_op *pcti_op_find(const char *name);

/* Fallbacks into a parameter struct; then, for a given one, zeros that stand for fallbacks replaced and enums checked. */
void pcti_params_init(const pcti_op *op, void *params);
pct_status pcti_params_normalise(const pcti_op *op, void *params);
/* "stride=2x2 pad=1x1x1x1", fallbacks left out. */
void pcti_params_print(const pcti_op *op, const void *params, pcti_text *text);
/* One "name=value" into params (lists with x or commas; one number fills an array). *known is false for a foreign name. */
pct_status pcti_params_parse(const pcti_op *op, void *params, const char *name, const char *value, bool *known);

/* Parses "conv2d src=1x64x56x56 wei=64x64x3x3 pad=1": shapes of operands, then parameters. `params` (calloc'ed, params_bytes)
 * is freed by the caller with pcti_free. shapes: room for `capacity` operands; absent ones get rank PCTI_ABSENT. Variadic
 * operands are src, src1, src2, ... Operand types: f32, or i64 where the op wants indices (prefix "i64:"). */
pct_status pcti_op_parse(const char *text, const pcti_op **op, void **params, pct_shape *shapes, int capacity, int *n_src);
/* The inverse: a line for `clbench op` that makes this call again. */
void pcti_call_print(const pcti_call *call, pcti_text *text);

/* The same with fusion and weight storage: equal keys are equal work for a device, whatever the layouts. */
void pcti_call_key(const pcti_call *call, pcti_text *text);

/* Checks operand counts and presence, then op->infer, messages prefixed with the op's name. */
pct_status pcti_op_infer(const pcti_op *op, const void *params, const pct_shape *src, int n_src, pct_shape *dst);
/* The op's cost with its fusion. */
void pcti_call_cost(const pcti_call *call, pcti_cost *cost);
/* op->ref with call->fusion around it; src and dst as for `ref`, fused operands included. */
pct_status pcti_call_ref(const pcti_call *call, const double *const *src, double *const *dst);
double pcti_unary_eval(const pct_unary_params *params, double x);
double pcti_activation_eval(const pcti_activation *act, double x);

/* Elements from an operand's start to the matrix that result matrix `batch` needs, by the operand's strides. */
int64_t pcti_matmul_batch_offset(const pcti_tensor *operand, const pcti_tensor *dst, int64_t batch);

/* For infer functions: rank and dimension checks with a message that names the operand. */
pct_status pcti_check_rank(const char *operand, const pct_shape *shape, int min_rank, int max_rank);
pct_status pcti_check_dim(const char *operand, const pct_shape *shape, int dim, int64_t wanted);
/* NumPy broadcasting of two shapes (symbols equal to themselves and to 1). */
pct_status pcti_broadcast(const pct_shape *a, const pct_shape *b, pct_shape *out);
/* A negative axis counts from the end; out of range is an error. */
pct_status pcti_check_axis(int64_t axis, int rank, int *out);

#endif
