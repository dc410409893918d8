/* Building graphs, passes, placing and running, on a small network with everything in it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "graph/plan.h"

#define CHECK(expression)                                                                                            \
    do {                                                                                                             \
        if ((expression) != PCT_OK) fail_msg("%s: %s", #expression, pct_error_message());                           \
    } while (0)

static const char *const backends[] = {"ref", "cpu", "opencl"};

static pct_device *open_backend(const char *backend, bool profiling)
{
    pct_device *device;
    pct_device_options options = {.struct_bytes = sizeof options, .backend = backend, .profiling = profiling};
    return pct_device_open(&options, &device) == PCT_OK ? device : NULL;
}

static pct_status parameter(pct_graph *graph, const char *name, int rank, const int64_t *dims, double low, double high, pct_value *value)
{
    pct_shape shape = {.dtype = PCT_F32, .rank = rank};
    int64_t elems;
    memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    PCTI_RETURN_IF_FAILED(pct_graph_add_parameter(graph, name, &shape, value));
    PCTI_RETURN_IF_FAILED(pcti_shape_elems(&shape, &elems));
    float *data = pcti_calloc((size_t)elems, sizeof *data);
    if (!data) return PCT_ERROR_MEMORY;
    uint64_t seed = pcti_fnv1a(PCTI_FNV_START, name, strlen(name));
    for (int64_t i = 0; i < elems; i++) data[i] = (float)(low + (pcti_uniform(seed + (uint64_t)i) + 1) / 2 * (high - low));
    pct_status status = pct_graph_bind_copy(graph, *value, data, elems);
    pcti_free(data);
    return status;
}

static pct_status norm_relu(pct_graph *graph, const char *name, int64_t channels, pct_value *x)
{
    char full[64];
    static const char *const leaves[] = {"scale", "shift", "mean", "variance"};
    pct_value srcs[5] = {*x};
    for (int i = 0; i < 4; i++) {
        snprintf(full, sizeof full, "%s.%s", name, leaves[i]);
        PCTI_RETURN_IF_FAILED(parameter(graph, full, 1, &channels, i % 3 ? -0.3 : 0.6, i % 3 ? 0.3 : 1.4, &srcs[i + 1]));
    }
    PCTI_RETURN_IF_FAILED(pct_batch_norm(graph, name, NULL, srcs, 5, x));
    pct_unary_params relu = {.fn = PCT_UNARY_RELU};
    return pct_unary(graph, NULL, &relu, x, 1, x);
}

static pct_status conv(pct_graph *graph, const char *name, int64_t in, int64_t out, int64_t kernel, pct_value x, pct_value *y)
{
    pct_value srcs[2] = {x};
    pct_conv2d_params p = {.pad = {kernel / 2, kernel / 2, kernel / 2, kernel / 2}};
    PCTI_RETURN_IF_FAILED(parameter(graph, name, 4, (int64_t[]){out, in, kernel, kernel}, -0.3, 0.3, &srcs[1]));
    return pct_conv2d(graph, name, &p, srcs, 2, y);
}

/* Stem with batch-norm and max pool; a dense block of two layers; a residual block; dropout; pooling; a dense layer. */
static pct_status build(pct_graph **out)
{
    pct_status status = PCT_OK;
    pct_graph *graph;
    pct_value x, y, z;
    pct_shape input = {.dtype = PCT_F32, .rank = 4, .dims = {PCT_DIM_BATCH, 3, 16, 12}};
    pct_pool2d_params pool = {.kernel = {2, 2}, .stride = {2, 2}}, global = {.kind = PCT_POOL_AVERAGE, .global = 1};
    pct_concat_params channels = {.axis = 1};
    pct_binary_params add = {.fn = PCT_BINARY_ADD};
    pct_reshape_params flatten = {.rank = 2, .dims = {0, -1}};
    *out = NULL;
    PCTI_RETURN_IF_FAILED(pct_graph_create(&graph));
    PCTI_TRY(pct_graph_add_input(graph, "input", &input, &x));
    PCTI_TRY(conv(graph, "stem", 3, 32, 3, x, &x));
    PCTI_TRY(norm_relu(graph, "stem_norm", 32, &x));
    PCTI_TRY(pct_pool2d(graph, "pool", &pool, &x, 1, &x));
    for (int layer = 0; layer < 2; layer++) {
        char name[16];
        int64_t width = 32 + 16 * layer;
        y = x;
        snprintf(name, sizeof name, "norm%d", layer);
        PCTI_TRY(norm_relu(graph, name, width, &y));
        snprintf(name, sizeof name, "one%d", layer);
        PCTI_TRY(conv(graph, name, width, 32, 1, y, &y));
        snprintf(name, sizeof name, "three%d", layer);
        PCTI_TRY(conv(graph, name, 32, 16, 3, y, &y));
        PCTI_TRY(pct_concat(graph, NULL, &channels, (pct_value[]){x, y}, 2, &x));
    }
    PCTI_TRY(conv(graph, "left", 64, 48, 3, x, &y));
    PCTI_TRY(norm_relu(graph, "left_norm", 48, &y));
    PCTI_TRY(conv(graph, "right", 64, 48, 1, x, &z));
    PCTI_TRY(pct_binary(graph, "sum", &add, (pct_value[]){y, z}, 2, &y));
    PCTI_TRY(pct_dropout(graph, "dropout", NULL, &y, 1, &y));
    PCTI_TRY(pct_pool2d(graph, "average", &global, &y, 1, &y));
    PCTI_TRY(pct_reshape(graph, "flat", &flatten, &y, 1, &y));
    PCTI_TRY(parameter(graph, "head", 2, (int64_t[]){10, 48}, -0.3, 0.3, &z));
    PCTI_TRY(pct_dense(graph, "head", NULL, (pct_value[]){y, z}, 2, &y));
    PCTI_TRY(pct_graph_add_output(graph, "logits", y));
    *out = graph;
    return PCT_OK;
fail:
    pct_graph_destroy(graph);
    return status;
}

