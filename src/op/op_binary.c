/* Elementwise functions of two operands, and prelu. */
#include "op/binary.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"

static const char *const fn_names[] = {"add", "sub", "mul", "div", "max", "min", "pow", NULL};
_Static_assert(sizeof fn_names / sizeof *fn_names == PCT_BINARY_COUNT + 1, "a name for each function");

static const pcti_field binary_fields[] = {PCTI_ENUM(pct_binary_params, fn, fn_names)};
static const char *const binary_srcs[] = {"src", "other"};

double pcti_binary_eval(pct_binary_fn fn, double a, double b)
{
    switch (fn) {
    case PCT_BINARY_ADD:
        return a + b;
    case PCT_BINARY_SUB:
        return a - b;
    case PCT_BINARY_MUL:
        return a * b;
    case PCT_BINARY_DIV:
        return a / b;
    case PCT_BINARY_MAX:
        return a > b || isnan(a) ? a : b;
    case PCT_BINARY_MIN:
        return a < b || isnan(a) ? a : b;
    case PCT_BINARY_POW:
        return pow(a, b);
    case PCT_BINARY_COUNT:
        break;
    }
    return NAN;
}

static pct_status binary_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    if (src[0].dtype != src[1].dtype)
        return pcti_fail(PCT_ERROR_SHAPE, "src is %s and other is %s, but both must be of one type",
                         pct_dtype_name(src[0].dtype), pct_dtype_name(src[1].dtype));
    return pcti_broadcast(&src[0], &src[1], dst);
}

/* Elements from one index of result dimension d to the next; 0 where the operand is repeated. */
static int64_t broadcast_stride(const pcti_tensor *operand, const int64_t *dense, int rank, int d)
{
    int own = d - (rank - operand->rank);
    return own < 0 || operand->dims[own] == 1 ? 0 : dense[own];
}

static pct_status binary_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_binary_params *p = call->params;
    const pcti_tensor *y = &call->dst[0].tensor;
    int64_t strides[2][PCT_MAX_RANK] = {{0}};
    for (int i = 0; i < 2; i++) {
        pct_shape shape = pcti_tensor_shape(&call->src[i].tensor);
        pcti_tensor dense = pcti_tensor_dense(&shape, 1);
        for (int d = 0; d < y->rank; d++) strides[i][d] = broadcast_stride(&dense, dense.strides, y->rank, d);
    }
    int64_t elems = pcti_tensor_elems(y);
    for (int64_t e = 0; e < elems; e++) {
        int64_t rest = e, at[2] = {0, 0};
        for (int d = y->rank - 1; d >= 0; d--) {
            at[0] += rest % y->dims[d] * strides[0][d];
            at[1] += rest % y->dims[d] * strides[1][d];
            rest /= y->dims[d];
        }
        dst[0][e] = pcti_binary_eval((pct_binary_fn)p->fn, src[0][at[0]], src[1][at[1]]);
    }
    return PCT_OK;
}

const pcti_op pcti_op_binary = {
    .name = "binary",
    .family = "binary",
    .summary = "dst = fn(src, other), elementwise with broadcast",
    .params_bytes = sizeof(pct_binary_params),
    .fields = binary_fields,
    .n_fields = 1,
    .src_names = binary_srcs,
    .min_src = 2,
    .max_src = 2,
    .n_dst = 1,
    .infer = binary_infer,
    .ref = binary_ref,
};

/* ---- one operand by channel ---- */

static bool same_dims(const pcti_tensor *a, const pcti_tensor *b)
{
    pct_shape x = pcti_tensor_shape(a), y = pcti_tensor_shape(b);
    return pcti_shape_equal(&x, &y);
}

/* Shaped (1,C,1,1), (C,1,1) or a single value. */
static bool varies_by_channel(const pcti_tensor *narrow, int64_t channels)
{
    if (pcti_tensor_elems(narrow) == 1) return true;
    int at = narrow->rank - 3;
    return at >= 0 && narrow->dims[at] == channels && pcti_tensor_elems(narrow) == channels;
}

