/* Storages: which values share memory, and between which steps each is in use. */
#include "base/memory.h"
#include "graph/planner.h"

static int64_t value_bytes(const pcti_planner *planner, const pcti_plan_value *value)
{
    size_t element = planner->device->backend->stores_double ? sizeof(double) : pct_dtype_size(value->tensor.dtype);
    return pcti_tensor_extent_elems(&value->tensor) * (int64_t)element;
}

static bool is_output(const pcti_planner *planner, int value)
{
    for (size_t o = 0; o < planner->graph->n_outputs; o++)
        if (planner->output_values[o] == value) return true;
    return false;
}

static pct_status add_storage(pcti_planner *planner, int64_t bytes, int *storage)
{
    PCTI_RETURN_IF_FAILED(pcti_grow(&planner->storage_bytes, &planner->storages_capacity, planner->n_storages, sizeof(int64_t)));
    PCTI_RETURN_IF_FAILED(pcti_grow(&planner->storage_first, &planner->first_capacity, planner->n_storages, sizeof(int)));
    PCTI_RETURN_IF_FAILED(pcti_grow(&planner->storage_last, &planner->last_capacity, planner->n_storages, sizeof(int)));
    planner->storage_bytes[planner->n_storages] = bytes;
    *storage = (int)planner->n_storages++;
    return PCT_OK;
}

/* What is known of a value while places are sought. */
typedef struct value_facts {
    bool has_producer, has_views, aliased;
} value_facts;

/* Operands of concat-like drafts become ranges of the result, last draft first, so that chains end in one buffer. */
static pct_status alias_operands(pcti_planner *planner, pcti_draft *draft, value_facts *facts)
{
    pcti_plan_value *result = &planner->values[draft->dst[0]];
    pcti_tensor *tensors = pcti_calloc((size_t)draft->n_src + 1, sizeof *tensors);
    if (!tensors) return PCT_ERROR_MEMORY;
    for (int i = 0; i < draft->n_src; i++) tensors[i] = planner->values[draft->src[i]].tensor;
    bool all = true;
    for (int i = 0; i < draft->n_src; i++) {
        int s = draft->src[i];
        pcti_plan_value *src = &planner->values[s];
        pcti_tensor range = src->tensor;
        bool free_to_move = !src->constant && !src->is_view && facts[s].has_producer && !facts[s].has_views && !facts[s].aliased &&
                            !is_output(planner, s) && src->tensor.channel_block == result->tensor.channel_block;
        if (!free_to_move || !draft->op->view_into(draft->params, i, tensors, &result->tensor, &range)) {
            all = false;
            continue;
        }
        src->tensor = range;
        src->storage = result->storage;
        facts[s].aliased = true;
    }
    if (all) draft->impl = NULL;
    pcti_free(tensors);
    return PCT_OK;
}

static void place_views(pcti_planner *planner)
{
    for (size_t d = 0; d < planner->n_drafts; d++) {
        pcti_draft *draft = &planner->drafts[d];
        pcti_plan_value *view = &planner->values[draft->dst[0]];
        if (!view->is_view) continue;
        const pcti_plan_value *src = &planner->values[draft->src[0]];
        draft->op->view(draft->params, &src->tensor, &view->tensor);
        view->storage = src->storage;
    }
}

