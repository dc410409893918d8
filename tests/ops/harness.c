#define _POSIX_C_SOURCE 200809L
#include "harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "graph/plan.h"

enum { MAX_OPERANDS = 16, MAX_DEVICES = 16, MAX_INPUTS = 20, TINY_FLOPS = 200000 };

typedef struct ops_device {
    pct_device *device;
    char label[PCT_NAME_BYTES + 32];
    bool compare_bits; /* with the device before: the same backend with another thread count */
} ops_device;

static ops_device devices[MAX_DEVICES];
static int n_devices;
static pct_device *reference;
static const char *expected;
static char reached[16384]; /* " conv2d:name conv2d:name2" on the CPU */

#define CHECK(expression)                                                                                            \
    do {                                                                                                             \
        if ((expression) != PCT_OK) fail_msg("%s: %s", #expression, pct_error_message());                           \
    } while (0)

static void open_device(pct_device_options options, bool compare_bits)
{
    ops_device *d = &devices[n_devices];
    assert_true(n_devices < MAX_DEVICES);
    CHECK(pct_device_open(&options, &d->device));
    const pct_device_info *info = pct_device_get_info(d->device);
    snprintf(d->label, sizeof d->label, "%s %.100s %d threads", info->backend, info->device, (int)info->threads);
    d->compare_bits = compare_bits;
    n_devices++;
}

static bool backend_wanted(const char *name)
{
    const char *only = getenv("PCT_TEST_BACKEND");
    bool built = false;
    for (int b = 0; b < pcti_backend_count; b++) built = built || !strcmp(pcti_backends[b]->name, name);
    return built && (!only || !strcmp(only, name));
}

static int open_devices(void **state)
{
    pct_device_options options = {.struct_bytes = sizeof options, .backend = "ref"};
    CHECK(pct_device_open(&options, &reference));
    if (backend_wanted("cpu"))
        for (int threads = 1; threads <= 3; threads++) {
            options = (pct_device_options){.struct_bytes = sizeof options, .backend = "cpu", .threads = threads};
            open_device(options, threads > 1);
        }
    if (!backend_wanted("opencl")) return 0;
    pct_device_list *list;
    CHECK(pct_device_list_create(&list));
    for (int i = 0; i < pct_device_list_count(list); i++) {
        const pct_device_info *info = pct_device_list_get(list, i);
        char platform[16], device[16];
        snprintf(platform, sizeof platform, "%d", (int)info->platform_index);
        snprintf(device, sizeof device, "%d", (int)info->device_index);
        options = (pct_device_options){.struct_bytes = sizeof options, .backend = "opencl", .platform = platform, .device = device};
        open_device(options, false);
    }
    if (!pct_device_list_count(list)) printf("no OpenCL device: %s\n", pct_device_list_note(list));
    pct_device_list_destroy(list);
    return 0;
}

static int close_devices(void **state)
{
    for (int i = 0; i < n_devices; i++) pct_device_close(devices[i].device);
    pct_device_close(reference);
    n_devices = 0;
    return 0;
}

/* ---- a case as a graph ---- */

typedef struct ops_graph {
    pct_graph *graph;
    const pcti_op *op;
    float *inputs[MAX_INPUTS];
    const void *pointers[MAX_INPUTS];
    int n_inputs, n_outputs;
    bool integers;
    double low, high, terms; /* terms: products in one sum */
    double scale;            /* largest result before anything clips or pools it: what rounding errors are relative to */
    uint64_t seed;
} ops_graph;

static float next_value(ops_graph *g)
{
    double u = pcti_uniform(g->seed++);
    if (g->integers) return (float)round(u * 3);
    return (float)(g->low + (u + 1) / 2 * (g->high - g->low));
}

static float *make_floats(ops_graph *g, int64_t elems)
{
    float *data = pcti_calloc((size_t)elems, sizeof *data);
    for (int64_t i = 0; i < elems; i++) data[i] = next_value(g);
    return data;
}

static void *make_data(ops_graph *g, const pct_shape *shape, const char *values)
{
    int64_t elems;
    CHECK(pcti_shape_elems(shape, &elems));
    float *floats = shape->dtype == PCT_F32 ? make_floats(g, elems) : NULL;
    int64_t *integers = floats ? NULL : pcti_calloc((size_t)elems, sizeof *integers);
    const char *at = values;
    for (int64_t i = 0; i < elems && values; i++) {
        double value = strtod(at, NULL);
        if (floats) floats[i] = (float)value;
        else integers[i] = (int64_t)value;
        at += strcspn(at, ",");
        at = *at ? at + 1 : values;
    }
    return floats ? (void *)floats : (void *)integers;
}

static pct_value add_operand(ops_graph *g, const char *name, const pct_shape *shape, bool constant, const char *values)
{
    pct_value value;
    void *data = make_data(g, shape, values);
    if (constant) {
        CHECK(pct_graph_add_constant(g->graph, name, shape, data, &value));
        pcti_free(data);
        return value;
    }
    CHECK(pct_graph_add_input(g->graph, name, shape, &value));
    assert_true(g->n_inputs < MAX_INPUTS);
    g->pointers[g->n_inputs++] = data;
    return value;
}

static pct_shape shape_of(const ops_graph *g, pct_value value)
{
    pct_shape shape;
    CHECK(pct_graph_shape(g->graph, value, &shape));
    return shape;
}

static pct_value add_unary(ops_graph *g, pct_value x, pct_unary_fn fn, double alpha, double beta)
{
    pct_unary_params params = {.fn = fn, .alpha = alpha, .beta = beta};
    CHECK(pct_graph_add(g->graph, "unary", NULL, &params, &x, 1, &x, 1));
    return x;
}

static pct_value add_batch_norm(ops_graph *g, pct_value x)
{
    pct_shape channels = {.dtype = PCT_F32, .rank = 1, .dims = {shape_of(g, x).dims[1]}};
    pct_value srcs[5] = {x};
    double low = g->low, high = g->high;
    for (int i = 1; i < 5; i++) {
        g->low = i == 4 || i == 1 ? 0.5 : -0.5; /* variance and scale positive */
        g->high = i == 4 || i == 1 ? 1.5 : 0.5;
        char name[16];
        snprintf(name, sizeof name, "norm%d", i);
        srcs[i] = add_operand(g, name, &channels, true, NULL);
    }
    g->low = low;
    g->high = high;
    CHECK(pct_graph_add(g->graph, "batch_norm", NULL, NULL, srcs, 5, &x, 1));
    return x;
}

/* Operand 0 as channels 16 .. 16 + C of an input that has 16 more on each side. */
static pct_value add_range(ops_graph *g, const pct_shape *shape)
{
    pct_shape wide = *shape;
    int axis = shape->rank > 1 ? 1 : 0;
    wide.dims[axis] += 32;
    pct_value input = add_operand(g, "wide", &wide, false, NULL), x = add_unary(g, input, PCT_UNARY_NEG, 0, 0);
    pct_slice_params slice = {.n_axes = 1, .axes = {axis}, .starts = {16}, .ends = {16 + shape->dims[axis]}};
    CHECK(pct_graph_add(g->graph, "slice", NULL, &slice, &x, 1, &x, 1));
    return x;
}

static pct_value add_after(ops_graph *g, pct_value y, unsigned around)
{
    if (around & OPS_RESIDUAL) {
        pct_shape shape = shape_of(g, y);
        pct_value pair[2] = {y, add_operand(g, "residual", &shape, false, NULL)};
        pct_binary_params add = {.fn = PCT_BINARY_ADD};
        CHECK(pct_graph_add(g->graph, "binary", NULL, &add, pair, 2, &y, 1));
    }
    if (around & OPS_RELU) y = add_unary(g, y, PCT_UNARY_RELU, 0, 0);
    if (around & OPS_RELU6) y = add_unary(g, y, PCT_UNARY_CLIP, 0, 6);
    if (around & OPS_UNARY) y = add_unary(g, y, PCT_UNARY_SIGMOID, 0, 0);
    if (around & (OPS_MAX_POOL | OPS_MEAN_POOL)) {
        pct_pool2d_params pool = {.kind = around & OPS_MAX_POOL ? PCT_POOL_MAX : PCT_POOL_AVERAGE, .kernel = {2, 2}, .stride = {2, 2}};
        CHECK(pct_graph_add(g->graph, "pool2d", NULL, &pool, &y, 1, &y, 1));
    }
    if (around & OPS_RANGE && shape_of(g, y).dtype == PCT_F32) {
        pct_shape head_shape = shape_of(g, y);
        int axis = head_shape.rank > 1 ? 1 : 0;
        head_shape.dims[axis] = 16;
        pct_value pair[2] = {add_unary(g, add_operand(g, "head", &head_shape, false, NULL), PCT_UNARY_NEG, 0, 0), y};
        pct_concat_params concat = {.axis = axis};
        CHECK(pct_graph_add(g->graph, "concat", NULL, &concat, pair, 2, &y, 1));
    }
    return y;
}

static void free_graph(ops_graph *g)
{
    pct_graph_destroy(g->graph);
    for (int i = 0; i < g->n_inputs; i++) pcti_free((void *)(uintptr_t)g->pointers[i]);
}

/* PCT_OK, or the error with which the graph refused the node. */
static pct_status make_graph(const ops_case *c, bool integers, ops_graph *g)
{
    pct_shape shapes[MAX_OPERANDS];
    pct_value srcs[MAX_OPERANDS], dsts[2];
    void *params;
    int n_src, constants_from = c->constants_from ? c->constants_from : 1;
    bool plain_range = c->low == 0 && c->high == 0;
    *g = (ops_graph){.integers = integers, .low = plain_range ? -1 : c->low, .high = plain_range ? 1 : c->high, .seed = 12345};
    CHECK(pct_graph_create(&g->graph));
    pct_status status = pcti_op_parse(c->line, &g->op, &params, shapes, MAX_OPERANDS, &n_src);
    if (status != PCT_OK) return status;
    for (int i = 0; i < n_src; i++) {
        char name[24];
        snprintf(name, sizeof name, "operand%d", i);
        bool constant = constants_from > 0 && i >= constants_from;
        if (shapes[i].rank == PCTI_ABSENT) srcs[i] = PCT_NONE;
        else if (i == 0 && c->around & OPS_RANGE) srcs[i] = add_range(g, &shapes[i]);
        else srcs[i] = add_operand(g, name, &shapes[i], constant, i == n_src - 1 ? c->values : NULL);
    }
    if (c->around & OPS_PRE) srcs[0] = add_unary(g, add_batch_norm(g, srcs[0]), PCT_UNARY_RELU, 0, 0);
    status = pct_graph_add(g->graph, g->op->name, "tested", params, srcs, n_src, dsts, g->op->n_dst);
    pcti_free(params);
    if (status != PCT_OK) return status;
    g->n_outputs = g->op->n_dst;
    for (int d = 0; d < g->n_outputs; d++)
        CHECK(pct_graph_add_output(g->graph, d ? "y1" : "y", d ? dsts[d] : add_after(g, dsts[0], c->around)));
    return PCT_OK;
}

/* ---- running and comparing ---- */

typedef struct ops_result {
    void *data[2]; /* float or int64_t */
    pct_shape shapes[2];
    int64_t elems[2];
} ops_result;

static void free_result(ops_result *r)
{
    pcti_free(r->data[0]);
    pcti_free(r->data[1]);
    *r = (ops_result){0};
}

static void run_plan(pct_plan *plan, const ops_graph *g, ops_result *r)
{
    for (int o = 0; o < g->n_outputs; o++) {
        r->shapes[o] = pcti_tensor_shape(&plan->outputs[o].tensor);
        r->elems[o] = pcti_tensor_elems(&plan->outputs[o].tensor);
        r->data[o] = pcti_calloc((size_t)r->elems[o], pct_dtype_size(r->shapes[o].dtype));
    }
    CHECK(pct_plan_run(plan, g->pointers, r->data, NULL));
}

static bool same_bits(const ops_result *a, const ops_result *b, int outputs)
{
    for (int o = 0; o < outputs; o++)
        if (memcmp(a->data[o], b->data[o], (size_t)a->elems[o] * pct_dtype_size(a->shapes[o].dtype))) return false;
    return true;
}

static double tolerance(const pcti_impl *impl, const ops_graph *g, double largest, bool exact_graph)
{
    if (impl->accuracy == PCTI_ACCURACY_WINOGRAD) return 2e-5 * largest;
    if (impl->accuracy == PCTI_ACCURACY_HALF && !exact_graph) return largest / 256; /* integers up to 3 fit 8 bits exactly */
    if (impl->accuracy == PCTI_ACCURACY_FUNCTION) return 1e-5 * largest;
    if (exact_graph || impl->accuracy == PCTI_ACCURACY_EXACT) return exact_graph ? 0 : 6e-8 * largest;
    /* Rounding of a sum of K products whose total is of the size of the largest result: sqrt(K) steps of half an ulp, with
     * four times that for the tail of the distribution. */
    return 6e-8 * (4 + 4 * sqrt(g->terms)) * largest;
}

static double largest_of(const ops_result *r, int output)
{
    double largest = 0;
    for (int64_t i = 0; r->shapes[output].dtype == PCT_F32 && i < r->elems[output]; i++) {
        double value = fabs((double)((const float *)r->data[output])[i]);
        if (isfinite(value)) largest = fmax(largest, value);
    }
    return largest;
}

/* The largest difference over the bound, and where. */
static void compare(const ops_graph *g, const pcti_impl *impl, const ops_result *want, const ops_result *got, bool exact_graph,
                    const char *where)
{
    for (int o = 0; o < g->n_outputs; o++) {
        assert_int_equal(want->elems[o], got->elems[o]);
        if (want->shapes[o].dtype != PCT_F32) {
            if (memcmp(want->data[o], got->data[o], (size_t)want->elems[o] * pct_dtype_size(want->shapes[o].dtype)))
                fail_msg("%s: integer results differ", where);
            continue;
        }
        const float *w = want->data[o], *x = got->data[o];
        double bound = tolerance(impl, g, fmax(g->scale, largest_of(want, o)), exact_graph);
        for (int64_t i = 0; i < want->elems[o]; i++) {
            bool alike = (isnan(w[i]) && isnan(x[i])) || w[i] == x[i];
            if (!alike && !(fabs((double)w[i] - (double)x[i]) <= bound))
                fail_msg("%s: output %d element %lld is %.9g, must be %.9g within %.3g", where, o, (long long)i, (double)x[i],
                         (double)w[i], bound);
        }
    }
}

/* One implementation on one device; false if it refuses. Keeps the result in `last` for comparing bits. */
static bool check_impl(const ops_case *c, ops_device *d, const pcti_impl *impl, bool integers, const ops_result *want, double scale,
                       pct_dtype storage, const char *variant, ops_result *last)
{
    ops_graph g;
    char force[128], where[1024];
    pct_plan *plan;
    ops_result first = {0}, second = {0};
    CHECK(make_graph(c, integers, &g));
    snprintf(force, sizeof force, "%s=%s%s%s", g.op->name, impl->name, variant ? ":" : "", variant ? variant : "");
    snprintf(where, sizeof where, "clbench op \"%s\" --impl %s  (around %#x, %s) on %s", c->line, force, c->around,
             integers ? "integers" : "random", d->label);
    pct_plan_options options = {.struct_bytes = sizeof options, .force = force};
    if (impl->accuracy == PCTI_ACCURACY_HALF) options.weight_storage = storage;
    pct_status status = pct_plan_create(d->device, g.graph, &options, &plan);
    if (status == PCT_ERROR_UNSUPPORTED) {
        free_graph(&g);
        return false;
    }
    if (status != PCT_OK) fail_msg("%s: %s", where, pct_error_message());
    bool used = false;
    g.scale = scale;
    for (int s = 0; s < plan->n_steps; s++)
        if (plan->steps[s].impl == impl) {
            used = true;
            g.terms = plan->costs[s].flops / fmax(1, 2.0 * (double)pcti_tensor_elems(&plan->steps[s].dst[0].tensor));
        }
    /* A simulator that watches for uninitialised reads must see the arena as it is. */
    if (!getenv("PCT_TEST_TINY")) CHECK(pcti_plan_poison(plan));
    run_plan(plan, &g, &first);
    run_plan(plan, &g, &second);
    bool exact = integers && !(c->around & (OPS_PRE | OPS_UNARY | OPS_MEAN_POOL)) && !c->no_integers;
    compare(&g, impl, want, &first, exact, where);
    if (!same_bits(&first, &second, g.n_outputs)) fail_msg("%s: two runs give different bits", where);
    if (last->data[0] && d->compare_bits && !impl->bits_vary_with_threads && !same_bits(&first, last, g.n_outputs))
        fail_msg("%s: bits depend on the number of threads", where);
    free_result(last);
    *last = first;
    free_result(&second);
    pct_plan_destroy(plan);
    free_graph(&g);
    return used;
}

static void reference_of(const ops_case *c, bool integers, ops_result *want)
{
    ops_graph g;
    pct_plan *plan;
    CHECK(make_graph(c, integers, &g));
    CHECK(pct_plan_create(reference, g.graph, NULL, &plan));
    run_plan(plan, &g, want);
    pct_plan_destroy(plan);
    free_graph(&g);
}

static double scale_of(const ops_case *c, bool integers)
{
    ops_case unclipped = *c;
    ops_result result = {0};
    unclipped.around &= OPS_PRE | OPS_RESIDUAL;
    if (unclipped.around == c->around) return 0;
    reference_of(&unclipped, integers, &result);
    double scale = largest_of(&result, 0);
    free_result(&result);
    return scale;
}

static void remember(const ops_device *d, const pcti_op *op, const pcti_impl *impl)
{
    char name[128];
    if (strcmp(d->device->backend->name, "cpu")) return;
    snprintf(name, sizeof name, " %s:%s ", op->name, impl->name);
    if (!strstr(reached, name) && strlen(reached) + strlen(name) < sizeof reached) strcat(reached, name);
}

static bool too_large(const ops_case *c)
{
    ops_graph g;
    pct_plan *plan;
    const char *tiny = getenv("PCT_TEST_TINY");
    if (!tiny || strcmp(tiny, "1")) return false;
    CHECK(make_graph(c, false, &g));
    CHECK(pct_plan_create(reference, g.graph, NULL, &plan));
    bool large = plan->info.flops > TINY_FLOPS;
    pct_plan_destroy(plan);
    free_graph(&g);
    return large;
}

/* All variants of one implementation, on the devices of one backend, whose bits must agree. */
static int check_row(const ops_case *c, const pcti_op *op, const pcti_impl *impl, int first, int end, bool integers, const ops_result *want,
                     double scale)
{
    int accepted = 0, storages = impl->accuracy == PCTI_ACCURACY_HALF ? 2 : 1;
    for (int variant = 0; !variant || (impl->variants && impl->variants[variant - 1]); variant++)
        for (int storage = 0; storage < storages; storage++) {
            ops_result last = {0};
            for (int d = first; d < end; d++)
                if (check_impl(c, &devices[d], impl, integers, want, scale, storage ? PCT_F16 : PCT_BF16,
                               variant ? impl->variants[variant - 1] : NULL, &last)) {
                    accepted++;
                    remember(&devices[d], op, impl);
                }
            free_result(&last);
        }
    return accepted;
}

static void check_case(void **state)
{
    const ops_case *c = *state;
    ops_graph g;
    if (c->must_fail) {
        pct_status status = make_graph(c, false, &g);
        free_graph(&g);
        if (status == PCT_OK) fail_msg("\"%s\" was accepted", c->line);
        assert_true(strlen(pct_error_message()) > 10);
        return;
    }
    if (too_large(c)) return;
    CHECK(make_graph(c, false, &g));
    const pcti_op *op = g.op;
    free_graph(&g);
    for (int pass = c->no_integers || c->values ? 1 : 0; pass < 2; pass++) {
        ops_result want = {0};
        reference_of(c, pass == 0, &want);
        double scale = scale_of(c, pass == 0);
        for (int row_of = 0; row_of < n_devices;) {
            int group_end = row_of + 1; /* devices of one backend are compared implementation by implementation */
            while (group_end < n_devices && devices[group_end].compare_bits) group_end++;
            int accepted = 0;
            const pcti_impl *rows = devices[row_of].device->backend->impls(op);
            for (int r = 0; rows[r].name; r++) {
                accepted += check_row(c, op, &rows[r], row_of, group_end, pass == 0, &want, scale);
            }
            bool nothing_to_do = want.elems[0] == 0 || op->view;
            if (!accepted && !nothing_to_do) fail_msg("\"%s\": no implementation accepts it on %s", c->line, devices[row_of].label);
            row_of = group_end;
        }
        free_result(&want);
    }
}

static void check_reached(void **state)
{
    if (!expected || !backend_wanted("cpu") || getenv("PCT_TEST_TINY")) return;
    char list[2048], *save = NULL, name[128];
    snprintf(list, sizeof list, "%s", expected);
    for (char *item = strtok_r(list, " ", &save); item; item = strtok_r(NULL, " ", &save)) {
        snprintf(name, sizeof name, " %.100s ", item);
        if (!strstr(reached, name)) fail_msg("no case reached %s", item);
    }
}

int ops_run(const char *family, const ops_case *cases, size_t count, const char *expect)
{
    struct CMUnitTest *tests = pcti_calloc(count + 1, sizeof *tests);
    expected = expect;
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].line, .test_func = check_case, .initial_state = (void *)(uintptr_t)&cases[i]};
    tests[count] = (struct CMUnitTest){.name = "implementations reached", .test_func = check_reached};
    int failed = _cmocka_run_group_tests(family, tests, count + 1, open_devices, close_devices);
    pcti_free(tests);
    return failed;
}
