#include "opcase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "pct/model.h"

/* ---- data ---- */

static bool has_stored_operands(const pcti_op *op)
{
    static const char *const names[] = {"conv2d", "conv_transpose2d", "dense", "batch_norm", "layer_norm", "prelu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (pcti_op_is(op, names[i])) return true;
    return false;
}

/* Logarithms, roots, powers and variances want values above 0. */
static bool wants_positive(const opcase *c, int operand)
{
    if (pcti_op_is(c->op, "batch_norm")) return operand > 0;
    if (pcti_op_is(c->op, "binary")) {
        int64_t fn = ((const pct_binary_params *)c->params)->fn;
        return fn == PCT_BINARY_POW || (fn == PCT_BINARY_DIV && operand == 1);
    }
    if (!pcti_op_is(c->op, "unary")) return false;
    int64_t fn = ((const pct_unary_params *)c->params)->fn;
    return fn == PCT_UNARY_LOG || fn == PCT_UNARY_SQRT;
}

static pct_status make_floats(opcase *c, int operand, const char *name, int64_t elems)
{
    float *data = pcti_alloc_aligned((size_t)elems * sizeof *data);
    if (!(c->data[operand] = data)) return PCT_ERROR_MEMORY;
    pct_synthetic_fill(name, 1, 0, elems, data);
    if (wants_positive(c, operand))
        for (int64_t i = 0; i < elems; i++) data[i] = 0.5f + 0.5f * fabsf(data[i]);
    return PCT_OK;
}

/* Indices that are valid along every axis. */
static pct_status make_indices(opcase *c, int operand, int64_t elems)
{
    int64_t *data = pcti_alloc_aligned((size_t)elems * sizeof *data), limit = INT64_MAX;
    if (!(c->data[operand] = data)) return PCT_ERROR_MEMORY;
    for (int d = 0; d < c->shapes[0].rank; d++) limit = pcti_min(limit, pcti_max(1, c->shapes[0].dims[d]));
    for (int64_t i = 0; i < elems; i++) data[i] = i * 7 % limit;
    return PCT_OK;
}

/* Parameters stay where they are: no copy of large weights. */
static pct_status read_memory(void *cookie, int64_t first, int64_t count, float *dst)
{
    memcpy(dst, (const float *)cookie + first, (size_t)count * sizeof *dst);
    return PCT_OK;
}

static pct_status add_operand(opcase *c, int i, int *n_inputs, pct_value *value)
{
    char name[24];
    int64_t elems;
    snprintf(name, sizeof name, "operand%d", i);
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&c->shapes[i], &elems));
    bool floats = c->shapes[i].dtype == PCT_F32;
    PCTI_RETURN_IF_FAILED(floats ? make_floats(c, i, name, elems) : make_indices(c, i, elems));
    if (i == 0 || !floats || !has_stored_operands(c->op)) {
        c->inputs[(*n_inputs)++] = c->data[i];
        return pct_graph_add_input(c->graph, name, &c->shapes[i], value);
    }
    PCTI_RETURN_IF_FAILED(pct_graph_add_parameter(c->graph, name, &c->shapes[i], value));
    pct_source source = {.cookie = c->data[i], .data = c->data[i], .read = read_memory};
    return pct_graph_bind(c->graph, *value, &source);
}

static pct_status build(opcase *c, bool relu)
{
    pct_value srcs[OPCASE_OPERANDS], dsts[2];
    int n_inputs = 0;
    PCTI_RETURN_IF_FAILED(pcti_op_parse(c->line, &c->op, &c->params, c->shapes, OPCASE_OPERANDS, &c->n_src));
    PCTI_RETURN_IF_FAILED(pct_graph_create(&c->graph));
    for (int i = 0; i < c->n_src; i++) {
        srcs[i] = PCT_NONE;
        if (c->shapes[i].rank != PCTI_ABSENT) PCTI_RETURN_IF_FAILED(add_operand(c, i, &n_inputs, &srcs[i]));
    }
    PCTI_RETURN_IF_FAILED(
        pct_graph_add(c->graph, c->op->name, "node", c->params, srcs, c->n_src, dsts, c->op->n_dst));
    for (int d = 0; d < c->op->n_dst; d++) {
        pct_unary_params params = {.fn = PCT_UNARY_RELU};
        if (relu && !d) PCTI_RETURN_IF_FAILED(pct_unary(c->graph, "relu", &params, &dsts[0], 1, &dsts[0]));
        PCTI_RETURN_IF_FAILED(pct_graph_add_output(c->graph, d ? "dst1" : "dst", dsts[d]));
        PCTI_RETURN_IF_FAILED(pct_graph_shape(c->graph, dsts[d], &c->out_shapes[d]));
        PCTI_RETURN_IF_FAILED(pcti_shape_elems(&c->out_shapes[d], &c->out_elems[d]));
        size_t bytes = (size_t)c->out_elems[d] * pct_dtype_size(c->out_shapes[d].dtype);
        if (!(c->outputs[d] = pcti_alloc_aligned(bytes))) return PCT_ERROR_MEMORY;
    }
    return PCT_OK;
}

pct_status opcase_create(const char *line, bool relu, opcase *c)
{
    *c = (opcase){.line = line};
    pct_status status = build(c, relu);
    if (status != PCT_OK) opcase_free(c);
    return status;
}

void opcase_free(opcase *c)
{
    pct_graph_destroy(c->graph);
    pcti_free(c->params);
    for (int i = 0; i < OPCASE_OPERANDS; i++) pcti_free_aligned(c->data[i]);
    for (int d = 0; d < 2; d++) pcti_free_aligned(c->outputs[d]);
    *c = (opcase){0};
}