static void find_lifetimes(pcti_planner *planner)
{
    int end = (int)planner->n_drafts;
    for (size_t s = 0; s < planner->n_storages; s++) {
        planner->storage_first[s] = end;
        planner->storage_last[s] = -1;
    }
    for (size_t d = 0; d < planner->n_drafts; d++) {
        const pcti_draft *draft = &planner->drafts[d];
        for (int i = 0; i < draft->n_src + draft->n_dst; i++) {
            int v = i < draft->n_src ? draft->src[i] : draft->dst[i - draft->n_src];
            if (v < 0 || planner->values[v].storage < 0) continue;
            int s = planner->values[v].storage;
            planner->storage_first[s] = (int)pcti_min(planner->storage_first[s], (int)d);
            planner->storage_last[s] = (int)pcti_max(planner->storage_last[s], (int)d);
        }
    }
    for (size_t v = 0; v < planner->n_values; v++) {
        int s = planner->values[v].storage, g = planner->values[v].graph_value;
        if (s < 0) continue;
        /* Inputs are uploaded before the first step, outputs downloaded after the last. */
        if (g >= 0 && planner->graph->values[g].kind == PCTI_VALUE_INPUT) {
            planner->storage_first[s] = 0;
            planner->storage_last[s] = (int)pcti_max(planner->storage_last[s], 0); /* one that nobody reads is written, too */
        }
        if (is_output(planner, (int)v) || planner->options->keep_values) planner->storage_last[s] = end;
        if (planner->options->keep_values) planner->storage_first[s] = 0;
    }
}

/* A result over operand 0, where that is dense, of the same size and used for the last time. */
static void place_in_place(pcti_planner *planner)
{
    if (planner->options->keep_values) return;
    for (size_t d = 0; d < planner->n_drafts; d++) {
        const pcti_draft *draft = &planner->drafts[d];
        if (!draft->impl || !draft->impl->in_place || draft->n_dst != 1 || draft->src[0] < 0) continue;
        const pcti_plan_value *src = &planner->values[draft->src[0]], *dst = &planner->values[draft->dst[0]];
        int from = src->storage, to = dst->storage;
        if (from < 0 || to < 0 || from == to || planner->storage_last[from] != (int)d) continue;
        if (planner->storage_first[to] != (int)d || planner->storage_bytes[from] != planner->storage_bytes[to]) continue;
        pct_shape a = pcti_tensor_shape(&src->tensor), b = pcti_tensor_shape(&dst->tensor);
        bool alike = pcti_shape_equal(&a, &b) && src->tensor.channel_block == dst->tensor.channel_block &&
                     pcti_tensor_is_dense(&src->tensor) && pcti_tensor_is_dense(&dst->tensor) && !src->tensor.offset && !dst->tensor.offset;
        for (int i = 1; i < draft->n_src && alike; i++)
            alike = draft->src[i] < 0 || draft->src[i] == draft->src[0] || planner->values[draft->src[i]].storage != from;
        if (!alike) continue;
        for (size_t v = 0; v < planner->n_values; v++)
            if (planner->values[v].storage == to) planner->values[v].storage = from;
        planner->storage_last[from] = planner->storage_last[to];
        planner->storage_bytes[to] = 0;
    }
}

pct_status pcti_place(pcti_planner *planner)
{
    pct_status status = PCT_OK;
    value_facts *facts = pcti_calloc(planner->n_values + 1, sizeof *facts);
    if (!facts) return PCT_ERROR_MEMORY;
    for (size_t d = 0; d < planner->n_drafts; d++) {
        const pcti_draft *draft = &planner->drafts[d];
        for (int i = 0; i < draft->n_dst; i++) facts[draft->dst[i]].has_producer = true;
        if (planner->values[draft->dst[0]].is_view) facts[draft->src[0]].has_views = true;
    }
    for (size_t v = 0; v < planner->n_values; v++) {
        pcti_plan_value *value = &planner->values[v];
        if (value->constant || value->is_view) continue;
        PCTI_TRY(add_storage(planner, value_bytes(planner, value), &value->storage));
    }
    for (size_t d = planner->n_drafts; d-- > 0;)
        if (planner->drafts[d].op->view_into && planner->drafts[d].impl && planner->drafts[d].n_dst == 1)
            PCTI_TRY(alias_operands(planner, &planner->drafts[d], facts));
    place_views(planner);
    /* A storage that lost its value to a wider one holds nothing any more. */
    for (size_t s = 0; s < planner->n_storages; s++) {
        bool used = false;
        for (size_t v = 0; v < planner->n_values && !used; v++) used = planner->values[v].storage == (int)s;
        if (!used) planner->storage_bytes[s] = 0;
    }
    find_lifetimes(planner);
    place_in_place(planner);
fail:
    pcti_free(facts);
    return status;
}
