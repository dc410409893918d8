/* Elements of a weights file, in logical order and another type. */
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "import/weights.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read as the file stores them, little-endian");

/* One reader per stored type: `count` elements, `step` bytes apart, at any alignment. */
typedef void read_run(const unsigned char *src, int64_t step, int64_t count, void *dst);
#define READ_RUN(NAME, STORED, RESULT, CONVERT)                                                                      \
    static void NAME(const unsigned char *src, int64_t step, int64_t count, void *dst)                               \
    {                                                                                                                \
        RESULT *to = dst;                                                                                            \
        for (int64_t i = 0; i < count; i++, src += step) {                                                           \
            STORED value;                                                                                            \
            memcpy(&value, src, sizeof value);                                                                       \
            to[i] = (RESULT)CONVERT(value);                                                                          \
        }                                                                                                            \
    }
#define SAME(value) (value)
#define TRUTH(value) ((value) != 0)
READ_RUN(f32_from_f32, float, float, SAME)
READ_RUN(f32_from_f64, double, float, SAME)
READ_RUN(f32_from_f16, uint16_t, float, pcti_from_f16)
READ_RUN(f32_from_bf16, uint16_t, float, pcti_from_bf16)
READ_RUN(f32_from_i64, int64_t, float, SAME)
READ_RUN(f32_from_i32, int32_t, float, SAME)
READ_RUN(f32_from_i16, int16_t, float, SAME)
READ_RUN(f32_from_i8, int8_t, float, SAME)
READ_RUN(f32_from_u8, uint8_t, float, SAME)
READ_RUN(f32_from_u16, uint16_t, float, SAME)
READ_RUN(f32_from_u32, uint32_t, float, SAME)
READ_RUN(f32_from_bool, uint8_t, float, TRUTH)
READ_RUN(i64_from_i64, int64_t, int64_t, SAME)
READ_RUN(i64_from_i32, int32_t, int64_t, SAME)
READ_RUN(i64_from_i16, int16_t, int64_t, SAME)
READ_RUN(i64_from_i8, int8_t, int64_t, SAME)
READ_RUN(i64_from_u8, uint8_t, int64_t, SAME)
READ_RUN(i64_from_u16, uint16_t, int64_t, SAME)
READ_RUN(i64_from_u32, uint32_t, int64_t, SAME)
READ_RUN(i64_from_bool, uint8_t, int64_t, TRUTH)

static const struct {
    read_run *f32, *i64; /* NULL: not offered */
} readers[PCTI_STORE_COUNT] = {
    [PCTI_STORE_F32] = {f32_from_f32, NULL},         [PCTI_STORE_F64] = {f32_from_f64, NULL},
    [PCTI_STORE_F16] = {f32_from_f16, NULL},         [PCTI_STORE_BF16] = {f32_from_bf16, NULL},
    [PCTI_STORE_I64] = {f32_from_i64, i64_from_i64}, [PCTI_STORE_I32] = {f32_from_i32, i64_from_i32},
    [PCTI_STORE_I16] = {f32_from_i16, i64_from_i16}, [PCTI_STORE_I8] = {f32_from_i8, i64_from_i8},
    [PCTI_STORE_U8] = {f32_from_u8, i64_from_u8},    [PCTI_STORE_U16] = {f32_from_u16, i64_from_u16},
    [PCTI_STORE_U32] = {f32_from_u32, i64_from_u32}, [PCTI_STORE_BOOL] = {f32_from_bool, i64_from_bool},
};

/* The same elements in the same order with as few dimensions as can be, so that runs are long; never rank 0.
 */
static pcti_weight collapse(const pcti_weight *weight)
{
    pcti_weight view = *weight;
    view.rank = 1;
    view.dims[0] = view.strides[0] = 1;
    for (int d = 0; d < weight->rank; d++) {
        int64_t dim = weight->dims[d], stride = weight->strides[d];
        int last = view.rank - 1;
        if (dim == 1) continue;
        if (view.dims[last] == 1) { /* nothing yet */
            view.dims[last] = dim;
            view.strides[last] = stride;
        } else if (stride && view.strides[last] % stride == 0 && view.strides[last] / stride == dim) {
            view.dims[last] *= dim;
            view.strides[last] = stride;
        } else {
            view.dims[view.rank] = dim;
            view.strides[view.rank++] = stride;
        }
    }
    return view;
}

/* The range is not empty and lies in the tensor, whose every element lies in the file: nothing here can
 * overflow. */
