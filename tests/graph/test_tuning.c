/* Tuning: found, kept, read again, used; broken files are passed over. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/plan.h"
#include "pct/tune.h"

#define CHECK(expression)                                                                                            \
    do {                                                                                                             \
        if ((expression) != PCT_OK) fail_msg("%s: %s", #expression, pct_error_message());                           \
    } while (0)

static char folder[] = "/tmp/pct-tuning-XXXXXX";
static int warnings;

static void count_warning(void *cookie, pct_log_level level, const char *message) { warnings += level == PCT_LOG_WARNING; }

static pct_device *open_cpu(bool no_tuning)
{
    pct_device *device;
    pct_device_options options = {.struct_bytes = sizeof options, .backend = "cpu", .no_tuning = no_tuning};
    return pct_device_open(&options, &device) == PCT_OK ? device : NULL;
}

/* One 3x3 convolution with relu and 2x2 pooling around it. */
static pct_graph *make_graph(void)
{
    pct_graph *graph;
    pct_value x, w;
    float weights[32 * 16 * 9];
    pct_shape picture = {.dtype = PCT_F32, .rank = 4, .dims = {PCT_DIM_BATCH, 16, 12, 12}}, wei = {.dtype = PCT_F32, .rank = 4, .dims = {32, 16, 3, 3}};
    pct_conv2d_params params = {.pad = {1, 1, 1, 1}};
    pct_unary_params relu = {.fn = PCT_UNARY_RELU};
    pct_pool2d_params pool = {.kernel = {2, 2}, .stride = {2, 2}};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) weights[i] = (float)(i % 7) - 3;
    CHECK(pct_graph_create(&graph));
    CHECK(pct_graph_add_input(graph, "x", &picture, &x));
    CHECK(pct_graph_add_parameter(graph, "w", &wei, &w));
    CHECK(pct_graph_bind_copy(graph, w, weights, sizeof weights / sizeof *weights));
    CHECK(pct_conv2d(graph, "conv", &params, (pct_value[]){x, w}, 2, &x));
    CHECK(pct_unary(graph, NULL, &relu, &x, 1, &x));
    CHECK(pct_pool2d(graph, NULL, &pool, &x, 1, &x));
    CHECK(pct_graph_add_output(graph, "y", x));
    return graph;
}

static const pcti_step *conv_step(const pct_plan *plan)
{
    for (int s = 0; s < plan->n_steps; s++)
        if (!strcmp(plan->steps[s].call.op->name, "conv2d")) return &plan->steps[s];
    return NULL;
}

static void found_kept_and_used(void **state)
{
    pct_device *device = open_cpu(false);
    if (!device) skip();
    pct_graph *graph = make_graph();
    pct_plan *plan;
    pcti_text key = {0};
    int layers, total;
    pct_plan_options plan_options = {.struct_bytes = sizeof plan_options, .symbols = {2}};
    pct_tune_options options = {.struct_bytes = sizeof options, .seconds = 60};
    CHECK(pct_tune(device, graph, &plan_options, &options, &layers, &total));
    assert_int_equal(total, 1);
    assert_int_equal(layers, 1);
    CHECK(pct_plan_create(device, graph, &plan_options, &plan));
    pcti_call_key(&conv_step(plan)->call, &key);
    pct_plan_destroy(plan);
    assert_non_null(pcti_tuning_find(device, key.data));
    /* Another choice than any that the list would give, to see that it counts. */
    CHECK(pcti_tuning_set(device, key.data, "winograd_4x4_3x3:phases"));
    CHECK(pcti_tuning_save(device));
    pct_device_close(device);

    device = open_cpu(false);
    CHECK(pct_plan_create(device, graph, &plan_options, &plan));
    assert_string_equal(conv_step(plan)->impl->name, "winograd_4x4_3x3");
    assert_int_equal(conv_step(plan)->variant, 2);
    pct_plan_destroy(plan);
    pct_device_close(device);

    device = open_cpu(true);
    CHECK(pct_plan_create(device, graph, &plan_options, &plan));
    assert_int_equal(conv_step(plan)->variant, 0);
    pct_plan_destroy(plan);
    pct_device_close(device);
    pct_graph_destroy(graph);
    pcti_text_free(&key);
}

static void a_choice_that_refuses_gives_way(void **state)
{
    pct_device *device = open_cpu(true);
    if (!device) skip();
    pct_graph *graph = make_graph();
    pct_plan *plan;
    pcti_text key = {0};
    CHECK(pct_plan_create(device, graph, NULL, &plan));
    pcti_call_key(&conv_step(plan)->call, &key);
    const pcti_impl *usual = conv_step(plan)->impl;
    pct_plan_destroy(plan);
    CHECK(pcti_tuning_set(device, key.data, "gemm_1x1"));
    CHECK(pct_plan_create(device, graph, NULL, &plan));
    assert_ptr_equal(conv_step(plan)->impl, usual);
    char *dump;
    CHECK(pct_plan_dump(plan, true, &dump));
    assert_non_null(strstr(dump, "gemm_1x1 refused"));
    pct_text_free(dump);
    pct_plan_destroy(plan);
    pct_graph_destroy(graph);
    pct_device_close(device);
    pcti_text_free(&key);
}

static bool stop_at_once(void *cookie, const pct_tune_progress *progress) { return false; }

static void stopping_is_possible(void **state)
{
    pct_device *device = open_cpu(true);
    if (!device) skip();
    pct_graph *graph = make_graph();
    int layers, total;
    pct_tune_options options = {.struct_bytes = sizeof options, .again = true, .progress = stop_at_once};
    assert_int_equal(pct_tune(device, graph, NULL, &options, &layers, &total), PCT_ERROR_INTERRUPTED);
    pct_graph_destroy(graph);
    pct_device_close(device);
}

static void broken_files_are_passed_over(void **state)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tuning", folder);
    DIR *directory = opendir(path);
    if (!directory) skip();
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/tuning/%s", folder, entry->d_name);
        FILE *file = fopen(path, "w");
        fputs("{\"format\":1,\"device\":\"another\",\"choices\":{\"a\":1}}", file);
        fclose(file);
    }
    closedir(directory);
    warnings = 0;
    pct_log_set(count_warning, NULL);
    pct_device *device = open_cpu(false);
    assert_non_null(device);
    assert_int_equal(warnings, 1);
    assert_null(pcti_tuning_find(device, "a"));
    pct_device_close(device);
    pct_log_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_kept_and_used), cmocka_unit_test(a_choice_that_refuses_gives_way),
                                       cmocka_unit_test(stopping_is_possible), cmocka_unit_test(broken_files_are_passed_over)};
    if (!mkdtemp(folder)) return 1;
    setenv("PCT_CACHE_DIR", folder, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) ? 1 : failed;
}
