/* Choice of an implementation and a layout for every node. */
#include <string.h>

#include "base/memory.h"
#include "graph/planner.h"


/* ---- choosing ---- */

static unsigned fusions_of(const pcti_call *call)
{
    const pcti_fusion *f = call->fusion;
    unsigned wanted = 0;
    if (!f) return 0;
    if (f->post_act.kind == PCTI_ACT_CLIP) wanted |= PCTI_FUSE_CLIP;
    if (f->post_act.kind == PCTI_ACT_UNARY) wanted |= PCTI_FUSE_UNARY;
    if (f->pre_affine) wanted |= PCTI_FUSE_PRE;
    if (f->pre_average_pool) wanted |= PCTI_FUSE_PRE_POOL;
    if (f->post_max_pool) wanted |= PCTI_FUSE_POST_POOL;
    if (pcti_call_fused(call, PCTI_FUSED_RESIDUAL)) wanted |= PCTI_FUSE_RESIDUAL;
    return wanted;
}

static bool is_picture(const pcti_operand *operand)
{
    return operand->tensor.rank == 4 && !operand->constant && operand->tensor.dtype == PCT_F32;
}

static void set_block(pcti_operand *operand, int block)
{
    if (operand->tensor.channel_block == block || !is_picture(operand)) return;
    pct_shape shape = pcti_tensor_shape(&operand->tensor);
    operand->tensor = pcti_tensor_dense(&shape, block);
}

/* Lays the picture operands out as the rule wants; `same` is the layout that operand 0 has. */
static void apply_rule(pcti_layout_rule rule, int same, pcti_operand *src, int n_src, pcti_operand *dst, int n_dst)
{
    int first = rule == PCTI_LAYOUT_SAME                                        ? same
                : rule == PCTI_LAYOUT_BLOCKED || rule == PCTI_LAYOUT_BLOCKED_PLAIN ? PCTI_BLOCK
                                                                                   : 1;
    int rest = rule == PCTI_LAYOUT_SAME                                        ? same
               : rule == PCTI_LAYOUT_BLOCKED || rule == PCTI_LAYOUT_PLAIN_BLOCKED ? PCTI_BLOCK
                                                                                  : 1;
    for (int i = 0; i < n_src; i++) set_block(&src[i], i ? rest : first);
    for (int i = 0; i < n_dst; i++) set_block(&dst[i], rest);
}

/* "name" or "name:variant" against a row; *variant is 0 for the default. */
static bool choice_matches(const char *choice, size_t length, const pcti_impl *impl, int *variant)
{
    size_t name = strlen(impl->name);
    *variant = 0;
    if (length < name || strncmp(choice, impl->name, name)) return false;
    if (length == name) return true;
    if (choice[name] != ':') return false;
    for (int i = 0; impl->variants && impl->variants[i]; i++)
        if (strlen(impl->variants[i]) == length - name - 1 && !strncmp(choice + name + 1, impl->variants[i], length - name - 1)) {
            *variant = i + 1;
            return true;
        }
    return false;
}

/* Does "op=name,..." say anything about this op? Then what the user wants counts, not what tuning found. */
static bool forces(const char *force, const char *op)
{
    size_t op_length = strlen(op);
    for (const char *item = force; item && *item; item += strcspn(item, ","), item += *item == ',')
        if (!strncmp(item, op, op_length) && item[op_length] == '=') return true;
    return false;
}

/* Is the row among the implementations that "op=name,op=name:variant,..." forces? True where nothing is forced for its op. */
static bool allowed_by_force(const char *force, const char *op, const pcti_impl *impl, int *variant)
{
    size_t op_length = strlen(op);
    *variant = 0;
    for (const char *item = force; item && *item; item += strcspn(item, ","), item += *item == ',') {
        if (strncmp(item, op, op_length) || item[op_length] != '=') continue;
        if (choice_matches(item + op_length + 1, strcspn(item + op_length + 1, ","), impl, variant)) return true;
    }
    return !forces(force, op);
}

static bool row_takes(pcti_planner *planner, const pcti_impl *impl, const pcti_call *call, pcti_why *why)
{
    unsigned missing = fusions_of(call) & ~impl->fusions;
    if (planner->options->low_memory && impl->large_packing) return pcti_refuse(why, "its weights grow, memory is to be low");
    if (missing) return pcti_refuse(why, "does not fuse this (%#x)", missing);
    return !impl->accept || impl->accept(call, planner->device, why);
}

