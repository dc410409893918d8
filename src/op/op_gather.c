/* Entries along an axis, chosen by indices. */
#include "op/gather.h"

#include <string.h>

#include "base/memory.h"
#include "op/backend.h"

static const pcti_field fields[] = {PCTI_INT(pct_gather_params, axis, 0, false)};
static const char *const src_names[] = {"data", "indices"};

static pct_status gather_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_shape *data = &src[0], *indices = &src[1];
    char text[PCTI_SHAPE_TEXT];
    bool some = true;
    int axis;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("data", data, 1, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_rank("indices", indices, 0, PCT_MAX_RANK + 1 - data->rank));
    PCTI_RETURN_IF_FAILED(pcti_check_axis(((const pct_gather_params *)params)->axis, data->rank, &axis));
    if (indices->dtype != PCT_I64 && indices->dtype != PCT_I32)
        return pcti_fail(PCT_ERROR_SHAPE, "indices are %s, but must be i64 or i32",
                         pcti_shape_print(indices, text, sizeof text));
    *dst = (pct_shape){.dtype = data->dtype};
    for (int d = 0; d < axis; d++) dst->dims[dst->rank++] = data->dims[d];
    for (int d = 0; d < indices->rank; d++) dst->dims[dst->rank++] = indices->dims[d];
    for (int d = axis + 1; d < data->rank; d++) dst->dims[dst->rank++] = data->dims[d];
    for (int d = 0; d < indices->rank; d++) some = some && indices->dims[d] != 0;
    if (data->dims[axis] == 0 && some)
        return pcti_fail(PCT_ERROR_SHAPE, "data: dimension %d is empty, there is nothing to gather", axis);
    return PCT_OK;
}

pcti_gather_shape pcti_gather_shape_of(const pcti_call *call)
{
    const pcti_tensor *data = &call->src[0].tensor;
    int64_t axis = ((const pct_gather_params *)call->params)->axis;
    pcti_gather_shape shape = {.axis = (int)(axis < 0 ? axis + data->rank : axis), .outer = 1, .inner = 1};
    shape.extent = data->dims[shape.axis];
    shape.count = pcti_tensor_elems(&call->src[1].tensor);
    for (int d = 0; d < shape.axis; d++) shape.outer *= data->dims[d];
    for (int d = shape.axis + 1; d < data->rank; d++) shape.inner *= data->dims[d];
    return shape;
}

pct_status pcti_gather_check(const pcti_call *call)
{
    pcti_gather_shape shape = pcti_gather_shape_of(call);
    if (!call->src[1].constant) return PCT_OK;
    double *indices = pcti_calloc((size_t)shape.count, sizeof *indices);
    if (!indices) return PCT_ERROR_MEMORY;
    pct_status status = pcti_constant_read_double(call->src[1].constant, indices);
    for (int64_t i = 0; i < shape.count && status == PCT_OK; i++)
        if (indices[i] < -(double)shape.extent || indices[i] >= (double)shape.extent)
            status =
                pcti_fail(PCT_ERROR_SHAPE, "gather: indices[%lld] is %.0f, but dimension %d of data has %lld entries",
                          (long long)i, indices[i], shape.axis, (long long)shape.extent);
    pcti_free(indices);
    return status;
}

static void gather_cost(const pcti_call *call, pcti_cost *cost)
{
    double data = (double)pcti_tensor_elems(&call->src[0].tensor) * (double)pct_dtype_size(call->src[0].tensor.dtype);
    cost->flops = 0;
    cost->bytes_read += cost->bytes_written - data; /* of data only what is taken */
}

static pct_status gather_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    pcti_gather_shape s = pcti_gather_shape_of(call);
    PCTI_RETURN_IF_FAILED(pcti_gather_check(call));
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < s.count; i++)
            memcpy(dst[0] + (o * s.count + i) * s.inner,
                   src[0] + (o * s.extent + pcti_gather_entry((int64_t)src[1][i], s.extent)) * s.inner,
                   (size_t)s.inner * sizeof(double));
    return PCT_OK;
}

const pcti_op pcti_op_gather = {
    .name = "gather",
    .family = "gather",
    .summary = "entries of data along an axis, chosen by indices; computed indices out of range are clamped",
    .params_bytes = sizeof(pct_gather_params),
    .fields = fields,
    .n_fields = 1,
    .src_names = src_names,
    .min_src = 2,
    .max_src = 2,
    .n_dst = 1,
    .infer = gather_infer,
    .cost = gather_cost,
    .ref = gather_ref,
};
