/* Matrix products: dense layers (stored weights, bias) and batched matmul. */
#include <string.h>

#include "op/op.h"

static const pcti_field dense_fields[] = {PCTI_INT(pct_dense_params, reserved, 0, false)};
static const char *const dense_srcs[] = {"src", "wei", "bias"};

static pct_status dense_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    PCTI_RETURN_IF_FAILED(pcti_check_rank("src", &src[0], 2, 2));
    PCTI_RETURN_IF_FAILED(pcti_check_rank("wei", &src[1], 2, 2));
    PCTI_RETURN_IF_FAILED(pcti_check_dim("wei", &src[1], 1, src[0].dims[1]));
    if (n_src > 2 && src[2].rank != PCTI_ABSENT) {
        PCTI_RETURN_IF_FAILED(pcti_check_rank("bias", &src[2], 1, 1));
        PCTI_RETURN_IF_FAILED(pcti_check_dim("bias", &src[2], 0, src[1].dims[0]));
    }
    *dst = (pct_shape){.dtype = src[0].dtype, .rank = 2, .dims = {src[0].dims[0], src[1].dims[0]}};
    return PCT_OK;
}

static void dense_cost(const pcti_call *call, pcti_cost *cost)
{
    cost->flops = 2 * (double)call->src[0].tensor.dims[0] * (double)pcti_tensor_elems(&call->src[1].tensor);
}

static pct_status dense_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    int64_t rows = call->src[0].tensor.dims[0], depth = call->src[0].tensor.dims[1], outputs = call->src[1].tensor.dims[0];
    const double *bias = pcti_call_src(call, 2) ? src[2] : NULL;
#pragma omp parallel for
    for (int64_t i = 0; i < rows * outputs; i++) {
        const double *x = src[0] + i / outputs * depth, *w = src[1] + i % outputs * depth;
        double sum = bias ? bias[i % outputs] : 0;
        for (int64_t c = 0; c < depth; c++) sum += x[c] * w[c];
        dst[0][i] = sum;
    }
    return PCT_OK;
}

const pcti_op pcti_op_dense = {
    .name = "dense",
    .family = "gemm",
    .summary = "dst = src x wei^T + bias",
    .params_bytes = sizeof(pct_dense_params),
    .fields = dense_fields,
    .n_fields = 1,
    .src_names = dense_srcs,
    .min_src = 2,
    .max_src = 3,
    .n_dst = 1,
    .infer = dense_infer,
    .cost = dense_cost,
    .ref = dense_ref,
};

/* ---- batched product ---- */

static const pcti_field matmul_fields[] = {
    PCTI_INT(pct_matmul_params, transpose_a, 0, false),
    PCTI_INT(pct_matmul_params, transpose_b, 0, false),
};
static const char *const matmul_srcs[] = {"a", "b"};

/* Rows and columns of an operand, after its transposition. */
static void matrix_dims(const int64_t *dims, int rank, bool transposed, int64_t *rows, int64_t *columns)
{
    *rows = dims[rank - (transposed ? 1 : 2)];
    *columns = dims[rank - (transposed ? 2 : 1)];
}

static pct_status matmul_infer(const void *params, const pct_shape *src, int n_src, pct_shape *dst)
{
    const pct_matmul_params *p = params;
    PCTI_RETURN_IF_FAILED(pcti_check_rank("a", &src[0], 2, PCT_MAX_RANK));
    PCTI_RETURN_IF_FAILED(pcti_check_rank("b", &src[1], 2, PCT_MAX_RANK));
    pct_shape a = src[0], b = src[1];
    int64_t rows, depth, depth_b, columns;
    matrix_dims(a.dims, a.rank, p->transpose_a, &rows, &depth);
    matrix_dims(b.dims, b.rank, p->transpose_b, &depth_b, &columns);
    if (depth != depth_b)
        return pcti_fail(PCT_ERROR_SHAPE, "a has %lld columns, b %lld rows", (long long)depth, (long long)depth_b);
    for (int i = 0; i < 2; i++) { /* the outer dimensions broadcast among themselves */
        a.dims[a.rank - 1 - i] = 1;
        b.dims[b.rank - 1 - i] = 1;
    }
    PCTI_RETURN_IF_FAILED(pcti_broadcast(&a, &b, dst));
    dst->dims[dst->rank - 2] = rows;
    dst->dims[dst->rank - 1] = columns;
    return PCT_OK;
}

static void matmul_cost(const pcti_call *call, pcti_cost *cost)
{
    const pct_matmul_params *p = call->params;
    const pcti_tensor *a = &call->src[0].tensor;
    cost->flops = 2 * (double)pcti_tensor_elems(&call->dst[0].tensor) * (double)a->dims[a->rank - (p->transpose_a ? 2 : 1)];
}

int64_t pcti_matmul_batch_offset(const pcti_tensor *operand, const pcti_tensor *dst, int64_t batch)
{
    int64_t offset = 0;
    for (int d = dst->rank - 3; d >= 0; d--) {
        int64_t index = batch % dst->dims[d];
        int own = d - (dst->rank - operand->rank);
        batch /= dst->dims[d];
        if (own >= 0 && operand->dims[own] > 1) offset += index * operand->strides[own];
    }
    return offset;
}

static pct_status matmul_ref(const pcti_call *call, const double *const *src, double *const *dst)
{
    const pct_matmul_params *p = call->params;
    pct_shape shapes[3] = {pcti_tensor_shape(&call->src[0].tensor), pcti_tensor_shape(&call->src[1].tensor),
                           pcti_tensor_shape(&call->dst[0].tensor)};
    pcti_tensor a = pcti_tensor_dense(&shapes[0], 1), b = pcti_tensor_dense(&shapes[1], 1), y = pcti_tensor_dense(&shapes[2], 1);
    int64_t rows, depth, columns, ignored, elems = pcti_tensor_elems(&y);
    matrix_dims(a.dims, a.rank, p->transpose_a, &rows, &depth);
    matrix_dims(b.dims, b.rank, p->transpose_b, &ignored, &columns);
#pragma omp parallel for
    for (int64_t i = 0; i < elems; i++) {
        int64_t batch = i / (rows * columns), r = i / columns % rows, c = i % columns;
        const double *x = src[0] + pcti_matmul_batch_offset(&a, &y, batch), *w = src[1] + pcti_matmul_batch_offset(&b, &y, batch);
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += x[p->transpose_a ? k * rows + r : r * depth + k] * w[p->transpose_b ? c * depth + k : k * columns + c];
        dst[0][i] = sum;
    }
    return PCT_OK;
}

const pcti_op pcti_op_matmul = {
    .name = "matmul",
    .family = "gemm",
    .summary = "matrix product over the last two dimensions, the others broadcast",
    .params_bytes = sizeof(pct_matmul_params),
    .fields = matmul_fields,
    .n_fields = sizeof matmul_fields / sizeof *matmul_fields,
    .src_names = matmul_srcs,
    .min_src = 2,
    .max_src = 2,
    .n_dst = 1,
    .infer = matmul_infer,
    .cost = matmul_cost,
    .ref = matmul_ref,
};
