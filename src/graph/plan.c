#include "graph/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

enum { INTERVALS_PER_STEP = 8 };

static pct_status run_passes(pcti_planner *planner)
{
    pct_graph *graph = planner->graph;
    if (!planner->options->no_fusion) {
        PCTI_RETURN_IF_FAILED(pcti_pass_identity(graph));
        PCTI_RETURN_IF_FAILED(pcti_pass_dead_nodes(graph)); /* an unused result must not keep its operands from fusing */
        PCTI_RETURN_IF_FAILED(pcti_pass_fold_constants(graph));
        PCTI_RETURN_IF_FAILED(pcti_pass_fold_batch_norm(graph));
        PCTI_RETURN_IF_FAILED(pcti_pass_fuse(graph, planner));
    }
    return pcti_pass_dead_nodes(graph);
}

/* ---- from drafts to steps ---- */

static pcti_operand operand_of(const pcti_planner *planner, int value)
{
    if (value < 0) return (pcti_operand){.tensor.rank = PCTI_ABSENT};
    return (pcti_operand){.tensor = planner->values[value].tensor, .constant = planner->values[value].constant};
}

static pct_status make_step(pct_plan *plan, const pcti_planner *planner, const pcti_draft *draft, int index)
{
    pcti_step *step = &plan->steps[index];
    pcti_text shapes = {0};
    step->src = pcti_calloc((size_t)draft->n_src + 1, sizeof *step->src);
    step->dst = pcti_calloc((size_t)draft->n_dst + 1, sizeof *step->dst);
    plan->params[index] = pcti_calloc(1, draft->op->params_bytes);
    plan->names[index] = pcti_strdup(draft->name);
    if (!step->src || !step->dst || !plan->params[index] || !plan->names[index]) return PCT_ERROR_MEMORY;
    memcpy(plan->params[index], draft->params, draft->op->params_bytes);
    if (draft->fusion) plan->fusions[index] = *draft->fusion;
    for (int i = 0; i < draft->n_src; i++) step->src[i] = operand_of(planner, draft->src[i]);
    for (int i = 0; i < draft->n_dst; i++) step->dst[i] = operand_of(planner, draft->dst[i]);
    step->call = (pcti_call){draft->op, plan->params[index], draft->fusion ? &plan->fusions[index] : NULL,
                             draft->n_src, draft->n_dst, step->src, step->dst, planner->options->weight_storage};
    step->impl = draft->impl;
    step->variant = draft->variant;
    step->name = plan->names[index];
    pcti_call_cost(&step->call, &plan->costs[index]);
    plan->info.flops += plan->costs[index].flops;
    pcti_call_print(&step->call, &shapes);
    if (shapes.failed) return PCT_ERROR_MEMORY;
    plan->shapes[index] = shapes.data;
    return PCT_OK;
}

static bool draft_runs(const pcti_planner *planner, const pcti_draft *draft)
{
    if (!draft->impl) return false;
    for (int i = 0; i < draft->n_dst; i++) /* nothing to compute: never touch the driver */
        if (pcti_tensor_elems(&planner->values[draft->dst[i]].tensor) > 0) return true;
    return false;
}

static pct_status make_steps(pct_plan *plan, const pcti_planner *planner, int *step_of_draft)
{
    int count = 0;
    for (size_t d = 0; d < planner->n_drafts; d++) step_of_draft[d] = draft_runs(planner, &planner->drafts[d]) ? count++ : -1;
    plan->steps = pcti_calloc((size_t)count + 1, sizeof *plan->steps);
    plan->params = pcti_calloc((size_t)count + 1, sizeof *plan->params);
    plan->fusions = pcti_calloc((size_t)count + 1, sizeof *plan->fusions);
    plan->names = pcti_calloc((size_t)count + 1, sizeof *plan->names);
    plan->shapes = pcti_calloc((size_t)count + 1, sizeof *plan->shapes);
    plan->costs = pcti_calloc((size_t)count + 1, sizeof *plan->costs);
    plan->step_ms = pcti_calloc((size_t)count * PCTI_STEP_SAMPLES + 1, sizeof *plan->step_ms);
    if (!plan->steps || !plan->params || !plan->fusions || !plan->names || !plan->shapes || !plan->costs || !plan->step_ms)
        return PCT_ERROR_MEMORY;
    plan->n_steps = count;
    for (size_t d = 0; d < planner->n_drafts; d++)
        if (step_of_draft[d] >= 0) PCTI_RETURN_IF_FAILED(make_step(plan, planner, &planner->drafts[d], step_of_draft[d]));
    return PCT_OK;
}

