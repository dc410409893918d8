/* The suite infer: whole networks, checked against the double-precision reference. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench.h"
#include "graph/plan.h"
#include "logits.h"
#include "pct/model.h"

/* Of the largest logit. */
static const double logit_bound = 2e-5;

typedef struct infer_case {
    const char *name;
    pct_model *model;
    int64_t size, batch, picture_elems, classes;
    float *pictures, *logits;
    const float *expected; /* of the pictures in a row; lent */
    logits_key key;
} infer_case;

static void free_buffers(infer_case *c)
{
    pcti_free_aligned(c->pictures);
    pcti_free_aligned(c->logits);
    c->pictures = c->logits = NULL;
}

/* Pictures 0, 1, 2, ... of the synthetic tensor "input"; the last one of a batch is picture 0 again. */
static int64_t picture_at(int64_t slot, int64_t batch)
{
    return slot == batch - 1 ? 0 : slot;
}

static pct_status make_buffers(infer_case *c)
{
    c->pictures = pcti_alloc_aligned((size_t)(c->batch * c->picture_elems) * sizeof(float));
    c->logits = pcti_alloc_aligned((size_t)(c->batch * c->classes) * sizeof(float));
    if (!c->pictures || !c->logits) return PCT_ERROR_MEMORY;
    for (int64_t b = 0; b < c->batch; b++)
        pct_synthetic_fill("input", 1, picture_at(b, c->batch) * c->picture_elems, c->picture_elems,
                           c->pictures + b * c->picture_elems);
    return PCT_OK;
}

static void poison(infer_case *c)
{
    memset(c->logits, 0xff, (size_t)(c->batch * c->classes) * sizeof(float));
}

/* ---- checking ---- */

static double largest_difference(const float *a, const float *b, int64_t count, double *largest)
{
    double worst = 0;
    *largest = 0;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        *largest = fmax(*largest, fabs((double)b[i]));
        worst = isnan(difference) ? INFINITY : fmax(worst, difference);
    }
    return worst;
}

/* Picture 0, in all its places, against the reference; with `all`, every picture. */
static pct_status check_logits(infer_case *c, bool all, measured *result, pcti_row *row)
{
    double worst = isfinite(row->max_error) ? row->max_error : 0, bound = 0;
    for (int64_t slot = 0; slot < c->batch; slot++) {
        int64_t picture = picture_at(slot, c->batch);
        if (picture && !all) continue;
        const float *expected;
        double largest;
        PCTI_RETURN_IF_FAILED(logits_expected(&c->key, c->model, picture, &expected));
        double error = largest_difference(c->logits + slot * c->classes, expected, c->classes, &largest);
        worst = fmax(worst, error);
        bound = logit_bound * largest;
        if (error <= bound || row->status != PCTI_ROW_OK) continue;
        row->status = PCTI_ROW_WRONG;
        snprintf(result->what, sizeof result->what,
                 "logits of picture %lld (place %lld of the batch) are off by %.3g, allowed are %.3g",
                 (long long)picture, (long long)slot, error, bound);
        row->reason = result->what;
    }
    double largest;
    if (c->batch > 1 && row->status == PCTI_ROW_OK &&
        largest_difference(c->logits + (c->batch - 1) * c->classes, c->logits, c->classes, &largest) > bound) {
        row->status = PCTI_ROW_WRONG;
        row->reason = "the last picture of the batch, the same as the first, has other logits";
    }
    row->max_error = worst;
    if (!pcti_row_extra(row, "error_bound")) pcti_row_add_number(row, "error_bound", bound, false);
    return PCT_OK;
}

/* ---- measuring ---- */

/* "conv2d: winograd_4x4_3x3 x12, gemm_1x1 x1; dense: ..." of the operators that cost most. */
static void describe_impls(const pct_plan *plan, pcti_text *text)
{
    static const char *const ops[] = {"conv2d", "dense"};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        bool first = true;
        for (int s = 0; s < plan->n_steps; s++) {
            const pcti_impl *impl = plan->steps[s].impl;
            int count = 0, before = 0;
            if (!pcti_op_is(plan->steps[s].call.op, ops[o])) continue;
            for (int t = 0; t < plan->n_steps; t++) {
                bool same = plan->steps[t].impl == impl && plan->steps[t].call.op == plan->steps[s].call.op;
                count += same;
                before += same && t < s;
            }
            if (before) continue;
            if (first) pcti_text_add(text, "%s%s: ", text->length ? "; " : "", ops[o]);
            pcti_text_add(text, "%s%s x%d", first ? "" : ", ", impl->name, count);
            first = false;
        }
    }
}

static void add_plan_figures(const pct_plan *plan, pcti_row *row)
{
    const pct_plan_info *info = &plan->info;
    pcti_row_add_number(row, "plan_ms", info->plan_ms, false);
    pcti_row_add_number(row, "steps", info->steps, false);
    pcti_row_add_number(row, "weight_bytes", (double)info->weight_bytes, false);
    pcti_row_add_number(row, "activation_bytes", (double)info->activation_bytes, false);
}

static void add_rates(const infer_case *c, const pct_plan *plan, const measured *result, pcti_row *row)
{
    double bytes = 0;
    for (int s = 0; s < plan->n_steps; s++) bytes += plan->costs[s].bytes_read + plan->costs[s].bytes_written;
    row->items_per_s = (double)c->batch * 1e3 / result->wall.median;
    if (row->kernel_ms > 0) {
        row->gflops = plan->info.flops / row->kernel_ms * 1e-6;
        row->gbytes_per_s = bytes / row->kernel_ms * 1e-6;
    }
    pcti_row_add_number(row, "unprofiled_ms", result->unprofiled_ms, false);
}

