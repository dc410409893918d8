#include "pct/tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compare.h"
#include "base/hash.h"
#include "base/memory.h"
#include "graph/plan.h"

enum { LEAST_RUNS = 3, MOST_RUNS = 50 };
static const double SECONDS_EACH = 0.03;
static const double WORTH_CHANGING = 0.97; /* less is noise */

/* ---- one layer as a graph of its own ---- */

typedef struct layer {
    pct_graph *graph;
    const void **inputs; /* one array of random values for each computed operand */
    int n_inputs;
    int64_t output_elems;
} layer;

static float *random_floats(int64_t elems, uint64_t seed)
{
    float *data = pcti_calloc((size_t)elems, sizeof *data);
    for (int64_t i = 0; data && i < elems; i++) data[i] = (float)pcti_uniform(seed + (uint64_t)i);
    return data;
}

static pct_status add_operand(layer *l, const pcti_step *step, int i, const bool *constant, pct_value *value)
{
    char name[32];
    int64_t elems;
    pct_shape shape = pcti_tensor_shape(&step->src[i].tensor);
    *value = PCT_NONE;
    if (step->src[i].tensor.rank == PCTI_ABSENT) return PCT_OK;
    snprintf(name, sizeof name, "operand%d", i);
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&shape, &elems));
    /* Index operands get zeros, which are valid everywhere. */
    void *data = shape.dtype == PCT_F32 ? (void *)random_floats(elems, (uint64_t)i << 40) : pcti_calloc((size_t)elems, pct_dtype_size(shape.dtype));
    if (!data) return PCT_ERROR_MEMORY;
    if (constant[i]) {
        pct_status status = pct_graph_add_constant(l->graph, name, &shape, data, value);
        pcti_free(data);
        return status;
    }
    l->inputs[l->n_inputs++] = data;
    return pct_graph_add_input(l->graph, name, &shape, value);
}

/* The step's call, fusion and all, as the only node. */
static pct_status layer_make(const pcti_step *step, const bool *constant, layer *l)
{
    pct_status status = PCT_OK;
    const pcti_call *call = &step->call;
    int own = call->fusion ? call->op->max_src : call->n_src;
    pct_value *srcs = pcti_calloc((size_t)call->n_src + 1, sizeof *srcs), dsts[2];
    PCTI_TRY(pct_graph_create(&l->graph));
    l->inputs = pcti_calloc((size_t)call->n_src + 1, sizeof *l->inputs);
    if (!srcs || !l->inputs) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (int i = 0; i < call->n_src; i++) PCTI_TRY(add_operand(l, step, i, constant, &srcs[i]));
    PCTI_TRY(pct_graph_add(l->graph, call->op->name, "layer", call->params, srcs, own, dsts, call->n_dst));
    if (call->fusion) {
        pcti_node *node = &l->graph->nodes[l->graph->n_nodes - 1];
        PCTI_TRY(pcti_node_make_fusion(node));
        *node->fusion = *call->fusion;
        memcpy(node->src, srcs, (size_t)call->n_src * sizeof *srcs);
        l->graph->values[dsts[0]].shape = pcti_tensor_shape(&call->dst[0].tensor);
    }
    for (int d = 0; d < call->n_dst; d++) PCTI_TRY(pct_graph_add_output(l->graph, d ? "y1" : "y", dsts[d]));
    l->output_elems = pcti_tensor_elems(&call->dst[0].tensor);
fail:
    pcti_free(srcs);
    return status;
}

static void layer_free(layer *l)
{
    for (int i = 0; i < l->n_inputs; i++) pcti_free((void *)(uintptr_t)l->inputs[i]);
    pcti_free(l->inputs);
    pct_graph_destroy(l->graph);
}

/* ---- one candidate ---- */

/* Median-free and short: the least of some runs of the one step, by the host's clock around a finished run. */
static pct_status time_step(pct_plan *plan, double *ms)
{
    int s = 0;
    while (s < plan->n_steps && strcmp(plan->steps[s].name, "layer")) s++;
    if (s == plan->n_steps) return pcti_fail(PCT_ERROR_UNSUPPORTED, "nothing to run");
    pcti_run run = {.steps = &plan->steps[s], .n_steps = 1};
    uint64_t begin = pcti_clock_ns();
    *ms = INFINITY;
    for (int i = 0; i < MOST_RUNS && (i < LEAST_RUNS || (double)(pcti_clock_ns() - begin) < SECONDS_EACH * 1e9); i++) {
        uint64_t start = pcti_clock_ns();
        PCTI_RETURN_IF_FAILED(plan->device->backend->run(plan->device, &run));
        *ms = fmin(*ms, (double)(pcti_clock_ns() - start) / 1e6);
    }
    return PCT_OK;
}

