#include "graph/ir.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

pct_status pct_graph_create(pct_graph **graph)
{
    *graph = pcti_calloc(1, sizeof **graph);
    return *graph ? PCT_OK : PCT_ERROR_MEMORY;
}

static void free_node(pcti_node *node)
{
    pcti_free(node->name);
    pcti_free(node->params);
    pcti_free(node->fusion);
    pcti_free(node->src);
}

void pct_graph_destroy(pct_graph *graph)
{
    if (!graph) return;
    for (size_t i = 0; i < graph->n_values; i++) {
        pcti_free(graph->values[i].name);
        pcti_constant_release(graph->values[i].constant);
    }
    for (size_t i = 0; i < graph->n_nodes; i++) free_node(&graph->nodes[i]);
    for (size_t i = 0; i < graph->n_outputs; i++) pcti_free(graph->outputs[i].name);
    pcti_free(graph->values);
    pcti_free(graph->nodes);
    pcti_free(graph->inputs);
    pcti_free(graph->parameters);
    pcti_free(graph->outputs);
    pcti_free(graph);
}

static pct_status check_value(const pct_graph *graph, pct_value value)
{
    if (value >= 0 && (size_t)value < graph->n_values) return PCT_OK;
    return pcti_fail(PCT_ERROR_ARGUMENT, "there is no value %d in this graph", (int)value);
}

static pct_status check_name(const pct_graph *graph, const char *name)
{
    if (!name || !*name) return pcti_fail(PCT_ERROR_ARGUMENT, "inputs, parameters and outputs need names");
    for (size_t i = 0; i < graph->n_values; i++)
        if (graph->values[i].kind <= PCTI_VALUE_PARAMETER && !strcmp(graph->values[i].name, name))
            return pcti_fail(PCT_ERROR_ARGUMENT, "the graph has an input or parameter \"%s\" already", name);
    for (size_t i = 0; i < graph->n_outputs; i++)
        if (!strcmp(graph->outputs[i].name, name))
            return pcti_fail(PCT_ERROR_ARGUMENT, "the graph has an output \"%s\" already", name);
    return PCT_OK;
}

static pct_status add_value(pct_graph *graph, const char *name, pcti_value_kind kind, const pct_shape *shape, pct_value *value)
{
    char *copy = pcti_strdup(name);
    *value = PCT_NONE;
    if (!copy) return PCT_ERROR_MEMORY;
    if (shape->rank < 0 || shape->rank > PCT_MAX_RANK) {
        pcti_free(copy);
        return pcti_fail(PCT_ERROR_SHAPE, "%s: rank %d", name, (int)shape->rank);
    }
    pct_status status = pcti_grow(&graph->values, &graph->values_capacity, graph->n_values, sizeof *graph->values);
    if (status != PCT_OK) {
        pcti_free(copy);
        return status;
    }
    graph->values[graph->n_values] = (pcti_value){.name = copy, .kind = kind, .shape = *shape, .producer = -1};
    *value = (pct_value)graph->n_values++;
    return PCT_OK;
}

pct_status pct_graph_add_input(pct_graph *graph, const char *name, const pct_shape *shape, pct_value *value)
{
    *value = PCT_NONE;
    PCTI_RETURN_IF_FAILED(check_name(graph, name));
    PCTI_RETURN_IF_FAILED(pcti_grow(&graph->inputs, &graph->inputs_capacity, graph->n_inputs, sizeof *graph->inputs));
    PCTI_RETURN_IF_FAILED(add_value(graph, name, PCTI_VALUE_INPUT, shape, value));
    graph->inputs[graph->n_inputs++] = *value;
    return PCT_OK;
}

pct_status pct_graph_add_parameter(pct_graph *graph, const char *name, const pct_shape *shape, pct_value *value)
{
    int64_t elems;
    *value = PCT_NONE;
    PCTI_RETURN_IF_FAILED(check_name(graph, name));
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(shape, &elems));
    if (shape->dtype != PCT_F32) return pcti_fail(PCT_ERROR_ARGUMENT, "parameter %s: must be f32", name);
    PCTI_RETURN_IF_FAILED(
        pcti_grow(&graph->parameters, &graph->parameters_capacity, graph->n_parameters, sizeof *graph->parameters));
    PCTI_RETURN_IF_FAILED(add_value(graph, name, PCTI_VALUE_PARAMETER, shape, value));
    graph->parameters[graph->n_parameters++] = *value;
    return PCT_OK;
}

pct_status pcti_graph_take_constant(pct_graph *graph, pcti_constant *constant, pct_value *value)
{
    pct_status status = add_value(graph, constant->name, PCTI_VALUE_CONSTANT, &constant->shape, value);
    if (status != PCT_OK) {
        pcti_constant_release(constant);
        return status;
    }
    graph->values[*value].constant = constant;
    return PCT_OK;
}

