#include "core/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *pct_dtype_name(pct_dtype dtype)
{
    static const char *const names[] = {"f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool"};
    return (unsigned)dtype < sizeof names / sizeof *names ? names[dtype] : "unknown";
}

size_t pct_dtype_size(pct_dtype dtype)
{
    static const size_t sizes[] = {4, 8, 2, 2, 4, 8, 1, 1};
    return (unsigned)dtype < sizeof sizes / sizeof *sizes ? sizes[dtype] : 0;
}

pcti_tensor pcti_tensor_dense(const pct_shape *shape, int channel_block)
{
    pcti_tensor tensor = {.dtype = shape->dtype, .rank = shape->rank, .channel_block = channel_block};
    memcpy(tensor.dims, shape->dims, sizeof tensor.dims);
    if (channel_block > 1) {
        int64_t height = shape->dims[2], width = shape->dims[3];
        tensor.strides[3] = channel_block;
        tensor.strides[2] = width * channel_block;
        tensor.strides[1] = height * tensor.strides[2];
        tensor.strides[0] = pcti_ceil_div(shape->dims[1], channel_block) * tensor.strides[1];
        return tensor;
    }
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        tensor.strides[d] = stride;
        stride *= shape->dims[d];
    }
    return tensor;
}

pct_shape pcti_tensor_shape(const pcti_tensor *tensor)
{
    pct_shape shape = {.dtype = tensor->dtype, .rank = tensor->rank};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    return shape;
}

int64_t pcti_tensor_elems(const pcti_tensor *tensor)
{
    int64_t elems = 1;
    for (int d = 0; d < tensor->rank; d++) elems *= tensor->dims[d];
    return elems;
}

int64_t pcti_tensor_picture_elems(const pcti_tensor *tensor)
{
    pct_shape shape = pcti_tensor_shape(tensor);
    return tensor->rank > 0 ? pcti_tensor_dense(&shape, tensor->channel_block).strides[0] : 1;
}

int64_t pcti_tensor_extent_elems(const pcti_tensor *tensor)
{
    if (pcti_tensor_elems(tensor) == 0) return 0;
    if (tensor->rank == 0) return 1;
    return (tensor->dims[0] - 1) * tensor->strides[0] + pcti_tensor_picture_elems(tensor);
}

bool pcti_tensor_is_dense(const pcti_tensor *tensor)
{
    if (tensor->rank <= 1 || tensor->dims[0] <= 1) return true;
    return tensor->strides[0] == pcti_tensor_picture_elems(tensor);
}

pct_status pcti_shape_elems(const pct_shape *shape, int64_t *elems)
{
    char text[PCTI_SHAPE_TEXT];
    int64_t product = 1;
    *elems = 0;
    for (int d = 0; d < shape->rank; d++) {
        if (pcti_dim_is_symbol(shape->dims[d]))
            return pcti_fail(PCT_ERROR_SHAPE, "%s: dimension %d has no value yet",
                             pcti_shape_print(shape, text, sizeof text), d);
        if (shape->dims[d] < 0 || !pcti_mul_int64(product, shape->dims[d], &product) || product > PCTI_MAX_ELEMS)
            return pcti_fail(PCT_ERROR_SHAPE, "%s: negative or too large",
                             pcti_shape_print(shape, text, sizeof text));
    }
    *elems = product;
    return PCT_OK;
}

bool pcti_shape_equal(const pct_shape *a, const pct_shape *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, (size_t)(a->rank > 0 ? a->rank : 0) * sizeof *a->dims);
}

char *pcti_shape_print(const pct_shape *shape, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s[", pct_dtype_name(shape->dtype));
    for (int d = 0; d < shape->rank && used < bytes; d++) {
        const char *comma = d ? "," : "";
        int64_t dim = shape->dims[d];
        if (dim == PCT_DIM_BATCH) used += (size_t)snprintf(text + used, bytes - used, "%sN", comma);
        else if (pcti_dim_is_symbol(dim))
            used += (size_t)snprintf(text + used, bytes - used, "%sS%lld", comma, (long long)(-2 - dim));
        else used += (size_t)snprintf(text + used, bytes - used, "%s%lld", comma, (long long)dim);
    }
    if (used < bytes) snprintf(text + used, bytes - used, "]");
    return text;
}
