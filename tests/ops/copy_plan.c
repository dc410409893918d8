/* What plans make of the copy and gather families: views where memory can be renamed, shapes with a symbolic batch,
 * and indices that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/plan.h"
#include "pct/ops.h"

#define CHECK(expression)                                                                                            \
    do {                                                                                                             \
        if ((expression) != PCT_OK) fail_msg("%s: %s", #expression, pct_error_message());                            \
    } while (0)

static pct_device *open_device(const char *backend)
{
    pct_device *device;
    pct_device_options options = {.struct_bytes = sizeof options, .backend = backend, .threads = 2};
    CHECK(pct_device_open(&options, &device));
    return device;
}

static pct_value relu_of_input(pct_graph *graph, const char *name, pct_shape shape)
{
    pct_value x;
    pct_unary_params relu = {.fn = PCT_UNARY_RELU};
    CHECK(pct_graph_add_input(graph, name, &shape, &x));
    CHECK(pct_unary(graph, NULL, &relu, &x, 1, &x));
    return x;
}

static pct_value add(pct_graph *graph, const char *op, const void *params, const pct_value *srcs, int n_src)
{
    pct_value y;
    CHECK(pct_graph_add(graph, op, NULL, params, srcs, n_src, &y, 1));
    return y;
}

/* Steps of `op` in a plan of the graph with `y` as its output. */
static int steps_of(pct_graph *graph, pct_value y, const char *op, const char *backend)
{
    pct_plan *plan;
    pct_device *device = open_device(backend);
    int count = 0;
    CHECK(pct_graph_add_output(graph, "y", y));
    CHECK(pct_plan_create(device, graph, NULL, &plan));
    for (int s = 0; s < plan->n_steps; s++) count += pcti_op_is(plan->steps[s].call.op, op);
    pct_plan_destroy(plan);
    pct_device_close(device);
    pct_graph_destroy(graph);
    return count;
}

/* Concat steps left over where relu(a) and relu(b), (2, ca, 4, 5) and (2, cb, 4, 5), are joined along an axis. */
static int concat_steps(int64_t ca, int64_t cb, int64_t axis, bool twice, const char *backend)
{
    pct_graph *graph;
    CHECK(pct_graph_create(&graph));
    pct_value pair[2] = {relu_of_input(graph, "a", (pct_shape){PCT_F32, 4, {2, ca, 4, 5}}),
                         relu_of_input(graph, "b", (pct_shape){PCT_F32, 4, {2, cb, 4, 5}})};
    pct_concat_params params = {.axis = axis};
    if (twice) pair[1] = pair[0];
    return steps_of(graph, add(graph, "concat", &params, pair, 2), "concat", backend);
}

static void test_concat_in_place(void **state)
{
    static const char *const backends[] = {"ref", "cpu"};
    for (int b = 0; b < 2; b++) {
        assert_int_equal(concat_steps(16, 32, 1, false, backends[b]), 0);
        assert_int_equal(concat_steps(32, 5, 1, false, backends[b]), 0);
        assert_int_equal(concat_steps(3, 5, 1, false, backends[b]), 0); /* plain */
        assert_int_equal(concat_steps(7, 7, 0, false, backends[b]), 0);
        assert_int_equal(concat_steps(16, 16, 2, false, backends[b]), 1); /* ranges of rows have no tensor */
        assert_int_equal(concat_steps(16, 16, 1, true, backends[b]), 1);  /* one value cannot lie in two places */
    }
}

static int slice_steps(pct_slice_params params)
{
    pct_graph *graph;
    CHECK(pct_graph_create(&graph));
    pct_value x = relu_of_input(graph, "a", (pct_shape){PCT_F32, 4, {3, 40, 4, 5}});
    return steps_of(graph, add(graph, "slice", &params, &x, 1), "slice", "cpu");
}

static void test_slice_views(void **state)
{
    assert_int_equal(slice_steps((pct_slice_params){1, {1}, {16}, {32}, {1}}), 0);
    assert_int_equal(slice_steps((pct_slice_params){1, {1}, {3}, {9}, {1}}), 0);
    assert_int_equal(slice_steps((pct_slice_params){2, {0, 1}, {1, 2}, {3, -1}, {1, 1}}), 0);
    assert_int_equal(slice_steps((pct_slice_params){1, {1}, {0}, {40}, {2}}), 1);
    assert_int_equal(slice_steps((pct_slice_params){1, {0}, {-1}, {-9}, {-1}}), 1);
    assert_int_equal(slice_steps((pct_slice_params){1, {3}, {1}, {4}, {1}}), 1);
}

/* Blocked (N,C,1,1) and plain (N,C) share memory: no reorder either. */
static void test_reshape_of_vectors(void **state)
{
    pct_shape picture = {PCT_F32, 4, {3, 20, 1, 1}}, row = {PCT_F32, 2, {3, 20}}, full = {PCT_F32, 2, {3, 32}};
    pct_reshape_params flat = {.rank = 2, .dims = {0, -1}}, up = {.rank = 4, .dims = {0, 0, 1, 1}};
    pcti_tensor src = pcti_tensor_dense(&picture, PCTI_BLOCK), dst = pcti_tensor_dense(&row, 1);
    src.offset = 64;
    assert_true(pcti_op_reshape.view(&flat, &src, &dst));
    assert_int_equal(dst.channel_block, 1);
    assert_int_equal(dst.strides[0], 32);
    assert_int_equal(dst.offset, 64);
    src = pcti_tensor_dense(&full, 1);
    picture.dims[1] = 32;
    dst = pcti_tensor_dense(&picture, 1);
    assert_true(pcti_op_reshape.view(&up, &src, &dst));
    assert_int_equal(dst.channel_block, PCTI_BLOCK);
    src.offset = 8; /* a blocked tensor begins at a block */
    dst = pcti_tensor_dense(&picture, 1);
    assert_true(pcti_op_reshape.view(&up, &src, &dst));
    assert_int_equal(dst.channel_block, 1);
}

