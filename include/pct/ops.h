/* Parameters of the operators, and one builder per operator. Shapes are written (N, C, H, W); `dst` shapes follow from the
 * operands. In every struct a zero stands for the usual value where zero itself would be senseless (stride, dilation,
 * groups, epsilon), so that `{0}` is a valid start. Sources of the formulas: the ONNX operator pages, whose attribute
 * meanings these follow; PyTorch where a comment says so. */
#ifndef PCT_OPS_H
#define PCT_OPS_H

#include "pct/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dst[n,k,y,x] = bias[k] + sum over c,r,s of wei[k,c,r,s] * src[n, g*C/G + c, y*stride + r*dilation - pad, ...].
 * src (N,C,H,W), wei (K,C/G,R,S), bias (K) optional. */
typedef struct pct_conv2d_params {
    int64_t stride[2], dilation[2]; /* height, width */
    int64_t pad[4];                 /* top, left, bottom, right */
    int64_t groups;
} pct_conv2d_params;

/* The adjoint of conv2d. src (N,C,H,W), wei (C,K/G,R,S), bias (K) optional;
 * height (H-1)*stride - pad_top - pad_bottom + dilation*(R-1) + 1 + output_pad. */
typedef struct pct_conv_transpose2d_params {
    int64_t stride[2], dilation[2], pad[4], groups;
    int64_t output_pad[2];
} pct_conv_transpose2d_params;

typedef enum pct_pool_kind { PCT_POOL_MAX, PCT_POOL_AVERAGE } pct_pool_kind;
/* Padding never wins a maximum; an average divides by the window's size inside the picture, or, with include_pad, by its
 * size inside the padded picture. `ceil`: output sizes round up, but no window starts beyond the picture and its leading
 * padding (PyTorch's rule). `global`: the window is the whole picture; kernel, stride, pad and ceil are ignored. */
typedef struct pct_pool2d_params {
    int64_t kind; /* pct_pool_kind */
    int64_t kernel[2], stride[2] /* 0: the kernel's size */, dilation[2], pad[4];
    int64_t ceil, include_pad, global;
} pct_pool2d_params;

/* dst = (src - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + shift[c], with stored statistics.
 * Operands src (N,C,...), scale, shift, mean, variance (C). epsilon 0: 1e-5. */
typedef struct pct_batch_norm_params { double epsilon; } pct_batch_norm_params;
/* Normalises over the dimensions from `axis` on (negative counts from the end; 0 stands for -1).
 * Operands src, scale, shift (both optional, shaped like the normalised dimensions). epsilon 0: 1e-5. */
typedef struct pct_layer_norm_params { int64_t axis; double epsilon; } pct_layer_norm_params;
/* dst = src / (bias + alpha/size * sum of squares over `size` neighbouring channels)^beta (Krizhevsky et al. 2012). */
typedef struct pct_lrn_params { int64_t size; double alpha, beta, bias; } pct_lrn_params;

/* dst[n,k] = bias[k] + sum over c of wei[k,c] * src[n,c]. src (N,C), wei (K,C), bias (K) optional. */
typedef struct pct_dense_params { int64_t reserved; } pct_dense_params;
/* dst = a x b over the last two dimensions; the others broadcast. transpose_a, transpose_b swap the last two first. */
typedef struct pct_matmul_params { int64_t transpose_a, transpose_b; } pct_matmul_params;

typedef enum pct_unary_fn {
    PCT_UNARY_RELU, PCT_UNARY_CLIP /* alpha = low, beta = high */, PCT_UNARY_LEAKY_RELU /* alpha */, PCT_UNARY_ELU /* alpha */,
    PCT_UNARY_SIGMOID, PCT_UNARY_TANH, PCT_UNARY_SILU, PCT_UNARY_HARD_SWISH, PCT_UNARY_HARD_SIGMOID /* alpha*x + beta */,
    PCT_UNARY_GELU /* x/2 (1 + erf(x/sqrt 2)) */, PCT_UNARY_ERF, PCT_UNARY_SQRT, PCT_UNARY_EXP, PCT_UNARY_LOG, PCT_UNARY_ABS,
    PCT_UNARY_NEG, PCT_UNARY_COUNT
} pct_unary_fn;
typedef struct pct_unary_params { int64_t fn; double alpha, beta; } pct_unary_params;

/* dst = x > 0 ? x : slope * x; slope holds one value or one per channel (dimension 1). */
typedef struct pct_prelu_params { int64_t reserved; } pct_prelu_params;

typedef enum pct_binary_fn {
    PCT_BINARY_ADD, PCT_BINARY_SUB, PCT_BINARY_MUL, PCT_BINARY_DIV, PCT_BINARY_MAX, PCT_BINARY_MIN, PCT_BINARY_POW, PCT_BINARY_COUNT
} pct_binary_fn;
/* Broadcasts as NumPy does. max and min hand a NaN on. */
typedef struct pct_binary_params { int64_t fn; } pct_binary_params;

/* Over one axis (negative counts from the end): exp(x - max) / sum, or its logarithm. */
typedef struct pct_softmax_params { int64_t axis, log; } pct_softmax_params;

