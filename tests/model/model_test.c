#include "model_test.h"

#include <string.h>

#include "graph/ir.h"

void check_ok(pct_status status)
{
    if (status != PCT_OK) fail_msg("%s: %s", pct_status_name(status), pct_error_message());
}

void check_message(const char *part)
{
    if (!strstr(pct_error_message(), part)) fail_msg("no \"%s\" in: %s", part, pct_error_message());
}

pct_model *make_model(const char *name, int classes, int height, int width)
{
    pct_model *model;
    pct_model_options options = {
        .struct_bytes = sizeof options, .classes = classes, .height = height, .width = width};
    check_ok(pct_model_create(name, &options, &model));
    return model;
}

bool read_parameter(const pct_model *model, const char *wanted, int64_t first, int64_t count, float *dst)
{
    const pct_graph *graph = pct_model_graph(model);
    for (int i = 0; i < pct_graph_parameter_count(graph); i++) {
        const char *name;
        pct_value value = pct_graph_parameter(graph, i, &name);
        if (strcmp(name, wanted)) continue;
        check_ok(pcti_constant_read(graph->values[value].constant, first, count, dst));
        return true;
    }
    return false;
}

void run_on_ref(const pct_graph *graph, int64_t batch, const float *input, float *output)
{
    pct_device_options device_options = {.struct_bytes = sizeof device_options, .backend = "ref"};
    pct_plan_options plan_options = {.struct_bytes = sizeof plan_options, .symbols = {batch}};
    pct_device *device;
    pct_plan *plan;
    check_ok(pct_device_open(&device_options, &device));
    check_ok(pct_plan_create(device, graph, &plan_options, &plan));
    check_ok(pct_plan_run(plan, (const void *[]){input}, (void *[]){output}, NULL));
    pct_plan_destroy(plan);
    pct_device_close(device);
}