enum { BATCH = 3, INPUT = BATCH * 3 * 16 * 12, LOGITS = BATCH * 10 };

static void fill_input(float *input)
{
    for (int i = 0; i < INPUT; i++) input[i] = (float)pcti_uniform((uint64_t)i);
}

static pct_status run_once(pct_device *device, const pct_plan_options *options, float *logits)
{
    pct_graph *graph = NULL;
    pct_plan *plan = NULL;
    float input[INPUT];
    const void *inputs[] = {input};
    void *outputs[] = {logits};
    fill_input(input);
    pct_status status = build(&graph);
    if (status == PCT_OK) status = pct_plan_create(device, graph, options, &plan);
    if (status == PCT_OK) status = pct_plan_run(plan, inputs, outputs, NULL);
    pct_plan_destroy(plan);
    pct_graph_destroy(graph);
    return status;
}

static void backends_agree(void **state)
{
    float want[LOGITS], got[LOGITS];
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++) {
        pct_device *device = open_backend(backends[b], false);
        if (!device) continue;
        for (int mode = 0; mode < 4; mode++) {
            pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {BATCH}, .no_fusion = mode & 1, .keep_values = mode & 2};
            CHECK(run_once(device, &options, b || mode ? got : want));
            for (int i = 0; (b || mode) && i < LOGITS; i++)
                if (!(fabsf(got[i] - want[i]) < 2e-5f)) fail_msg("%s, mode %d: logit %d is %g, must be %g", backends[b], mode, i, got[i], want[i]);
        }
        pct_device_close(device);
    }
}

/* Concats become views, batch-norms and activations disappear into convolutions, dropout and reshape cost nothing. */
static void fusion_leaves_few_steps(void **state)
{
    pct_device *device = open_backend("cpu", false);
    pct_graph *graph;
    pct_plan *plan;
    if (!device) skip();
    CHECK(build(&graph));
    pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {BATCH}};
    CHECK(pct_plan_create(device, graph, &options, &plan));
    static const char *const wanted[] = {"conv2d", "pool2d", "conv2d", "conv2d", "conv2d", "conv2d", "conv2d", "conv2d", "pool2d", "dense"};
    int step = 0;
    for (int s = 0; s < plan->n_steps; s++) {
        const char *op = plan->steps[s].call.op->name;
        if (!strcmp(op, "reorder")) continue;
        assert_true(step < (int)(sizeof wanted / sizeof *wanted));
        assert_string_equal(op, wanted[step++]);
    }
    assert_int_equal(step, sizeof wanted / sizeof *wanted);
    /* All four results of the dense block lie in one buffer, one after the other. */
    char *dump;
    CHECK(pct_plan_dump(plan, true, &dump));
    assert_non_null(strstr(dump, "/range"));
    assert_null(strstr(dump, "concat by"));
    pct_text_free(dump);
    pct_plan_destroy(plan);
    pct_graph_destroy(graph);
    pct_device_close(device);
}

