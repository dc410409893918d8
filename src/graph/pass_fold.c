/* Computes at plan time what depends on constants only. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "graph/ir.h"


/* Equal inputs give equal ids, so that plans for two batches share one packed form. */
static uint64_t derived_id(const char *how, const uint64_t *ids, int n_ids, double number)
{
    uint64_t hash = pcti_fnv1a(PCTI_FNV_START, how, strlen(how));
    hash = pcti_fnv1a(hash, ids, (size_t)n_ids * sizeof *ids);
    return pcti_fnv1a(hash, &number, sizeof number) | 1ull << 63; /* apart from the counted ids */
}

static pct_status store_constant(pct_graph *graph, const char *name, const pct_shape *shape, uint64_t id, const double *data,
                                 pct_value *value)
{
    int64_t elems;
    pcti_constant *constant;
    *value = PCT_NONE;
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(shape, &elems));
    void *stored = pcti_alloc_aligned((size_t)elems * pct_dtype_size(shape->dtype));
    if (!stored) return PCT_ERROR_MEMORY;
    for (int64_t i = 0; i < elems; i++) {
        if (shape->dtype == PCT_F32) ((float *)stored)[i] = (float)data[i];
        else ((int64_t *)stored)[i] = (int64_t)data[i];
    }
    pct_status status = pcti_constant_create(name, shape, id, stored, &constant);
    if (status != PCT_OK) {
        pcti_free_aligned(stored);
        return status;
    }
    return pcti_graph_take_constant(graph, constant, value);
}

/* ---- nodes whose operands are all constants ---- */

/* Of result d: from op, parameters and operands. */
static uint64_t node_id(const pct_graph *graph, const pcti_node *node, int d)
{
    uint64_t hash = derived_id(node->op->name, NULL, 0, d);
    hash = pcti_fnv1a(hash, node->params, node->op->params_bytes);
    for (int i = 0; i < node->n_src; i++) {
        uint64_t id = node->src[i] == PCT_NONE ? 0 : graph->values[node->src[i]].constant->id;
        hash = pcti_fnv1a(hash, &id, sizeof id);
    }
    return hash | 1ull << 63;
}

static pct_status evaluate(pct_graph *graph, const pcti_node *node)
{
    pct_status status = PCT_OK;
    pcti_operand *src = pcti_calloc((size_t)node->n_src + 1, sizeof *src), dst[2];
    double **in = pcti_calloc((size_t)node->n_src + 1, sizeof *in), *out[2] = {NULL, NULL};
    pcti_call call;
    if (!src || !in) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    pcti_node_call(graph, node, src, dst, &call);
    for (int i = 0; i < node->n_src; i++) {
        if (!src[i].constant) continue;
        if (!(in[i] = pcti_calloc((size_t)pcti_tensor_elems(&src[i].tensor), sizeof(double)))) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
        PCTI_TRY(pcti_constant_read_double(src[i].constant, in[i]));
    }
    for (int d = 0; d < node->n_dst; d++)
        if (!(out[d] = pcti_calloc((size_t)pcti_tensor_elems(&dst[d].tensor), sizeof(double)))) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
    PCTI_TRY(pcti_call_ref(&call, (const double *const *)in, out));
    for (int d = 0; d < node->n_dst; d++) {
        pct_value folded;
        pct_shape shape = graph->values[node->dst[d]].shape;
        PCTI_TRY(store_constant(graph, graph->values[node->dst[d]].name, &shape, node_id(graph, node, d), out[d], &folded));
        pcti_graph_replace(graph, node->dst[d], folded);
    }
fail:
    for (int i = 0; in && i < node->n_src; i++) pcti_free(in[i]);
    pcti_free(out[0]);
    pcti_free(out[1]);
    pcti_free(in);
    pcti_free(src);
    return status;
}

pct_status pcti_pass_fold_constants(pct_graph *graph)
{
    for (size_t n = 0; n < graph->n_nodes; n++) {
        bool constant = !graph->nodes[n].dead;
        for (int i = 0; i < graph->nodes[n].n_src && constant; i++) {
            pct_value src = graph->nodes[n].src[i];
            constant = src == PCT_NONE || graph->values[src].constant;
        }
        bool storable = true;
        for (int d = 0; d < graph->nodes[n].n_dst; d++) {
            pct_dtype dtype = graph->values[graph->nodes[n].dst[d]].shape.dtype;
            storable = storable && (dtype == PCT_F32 || dtype == PCT_I64);
        }
        if (!constant || !storable) continue;
        pct_status status = evaluate(graph, &graph->nodes[n]);
        if (status != PCT_OK) return pcti_fail_in(status, "folding %s", graph->nodes[n].name);
        graph->nodes[n].dead = true;
    }
    return PCT_OK;
}

/* ---- batch-norm as scale and shift ---- */

static pct_status read_operand(const pct_graph *graph, const pcti_node *node, int i, double *dst)
{
    return pcti_constant_read_double(graph->values[node->src[i]].constant, dst);
}

static bool constant_operands(const pct_graph *graph, const pcti_node *node, int first)
{
    for (int i = first; i < node->op->max_src; i++)
        if (i < node->n_src && node->src[i] != PCT_NONE && !graph->values[node->src[i]].constant) return false;
    return true;
}