static double bound_of(pcti_accuracy accuracy)
{
    if (accuracy == PCTI_ACCURACY_HALF) return 1.0 / 128;
    return accuracy == PCTI_ACCURACY_WINOGRAD ? 1e-4 : 2e-5;
}

static bool agrees(const float *want, const float *got, int64_t elems, double bound)
{
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < elems; i++) {
        if (isfinite(want[i])) largest = fmax(largest, fabs((double)want[i]));
        worst = fmax(worst, pcti_difference((double)want[i], (double)got[i]));
    }
    return worst <= bound * fmax(largest, 1e-30);
}

typedef struct candidate {
    char choice[128];
    const pcti_impl *impl;
    double ms;
    float *output; /* of the first result */
} candidate;

/* PCT_ERROR_UNSUPPORTED where the implementation refuses. */
static pct_status try_candidate(pct_device *device, const layer *l, const char *op, const pct_plan_options *given, candidate *c)
{
    char force[256];
    pct_plan *plan;
    pct_plan_options options = *given;
    snprintf(force, sizeof force, "%s=%s", op, c->choice);
    options.no_fusion = true; /* the layer is fused already */
    options.keep_values = true; /* nothing in place: the same inputs in every run */
    options.force = force;
    PCTI_RETURN_IF_FAILED(pct_plan_create(device, l->graph, &options, &plan));
    void *outputs[2] = {c->output, NULL};
    pct_status status = pct_plan_run(plan, l->inputs, outputs, NULL);
    if (status == PCT_OK) status = time_step(plan, &c->ms);
    pct_plan_destroy(plan);
    return status;
}

/* ---- one layer ---- */

static pct_status tune_layer(pct_device *device, const pcti_step *step, const bool *constant, const pct_plan_options *options,
                             candidate *best, double *default_ms)
{
    pct_status status = PCT_OK;
    layer l = {0};
    const pcti_impl *rows = device->backend->impls(step->call.op);
    candidate c = {.output = NULL};
    float *first = NULL;
    pcti_accuracy first_accuracy = PCTI_ACCURACY_EXACT;
    *best = (candidate){.ms = INFINITY};
    *default_ms = INFINITY;
    PCTI_TRY(layer_make(step, constant, &l));
    bool floats = step->dst[0].tensor.dtype == PCT_F32;
    for (const pcti_impl *row = rows; row->name; row++)
        for (int variant = 0; !variant || (row->variants && row->variants[variant - 1]); variant++) {
            if (variant) snprintf(c.choice, sizeof c.choice, "%s:%s", row->name, row->variants[variant - 1]);
            else snprintf(c.choice, sizeof c.choice, "%s", row->name);
            if (floats && !c.output && !(c.output = pcti_calloc((size_t)l.output_elems, sizeof *c.output))) {
                status = PCT_ERROR_MEMORY;
                goto fail;
            }
            status = try_candidate(device, &l, step->call.op->name, options, &c);
            if (status == PCT_ERROR_UNSUPPORTED) {
                status = PCT_OK;
                break; /* all its variants refuse alike */
            }
            if (status != PCT_OK) goto fail;
            if (isinf(*default_ms)) *default_ms = c.ms;
            if (floats && !first) {
                first = c.output;
                c.output = NULL;
                first_accuracy = row->accuracy;
            } else if (floats && !agrees(first, c.output, l.output_elems, fmax(bound_of(row->accuracy), bound_of(first_accuracy)))) {
                pcti_log(PCT_LOG_WARNING, "%s: %s gives other results than %s: left out", step->name, c.choice, rows->name);
                continue;
            }
            if (!best->impl || c.ms < best->ms * WORTH_CHANGING) {
                best->ms = c.ms;
                best->impl = row;
                memcpy(best->choice, c.choice, sizeof best->choice);
            }
            if (c.ms > 20 * best->ms) break; /* plain loops at the end of the list: no need for more */
        }
fail:
    layer_free(&l);
    pcti_free(c.output);
    pcti_free(first);
    return status;
}