static void second_run_allocates_nothing(void **state)
{
    for (size_t b = 1; b < sizeof backends / sizeof *backends; b++) {
        pct_device *device = open_backend(backends[b], false);
        pct_graph *graph;
        pct_plan *plan;
        float input[INPUT], logits[LOGITS], again[LOGITS];
        const void *inputs[] = {input};
        if (!device) continue;
        fill_input(input);
        CHECK(build(&graph));
        pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {BATCH}};
        CHECK(pct_plan_create(device, graph, &options, &plan));
        pct_graph_destroy(graph); /* a plan stands alone */
        CHECK(pcti_plan_poison(plan));
        CHECK(pct_plan_run(plan, inputs, (void *[]){logits}, NULL));
        uint64_t before = pcti_memory_allocations();
        CHECK(pct_plan_run(plan, inputs, (void *[]){again}, NULL));
        assert_int_equal(pcti_memory_allocations(), before);
        assert_memory_equal(logits, again, sizeof logits);
        pct_plan_destroy(plan);
        pct_device_close(device);
    }
}

/* Every allocation fails once: an error each time, nothing lost (leaks are the sanitizer's to find). */
static void allocation_failures(void **state)
{
    for (size_t b = 0; b < 2; b++) {
        pct_device *device = open_backend(backends[b], false);
        float logits[LOGITS];
        pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {BATCH}};
        pct_status status = PCT_ERROR_MEMORY;
        int failures = 0;
        if (!device) continue;
        for (uint64_t n = 1; status != PCT_OK; n++) {
            pcti_memory_fail_at(n);
            status = run_once(device, &options, logits);
            pcti_memory_fail_at(0);
            if (status != PCT_OK) {
                assert_int_equal(status, PCT_ERROR_MEMORY);
                failures++;
            }
            assert_int_equal(pcti_pack_bytes(device), 0);
        }
        assert_true(failures > 100);
        pct_device_close(device);
    }
}

static int64_t resident_bytes(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return (int64_t)resident * 4096;
}

static void many_profiled_runs_keep_memory(void **state)
{
    for (size_t b = 1; b < sizeof backends / sizeof *backends; b++) {
        pct_device *device = open_backend(backends[b], true);
        pct_graph *graph;
        pct_plan *plan;
        pct_value x;
        pct_run_times times;
        pct_shape shape = {.dtype = PCT_F32, .rank = 2, .dims = {1, 32}};
        pct_unary_params tanh = {.fn = PCT_UNARY_TANH};
        float input[32] = {0}, output[32];
        int64_t warm = 0;
        if (!device) continue;
        CHECK(pct_graph_create(&graph));
        CHECK(pct_graph_add_input(graph, "input", &shape, &x));
        CHECK(pct_unary(graph, NULL, &tanh, &x, 1, &x));
        CHECK(pct_graph_add_output(graph, "output", x));
        CHECK(pct_plan_create(device, graph, NULL, &plan));
        for (int run = 0; run < 10000; run++) {
            CHECK(pct_plan_run(plan, (const void *[]){input}, (void *[]){output}, &times));
            assert_true(times.wall_ms >= times.kernel_ms * 0.99);
            if (run == 500) warm = resident_bytes();
        }
#ifdef __SANITIZE_ADDRESS__ /* keeps freed blocks for a while: there the search for leaks decides */
        (void)warm;
#else
        assert_true(resident_bytes() - warm < 5000000);
#endif
        pct_step_info step;
        CHECK(pct_plan_step(plan, 0, &step));
        assert_string_equal(step.op, "unary");
        pct_plan_destroy(plan);
        pct_graph_destroy(graph);
        pct_device_close(device);
    }
}

static void limits_are_told_beforehand(void **state)
{
    pct_device *device = open_backend("cpu", false);
    pct_graph *graph;
    pct_plan *plan;
    if (!device) skip();
    CHECK(build(&graph));
    /* without workspace, so that tensors alone decide */
    pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {64}, .force = "conv2d=plain"};
    device->info.max_alloc_bytes = 300000; /* one picture of the stem: 32 x 16 x 12 x 4 = 24576 bytes */
    assert_int_equal(pct_plan_create(device, graph, &options, &plan), PCT_ERROR_MEMORY);
    assert_null(plan);
    assert_non_null(strstr(pct_error_message(), "1572864"));
    assert_non_null(strstr(pct_error_message(), "largest batch that fits is 12"));
    options.symbols[0] = 12;
    CHECK(pct_plan_create(device, graph, &options, &plan)); /* in several chunks */
    assert_true(plan->n_chunks > 1);
    pct_plan_destroy(plan);
    pct_graph_destroy(graph);
    pct_device_close(device);
}