static pct_status copy_constant(const char *name, const pct_shape *shape, const void *data, pcti_constant **constant)
{
    int64_t elems;
    *constant = NULL;
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(shape, &elems));
    size_t bytes = (size_t)elems * pct_dtype_size(shape->dtype);
    void *copy = pcti_alloc_aligned(bytes);
    if (!copy) return PCT_ERROR_MEMORY;
    if (bytes) memcpy(copy, data, bytes);
    pct_status status = pcti_constant_create(name, shape, pcti_constant_new_id(), copy, constant);
    if (status != PCT_OK) pcti_free_aligned(copy);
    return status;
}

pct_status pct_graph_add_constant(pct_graph *graph, const char *name, const pct_shape *shape, const void *data, pct_value *value)
{
    pcti_constant *constant;
    *value = PCT_NONE;
    PCTI_RETURN_IF_FAILED(copy_constant(name ? name : "constant", shape, data, &constant));
    return pcti_graph_take_constant(graph, constant, value);
}

static pct_status fill_node(pct_graph *graph, const pcti_op *op, const void *params, const pct_value *srcs, int n_src,
                            int n_dst, pcti_node *node, pct_shape *dst_shapes)
{
    pct_status status = PCT_OK;
    pct_shape *shapes = pcti_calloc((size_t)n_src + 1, sizeof *shapes);
    node->op = op;
    node->n_src = n_src;
    node->n_dst = n_dst;
    node->src = pcti_calloc((size_t)n_src + 1, sizeof *node->src);
    node->params = pcti_calloc(1, op->params_bytes);
    if (!shapes || !node->src || !node->params) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    if (params) memcpy(node->params, params, op->params_bytes);
    else pcti_params_init(op, node->params);
    PCTI_TRY(pcti_params_normalise(op, node->params));
    for (int i = 0; i < n_src; i++) {
        node->src[i] = srcs[i];
        shapes[i] = (pct_shape){.rank = PCTI_ABSENT};
        if (srcs[i] == PCT_NONE) continue;
        PCTI_TRY(check_value(graph, srcs[i]));
        shapes[i] = graph->values[srcs[i]].shape;
    }
    PCTI_TRY(pcti_op_infer(op, node->params, shapes, n_src, dst_shapes));
fail:
    pcti_free(shapes);
    return status;
}