void opcase_poison(opcase *c)
{
    for (int d = 0; d < c->op->n_dst; d++)
        memset(c->outputs[d], 0xff, (size_t)c->out_elems[d] * pct_dtype_size(c->out_shapes[d].dtype));
}

pct_status opcase_plan(const opcase *c, pct_device *device, const char *impl, const char *force, pct_plan **plan,
                       int *step, double *ms)
{
    char text[160];
    if (impl) snprintf(text, sizeof text, "%s=%s", c->op->name, impl);
    pct_plan_options options = {.struct_bytes = sizeof options, .force = impl ? text : force};
    uint64_t start = pcti_clock_ns();
    *step = -1;
    PCTI_RETURN_IF_FAILED(pct_plan_create(device, c->graph, &options, plan));
    *ms = (double)(pcti_clock_ns() - start) * 1e-6;
    for (int s = 0; s < (*plan)->n_steps; s++)
        if ((*plan)->steps[s].call.op == c->op) *step = s;
    return PCT_OK;
}

void opcase_choice(const pcti_impl *impl, int variant, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s%s%s", impl->name, variant ? ":" : "", variant ? impl->variants[variant - 1] : "");
}

/* ---- measuring ---- */

/* Time that the device needs at least for a step's operations and bytes, over its time. */
static void add_roofline(const bench_target *target, const pct_step_info *info, pcti_row *row)
{
    if (!target->peak_known || !(info->ms > 0)) return;
    double compute = target->peak_flops > 0 ? info->flops / target->peak_flops : 0;
    double memory = target->peak_bytes > 0 ? info->bytes / target->peak_bytes : 0;
    if (!(compute + memory > 0)) return;
    double share = fmax(compute, memory) / (info->ms * 1e-3);
    pcti_row_add_number(row, "roofline_share", share, false);
    pcti_row_add_text(row, "bound_by", compute >= memory ? "flops" : "bytes", false);
    if (share >= 0.3) return;
    /* The likely reason, from the figures at hand. */
    pcti_row_add_text(row, "remark",
                      info->ms < 0.02 ? "below 30 % of the roofline: shorter than a few launches or barriers"
                      : compute >= memory * 0.5 ? "below 30 % of the roofline: bound by operations"
                                                : "below 30 % of the roofline: bound by memory",
                      false);
}

static pct_status check_outputs(const opcase *c, const pct_plan *plan, int step, bool all, measured *result,
                                pcti_row *row)
{
    opcheck check;
    PCTI_RETURN_IF_FAILED(opcase_check(c, plan, step, all, &check));
    row->max_error = isfinite(row->max_error) ? fmax(row->max_error, check.max_error) : check.max_error;
    if (!pcti_row_extra(row, "error_bound")) {
        pcti_row_add_number(row, "error_bound", check.bound, false);
        pcti_row_add_number(row, "checked", (double)check.checked, false);
    }
    if (check.right) return PCT_OK;
    row->status = PCTI_ROW_WRONG;
    snprintf(result->what, sizeof result->what, "%s", check.what);
    row->reason = result->what;
    return PCT_OK;
}

static pct_status time_case(clbench *bench, bench_target *target, opcase *c, pct_plan *plan, int step,
                            const measure_runs *runs, measured *result, pcti_row *row)
{
    PCTI_RETURN_IF_FAILED(measure_steady(bench, plan, c->inputs, c->outputs, runs, result));
    if (!result->timed) {
        row->status = PCTI_ROW_TIMEOUT;
        row->reason = "the time was used up before the first timed run";
        return PCT_OK;
    }
    measure_fill_row(result, row);
    row->items_per_s = 1e3 / result->wall.median;
    if (step >= 0) {
        pct_step_info info;
        PCTI_RETURN_IF_FAILED(pct_plan_step(plan, step, &info));
        pcti_row_add_number(row, "op_ms", info.ms > 0 ? info.ms : NAN, false);
        if (info.ms > 0) {
            row->gflops = info.flops / info.ms * 1e-6;
            row->gbytes_per_s = info.bytes / info.ms * 1e-6;
            add_roofline(target, &info, row);
        }
    }
    return check_outputs(c, plan, step, false, result, row);
}

pct_status opcase_measure(clbench *bench, bench_target *target, opcase *c, const char *impl, const measure_runs *runs,
                          pcti_row *row)
{
    pct_plan *plan = NULL;
    measured result; /* the row borrows from it */
    char taken[128] = "view";
    double plan_ms, first_ms;
    int step;
    bench_show(bench, target, c->line);
    pct_status status = opcase_plan(c, target->device, impl, bench->options.force, &plan, &step, &plan_ms);
    if (status != PCT_OK) {
        row->impl = impl;
        return bench_add_failure(bench, row, status);
    }
    if (step >= 0) opcase_choice(plan->steps[step].impl, plan->steps[step].variant, taken, sizeof taken);
    row->impl = taken;
    row->peak_memory_bytes = (double)(plan->info.weight_bytes + plan->info.activation_bytes);
    opcase_poison(c);
    PCTI_TRY(measure_first(plan, c->inputs, c->outputs, &first_ms));
    row->first_ms = plan_ms + first_ms;
    PCTI_TRY(check_outputs(c, plan, step, bench->settings.verify, &result, row));
    if (bench->settings.verify)
        pcti_row_add_missing(row, "wall_ms", "--verify times nothing");
    else if (row->status == PCTI_ROW_OK) {
        measure_runs timed = *runs;
        timed.expected_ms = first_ms;
        PCTI_TRY(time_case(bench, target, c, plan, step, &timed, &result, row));
    }
    status = bench_add(bench, row);
    pct_plan_destroy(plan);
    return status;
fail:
    status = bench_add_failure(bench, row, status);
    pct_plan_destroy(plan);
    return status;
}