static void values_by_name(void **state)
{
    pct_device *device = open_backend("cpu", false), *judge = open_backend("ref", false);
    pct_graph *graph;
    pct_plan *plans[2];
    float input[INPUT], logits[LOGITS];
    if (!device) skip();
    fill_input(input);
    CHECK(build(&graph));
    pct_plan_options options = {.struct_bytes = sizeof options, .symbols = {BATCH}, .no_fusion = true, .keep_values = true};
    for (int p = 0; p < 2; p++) {
        CHECK(pct_plan_create(p ? judge : device, graph, &options, &plans[p]));
        CHECK(pct_plan_run(plans[p], (const void *[]){input}, (void *[]){logits}, NULL));
    }
    int compared = 0;
    for (int i = 0; i < pct_plan_value_count(plans[0]); i++) {
        const char *name, *other;
        pct_shape shape, other_shape;
        int64_t elems;
        CHECK(pct_plan_value(plans[0], i, &name, &shape));
        for (int j = 0; j < pct_plan_value_count(plans[1]); j++) {
            CHECK(pct_plan_value(plans[1], j, &other, &other_shape));
            if (strcmp(name, other)) continue;
            CHECK(pcti_shape_elems(&shape, &elems));
            float *a = pcti_calloc((size_t)elems, sizeof *a), *b = pcti_calloc((size_t)elems, sizeof *b);
            CHECK(pct_plan_read(plans[0], i, a));
            CHECK(pct_plan_read(plans[1], j, b));
            float largest = 1;
            for (int64_t e = 0; e < elems; e++) largest = fmaxf(largest, fabsf(b[e]));
            for (int64_t e = 0; e < elems; e++)
                if (!(fabsf(a[e] - b[e]) <= 2e-5f * largest)) fail_msg("%s element %lld: %g, must be %g", name, (long long)e, a[e], b[e]);
            pcti_free(a);
            pcti_free(b);
            compared++;
        }
    }
    assert_true(compared > 20);
    pct_plan_destroy(plans[0]);
    pct_plan_destroy(plans[1]);
    pct_graph_destroy(graph);
    pct_device_close(device);
    pct_device_close(judge);
}

static void mistakes_have_names(void **state)
{
    pct_graph *graph;
    pct_value x, w, y;
    pct_plan *plan;
    pct_device *device = open_backend("ref", false);
    pct_shape picture = {.dtype = PCT_F32, .rank = 4, .dims = {PCT_DIM_BATCH, 3, 8, 8}}, weights = {.dtype = PCT_F32, .rank = 4, .dims = {4, 2, 3, 3}};
    CHECK(pct_graph_create(&graph));
    CHECK(pct_graph_add_input(graph, "x", &picture, &x));
    CHECK(pct_graph_add_parameter(graph, "w", &weights, &w));
    assert_int_equal(pct_graph_add_input(graph, "x", &picture, &y), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_graph_add(graph, "conv3d", NULL, NULL, &x, 1, &y, 1), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_conv2d(graph, "first", NULL, (pct_value[]){x, w}, 2, &y), PCT_ERROR_SHAPE);
    assert_non_null(strstr(pct_error_message(), "node first: conv2d: wei"));
    assert_int_equal(y, PCT_NONE);
    pct_conv2d_params two_groups = {.groups = 3};
    assert_int_equal(pct_conv2d(graph, "first", &two_groups, (pct_value[]){x, w}, 2, &y), PCT_ERROR_SHAPE);
    assert_int_equal(pct_conv2d(graph, "first", NULL, (pct_value[]){x, 77}, 2, &y), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_conv2d(graph, "first", NULL, &x, 1, &y), PCT_ERROR_SHAPE);
    CHECK(pct_graph_add_output(graph, "x out", x));
    assert_int_equal(pct_plan_create(device, graph, NULL, &plan), PCT_ERROR_ARGUMENT);
    assert_non_null(strstr(pct_error_message(), "parameter w has no values"));
    pct_graph_destroy(graph);
    pct_device_close(device);
    pct_device_options options = {.struct_bytes = sizeof options, .backend = "abacus"};
    assert_int_equal(pct_device_open(&options, &device), PCT_ERROR_ARGUMENT);
    assert_non_null(strstr(pct_error_message(), "ref"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backends_agree),      cmocka_unit_test(fusion_leaves_few_steps),
        cmocka_unit_test(second_run_allocates_nothing), cmocka_unit_test(allocation_failures),
        cmocka_unit_test(many_profiled_runs_keep_memory), cmocka_unit_test(limits_are_told_beforehand),
        cmocka_unit_test(values_by_name),      cmocka_unit_test(mistakes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