pct_status pct_graph_add(pct_graph *graph, const char *op_name, const char *name, const void *params, const pct_value *srcs,
                         int n_src, pct_value *dsts, int n_dst)
{
    pct_status status = PCT_OK;
    pcti_node node = {0};
    pct_shape shapes[2];
    char number[64];
    const pcti_op *op = pcti_op_find(op_name);
    snprintf(number, sizeof number, "%s_%zu", op_name, graph->n_nodes);
    if (!(node.name = pcti_strdup(name ? name : number))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    if (!op) PCTI_TRY(pcti_fail(PCT_ERROR_ARGUMENT, "there is no operator \"%s\"", op_name));
    if (n_dst != op->n_dst || n_dst > 2)
        PCTI_TRY(pcti_fail(PCT_ERROR_ARGUMENT, "%s: has %d results, not %d", op_name, op->n_dst, n_dst));
    PCTI_TRY(fill_node(graph, op, params, srcs, n_src, n_dst, &node, shapes));
    PCTI_TRY(pcti_grow(&graph->nodes, &graph->nodes_capacity, graph->n_nodes, sizeof *graph->nodes));
    for (int i = 0; i < n_dst; i++) {
        char second[96];
        snprintf(second, sizeof second, "%.80s.%d", node.name, i);
        PCTI_TRY(add_value(graph, i ? second : node.name, PCTI_VALUE_RESULT, &shapes[i], &node.dst[i]));
        graph->values[node.dst[i]].producer = (int)graph->n_nodes;
        dsts[i] = node.dst[i];
    }
    graph->nodes[graph->n_nodes++] = node;
    return PCT_OK;
fail: /* dsts may be srcs, so they are cleared only now */
    for (int i = 0; i < n_dst; i++) dsts[i] = PCT_NONE;
    status = pcti_fail_in(status, "node %s", node.name ? node.name : number);
    free_node(&node);
    return status;
}

pct_status pct_graph_add_output(pct_graph *graph, const char *name, pct_value value)
{
    PCTI_RETURN_IF_FAILED(check_name(graph, name));
    PCTI_RETURN_IF_FAILED(check_value(graph, value));
    PCTI_RETURN_IF_FAILED(pcti_grow(&graph->outputs, &graph->outputs_capacity, graph->n_outputs, sizeof *graph->outputs));
    char *copy = pcti_strdup(name);
    if (!copy) return PCT_ERROR_MEMORY;
    graph->outputs[graph->n_outputs++] = (pcti_output){copy, value};
    return PCT_OK;
}

pct_status pct_graph_shape(const pct_graph *graph, pct_value value, pct_shape *shape)
{
    PCTI_RETURN_IF_FAILED(check_value(graph, value));
    *shape = graph->values[value].shape;
    return PCT_OK;
}

int pct_graph_parameter_count(const pct_graph *graph) { return (int)graph->n_parameters; }

pct_value pct_graph_parameter(const pct_graph *graph, int index, const char **name)
{
    pct_value value = index >= 0 && (size_t)index < graph->n_parameters ? graph->parameters[index] : PCT_NONE;
    if (name) *name = value == PCT_NONE ? NULL : graph->values[value].name;
    return value;
}

static pct_status set_constant(pct_graph *graph, pct_value parameter, pcti_constant *constant)
{
    pcti_constant_release(graph->values[parameter].constant);
    graph->values[parameter].constant = constant;
    return PCT_OK;
}

static pct_status check_parameter(const pct_graph *graph, pct_value parameter)
{
    PCTI_RETURN_IF_FAILED(check_value(graph, parameter));
    if (graph->values[parameter].kind == PCTI_VALUE_PARAMETER) return PCT_OK;
    return pcti_fail(PCT_ERROR_ARGUMENT, "%s is not a parameter", graph->values[parameter].name);
}

pct_status pct_graph_bind(pct_graph *graph, pct_value parameter, const pct_source *source)
{
    pcti_constant *constant;
    PCTI_RETURN_IF_FAILED(check_parameter(graph, parameter));
    const pcti_value *value = &graph->values[parameter];
    if (!source->data && !source->read)
        return pcti_fail(PCT_ERROR_ARGUMENT, "parameter %s: a source needs data or a read function", value->name);
    PCTI_RETURN_IF_FAILED(pcti_constant_create_source(value->name, &value->shape, source, &constant));
    return set_constant(graph, parameter, constant);
}

pct_status pct_graph_bind_copy(pct_graph *graph, pct_value parameter, const float *data, int64_t elems)
{
    pcti_constant *constant;
    int64_t wanted;
    PCTI_RETURN_IF_FAILED(check_parameter(graph, parameter));
    const pcti_value *value = &graph->values[parameter];
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&value->shape, &wanted));
    if (elems != wanted)
        return pcti_fail(PCT_ERROR_ARGUMENT, "parameter %s: has %lld elements, given are %lld", value->name,
                         (long long)wanted, (long long)elems);
    PCTI_RETURN_IF_FAILED(copy_constant(value->name, &value->shape, data, &constant));
    return set_constant(graph, parameter, constant);
}

/* ---- a plan's copy ---- */

static pct_status bind_shape(const pcti_value *value, const int64_t *symbols, int n_symbols, pct_shape *shape)
{
    *shape = value->shape;
    for (int d = 0; d < shape->rank; d++) {
        if (!pcti_dim_is_symbol(shape->dims[d])) continue;
        int64_t symbol = -2 - shape->dims[d];
        if (symbol >= n_symbols) return pcti_fail(PCT_ERROR_SHAPE, "%s: symbol %lld has no value", value->name, (long long)symbol);
        shape->dims[d] = symbols[symbol];
    }
    int64_t elems;
    pct_status status = pcti_shape_elems(shape, &elems);
    return status == PCT_OK ? status : pcti_fail_in(status, "%s", value->name);
}

static pct_status copy_values(const pct_graph *graph, const int64_t *symbols, int n_symbols, pct_graph *copy)
{
    for (size_t i = 0; i < graph->n_values; i++) {
        const pcti_value *value = &graph->values[i];
        pct_shape shape = value->shape;
        pct_value added;
        if (value->kind == PCTI_VALUE_INPUT) PCTI_RETURN_IF_FAILED(bind_shape(value, symbols, n_symbols, &shape));
        if (value->kind == PCTI_VALUE_PARAMETER && !value->constant)
            return pcti_fail(PCT_ERROR_ARGUMENT, "parameter %s has no values: load or bind weights first", value->name);
        PCTI_RETURN_IF_FAILED(add_value(copy, value->name, value->kind, &shape, &added));
        copy->values[added].producer = value->producer;
        if ((copy->values[added].constant = value->constant)) pcti_constant_retain(value->constant);
    }
    return PCT_OK;
}

