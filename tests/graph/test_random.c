/* Random graphs of everything that shares memory (concats, slices, reshapes, residuals, in-place functions, dropout, unused
 * inputs, several outputs) on every device, fused and not, with and without reuse, against the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/tensor.h"
#include "pct/pct.h"

enum { GRAPHS = 150, MAX_VALUES = 40, MAX_OUTPUTS = 4, MAX_INPUTS = 3 };

typedef struct random_graph {
    pct_graph *graph;
    pct_value values[MAX_VALUES], inputs[MAX_INPUTS], outputs[MAX_OUTPUTS];
    pct_shape shapes[MAX_VALUES];
    int n_values, n_inputs, n_outputs;
    uint64_t seed;
    pcti_text text; /* what was built, for the message */
} random_graph;

static int below(random_graph *g, int n) { return (int)(pcti_splitmix64(g->seed++) % (uint64_t)n); }

static int64_t elems_of(const pct_shape *shape)
{
    int64_t elems = 0;
    return pcti_shape_elems(shape, &elems) == PCT_OK ? elems : 0;
}

static float *random_floats(uint64_t seed, int64_t elems, double scale)
{
    float *data = pcti_calloc((size_t)elems, sizeof *data);
    for (int64_t i = 0; i < elems; i++) data[i] = (float)(scale * pcti_uniform(seed + (uint64_t)i));
    return data;
}

/* Takes a new value up, if the graph accepted the node. By address: the call that makes it stands in the same argument list. */
static void keep(random_graph *g, pct_status status, const pct_value *value, const char *what, int operand)
{
    if (status != PCT_OK) return; /* it does not fit these shapes: another one will */
    pct_graph_shape(g->graph, *value, &g->shapes[g->n_values]);
    pcti_text_add(&g->text, " v%d=%s(v%d)", g->n_values, what, operand);
    g->values[g->n_values++] = *value;
}

static void add_conv(random_graph *g, int a, const char *name)
{
    static const int channels[] = {16, 32, 24, 8, 48};
    int outputs = channels[below(g, 5)], kernel = below(g, 2) ? 3 : 1;
    pct_shape wei = {.dtype = PCT_F32, .rank = 4, .dims = {outputs, g->shapes[a].dims[1], kernel, kernel}};
    pct_conv2d_params params = {.pad = {kernel / 2, kernel / 2, kernel / 2, kernel / 2}};
    float *data = random_floats(g->seed, elems_of(&wei), 1.0 / (double)wei.dims[1]);
    pct_value w, y = PCT_NONE;
    pct_status status = pct_graph_add_constant(g->graph, "weights", &wei, data, &w);
    pcti_free(data);
    if (status == PCT_OK) status = pct_conv2d(g->graph, name, &params, (pct_value[]){g->values[a], w}, 2, &y);
    keep(g, status, &y, "conv", a);
}

static void add_concat(random_graph *g, int a, const char *name)
{
    pct_concat_params params = {.axis = below(g, 4) ? 1 : 0};
    pct_value srcs[3] = {g->values[a]}, y = PCT_NONE;
    int n = 1, wanted = 1 + below(g, 3);
    for (int tries = 0; tries < 12 && n < wanted; tries++) srcs[n++] = g->values[below(g, g->n_values)];
    pct_status status = PCT_ERROR_SHAPE;
    while (n > 0 && status != PCT_OK) status = pct_concat(g->graph, name, &params, srcs, n--, &y);
    keep(g, status, &y, "concat", a);
}

static void add_slice(random_graph *g, int a, const char *name)
{
    int axis = below(g, 4) ? 1 : 0, size = (int)g->shapes[a].dims[axis];
    int first = below(g, 3) ? size / 2 / 16 * 16 : below(g, size), end = below(g, 2) ? size : first + 1 + below(g, size - first);
    pct_slice_params params = {.n_axes = 1, .axes = {axis}, .starts = {first}, .ends = {end}};
    pct_value y = PCT_NONE;
    keep(g, pct_slice(g->graph, name, &params, &g->values[a], 1, &y), &y, "slice", a);
}

static void add_sum(random_graph *g, int a, const char *name)
{
    pct_binary_params params = {.fn = PCT_BINARY_ADD};
    int b = a;
    pct_value y = PCT_NONE;
    for (int tries = 0; tries < 20; tries++) {
        int candidate = below(g, g->n_values);
        if (pcti_shape_equal(&g->shapes[candidate], &g->shapes[a])) b = candidate;
    }
    keep(g, pct_binary(g->graph, name, &params, (pct_value[]){g->values[a], g->values[b]}, 2, &y), &y, "add", a);
}