/* scale[c] and shift[c] with batch_norm(x) = x*scale + shift; two arrays in one block that the caller frees. */
static pct_status batch_norm_affine(const pct_graph *graph, const pcti_node *norm, double **scale, double **shift)
{
    int64_t channels = graph->values[norm->src[1]].shape.dims[0];
    const pct_batch_norm_params *params = norm->params;
    double *block = pcti_calloc((size_t)channels * 4, sizeof *block);
    *scale = *shift = NULL;
    if (!block) return PCT_ERROR_MEMORY;
    double *s = block, *t = block + channels, *mean = block + 2 * channels, *variance = block + 3 * channels;
    double *const to[] = {s, t, mean, variance};
    for (int i = 0; i < 4; i++) {
        pct_status status = read_operand(graph, norm, i + 1, to[i]);
        if (status != PCT_OK) {
            pcti_free(block);
            return status;
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        s[c] /= sqrt(variance[c] + params->epsilon);
        t[c] -= mean[c] * s[c];
    }
    *scale = s;
    *shift = t;
    return PCT_OK;
}

static void norm_ids(const pct_graph *graph, const pcti_node *norm, uint64_t ids[4])
{
    for (int i = 0; i < 4; i++) ids[i] = graph->values[norm->src[i + 1]].constant->id;
}

pct_status pcti_fold_affine(pct_graph *graph, const pcti_node *norm, pct_value *scale_value, pct_value *shift_value)
{
    double *scale, *shift;
    uint64_t ids[4];
    double epsilon = ((const pct_batch_norm_params *)norm->params)->epsilon;
    pct_shape shape = graph->values[norm->src[1]].shape;
    PCTI_RETURN_IF_FAILED(batch_norm_affine(graph, norm, &scale, &shift));
    norm_ids(graph, norm, ids);
    pct_status status = store_constant(graph, norm->name, &shape, derived_id("scale", ids, 4, epsilon), scale, scale_value);
    if (status == PCT_OK) status = store_constant(graph, norm->name, &shape, derived_id("shift", ids, 4, epsilon), shift, shift_value);
    pcti_free(scale);
    return status;
}

/* weights'[k] = weights[k]*scale[k], bias'[k] = bias[k]*scale[k] + shift[k] */
static pct_status fold_into(pct_graph *graph, pcti_node *linear, const pcti_node *norm)
{
    pct_status status = PCT_OK;
    double *scale, *shift, *weights = NULL, *bias = NULL;
    double epsilon = ((const pct_batch_norm_params *)norm->params)->epsilon;
    uint64_t ids[6];
    int64_t elems;
    pct_value folded_weights, folded_bias;
    const pcti_constant *old = graph->values[linear->src[1]].constant;
    pct_shape shape = old->shape, bias_shape = {.dtype = PCT_F32, .rank = 1, .dims = {old->shape.dims[0]}};
    int64_t outputs = shape.dims[0];
    bool has_bias = linear->n_src > 2 && linear->src[2] != PCT_NONE;
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&shape, &elems));
    PCTI_RETURN_IF_FAILED(batch_norm_affine(graph, norm, &scale, &shift));
    weights = pcti_calloc((size_t)elems, sizeof *weights);
    bias = pcti_calloc((size_t)outputs, sizeof *bias);
    if (!weights || !bias) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_TRY(pcti_constant_read_double(old, weights));
    if (has_bias) PCTI_TRY(read_operand(graph, linear, 2, bias));
    for (int64_t k = 0; k < outputs; k++) {
        for (int64_t i = 0; i < elems / outputs; i++) weights[k * (elems / outputs) + i] *= scale[k];
        bias[k] = bias[k] * scale[k] + shift[k];
    }
    norm_ids(graph, norm, ids);
    ids[4] = old->id;
    ids[5] = has_bias ? graph->values[linear->src[2]].constant->id : 0;
    PCTI_TRY(store_constant(graph, old->name, &shape, derived_id("folded weights", ids, 6, epsilon), weights, &folded_weights));
    PCTI_TRY(store_constant(graph, norm->name, &bias_shape, derived_id("folded bias", ids, 6, epsilon), bias, &folded_bias));
    if (linear->n_src < 3) {
        pct_value *src = pcti_realloc(linear->src, 3, sizeof *src);
        if (!src) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
        linear->src = src;
        linear->n_src = 3;
    }
    linear->src[1] = folded_weights;
    linear->src[2] = folded_bias;
fail:
    pcti_free(scale);
    pcti_free(weights);
    pcti_free(bias);
    return status;
}

pct_status pcti_pass_fold_batch_norm(pct_graph *graph)
{
    for (size_t n = 0; n < graph->n_nodes; n++) {
        pcti_node *norm = &graph->nodes[n];
        int user;
        if (norm->dead || !pcti_op_is(norm->op, "batch_norm") || !constant_operands(graph, norm, 1)) continue;
        int producer = graph->values[norm->src[0]].producer;
        if (producer < 0 || pcti_graph_uses(graph, norm->src[0], &user) != 1 || user != (int)n) continue;
        pcti_node *linear = &graph->nodes[producer];
        bool folds = pcti_op_is(linear->op, "conv2d") || pcti_op_is(linear->op, "dense");
        if (!folds || linear->fusion || linear->dead || !constant_operands(graph, linear, 1)) continue;
        pct_status status = fold_into(graph, linear, norm);
        if (status != PCT_OK) return pcti_fail_in(status, "folding %s into %s", norm->name, linear->name);
        /* The result keeps the later name: it's the value that the user asked for. */
        linear->dst[0] = norm->dst[0];
        graph->values[linear->dst[0]].producer = producer;
        norm->dead = true;
    }
    return PCT_OK;
}