/* A fused node's result keeps the shape it has: its pools are not the op's to infer. */
static pct_status copy_fusion(const pcti_node *from, pcti_node *to)
{
    PCTI_RETURN_IF_FAILED(pcti_node_make_fusion(to));
    *to->fusion = *from->fusion;
    memcpy(to->src, from->src, (size_t)from->n_src * sizeof *to->src);
    return PCT_OK;
}

pct_status pcti_graph_copy_bound(const pct_graph *graph, const int64_t *symbols, int n_symbols, pct_graph **out)
{
    pct_status status = PCT_OK;
    pct_graph *copy;
    *out = NULL;
    PCTI_RETURN_IF_FAILED(pct_graph_create(&copy));
    PCTI_TRY(copy_values(graph, symbols, n_symbols, copy));
    for (size_t i = 0; i < graph->n_inputs; i++) {
        PCTI_TRY(pcti_grow(&copy->inputs, &copy->inputs_capacity, i, sizeof *copy->inputs));
        copy->inputs[copy->n_inputs++] = graph->inputs[i];
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const pcti_node *node = &graph->nodes[i];
        pct_shape shapes[2];
        PCTI_TRY(pcti_grow(&copy->nodes, &copy->nodes_capacity, i, sizeof *copy->nodes));
        pcti_node *added = &copy->nodes[copy->n_nodes++];
        *added = (pcti_node){.dst = {node->dst[0], node->dst[1]}};
        if (!(added->name = pcti_strdup(node->name))) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
        int own = node->fusion ? node->op->max_src : node->n_src;
        if ((status = fill_node(copy, node->op, node->params, node->src, own, node->n_dst, added, shapes))) {
            status = pcti_fail_in(status, "node %s", node->name);
            goto fail;
        }
        if (node->fusion) PCTI_TRY(copy_fusion(node, added));
        else
            for (int d = 0; d < node->n_dst; d++) copy->values[node->dst[d]].shape = shapes[d];
    }
    for (size_t i = 0; i < graph->n_outputs; i++)
        PCTI_TRY(pct_graph_add_output(copy, graph->outputs[i].name, graph->outputs[i].value));
    *out = copy;
    return PCT_OK;
fail:
    pct_graph_destroy(copy);
    return status;
}

/* ---- what passes need ---- */

int pcti_graph_uses(const pct_graph *graph, pct_value value, int *user)
{
    int uses = 0;
    *user = -1;
    for (size_t n = 0; n < graph->n_nodes; n++) {
        const pcti_node *node = &graph->nodes[n];
        for (int i = 0; i < node->n_src && !node->dead; i++)
            if (node->src[i] == value) {
                uses++;
                *user = (int)n;
            }
    }
    for (size_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i].value == value) {
            uses++;
            *user = -1;
        }
    if (uses != 1) *user = -1;
    return uses;
}

void pcti_graph_replace(pct_graph *graph, pct_value from, pct_value to)
{
    for (size_t n = 0; n < graph->n_nodes; n++)
        for (int i = 0; i < graph->nodes[n].n_src; i++)
            if (graph->nodes[n].src[i] == from) graph->nodes[n].src[i] = to;
    for (size_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i].value == from) graph->outputs[i].value = to;
}

pct_status pcti_node_make_fusion(pcti_node *node)
{
    if (node->fusion) return PCT_OK;
    int wanted = node->op->max_src + PCTI_FUSED_OPERANDS;
    pct_value *src = pcti_realloc(node->src, (size_t)wanted, sizeof *src);
    if (!src) return PCT_ERROR_MEMORY;
    for (int i = node->n_src; i < wanted; i++) src[i] = PCT_NONE;
    node->src = src;
    node->n_src = wanted;
    node->fusion = pcti_calloc(1, sizeof *node->fusion);
    return node->fusion ? PCT_OK : PCT_ERROR_MEMORY;
}

void pcti_node_call(const pct_graph *graph, const pcti_node *node, pcti_operand *src, pcti_operand *dst, pcti_call *call)
{
    for (int i = 0; i < node->n_src; i++) {
        src[i] = (pcti_operand){.tensor.rank = PCTI_ABSENT};
        if (node->src[i] == PCT_NONE) continue;
        const pcti_value *value = &graph->values[node->src[i]];
        src[i].tensor = pcti_tensor_dense(&value->shape, 1);
        src[i].constant = value->constant;
    }
    for (int i = 0; i < node->n_dst; i++)
        dst[i] = (pcti_operand){.tensor = pcti_tensor_dense(&graph->values[node->dst[i]].shape, 1)};
    *call = (pcti_call){node->op, node->params, node->fusion, node->n_src, node->n_dst, src, dst, PCT_F32};
}
