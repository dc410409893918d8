#include "model/layers.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/tensor.h"
#include "pct/ops.h"

/* ---- names ---- */

static void print_name(pcti_net *net, char *text, const char *format, va_list args)
{
    if (net->status != PCT_OK) return;
    memcpy(text, net->scope, net->scope_length);
    size_t room = PCTI_NET_NAME - net->scope_length;
    int length = vsnprintf(text + net->scope_length, room, format, args);
    if (length < 0 || (size_t)length >= room)
        net->status = pcti_fail(PCT_ERROR_ARGUMENT, "layer name %s...: too long", text);
}

/* Declares `text` and prints the scope and the function's trailing arguments into it. */
#define PRINT_NAME(text)                                                                                             \
    char text[PCTI_NET_NAME] = "";                                                                                   \
    va_list args;                                                                                                    \
    va_start(args, name);                                                                                            \
    print_name(net, text, name, args);                                                                               \
    va_end(args)

size_t pcti_net_enter(pcti_net *net, const char *name, ...)
{
    size_t entered = net->scope_length;
    PRINT_NAME(text);
    size_t length = strlen(text);
    if (net->status == PCT_OK && length + 1 >= sizeof net->scope)
        net->status = pcti_fail(PCT_ERROR_ARGUMENT, "layer name %s...: too long", text);
    if (net->status != PCT_OK) return entered;
    memcpy(net->scope, text, length);
    net->scope[length] = '.';
    net->scope_length = length + 1;
    return entered;
}

void pcti_net_leave(pcti_net *net, size_t entered)
{
    net->scope_length = entered;
}

/* ---- nodes and parameters ---- */

static pct_shape shape_of(pcti_net *net, pct_value value)
{
    pct_shape shape = {0};
    if (net->status == PCT_OK) net->status = pct_graph_shape(net->graph, value, &shape);
    return shape;
}

int64_t pcti_net_channels(pcti_net *net, pct_value src)
{
    return shape_of(net, src).dims[1];
}

static pct_value add_node(pcti_net *net, const char *op, const char *name, const void *params, const pct_value *srcs,
                          int n_src)
{
    pct_value dst = PCT_NONE;
    if (net->status == PCT_OK) net->status = pct_graph_add(net->graph, op, name, params, srcs, n_src, &dst, 1);
    return dst;
}

static pct_value add_parameter(pcti_net *net, const char *name, const char *leaf, const pct_shape *shape)
{
    char full[PCTI_NET_NAME + 16];
    pct_value value = PCT_NONE;
    snprintf(full, sizeof full, "%s.%s", name, leaf);
    if (net->status == PCT_OK) net->status = pct_graph_add_parameter(net->graph, full, shape, &value);
    return value;
}

static pct_shape vector(int64_t elems)
{
    return (pct_shape){PCT_F32, 1, {elems}};
}

/* ---- layers with parameters ---- */

/* Zeros before the first and after the last element such that the result has ceil(size / stride) elements. */
static void pad_same(int64_t size, int64_t kernel, int64_t stride, int64_t *before, int64_t *after)
{
    int64_t zeros = pcti_max((pcti_ceil_div(size, stride) - 1) * stride + kernel - size, 0);
    *before = zeros / 2;
    *after = zeros - zeros / 2;
}

pct_value pcti_net_conv(pcti_net *net, pct_value src, pcti_conv_spec conv, const char *name, ...)
{
    PRINT_NAME(full);
    pct_shape shape = shape_of(net, src);
    int64_t groups = pcti_max(conv.groups, 1), stride = pcti_max(conv.stride, 1);
    pct_conv2d_params params = {
        .stride = {stride, stride}, .pad = {conv.pad, conv.pad, conv.pad, conv.pad}, .groups = groups};
    if (conv.same)
        for (int d = 0; d < 2; d++)
            pad_same(shape.dims[2 + d], conv.kernel, stride, &params.pad[d], &params.pad[2 + d]);
    pct_shape weight = {PCT_F32, 4, {conv.out, shape.dims[1] / groups, conv.kernel, conv.kernel}};
    pct_shape bias = vector(conv.out);
    pct_value srcs[3] = {src, add_parameter(net, full, "weight", &weight), PCT_NONE};
    if (conv.bias) srcs[2] = add_parameter(net, full, "bias", &bias);
    return add_node(net, "conv2d", full, &params, srcs, conv.bias ? 3 : 2);
}

pct_value pcti_net_batch_norm(pcti_net *net, pct_value src, double epsilon, const char *name, ...)
{
    static const char *const leaves[] = {"weight", "bias", "running_mean", "running_var"};
    PRINT_NAME(full);
    pct_shape shape = vector(pcti_net_channels(net, src));
    pct_value srcs[5] = {src};
    for (int i = 0; i < 4; i++) srcs[1 + i] = add_parameter(net, full, leaves[i], &shape);
    return add_node(net, "batch_norm", full, &(pct_batch_norm_params){.epsilon = epsilon}, srcs, 5);
}

pct_value pcti_net_linear(pcti_net *net, pct_value src, int64_t out, const char *name, ...)
{
    PRINT_NAME(full);
    pct_shape weight = {PCT_F32, 2, {out, pcti_net_channels(net, src)}}, bias = vector(out);
    pct_value srcs[3] = {src};
    srcs[1] = add_parameter(net, full, "weight", &weight);
    srcs[2] = add_parameter(net, full, "bias", &bias);
    return add_node(net, "dense", full, NULL, srcs, 3);
}