bool pcti_binary_by_channel(const pcti_call *call, pcti_by_channel *by, pcti_why *why)
{
    const pcti_tensor *y = &call->dst[0].tensor;
    if (y->rank != 4 || y->channel_block != PCTI_BLOCK) return pcti_refuse(why, "no blocked picture");
    *by = (pcti_by_channel){0, 1, 0, false};
    if (!same_dims(&call->src[0].tensor, y)) *by = (pcti_by_channel){1, 0, 0, false};
    const pcti_operand *wide = &call->src[by->wide], *narrow = &call->src[by->narrow];
    if (!same_dims(&wide->tensor, y) || wide->constant) return pcti_refuse(why, "no operand is the picture");
    by->narrow_is_constant = narrow->constant != NULL;
    if (narrow->constant)
        return varies_by_channel(&narrow->tensor, y->dims[1]) ||
               pcti_refuse(why, "the constant does not vary by channel");
    const int64_t *dims = narrow->tensor.dims;
    if (narrow->tensor.rank != 4 || dims[1] != y->dims[1] || dims[2] != 1 || dims[3] != 1)
        return pcti_refuse(why, "the smaller operand is not (N,C,1,1)");
    by->narrow_picture = dims[0] == 1 ? 0 : 1;
    return true;
}

float pcti_binary_beyond(pct_binary_fn fn)
{
    return fn == PCT_BINARY_DIV || fn == PCT_BINARY_POW ? 1 : 0;
}

typedef struct channels_cookie {
    int64_t channels, elems;
    float beyond;
} channels_cookie;

static pct_status fill_channels(const pcti_constant *constant, const void *cookie, void *dst)
{
    const channels_cookie *c = cookie;
    float *values = dst;
    PCTI_RETURN_IF_FAILED(pcti_constant_read(constant, 0, c->elems, values));
    for (int64_t i = c->elems; i < c->channels; i++) values[i] = values[0];
    for (int64_t i = c->channels; i < pcti_round_up(c->channels, PCTI_BLOCK); i++) values[i] = c->beyond;
    return PCT_OK;
}

pct_status pcti_pack_channels(pct_device *device, pcti_step *step, int i, int64_t channels, float beyond)
{
    channels_cookie cookie = {channels, pcti_tensor_elems(&step->src[i].tensor), beyond};
    char *packing = pcti_format("channels %" PRId64 " %d", channels, (int)beyond);
    if (!packing) return PCT_ERROR_MEMORY;
    size_t bytes = sizeof(float) * (size_t)pcti_round_up(channels, PCTI_BLOCK);
    pct_status status =
        pcti_pack_get(device, step->src[i].constant, packing, bytes, fill_channels, &cookie, &step->src[i].buffer);
    pcti_free(packing);
    return status;
}

/* ---- prelu ---- */

static const char *const prelu_srcs[] = {"src", "slope"};

static pct_status prelu_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_shape *slope = &src[1];
    int64_t elems, channels = src[0].rank > 1 ? src[0].dims[1] : 1;
    char text[PCTI_SHAPE_TEXT];
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(slope, &elems));
    bool by_channel =
        elems == channels && (slope->rank == 1 || (slope->rank == src[0].rank && slope->dims[1] == channels) ||
                              (slope->rank == src[0].rank - 1 && slope->dims[0] == channels));
    if (elems != 1 && !by_channel)
        return pcti_fail(PCT_ERROR_SHAPE, "slope is %s, but must hold one value or one for each of %lld channels",
                         pcti_shape_print(slope, text, sizeof text), (long long)channels);
    *dst = src[0];
    return PCT_OK;
}

static pct_status prelu_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pcti_tensor *x = &call->src[0].tensor;
    int64_t elems = pcti_tensor_elems(x), inner = 1, slopes = pcti_tensor_elems(&call->src[1].tensor);
    for (int d = 2; d < x->rank; d++) inner *= x->dims[d];
    for (int64_t i = 0; i < elems; i++) {
        double slope = src[1][slopes > 1 ? i / inner % slopes : 0], value = src[0][i];
        dst[0][i] = value > 0 ? value : slope * value;
    }
    return PCT_OK;
}

const pcti_op pcti_op_prelu = {
    .name = "prelu",
    .family = "binary",
    .summary = "dst = src > 0 ? src : slope*src, slope by channel",
    .params_bytes = sizeof(pct_prelu_params),
    .src_names = prelu_srcs,
    .min_src = 2,
    .max_src = 2,
    .n_dst = 1,
    .infer = prelu_infer,
    .ref = prelu_ref,
};