/* One pass over the rows: all, or only the one that `choice` names. Refusals go to `log` under the node's name. */
static int first_row(pcti_planner *planner, const char *node, const char *choice, pcti_call *call, pcti_operand *src, pcti_operand *dst,
                     int same, int *variant, pcti_text *log, pcti_why *why)
{
    const pcti_impl *rows = planner->device->backend->impls(call->op);
    for (int row = 0; rows[row].name; row++) {
        int tuned = 0;
        if (choice && !choice_matches(choice, strlen(choice), &rows[row], &tuned)) continue;
        if (!allowed_by_force(planner->options->force, call->op->name, &rows[row], variant)) { /* `why` stays the forced one's */
            if (log) pcti_text_add(log, "%s: %s refused: not the forced one\n", node, rows[row].name);
            continue;
        }
        apply_rule(rows[row].layout, same, src, call->n_src, dst, call->n_dst);
        why->text[0] = 0;
        if (row_takes(planner, &rows[row], call, why)) {
            if (tuned && !*variant) *variant = tuned;
            return row;
        }
        if (log) pcti_text_add(log, "%s: %s refused: %s\n", node, rows[row].name, why->text);
    }
    return -1;
}

/* What tuning found, where it still applies, else the first implementation that accepts; -1. Operands are laid out for it. */
static int choose(pcti_planner *planner, const char *node, pcti_call *call, pcti_operand *src, pcti_operand *dst, int same, int *variant,
                  pcti_text *log, pcti_why *why)
{
    int row = -1;
    if (planner->device->tuning && log && !forces(planner->options->force, call->op->name)) {
        pcti_text key = {0};
        pcti_call_key(call, &key);
        const char *choice = key.data ? pcti_tuning_find(planner->device, key.data) : NULL;
        if (choice) row = first_row(planner, node, choice, call, src, dst, same, variant, log, why);
        pcti_text_free(&key);
    }
    return row >= 0 ? row : first_row(planner, node, NULL, call, src, dst, same, variant, log, why);
}

pct_status pcti_planner_rank(pcti_planner *planner, const pct_graph *graph, const pcti_node *node, int *rank)
{
    pcti_why why = {""};
    pcti_call call;
    *rank = -1;
    pcti_operand *src = pcti_calloc((size_t)node->n_src + 1, sizeof *src), dst[2];
    if (!src) return PCT_ERROR_MEMORY;
    pcti_node_call(graph, node, src, dst, &call);
    call.weight_storage = planner->options->weight_storage;
    int variant;
    *rank = choose(planner, node->name, &call, src, dst, 1, &variant, NULL, &why);
    pcti_free(src);
    return PCT_OK;
}

/* ---- plan values ---- */

static pct_status add_value(pcti_planner *planner, const pcti_plan_value *value, int *index)
{
    *index = -1;
    PCTI_RETURN_IF_FAILED(pcti_grow(&planner->other_layout, &planner->other_capacity, planner->n_values, sizeof(int)));
    PCTI_RETURN_IF_FAILED(pcti_grow(&planner->values, &planner->values_capacity, planner->n_values, sizeof *planner->values));
    planner->other_layout[planner->n_values] = -1;
    planner->values[planner->n_values] = *value;
    *index = (int)planner->n_values++;
    return PCT_OK;
}

static pct_status add_graph_value(pcti_planner *planner, pct_value graph_value, int block)
{
    const pcti_value *from = &planner->graph->values[graph_value];
    pcti_plan_value value = {.name = from->name,
                             .tensor = pcti_tensor_dense(&from->shape, block),
                             .constant = from->constant,
                             .storage = -1,
                             .graph_value = graph_value};
    return add_value(planner, &value, &planner->value_of_graph[graph_value]);
}

static pct_status new_draft(pcti_planner *planner, const pcti_op *op, const char *name, int n_src, pcti_draft **draft)
{
    PCTI_RETURN_IF_FAILED(pcti_grow(&planner->drafts, &planner->drafts_capacity, planner->n_drafts, sizeof **draft));
    int *src = pcti_calloc((size_t)n_src + 1, sizeof *src);
    if (!src) return PCT_ERROR_MEMORY;
    *draft = &planner->drafts[planner->n_drafts++];
    **draft = (pcti_draft){.op = op, .name = name, .src = src, .n_src = n_src, .n_dst = 1};
    return PCT_OK;
}