static pct_status keep_pack(pct_plan *plan, pcti_buffer *buffer)
{
    pct_status status = pcti_grow(&plan->packs, &plan->packs_capacity, plan->n_packs, sizeof *plan->packs);
    if (status != PCT_OK) {
        pcti_pack_release(plan->device, buffer);
        return status;
    }
    plan->packs[plan->n_packs++] = buffer;
    return PCT_OK;
}

static pct_status prepare_steps(pct_plan *plan)
{
    for (int s = 0; s < plan->n_steps; s++) {
        pcti_step *step = &plan->steps[s];
        pct_status status = step->impl->prepare ? step->impl->prepare(plan->device, step) : PCT_OK;
        for (int i = 0; i < step->call.n_src; i++) {
            pcti_operand *src = &step->src[i];
            if (src->tensor.rank == PCTI_ABSENT || !src->constant) continue;
            if (!src->buffer && status == PCT_OK) status = pcti_pack_get_plain(plan->device, src->constant, &src->buffer);
            if (src->buffer) {
                pct_status kept = keep_pack(plan, src->buffer);
                if (status == PCT_OK) status = kept;
            }
        }
        if (status != PCT_OK) return pcti_fail_in(status, "node %s (%s, %s)", step->name, step->call.op->name, step->impl->name);
    }
    return PCT_OK;
}

/* ---- memory ---- */

/* Names what does not fit, with the figures, and the batch that would. */
static pct_status too_large(const pct_plan *plan, const pcti_planner *planner, pct_status status)
{
    int64_t largest = 0, allowed = plan->device->info.max_alloc_bytes, batch = planner->options->symbols[0];
    const char *name = "", *what = "";
    for (size_t v = 0; v < planner->n_values; v++) {
        int s = planner->values[v].storage;
        if (s < 0 || planner->storage_bytes[s] <= largest) continue;
        largest = planner->storage_bytes[s];
        name = planner->values[v].name;
    }
    for (int s = 0; s < plan->n_steps; s++) {
        if ((int64_t)plan->steps[s].workspace_bytes <= largest) continue;
        largest = (int64_t)plan->steps[s].workspace_bytes;
        name = plan->steps[s].name;
        what = "'s workspace";
    }
    if (status != PCT_ERROR_MEMORY || !allowed || largest <= allowed) return status;
    int64_t fits = allowed / pcti_max(1, largest / batch);
    char advice[64] = "not even a batch of 1 fits";
    if (fits > 0) snprintf(advice, sizeof advice, "the largest batch that fits is %lld", (long long)fits);
    return pcti_fail(PCT_ERROR_MEMORY, "%s%s needs %lld bytes in one piece, %s allows %lld; %s", name, what, (long long)largest,
                     plan->device->info.device, (long long)allowed, advice);
}