static void add_node(random_graph *g)
{
    static const pct_unary_fn functions[] = {PCT_UNARY_RELU, PCT_UNARY_TANH, PCT_UNARY_SIGMOID};
    int a = below(g, 2) ? g->n_values - 1 : below(g, g->n_values);
    bool picture = g->shapes[a].rank == 4;
    char name[16];
    pct_value x = g->values[a], y = PCT_NONE;
    snprintf(name, sizeof name, "v%d", g->n_values);
    switch (below(g, 10)) {
    case 0:
    case 1: {
        pct_unary_params params = {.fn = functions[below(g, 3)]};
        keep(g, pct_unary(g->graph, name, &params, &x, 1, &y), &y, "unary", a);
        break;
    }
    case 2: add_sum(g, a, name); break;
    case 3:
    case 4: if (picture) add_concat(g, a, name); break;
    case 5: add_slice(g, a, name); break;
    case 6:
    case 7: if (picture) add_conv(g, a, name); break;
    case 8: {
        pct_reshape_params flat = {.rank = 2, .dims = {0, -1}}, tall = {.rank = 4, .dims = {0, -1, 1, 1}};
        keep(g, pct_reshape(g->graph, name, picture ? &flat : &tall, &x, 1, &y), &y, "reshape", a);
        break;
    }
    default: {
        pct_pool2d_params params = {.kind = below(g, 2), .kernel = {2, 2}, .stride = {2, 2}};
        if (picture && g->shapes[a].dims[2] > 1) keep(g, pct_pool2d(g->graph, name, &params, &x, 1, &y), &y, "pool", a);
        else keep(g, pct_dropout(g->graph, name, NULL, &x, 1, &y), &y, "dropout", a);
    }
    }
}

static void make(random_graph *g, uint64_t seed)
{
    static const int channels[] = {16, 32, 24, 8, 48};
    *g = (random_graph){.seed = seed << 20};
    assert_int_equal(pct_graph_create(&g->graph), PCT_OK);
    int batch = 1 + below(g, 2), size = below(g, 4) ? 4 : 2;
    g->n_inputs = 1 + below(g, MAX_INPUTS);
    for (int i = 0; i < g->n_inputs; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", i);
        g->shapes[i] = (pct_shape){.dtype = PCT_F32, .rank = 4, .dims = {batch, channels[below(g, 5)], size, size}};
        assert_int_equal(pct_graph_add_input(g->graph, name, &g->shapes[i], &g->values[i]), PCT_OK);
    }
    g->n_values = g->n_inputs;
    for (int steps = 3 + below(g, 16); steps > 0 && g->n_values < MAX_VALUES; steps--) add_node(g);
    g->n_outputs = 1 + below(g, MAX_OUTPUTS);
    for (int o = 0; o < g->n_outputs; o++) {
        char name[8];
        int v = o ? below(g, g->n_values) : g->n_values - 1;
        snprintf(name, sizeof name, "o%d", o);
        assert_int_equal(pct_graph_add_output(g->graph, name, g->values[v]), PCT_OK);
        g->outputs[o] = v;
        pcti_text_add(&g->text, " out%d=v%d", o, v);
    }
}

static void run(pct_device *device, const random_graph *g, const pct_plan_options *options, int times, float **results)
{
    const void *inputs[MAX_INPUTS];
    pct_plan *plan;
    for (int i = 0; i < g->n_inputs; i++) inputs[i] = random_floats((uint64_t)i << 32, elems_of(&g->shapes[i]), 2);
    if (pct_plan_create(device, g->graph, options, &plan) != PCT_OK) fail_msg("%s\n%s", pct_error_message(), g->text.data);
    for (int t = 0; t < times; t++)
        if (pct_plan_run(plan, inputs, (void *const *)results, NULL) != PCT_OK) fail_msg("%s\n%s", pct_error_message(), g->text.data);
    pct_plan_destroy(plan);
    for (int i = 0; i < g->n_inputs; i++) pcti_free((void *)(uintptr_t)inputs[i]);
}

static void compare(const random_graph *g, float *const *want, float *const *got, const char *where)
{
    for (int o = 0; o < g->n_outputs; o++) {
        double worst = 0, largest = 1e-3;
        for (int64_t i = 0; i < elems_of(&g->shapes[g->outputs[o]]); i++) {
            largest = fmax(largest, fabs((double)want[o][i]));
            worst = fmax(worst, pcti_difference((double)want[o][i], (double)got[o][i]));
        }
        if (worst > 1e-4 * largest) fail_msg("%s: output %d is off by %g of %g:%s", where, o, worst, largest, g->text.data);
    }
}