/* A copy of a value in a layout, by a reorder step. */
static pct_status add_reorder(pcti_planner *planner, int from, int block, int *copy)
{
    pcti_draft *draft;
    pcti_plan_value value = planner->values[from];
    pct_shape shape = pcti_tensor_shape(&value.tensor);
    pcti_why why = {""};
    value.tensor = pcti_tensor_dense(&shape, block);
    value.graph_value = -1;
    value.is_view = false;
    value.constant = NULL;
    PCTI_RETURN_IF_FAILED(add_value(planner, &value, copy));
    PCTI_RETURN_IF_FAILED(new_draft(planner, &pcti_op_reorder, value.name, 1, &draft));
    draft->src[0] = from;
    draft->dst[0] = *copy;
    if (!(draft->own_params = pcti_calloc(1, pcti_op_reorder.params_bytes))) return PCT_ERROR_MEMORY;
    draft->params = draft->own_params;
    pcti_operand src = {.tensor = planner->values[from].tensor, .constant = planner->values[from].constant};
    pcti_operand dst = {.tensor = value.tensor};
    pcti_call call = {&pcti_op_reorder, draft->params, NULL, 1, 1, &src, &dst, PCT_F32};
    const pcti_impl *rows = planner->device->backend->impls(&pcti_op_reorder);
    for (; rows->name; rows++)
        if (!rows->accept || rows->accept(&call, planner->device, &why)) break;
    if (!rows->name)
        return pcti_fail(PCT_ERROR_UNSUPPORTED, "%s: no reorder to a block of %d: %s", value.name, block, why.text);
    draft->impl = rows;
    return PCT_OK;
}

static pct_status value_in_layout(pcti_planner *planner, int value, int block, int *out)
{
    *out = value;
    if (planner->values[value].constant || planner->values[value].tensor.channel_block == block) return PCT_OK;
    if (planner->other_layout[value] < 0) {
        int copy;
        PCTI_RETURN_IF_FAILED(add_reorder(planner, value, block, &copy));
        planner->other_layout[value] = copy;
        planner->other_layout[copy] = value;
    }
    *out = planner->other_layout[value];
    return PCT_OK;
}

/* ---- nodes ---- */

/* A node that only renames memory, in the layout that its operand has or in the plain one. */
static pct_status lower_view(pcti_planner *planner, const pcti_node *node, bool *done)
{
    *done = false;
    int from = planner->value_of_graph[node->src[0]];
    if (!node->op->view || node->fusion || planner->values[from].constant) return PCT_OK;
    for (int attempt = 0; attempt < 2 && !*done; attempt++) {
        pcti_tensor view = pcti_tensor_dense(&planner->graph->values[node->dst[0]].shape, 1);
        if (attempt) { /* a reorder only where the view is certain */
            pct_shape shape = pcti_tensor_shape(&planner->values[from].tensor);
            pcti_tensor plain = pcti_tensor_dense(&shape, 1);
            if (planner->values[from].tensor.channel_block == 1 || !node->op->view(node->params, &plain, &view)) return PCT_OK;
            PCTI_RETURN_IF_FAILED(value_in_layout(planner, from, 1, &from));
        }
        if (!node->op->view(node->params, &planner->values[from].tensor, &view)) continue;
        pcti_draft *draft;
        PCTI_RETURN_IF_FAILED(add_graph_value(planner, node->dst[0], 1));
        int to = planner->value_of_graph[node->dst[0]];
        planner->values[to].tensor = view;
        planner->values[to].is_view = true;
        PCTI_RETURN_IF_FAILED(new_draft(planner, node->op, node->name, 1, &draft));
        draft->params = node->params;
        draft->src[0] = from;
        draft->dst[0] = to;
        *done = true;
    }
    return PCT_OK;
}

static pct_status no_implementation(const pcti_planner *planner, const pcti_node *node, const pcti_call *call, const pcti_why *why)
{
    pcti_text line = {0};
    pcti_call_print(call, &line);
    pct_status status = pcti_fail(PCT_ERROR_UNSUPPORTED, "node %s: no implementation of %s on %s takes it (last reason: %s): %s",
                                  node->name, node->op->name, planner->device->backend->name,
                                  why->text[0] ? why->text : "none has the forced name",
                                  line.data ? line.data : "");
    pcti_text_free(&line);
    return status;
}