static pct_status allocate_chunks(pct_plan *plan, const pcti_planner *planner, pcti_block *blocks, int n_blocks)
{
    int64_t *chunk_bytes = NULL, total = plan->info.weight_bytes, memory = plan->device->info.memory_bytes;
    int64_t limit = plan->device->info.max_alloc_bytes > 0 ? plan->device->info.max_alloc_bytes : INT64_MAX / 2;
    if (plan->device->backend->max_chunk_bytes) limit = pcti_min(limit, plan->device->backend->max_chunk_bytes);
    pct_status status = pcti_memplan(blocks, n_blocks, limit, &chunk_bytes, &plan->n_chunks);
    if (status != PCT_OK) {
        plan->n_chunks = 0;
        return too_large(plan, planner, status);
    }
    for (int c = 0; c < plan->n_chunks; c++) total += chunk_bytes[c];
    if (memory > 0 && total > memory) {
        status = pcti_fail(PCT_ERROR_MEMORY, "the plan needs %lld bytes (%lld of them weights), %s has %lld", (long long)total,
                           (long long)plan->info.weight_bytes, plan->device->info.device, (long long)memory);
        goto fail;
    }
    if (!(plan->chunks = pcti_calloc((size_t)plan->n_chunks + 1, sizeof *plan->chunks))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (int c = 0; c < plan->n_chunks; c++)
        PCTI_TRY(plan->device->backend->buffer_create(plan->device, (size_t)pcti_max(chunk_bytes[c], 64), &plan->chunks[c]));
fail:
    pcti_free(chunk_bytes);
    return status;
}

static void give_place(const pct_plan *plan, const pcti_block *blocks, int storage, pcti_operand *operand)
{
    size_t element = plan->device->backend->stores_double ? sizeof(double) : pct_dtype_size(operand->tensor.dtype);
    if (storage < 0 || !plan->n_chunks) return;
    operand->buffer = plan->chunks[blocks[storage].chunk];
    operand->tensor.offset += blocks[storage].offset / (int64_t)element;
}

static pct_status make_readables(pct_plan *plan, const pcti_planner *planner, const pcti_block *blocks)
{
    if (!(plan->readables = pcti_calloc(planner->n_values + 1, sizeof *plan->readables))) return PCT_ERROR_MEMORY;
    for (size_t v = 0; v < planner->n_values; v++) {
        const pcti_plan_value *value = &planner->values[v];
        bool output = false;
        if (value->storage < 0 || value->graph_value < 0 || value->tensor.dtype != PCT_F32) continue;
        bool copied = false; /* an output that left its own layout is read once, as it is downloaded */
        for (size_t o = 0; o < planner->graph->n_outputs; o++) {
            output = output || planner->output_values[o] == (int)v;
            copied = copied || planner->values[planner->output_values[o]].graph_value == value->graph_value;
        }
        if (!output && (copied || !planner->options->keep_values)) continue;
        pcti_readable *readable = &plan->readables[plan->n_readables];
        if (!(readable->name = pcti_strdup(value->name))) return PCT_ERROR_MEMORY;
        plan->n_readables++;
        readable->operand.tensor = value->tensor;
        give_place(plan, blocks, value->storage, &readable->operand);
    }
    return PCT_OK;
}

static pct_status make_ends(pct_plan *plan, const pcti_planner *planner, const pcti_block *blocks)
{
    const pct_graph *graph = planner->graph;
    size_t n_in = graph->n_inputs, n_out = graph->n_outputs;
    plan->inputs = pcti_calloc(n_in + 1, sizeof *plan->inputs);
    plan->outputs = pcti_calloc(n_out + 1, sizeof *plan->outputs);
    plan->uploads = pcti_calloc(n_in + 1, sizeof *plan->uploads);
    plan->downloads = pcti_calloc(n_out + 1, sizeof *plan->downloads);
    plan->input_names = pcti_calloc(n_in + 1, sizeof *plan->input_names);
    plan->output_names = pcti_calloc(n_out + 1, sizeof *plan->output_names);
    if (!plan->inputs || !plan->outputs || !plan->uploads || !plan->downloads || !plan->input_names || !plan->output_names)
        return PCT_ERROR_MEMORY;
    plan->n_inputs = (int)n_in;
    plan->n_outputs = (int)n_out;
    for (size_t i = 0; i < n_in + n_out; i++) {
        bool in = i < n_in;
        int v = in ? planner->value_of_graph[graph->inputs[i]] : planner->output_values[i - n_in];
        pcti_operand *operand = in ? &plan->inputs[i] : &plan->outputs[i - n_in];
        char **name = in ? &plan->input_names[i] : &plan->output_names[i - n_in];
        operand->tensor = planner->values[v].tensor;
        give_place(plan, blocks, planner->values[v].storage, operand);
        if (!(*name = pcti_strdup(in ? graph->values[graph->inputs[i]].name : graph->outputs[i - n_in].name))) return PCT_ERROR_MEMORY;
    }
    return PCT_OK;
}

static pct_status place_steps(pct_plan *plan, const pcti_planner *planner, const int *step_of_draft)
{
    pct_status status = PCT_OK;
    int n_storages = (int)planner->n_storages, n_blocks = n_storages + plan->n_steps;
    pcti_block *blocks = pcti_calloc((size_t)n_blocks + 1, sizeof *blocks);
    if (!blocks) return PCT_ERROR_MEMORY;
    for (int s = 0; s < n_storages; s++)
        blocks[s] = (pcti_block){.bytes = planner->storage_bytes[s], .first = planner->storage_first[s], .last = planner->storage_last[s]};
    for (size_t d = 0; d < planner->n_drafts; d++) {
        int s = step_of_draft[d];
        if (s < 0) continue;
        int64_t bytes = (int64_t)plan->steps[s].workspace_bytes;
        blocks[n_storages + s] = (pcti_block){.bytes = bytes, .first = (int)d, .last = (int)d};
        plan->info.workspace_bytes = pcti_max(plan->info.workspace_bytes, bytes);
    }
    PCTI_TRY(allocate_chunks(plan, planner, blocks, n_blocks));
    for (int c = 0; c < plan->n_chunks; c++) plan->info.activation_bytes += (int64_t)plan->chunks[c]->bytes;
    for (size_t d = 0; d < planner->n_drafts; d++) {
        int s = step_of_draft[d];
        const pcti_draft *draft = &planner->drafts[d];
        if (s < 0) continue;
        pcti_step *step = &plan->steps[s];
        for (int i = 0; i < draft->n_src; i++)
            if (draft->src[i] >= 0) give_place(plan, blocks, planner->values[draft->src[i]].storage, &step->src[i]);
        for (int i = 0; i < draft->n_dst; i++) give_place(plan, blocks, planner->values[draft->dst[i]].storage, &step->dst[i]);
        step->workspace = plan->chunks[blocks[n_storages + s].chunk];
        step->workspace_offset = (size_t)blocks[n_storages + s].offset;
    }
    PCTI_TRY(make_ends(plan, planner, blocks));
    PCTI_TRY(make_readables(plan, planner, blocks));
fail:
    pcti_free(blocks);
    return status;
}

static pct_status bind_steps(pct_plan *plan)
{
    for (int s = 0; s < plan->n_steps; s++) {
        pcti_step *step = &plan->steps[s];
        /* The originals may go: a plan needs only what it has packed. */
        for (int i = 0; i < step->call.n_src; i++) step->src[i].constant = NULL;
        if (!step->impl->bind) continue;
        pct_status status = step->impl->bind(plan->device, step);
        if (status != PCT_OK) return pcti_fail_in(status, "node %s (%s, %s)", step->name, step->call.op->name, step->impl->name);
    }
    plan->timeline.capacity = plan->n_steps * INTERVALS_PER_STEP + plan->n_inputs + plan->n_outputs;
    plan->timeline.intervals = pcti_calloc((size_t)plan->timeline.capacity + 1, sizeof *plan->timeline.intervals);
    plan->timeline.interval_steps = pcti_calloc((size_t)plan->timeline.capacity + 1, sizeof(int));
    return plan->timeline.intervals && plan->timeline.interval_steps ? PCT_OK : PCT_ERROR_MEMORY;
}

static pct_status build(pct_plan *plan, pcti_planner *planner)
{
    pct_status status = PCT_OK;
    int *step_of_draft = NULL;
    PCTI_TRY(run_passes(planner));
    for (size_t n = 0; n < planner->graph->n_nodes; n++) plan->info.nodes += !planner->graph->nodes[n].dead;
    PCTI_TRY(pcti_lower(planner));
    PCTI_TRY(pcti_place(planner));
    if (!(step_of_draft = pcti_calloc(planner->n_drafts + 1, sizeof *step_of_draft))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_TRY(make_steps(plan, planner, step_of_draft));
    uint64_t before = pcti_clock_ns();
    PCTI_TRY(prepare_steps(plan));
    plan->info.pack_ms = (double)(pcti_clock_ns() - before) / 1e6;
    for (size_t p = 0; p < plan->n_packs; p++) {
        bool seen = false;
        for (size_t q = 0; q < p && !seen; q++) seen = plan->packs[q] == plan->packs[p];
        if (!seen) plan->info.weight_bytes += (int64_t)plan->packs[p]->bytes;
    }
    PCTI_TRY(place_steps(plan, planner, step_of_draft));
    PCTI_TRY(bind_steps(plan));
    plan->info.steps = plan->n_steps;
fail:
    pcti_free(step_of_draft);
    return status;
}

pct_status pct_plan_create(pct_device *device, const pct_graph *graph, const pct_plan_options *given, pct_plan **out)
{
    pct_status status = PCT_OK;
    pct_plan_options options = {.struct_bytes = sizeof options};
    pcti_planner planner = {.device = device, .options = &options};
    uint64_t before = pcti_clock_ns();
    *out = NULL;
    if (given) memcpy(&options, given, given->struct_bytes < sizeof options ? given->struct_bytes : sizeof options);
    for (int i = 0; i < 8; i++) {
        if (options.symbols[i] < 0) return pcti_fail(PCT_ERROR_ARGUMENT, "symbol %d: %lld", i, (long long)options.symbols[i]);
        if (!options.symbols[i]) options.symbols[i] = 1;
    }
    if (options.weight_storage != PCT_F32 && options.weight_storage != PCT_F16 && options.weight_storage != PCT_BF16)
        return pcti_fail(PCT_ERROR_ARGUMENT, "weight_storage: must be f32, f16 or bf16");
    pct_plan *plan = pcti_calloc(1, sizeof *plan);
    if (!plan) return PCT_ERROR_MEMORY;
    plan->device = device;
    device->low_memory = options.low_memory;
    /* The reference computes what was asked, node by node, with nothing rounded on the way. */
    if (device->backend->stores_double) options.no_fusion = true;
    PCTI_TRY(pcti_graph_copy_bound(graph, options.symbols, 8, &planner.graph));
    PCTI_TRY(build(plan, &planner));
    plan->refusals = planner.refusals.data;
    planner.refusals.data = NULL;
    plan->info.plan_ms = (double)(pcti_clock_ns() - before) / 1e6;
    pcti_planner_free(&planner);
    pct_graph_destroy(planner.graph);
    *out = plan;
    return PCT_OK;
fail:
    pcti_planner_free(&planner);
    pct_plan_destroy(plan);
    pct_graph_destroy(planner.graph);
    return status;
}

static void free_steps(pct_plan *plan)
{
    for (int s = 0; s < plan->n_steps; s++) {
        pcti_step *step = &plan->steps[s];
        if (step->impl && step->impl->release) step->impl->release(plan->device, step);
        pcti_free(step->src);
        pcti_free(step->dst);
        pcti_free(plan->params[s]);
        pcti_free(plan->names[s]);
        pcti_free(plan->shapes[s]);
    }
    pcti_free(plan->steps);
    pcti_free(plan->params);
    pcti_free(plan->fusions);
    pcti_free(plan->names);
    pcti_free(plan->shapes);
    pcti_free(plan->costs);
    pcti_free(plan->step_ms);
}

void pct_plan_destroy(pct_plan *plan)
{
    if (!plan) return;
    free_steps(plan);
    for (int c = 0; c < plan->n_chunks && plan->chunks; c++)
        if (plan->chunks[c]) plan->device->backend->buffer_destroy(plan->device, plan->chunks[c]);
    for (size_t p = 0; p < plan->n_packs; p++) pcti_pack_release(plan->device, plan->packs[p]);
    for (int i = 0; i < plan->n_readables; i++) pcti_free(plan->readables[i].name);
    for (int i = 0; plan->input_names && i < plan->n_inputs; i++) pcti_free(plan->input_names[i]);
    for (int i = 0; plan->output_names && i < plan->n_outputs; i++) pcti_free(plan->output_names[i]);
    pcti_free(plan->chunks);
    pcti_free(plan->packs);
    pcti_free(plan->readables);
    pcti_free(plan->input_names);
    pcti_free(plan->output_names);
    pcti_free(plan->inputs);
    pcti_free(plan->outputs);
    pcti_free(plan->uploads);
    pcti_free(plan->downloads);
    pcti_free(plan->timeline.intervals);
    pcti_free(plan->timeline.interval_steps);
    pcti_free(plan->refusals);
    pcti_free(plan);
}

void pct_plan_get_info(const pct_plan *plan, pct_plan_info *info) { *info = plan->info; }