static pct_status time_plan(clbench *bench, infer_case *c, pct_plan *plan, double first_ms, measured *result,
                            pcti_row *row)
{
    measure_runs runs = bench_runs(bench, 3, bench->settings.quick ? 0.2 : 1.0);
    const void *inputs[] = {c->pictures};
    void *outputs[] = {c->logits};
    runs.unprofiled = true;
    runs.expected_ms = first_ms;
    PCTI_RETURN_IF_FAILED(measure_steady(bench, plan, inputs, outputs, &runs, result));
    if (!result->timed) {
        row->status = PCTI_ROW_TIMEOUT;
        row->reason = "the time was used up before the first timed run";
        return PCT_OK;
    }
    measure_fill_row(result, row);
    add_rates(c, plan, result, row);
    return check_logits(c, false, result, row);
}

static pct_status run_plan(clbench *bench, bench_target *target, infer_case *c, pct_plan *plan, double plan_ms,
                           measured *result, pcti_row *row)
{
    double first_ms;
    const void *inputs[] = {c->pictures};
    void *outputs[] = {c->logits};
    poison(c);
    PCTI_RETURN_IF_FAILED(measure_first(plan, inputs, outputs, &first_ms));
    row->first_ms = plan_ms + first_ms;
    double peak = measure_memory_peak(); /* before the reference may need some */
    bool host = !strcmp(target->info.backend, "cpu");
    row->peak_memory_bytes = host ? peak : (double)(plan->info.weight_bytes + plan->info.activation_bytes);
    uint64_t start = pcti_clock_ns();
    PCTI_RETURN_IF_FAILED(check_logits(c, bench->settings.verify, result, row));
    bench_extend(bench, start);
    if (bench->settings.verify)
        pcti_row_add_missing(row, "wall_ms", "--verify times nothing");
    else if (row->status == PCTI_ROW_OK)
        PCTI_RETURN_IF_FAILED(time_plan(bench, c, plan, first_ms, result, row));
    return PCT_OK;
}

/* One network and batch. *plan comes in as the plan of the batch before, whose packed weights the new one shares. */
static pct_status run_batch(clbench *bench, bench_target *target, infer_case *c, pct_plan **plan)
{
    pcti_row row;
    measured result;
    pcti_text impls = {0};
    pct_plan *made = NULL;
    bench_row(target, SUITE_INFER, c->name, &row);
    row.batch = c->batch;
    row.size = c->size;
    /* Cold caches make --quick longer: what a new user came for is not left out. */
    if (bench_late(bench) && !bench->settings.quick) return bench_add_skipped(bench, &row, bench_no_time);
    bench_show(bench, target, c->name);
    pct_status status = make_buffers(c);
    measure_memory_reset();
    uint64_t start = pcti_clock_ns();
    pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {c->batch}, .force = bench->options.force};
    if (status == PCT_OK) status = pct_plan_create(target->device, pct_model_graph(c->model), &options, &made);
    double plan_ms = (double)(pcti_clock_ns() - start) * 1e-6;
    if (status == PCT_OK) {
        pct_plan_destroy(*plan);
        *plan = made;
        describe_impls(made, &impls);
        row.impl = impls.data;
        add_plan_figures(made, &row);
        status = run_plan(bench, target, c, made, plan_ms, &result, &row);
    }
    status = status == PCT_OK ? bench_add(bench, &row) : bench_add_failure(bench, &row, status);
    free_buffers(c);
    pcti_text_free(&impls);
    return status;
}

/* ---- the suite ---- */

static pct_status add_model_failure(clbench *bench, const bench_target *target, const char *name, pct_status status)
{
    pcti_row row;
    bench_row(target, SUITE_INFER, name, &row);
    row.size = bench->settings.size;
    return bench_add_failure(bench, &row, status);
}

static pct_status run_model(clbench *bench, bench_target *target, const char *name)
{
    pct_status status;
    pct_plan *plan = NULL;
    infer_case c = {.name = name};
    pct_model_options options = {.struct_bytes = sizeof options,
                                 .height = (int32_t)bench->settings.size,
                                 .width = (int32_t)bench->settings.size};
    PCTI_TRY(pct_model_create(name, &options, &c.model));
    PCTI_TRY(bench->settings.weights ? pct_model_load(c.model, bench->settings.weights)
                                     : pct_model_load_synthetic(c.model));
    const pct_model_info *info = pct_model_get_info(c.model);
    c.size = info->height;
    c.classes = info->classes;
    c.picture_elems = (int64_t)3 * info->height * info->width;
    PCTI_TRY(logits_key_make(info, bench->settings.weights, &c.key));
    for (int b = 0; b < bench->settings.n_batches; b++) {
        if (bench_stopped()) {
            status = pcti_fail(PCT_ERROR_INTERRUPTED, "interrupted");
            goto end;
        }
        c.batch = bench->settings.batches[b];
        status = run_batch(bench, target, &c, &plan);
        if (status != PCT_OK) goto end;
    }
    goto end;
fail:
    status = add_model_failure(bench, target, name, status);
end:
    pct_plan_destroy(plan);
    pct_model_destroy(c.model);
    return status;
}

pct_status suite_infer(clbench *bench, bench_target *target)
{
    for (int m = 0; m < bench->settings.n_models; m++)
        PCTI_RETURN_IF_FAILED(run_model(bench, target, bench->settings.models[m]));
    return PCT_OK;
}