static pct_status lower_node(pcti_planner *planner, const pcti_node *node)
{
    pct_status status = PCT_OK;
    pcti_why why = {""};
    pcti_call call;
    pcti_operand *src = pcti_calloc((size_t)node->n_src + 1, sizeof *src), dst[2];
    int *values = pcti_calloc((size_t)node->n_src + 1, sizeof *values);
    if (!src || !values) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    pcti_node_call(planner->graph, node, src, dst, &call);
    call.weight_storage = planner->options->weight_storage;
    int same = 1;
    if (node->n_src && node->src[0] != PCT_NONE)
        same = planner->values[planner->value_of_graph[node->src[0]]].tensor.channel_block;
    int variant = 0, row = choose(planner, node->name, &call, src, dst, same, &variant, &planner->refusals, &why);
    if (row < 0) {
        status = no_implementation(planner, node, &call, &why);
        goto fail;
    }
    for (int i = 0; i < node->n_src; i++) {
        values[i] = -1;
        if (node->src[i] == PCT_NONE) continue;
        PCTI_TRY(value_in_layout(planner, planner->value_of_graph[node->src[i]], src[i].tensor.channel_block, &values[i]));
    }
    for (int d = 0; d < node->n_dst; d++) PCTI_TRY(add_graph_value(planner, node->dst[d], dst[d].tensor.channel_block));
    pcti_draft *draft;
    PCTI_TRY(new_draft(planner, node->op, node->name, node->n_src, &draft));
    memcpy(draft->src, values, (size_t)node->n_src * sizeof *values);
    draft->params = node->params;
    draft->fusion = node->fusion;
    draft->impl = &planner->device->backend->impls(node->op)[row];
    draft->variant = variant;
    draft->n_dst = node->n_dst;
    for (int d = 0; d < node->n_dst; d++) draft->dst[d] = planner->value_of_graph[node->dst[d]];
fail:
    pcti_free(src);
    pcti_free(values);
    return status;
}

pct_status pcti_lower(pcti_planner *planner)
{
    const pct_graph *graph = planner->graph;
    planner->value_of_graph = pcti_calloc(graph->n_values + 1, sizeof(int));
    planner->output_values = pcti_calloc(graph->n_outputs + 1, sizeof(int));
    if (!planner->value_of_graph || !planner->output_values) return PCT_ERROR_MEMORY;
    for (size_t v = 0; v < graph->n_values; v++) {
        planner->value_of_graph[v] = -1;
        if (graph->values[v].kind != PCTI_VALUE_RESULT) PCTI_RETURN_IF_FAILED(add_graph_value(planner, (pct_value)v, 1));
    }
    for (size_t n = 0; n < graph->n_nodes; n++) {
        bool done = false;
        if (graph->nodes[n].dead) continue;
        PCTI_RETURN_IF_FAILED(lower_view(planner, &graph->nodes[n], &done));
        if (!done) PCTI_RETURN_IF_FAILED(lower_node(planner, &graph->nodes[n]));
    }
    /* Outputs leave the plan plain, dense, computed. */
    for (size_t o = 0; o < graph->n_outputs; o++) {
        pct_value output = graph->outputs[o].value;
        int value = planner->value_of_graph[output], copy = value;
        const pcti_plan_value *v = &planner->values[value];
        if (v->constant || v->is_view || graph->values[output].kind == PCTI_VALUE_INPUT)
            PCTI_RETURN_IF_FAILED(add_reorder(planner, value, 1, &copy));
        else PCTI_RETURN_IF_FAILED(value_in_layout(planner, value, 1, &copy));
        planner->output_values[o] = copy;
        planner->values[copy].graph_value = output;
    }
    return PCT_OK;
}

void pcti_planner_free(pcti_planner *planner)
{
    for (size_t d = 0; d < planner->n_drafts; d++) {
        pcti_free(planner->drafts[d].src);
        pcti_free(planner->drafts[d].own_params);
    }
    pcti_free(planner->values);
    pcti_free(planner->drafts);
    pcti_free(planner->value_of_graph);
    pcti_free(planner->output_values);
    pcti_free(planner->other_layout);
    pcti_free(planner->storage_bytes);
    pcti_free(planner->storage_first);
    pcti_free(planner->storage_last);
    pcti_text_free(&planner->refusals);
}