typedef enum pct_reduce_fn { PCT_REDUCE_SUM, PCT_REDUCE_MEAN, PCT_REDUCE_MAX } pct_reduce_fn;
/* n_axes 0: over all. Of nothing: sum 0, mean NaN, maximum -inf (ONNX). A maximum hands NaN on. */
typedef struct pct_reduce_params { int64_t fn, keep_dims, n_axes, axes[PCT_MAX_RANK]; } pct_reduce_params;
/* Index (i64) of the first largest value along an axis; NaN is largest (PyTorch). An empty axis is an error. */
typedef struct pct_argmax_params { int64_t axis, keep_dims; } pct_argmax_params;
/* The k largest values along an axis in descending order and their indices (i64); of equal values the first comes first, NaN
 * is largest (PyTorch). k from 0 to the axis' size. */
typedef struct pct_topk_params { int64_t k, axis; } pct_topk_params;

typedef struct pct_concat_params { int64_t axis; } pct_concat_params;
/* For each i: dimension axes[i] from starts[i] up to but without ends[i] in steps of steps[i] (0: 1), ONNX's clamping. */
typedef struct pct_slice_params { int64_t n_axes, axes[PCT_MAX_RANK], starts[PCT_MAX_RANK], ends[PCT_MAX_RANK], steps[PCT_MAX_RANK]; } pct_slice_params;
typedef enum pct_pad_mode { PCT_PAD_CONSTANT, PCT_PAD_REFLECT, PCT_PAD_EDGE } pct_pad_mode;
/* begin[d], end[d]: elements added (negative: removed) on each side of dimension d. */
typedef struct pct_pad_params { int64_t mode; double value; int64_t rank, begin[PCT_MAX_RANK], end[PCT_MAX_RANK]; } pct_pad_params;
/* dims: -1 is inferred (once), 0 copies the dimension of the same index. */
typedef struct pct_reshape_params { int64_t rank, dims[PCT_MAX_RANK]; } pct_reshape_params;
/* dst dimension d is src dimension axes[d]; rank 0: reversed order. */
typedef struct pct_transpose_params { int64_t rank, axes[PCT_MAX_RANK]; } pct_transpose_params;
/* The identity: dropout at inference time. */
typedef struct pct_dropout_params { double probability; } pct_dropout_params;

/* dst dims = data dims before axis, index dims, data dims after it. indices i64 or i32, negative from the end. One out of
 * range is an error of the plan where the indices are constant; where a run computes them, it is clamped into range. */
typedef struct pct_gather_params { int64_t axis; } pct_gather_params;

typedef enum pct_resize_mode { PCT_RESIZE_NEAREST, PCT_RESIZE_LINEAR } pct_resize_mode;
typedef enum pct_resize_coords { PCT_COORDS_HALF_PIXEL, PCT_COORDS_PYTORCH_HALF_PIXEL, PCT_COORDS_ALIGN_CORNERS, PCT_COORDS_ASYMMETRIC } pct_resize_coords;
typedef enum pct_resize_round { PCT_ROUND_PREFER_FLOOR, PCT_ROUND_PREFER_CEIL, PCT_ROUND_FLOOR, PCT_ROUND_CEIL } pct_resize_round;
/* Of the last two dimensions. Either size (both > 0) or scale: then the size is floor(scale * size of src), and coordinates
 * follow the scale as given, not the quotient of the sizes. */
typedef struct pct_resize_params { int64_t mode, coords, round, size[2]; double scale[2]; } pct_resize_params;

/* A builder appends one node and gives its (first) result. `name` names node and result in dumps, profiles and messages;
 * NULL lets the graph number it. Operands PCT_NONE are left out. */
#define PCT_BUILDER(op, params_type)                                                                                  \
    static inline pct_status pct_##op(pct_graph *graph, const char *name, const params_type *params,                 \
                                      const pct_value *srcs, int n_src, pct_value *dst)                              \
    {                                                                                                                \
        return pct_graph_add(graph, #op, name, params, srcs, n_src, dst, 1);                                         \
    }
PCT_BUILDER(conv2d, pct_conv2d_params)
PCT_BUILDER(conv_transpose2d, pct_conv_transpose2d_params)
PCT_BUILDER(pool2d, pct_pool2d_params)
PCT_BUILDER(batch_norm, pct_batch_norm_params)
PCT_BUILDER(layer_norm, pct_layer_norm_params)
PCT_BUILDER(lrn, pct_lrn_params)
PCT_BUILDER(dense, pct_dense_params)
PCT_BUILDER(matmul, pct_matmul_params)
PCT_BUILDER(unary, pct_unary_params)
PCT_BUILDER(prelu, pct_prelu_params)
PCT_BUILDER(binary, pct_binary_params)
PCT_BUILDER(softmax, pct_softmax_params)
PCT_BUILDER(reduce, pct_reduce_params)
PCT_BUILDER(argmax, pct_argmax_params)
PCT_BUILDER(concat, pct_concat_params)
PCT_BUILDER(slice, pct_slice_params)
PCT_BUILDER(pad, pct_pad_params)
PCT_BUILDER(reshape, pct_reshape_params)
PCT_BUILDER(transpose, pct_transpose_params)
PCT_BUILDER(dropout, pct_dropout_params)
PCT_BUILDER(gather, pct_gather_params)
PCT_BUILDER(resize, pct_resize_params)
#undef PCT_BUILDER

/* values and indices: dsts[0], dsts[1]. */
static inline pct_status pct_topk(pct_graph *graph, const char *name, const pct_topk_params *params, pct_value src, pct_value dsts[2])
{
    return pct_graph_add(graph, "topk", name, params, &src, 1, dsts, 2);
}

#ifdef __cplusplus
}
#endif
#endif