static void check_graph(pct_device *device, pct_device *judge, uint64_t seed)
{
    random_graph g;
    float *want[MAX_OUTPUTS], *got[MAX_OUTPUTS];
    make(&g, seed);
    for (int o = 0; o < g.n_outputs; o++) {
        want[o] = pcti_calloc((size_t)elems_of(&g.shapes[g.outputs[o]]), sizeof(float));
        got[o] = pcti_calloc((size_t)elems_of(&g.shapes[g.outputs[o]]), sizeof(float));
    }
    run(judge, &g, NULL, 1, want);
    for (int mode = 0; mode < 4; mode++) {
        char where[64];
        pct_plan_options options = {.struct_bytes = sizeof options, .no_fusion = mode & 1, .keep_values = mode & 2};
        snprintf(where, sizeof where, "graph %d, mode %d", (int)seed, mode);
        run(device, &g, &options, 2, got);
        compare(&g, want, got, where);
    }
    for (int o = 0; o < g.n_outputs; o++) {
        pcti_free(want[o]);
        pcti_free(got[o]);
    }
    pcti_text_free(&g.text);
    pct_graph_destroy(g.graph);
}

static void graphs_on(const char *backend, int count)
{
    pct_device *device, *judge;
    pct_device_options options = {.struct_bytes = sizeof options, .backend = backend, .threads = 2, .no_tuning = true};
    if (pct_device_open(&options, &device) != PCT_OK) {
        print_message("no %s device: %s\n", backend, pct_error_message());
        skip();
    }
    options.backend = "ref";
    assert_int_equal(pct_device_open(&options, &judge), PCT_OK);
    for (int seed = 0; seed < count; seed++) check_graph(device, judge, (uint64_t)seed);
    pct_device_close(device);
    pct_device_close(judge);
}

static void on_the_cpu(void **state) { graphs_on("cpu", GRAPHS); }
static void on_opencl(void **state) { graphs_on("opencl", GRAPHS / 5); }

/* An input that no node reads must not be put over one that is read; the judge itself must be right, too. */
static void unused_input(void **state)
{
    static const char *const names[] = {"ref", "cpu", "opencl"};
    for (int b = 0; b < 3; b++) {
        pct_device *device;
        pct_graph *graph;
        pct_plan *plan;
        pct_value x, unused;
        pct_shape shape = {.dtype = PCT_F32, .rank = 1, .dims = {4}};
        pct_unary_params neg = {.fn = PCT_UNARY_NEG};
        float a[4] = {1, 2, 3, 4}, other[4] = {9, 9, 9, 9}, y[4] = {0};
        pct_device_options options = {.struct_bytes = sizeof options, .backend = names[b]};
        if (pct_device_open(&options, &device) != PCT_OK) continue;
        assert_int_equal(pct_graph_create(&graph), PCT_OK);
        assert_int_equal(pct_graph_add_input(graph, "x", &shape, &x), PCT_OK);
        assert_int_equal(pct_graph_add_input(graph, "unused", &shape, &unused), PCT_OK);
        assert_int_equal(pct_unary(graph, NULL, &neg, &x, 1, &x), PCT_OK);
        assert_int_equal(pct_graph_add_output(graph, "y", x), PCT_OK);
        assert_int_equal(pct_plan_create(device, graph, NULL, &plan), PCT_OK);
        assert_int_equal(pct_plan_run(plan, (const void *[]){a, other}, (void *[]){y}, NULL), PCT_OK);
        for (int i = 0; i < 4; i++) assert_true(y[i] == -a[i]);
        pct_plan_destroy(plan);
        pct_graph_destroy(graph);
        pct_device_close(device);
    }
}

/* Sizes whose bytes, or even elements, do not fit 64 bits. */
static void sizes_that_overflow(void **state)
{
    pct_graph *graph;
    pct_value x, y;
    pct_shape shape = {.dtype = PCT_F32, .rank = 4, .dims = {1, 1, 1, 1}};
    assert_int_equal(pct_graph_create(&graph), PCT_OK);
    assert_int_equal(pct_graph_add_input(graph, "x", &shape, &x), PCT_OK);
    for (int dims = 2; dims <= 3; dims++) {
        pct_pad_params pad = {.rank = 4};
        for (int d = 0; d < dims; d++) pad.end[d] = 2147483647;
        assert_int_equal(pct_pad(graph, NULL, &pad, &x, 1, &y), PCT_ERROR_SHAPE);
    }
    pct_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unused_input), cmocka_unit_test(sizes_that_overflow), cmocka_unit_test(on_the_cpu),
                                       cmocka_unit_test(on_opencl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