static void read_range(const unsigned char *data, const pcti_weight *weight, int64_t first, int64_t count,
                       read_run *run, size_t dst_bytes, char *dst)
{
    pcti_weight view = collapse(weight);
    int64_t at[PCT_MAX_RANK], bytes = pcti_store_table[view.store].bytes, offset = 0;
    int inner = view.rank - 1;
    for (int d = inner; d >= 0; d--) {
        at[d] = first % view.dims[d];
        first /= view.dims[d];
        offset += at[d] * view.strides[d];
    }
    while (count) {
        int64_t length = view.dims[inner] - at[inner];
        if (length > count) length = count;
        run(data + view.start + offset * bytes, view.strides[inner] * bytes, length, dst);
        dst += (size_t)length * dst_bytes;
        count -= length;
        offset -= at[inner] * view.strides[inner];
        at[inner] = 0;
        for (int d = inner - 1; d >= 0; d--) { /* to the next run */
            offset += view.strides[d];
            if (++at[d] < view.dims[d]) break;
            offset -= view.dims[d] * view.strides[d];
            at[d] = 0;
        }
    }
}

static bool in_range(const pcti_weight *weight, int64_t first, int64_t count)
{
    return first >= 0 && count >= 0 && first <= weight->elems && count <= weight->elems - first;
}

static pct_status check_range(const pct_weights *weights, size_t index, int64_t first, int64_t count)
{
    if (index >= weights->count)
        return pcti_fail(PCT_ERROR_ARGUMENT, "%s: tensor %zu of %zu", weights->file.path, index, weights->count);
    const pcti_weight *weight = &weights->tensors[index];
    if (!in_range(weight, first, count))
        return pcti_fail(PCT_ERROR_ARGUMENT, "%s: tensor '%s': elements [%lld, %lld + %lld) of %lld",
                         weights->file.path, weight->name, (long long)first, (long long)first, (long long)count,
                         (long long)weight->elems);
    return PCT_OK;
}

static pct_status fail_unreadable(const pct_weights *weights, const pcti_weight *weight, const char *as)
{
    return pcti_fail(PCT_ERROR_UNSUPPORTED, "%s: tensor '%s': elements of type %s cannot be read as %s",
                     weights->file.path, weight->name, pcti_store_table[weight->store].safetensors, as);
}

pct_status pct_weights_read_f32(const pct_weights *weights, size_t index, int64_t first, int64_t count, float *dst)
{
    PCTI_RETURN_IF_FAILED(check_range(weights, index, first, count));
    const pcti_weight *weight = &weights->tensors[index];
    read_run *run = readers[weight->store].f32;
    if (!run) return fail_unreadable(weights, weight, "float32");
    if (count) read_range(weights->file.data, weight, first, count, run, sizeof *dst, (char *)dst);
    return PCT_OK;
}

pct_status pct_weights_read_i64(const pct_weights *weights, size_t index, int64_t first, int64_t count, int64_t *dst)
{
    PCTI_RETURN_IF_FAILED(check_range(weights, index, first, count));
    const pcti_weight *weight = &weights->tensors[index];
    read_run *run = readers[weight->store].i64;
    if (!run) return fail_unreadable(weights, weight, "int64");
    if (count) read_range(weights->file.data, weight, first, count, run, sizeof *dst, (char *)dst);
    return PCT_OK;
}

const float *pct_weights_pointer(const pct_weights *weights, size_t index)
{
    if (index >= weights->count) return NULL;
    const pcti_weight *weight = &weights->tensors[index];
    if (weight->store != PCTI_STORE_F32 || weight->elems == 0 || !pcti_weight_is_dense(weight)) return NULL;
    const unsigned char *data = weights->file.data + weight->start;
    return (uintptr_t)data % sizeof(float) == 0 ? (const float *)(const void *)data : NULL;
}

void pct_weights_drop(const pct_weights *weights, size_t index, int64_t first, int64_t count)
{
    if (index >= weights->count) return;
    const pcti_weight *weight = &weights->tensors[index];
    if (!in_range(weight, first, count) || count == 0) return;
    if (pcti_weight_is_dense(weight)) {
        size_t bytes = (size_t)pcti_store_table[weight->store].bytes;
        pcti_file_drop(&weights->file, weight->start + (size_t)first * bytes, (size_t)count * bytes);
    } else if (count == weight->elems)
        pcti_file_drop(&weights->file, weight->start, (size_t)weight->reach);
}