/* ---- a network ---- */

/* Which operands were constants, before the plan let go of them: those that lie in none of its chunks. */
static void constant_operands(const pct_plan *plan, const pcti_step *step, bool *constant)
{
    for (int i = 0; i < step->call.n_src; i++) {
        constant[i] = true;
        for (int c = 0; c < plan->n_chunks; c++)
            if (step->src[i].buffer == plan->chunks[c]) constant[i] = false;
    }
}

static bool seen_before(char *const *keys, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(keys[i], key)) return true;
    return false;
}

static bool report(const pct_tune_options *options, const pct_tune_progress *progress)
{
    return !options->progress || options->progress(options->cookie, progress);
}

static pct_status tune_step(pct_device *device, const pct_plan *plan, int s, const char *key, const pct_plan_options *plan_options,
                            const pct_tune_options *options, int done, int total)
{
    pct_status status = PCT_OK;
    const pcti_step *step = &plan->steps[s];
    candidate best;
    pct_tune_progress progress = {.done = done, .total = total, .layer = key};
    if (!report(options, &progress)) return pcti_fail(PCT_ERROR_INTERRUPTED, "stopped");
    bool *constant = pcti_calloc((size_t)step->call.n_src + 1, sizeof *constant);
    if (!constant) return PCT_ERROR_MEMORY;
    constant_operands(plan, step, constant);
    PCTI_TRY(tune_layer(device, step, constant, plan_options, &best, &progress.default_ms));
    if (best.impl) PCTI_TRY(pcti_tuning_set(device, key, best.choice));
    progress.done++;
    progress.best = best.choice;
    progress.best_ms = best.ms;
    if (!report(options, &progress)) status = pcti_fail(PCT_ERROR_INTERRUPTED, "stopped");
fail:
    pcti_free(constant);
    return status;
}

pct_status pct_tune(pct_device *device, const pct_graph *graph, const pct_plan_options *given_plan, const pct_tune_options *given, int *layers,
                    int *total)
{
    pct_status status = PCT_OK;
    pct_plan *plan = NULL;
    pct_plan_options plan_options = {.struct_bytes = sizeof plan_options};
    pct_tune_options options = {.struct_bytes = sizeof options};
    uint64_t begin = pcti_clock_ns();
    char **keys = NULL;
    int *steps = NULL, known = 0;
    *layers = *total = 0;
    if (given_plan) memcpy(&plan_options, given_plan, pcti_min((int64_t)given_plan->struct_bytes, sizeof plan_options));
    if (given) memcpy(&options, given, pcti_min((int64_t)given->struct_bytes, sizeof options));
    if (options.seconds <= 0) options.seconds = 120;
    PCTI_RETURN_IF_FAILED(pct_plan_create(device, graph, &plan_options, &plan));
    keys = pcti_calloc((size_t)plan->n_steps + 1, sizeof *keys);
    steps = pcti_calloc((size_t)plan->n_steps + 1, sizeof *steps);
    if (!keys || !steps) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    for (int s = 0; s < plan->n_steps; s++) {
        pcti_text key = {0};
        if (!strcmp(plan->steps[s].call.op->name, "reorder")) continue;
        pcti_call_key(&plan->steps[s].call, &key);
        if (key.failed) {
            status = PCT_ERROR_MEMORY;
            goto fail;
        }
        if (seen_before(keys, *total, key.data)) {
            pcti_text_free(&key);
            continue;
        }
        keys[*total] = key.data;
        steps[(*total)++] = s;
    }
    for (int i = 0; i < *total && status == PCT_OK; i++) {
        bool is_known = pcti_tuning_find(device, keys[i]);
        bool in_budget = (double)(pcti_clock_ns() - begin) / 1e9 < options.seconds;
        if ((!is_known || options.again) && in_budget) {
            status = tune_step(device, plan, steps[i], keys[i], &plan_options, &options, i, *total);
            is_known = is_known || pcti_tuning_find(device, keys[i]);
        }
        known += is_known;
    }
    *layers = known;
    pct_status saved = pcti_tuning_save(device);
    if (status == PCT_OK) status = saved;
fail:
    for (int i = 0; keys && i < *total; i++) pcti_free(keys[i]);
    pcti_free(keys);
    pcti_free(steps);
    pct_plan_destroy(plan);
    return status;
}