/* ---- shapes with a symbol ---- */

static pct_status infer_one(const char *op, const void *params, const pct_shape *src, pct_shape *dst)
{
    return pcti_op_infer(pcti_op_find(op), params, src, 1, dst);
}

static void test_symbols(void **state)
{
    const int64_t n = PCT_DIM_BATCH;
    pct_shape src = {PCT_F32, 3, {n, 4, 3}}, dst, pair[2] = {src, src};
    CHECK(infer_one("reshape", &(pct_reshape_params){2, {0, -1}}, &src, &dst));
    assert_true(dst.rank == 2 && dst.dims[0] == n && dst.dims[1] == 12);
    CHECK(infer_one("reshape", &(pct_reshape_params){2, {-1, 12}}, &src, &dst));
    assert_true(dst.dims[0] == n && dst.dims[1] == 12);
    assert_int_equal(infer_one("reshape", &(pct_reshape_params){2, {-1, 6}}, &src, &dst), PCT_ERROR_SHAPE);
    assert_int_equal(infer_one("reshape", &(pct_reshape_params){1, {24}}, &src, &dst), PCT_ERROR_SHAPE);
    CHECK(infer_one("slice", &(pct_slice_params){2, {0, 1}, {0, 1}, {INT64_MAX, 3}, {1, 1}}, &src, &dst));
    assert_true(dst.dims[0] == n && dst.dims[1] == 2);
    assert_int_equal(infer_one("slice", &(pct_slice_params){1, {0}, {1}, {3}, {1}}, &src, &dst), PCT_ERROR_SHAPE);
    CHECK(infer_one("transpose", &(pct_transpose_params){3, {1, 0, 2}}, &src, &dst));
    assert_true(dst.dims[0] == 4 && dst.dims[1] == n);
    CHECK(infer_one("pad", &(pct_pad_params){.rank = 3, .begin = {0, 1, 0}, .end = {0, 0, 2}}, &src, &dst));
    assert_true(dst.dims[0] == n && dst.dims[1] == 5 && dst.dims[2] == 5);
    assert_int_equal(infer_one("pad", &(pct_pad_params){.rank = 3, .begin = {1}}, &src, &dst), PCT_ERROR_SHAPE);
    CHECK(pcti_op_infer(&pcti_op_concat, &(pct_concat_params){1}, pair, 2, &dst));
    assert_true(dst.dims[0] == n && dst.dims[1] == 8);
    assert_int_equal(pcti_op_infer(&pcti_op_concat, &(pct_concat_params){0}, pair, 2, &dst), PCT_ERROR_SHAPE);
    pair[1] = (pct_shape){PCT_I64, 1, {5}};
    CHECK(pcti_op_infer(&pcti_op_gather, &(pct_gather_params){1}, pair, 2, &dst));
    assert_true(dst.dims[0] == n && dst.dims[1] == 5 && dst.dims[2] == 3);
    CHECK(infer_one("resize", &(pct_resize_params){.scale = {2, 1}}, &src, &dst));
    assert_true(dst.dims[0] == n && dst.dims[1] == 8 && dst.dims[2] == 3);
}

/* ---- indices ---- */

static pct_status gather_plan(const int32_t indices[2], float result[4])
{
    static const float data[] = {10, 11, 20, 21, 30, 31};
    pct_device *device = open_device("cpu");
    pct_graph *graph;
    pct_plan *plan;
    pct_value pair[2];
    pct_gather_params params = {.axis = 0};
    const void *inputs[] = {data};
    void *outputs[] = {result};
    CHECK(pct_graph_create(&graph));
    CHECK(pct_graph_add_input(graph, "data", &(pct_shape){PCT_F32, 2, {3, 2}}, &pair[0]));
    CHECK(pct_graph_add_constant(graph, "indices", &(pct_shape){PCT_I32, 1, {2}}, indices, &pair[1]));
    CHECK(pct_graph_add_output(graph, "y", add(graph, "gather", &params, pair, 2)));
    pct_status status = pct_plan_create(device, graph, NULL, &plan);
    if (status == PCT_OK) CHECK(pct_plan_run(plan, inputs, outputs, NULL));
    pct_plan_destroy(plan);
    pct_graph_destroy(graph);
    pct_device_close(device);
    return status;
}

static void test_indices(void **state)
{
    static const float want[] = {30, 31, 10, 11};
    float got[4];
    CHECK(gather_plan((const int32_t[]){-1, 0}, got));
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(gather_plan((const int32_t[]){0, 3}, got), PCT_ERROR_SHAPE);
    assert_non_null(strstr(pct_error_message(), "indices[1] is 3"));
    assert_int_equal(gather_plan((const int32_t[]){-4, 0}, got), PCT_ERROR_SHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_concat_in_place), cmocka_unit_test(test_slice_views),
                                       cmocka_unit_test(test_reshape_of_vectors), cmocka_unit_test(test_symbols),
                                       cmocka_unit_test(test_indices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