/* ---- layers without ---- */

pct_value pcti_net_relu(pcti_net *net, pct_value src, const char *name, ...)
{
    PRINT_NAME(full);
    return add_node(net, "unary", full, &(pct_unary_params){.fn = PCT_UNARY_RELU}, &src, 1);
}

pct_value pcti_net_relu6(pcti_net *net, pct_value src, const char *name, ...)
{
    PRINT_NAME(full);
    return add_node(net, "unary", full, &(pct_unary_params){.fn = PCT_UNARY_CLIP, .alpha = 0, .beta = 6}, &src, 1);
}

pct_value pcti_net_add(pcti_net *net, pct_value a, pct_value b, const char *name, ...)
{
    PRINT_NAME(full);
    pct_value srcs[2] = {a, b};
    return add_node(net, "binary", full, &(pct_binary_params){.fn = PCT_BINARY_ADD}, srcs, 2);
}

pct_value pcti_net_concat(pcti_net *net, pct_value a, pct_value b, const char *name, ...)
{
    PRINT_NAME(full);
    pct_value srcs[2] = {a, b};
    return add_node(net, "concat", full, &(pct_concat_params){.axis = 1}, srcs, 2);
}

pct_value pcti_net_dropout(pcti_net *net, pct_value src, double probability, const char *name, ...)
{
    PRINT_NAME(full);
    return add_node(net, "dropout", full, &(pct_dropout_params){.probability = probability}, &src, 1);
}

pct_value pcti_net_flatten(pcti_net *net, pct_value src, const char *name, ...)
{
    PRINT_NAME(full);
    pct_shape shape = shape_of(net, src);
    pct_reshape_params params = {.rank = 2, .dims = {0, 1}}; /* 0: the batch, whatever it will be */
    for (int d = 1; d < shape.rank; d++) params.dims[1] *= shape.dims[d];
    return add_node(net, "reshape", full, &params, &src, 1);
}

/* ---- pooling ---- */

static pct_value add_pool(pcti_net *net, pct_value src, pct_pool_kind kind, pcti_pool_spec pool, const char *full)
{
    pct_pool2d_params params = {.kind = kind,
                                .kernel = {pool.kernel, pool.kernel},
                                .stride = {pool.stride, pool.stride},
                                .pad = {pool.pad, pool.pad, pool.pad, pool.pad},
                                .ceil = pool.ceil};
    return add_node(net, "pool2d", full, &params, &src, 1);
}

pct_value pcti_net_max_pool(pcti_net *net, pct_value src, pcti_pool_spec pool, const char *name, ...)
{
    PRINT_NAME(full);
    return add_pool(net, src, PCT_POOL_MAX, pool, full);
}

pct_value pcti_net_average_pool(pcti_net *net, pct_value src, pcti_pool_spec pool, const char *name, ...)
{
    PRINT_NAME(full);
    return add_pool(net, src, PCT_POOL_AVERAGE, pool, full);
}

pct_value pcti_net_global_average(pcti_net *net, pct_value src, const char *name, ...)
{
    PRINT_NAME(full);
    return add_node(net, "pool2d", full, &(pct_pool2d_params){.kind = PCT_POOL_AVERAGE, .global = 1}, &src, 1);
}

/* A constant (size, length) that averages PyTorch's adaptive windows of `length` elements; transposed for
 * columns. */
static pct_value averaging_matrix(pcti_net *net, int64_t length, int64_t size, bool transposed, const char *full)
{
    pct_value value = PCT_NONE;
    if (net->status != PCT_OK) return value;
    pct_shape shape = {PCT_F32, 2, {transposed ? length : size, transposed ? size : length}};
    float *matrix = pcti_calloc((size_t)(size * length), sizeof *matrix);
    if (!matrix) {
        net->status = PCT_ERROR_MEMORY;
        return value;
    }
    for (int64_t i = 0; i < size; i++) {
        int64_t begin = i * length / size, end = pcti_ceil_div((i + 1) * length, size);
        for (int64_t j = begin; j < end; j++)
            matrix[transposed ? j * size + i : i * length + j] = (float)(1.0 / (double)(end - begin));
    }
    net->status = pct_graph_add_constant(net->graph, full, &shape, matrix, &value);
    pcti_free(matrix);
    return value;
}

pct_value pcti_net_adaptive_average(pcti_net *net, pct_value src, int64_t size, const char *name, ...)
{
    PRINT_NAME(full);
    char part[PCTI_NET_NAME + 16];
    pct_shape shape = shape_of(net, src);
    int64_t height = shape.dims[2], width = shape.dims[3];
    if (height == size && width == size) return src;
    if (height % size == 0 && width % size == 0) {
        pct_pool2d_params params = {.kind = PCT_POOL_AVERAGE, .kernel = {height / size, width / size}};
        return add_node(net, "pool2d", full, &params, &src, 1);
    }
    /* The mean over a window is separable: rows from the left, columns from the right. */
    if (height != size) {
        snprintf(part, sizeof part, "%s.rows", full);
        pct_value srcs[2] = {averaging_matrix(net, height, size, false, part), src};
        src = add_node(net, "matmul", part, NULL, srcs, 2);
    }
    if (width != size) {
        snprintf(part, sizeof part, "%s.columns", full);
        pct_value srcs[2] = {src, averaging_matrix(net, width, size, true, part)};
        src = add_node(net, "matmul", part, NULL, srcs, 2);
    }
    return src;
}
