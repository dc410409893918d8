#include "golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/plan.h"

enum { MAX_OPERANDS = 5, MAX_OUTPUTS = 2, MAX_RESULTS = 4096 };

#define CHECK(expression)                                                                                            \
    do {                                                                                                             \
        if ((expression) != PCT_OK) fail_msg("%s: %s", #expression, pct_error_message());                            \
    } while (0)

static float *operand_values(const golden_case *c, int k, const pct_shape *shape)
{
    int64_t elems;
    CHECK(pcti_shape_elems(shape, &elems));
    float *values = pcti_calloc((size_t)elems, sizeof *values);
    for (int64_t i = 0; i < elems; i++)
        values[i] = c->values[k] ? c->values[k][i] : (float)((37 * i + 11 * k) % 19 - 9) / 4;
    return values;
}

/* Runs the case with one implementation. Operands from 1 on are constants. False where it refuses. */
static bool run_with(const golden_case *c, pct_device *device, const char *impl, float *result)
{
    const pcti_op *op;
    pct_graph *graph;
    pct_plan *plan;
    pct_shape shapes[MAX_OPERANDS];
    pct_value srcs[MAX_OPERANDS], y[MAX_OUTPUTS];
    void *params, *outs[MAX_OUTPUTS] = {NULL};
    float *values[MAX_OPERANDS] = {NULL};
    char force[128], name[24];
    int n_src;
    CHECK(pcti_op_parse(c->line, &op, &params, shapes, MAX_OPERANDS, &n_src));
    CHECK(pct_graph_create(&graph));
    for (int k = 0; k < n_src; k++) {
        snprintf(name, sizeof name, "operand%d", k);
        srcs[k] = PCT_NONE;
        if (shapes[k].rank == PCTI_ABSENT) continue;
        values[k] = operand_values(c, k, &shapes[k]);
        if (k)
            CHECK(pct_graph_add_constant(graph, name, &shapes[k], values[k], &srcs[k]));
        else
            CHECK(pct_graph_add_input(graph, name, &shapes[k], &srcs[k]));
    }
    CHECK(pct_graph_add(graph, op->name, "tested", params, srcs, n_src, y, op->n_dst));
    int64_t elems[MAX_OUTPUTS] = {0};
    for (int o = 0; o < op->n_dst; o++) {
        CHECK(pct_graph_add_output(graph, o ? "y1" : "y", y[o]));
        CHECK(pct_graph_shape(graph, y[o], &shapes[o]));
        CHECK(pcti_shape_elems(&shapes[o], &elems[o]));
        outs[o] = pcti_calloc((size_t)elems[o], pct_dtype_size(shapes[o].dtype));
    }
    assert_int_equal(elems[0] + elems[1], c->count);
    snprintf(force, sizeof force, "%s=%s", op->name, impl);
    pct_plan_options options = {.struct_bytes = sizeof options, .force = force};
    pct_status status = pct_plan_create(device, graph, &options, &plan);
    if (status != PCT_OK && status != PCT_ERROR_UNSUPPORTED) fail_msg("%s: %s", c->line, pct_error_message());
    if (status == PCT_OK) {
        const void *in = values[0];
        CHECK(pct_plan_run(plan, &in, outs, NULL));
        pct_plan_destroy(plan);
    }
    for (int o = 0; o < op->n_dst; o++) {
        for (int64_t i = 0; i < elems[o]; i++)
            *result++ = shapes[o].dtype == PCT_I64 ? (float)((int64_t *)outs[o])[i] : ((float *)outs[o])[i];
        pcti_free(outs[o]);
    }
    pct_graph_destroy(graph);
    for (int k = 0; k < n_src; k++) pcti_free(values[k]);
    pcti_free(params);
    return status == PCT_OK;
}

static void check_device(const golden_case *c, pct_device *device)
{
    float result[MAX_RESULTS];
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(c->line, " "), c->line);
    double largest = 0;
    for (int i = 0; i < c->count; i++)
        if (isfinite(c->want[i])) largest = fmax(largest, fabs((double)c->want[i]));
    int accepted = 0;
    for (const pcti_impl *impl = device->backend->impls(pcti_op_find(name)); impl->name; impl++) {
        if (!run_with(c, device, impl->name, result)) continue;
        accepted++;
        for (int i = 0; i < c->count; i++) {
            double want = c->want[i], got = result[i];
            if ((isnan(want) && isnan(got)) || want == got || fabs(want - got) <= c->tolerance * largest) continue;
            fail_msg("%s on %s, %s: element %d is %.9g, must be %.9g", c->line, device->info.device, impl->name, i,
                     got, want);
        }
    }
    if (!accepted) fail_msg("%s: no implementation on %s", c->line, device->info.device);
}

static void check_case(void **state)
{
    const golden_case *c = *state;
    assert_in_range(c->count, 1, MAX_RESULTS);
    pct_device *device;
    for (int b = 0; b < pcti_backend_count; b++) {
        pct_device_options options = {.struct_bytes = sizeof options, .backend = pcti_backends[b]->name};
        if (pct_device_open(&options, &device) != PCT_OK) {
            if (pcti_backends[b]->enumerate) continue; /* no such device here */
            fail_msg("%s", pct_error_message());
        }
        check_device(c, device);
        pct_device_close(device);
    }
}

int golden_run(const char *name, const golden_case *cases, size_t count)
{
    struct CMUnitTest *tests = pcti_calloc(count, sizeof *tests);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].line, .test_func = check_case, .initial_state = (void *)(uintptr_t)&cases[i]};
    int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    pcti_free(tests);
    return failed;
}
