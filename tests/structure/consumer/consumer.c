/* A program outside the library's tree, in the language that C and C++ share: a network of the zoo and a graph of its own,
 * on the CPU path and on the reference, which must agree. Exit code 0 says that they do. */
#include <pct/pct.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
#define ZERO {}
#else
#define ZERO {0}
#endif

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, pct_error_message());
    return 1;
}

/* Runs a graph with one input and one output. */
static int run(const char *backend, const pct_graph *graph, const float *input, float *output)
{
    pct_device_options device_options = ZERO;
    pct_device *device = NULL;
    pct_plan *plan = NULL;
    const void *inputs[1] = {input};
    void *outputs[1] = {output};
    int result = 0;
    device_options.struct_bytes = sizeof device_options;
    device_options.backend = backend;
    if (pct_device_open(&device_options, &device) != PCT_OK) return failed("device");
    if (pct_plan_create(device, graph, NULL, &plan) != PCT_OK) result = failed("plan");
    else if (pct_plan_run(plan, inputs, outputs, NULL) != PCT_OK) result = failed("run");
    pct_plan_destroy(plan);
    pct_device_close(device);
    return result;
}

/* Both paths, and the largest difference relative to the largest value. */
static int compare(const char *what, const pct_graph *graph, const float *input, int count)
{
    float *cpu = (float *)malloc(sizeof(float) * (size_t)count), *ref = (float *)malloc(sizeof(float) * (size_t)count);
    double largest = 0, difference = 0;
    int result = !cpu || !ref || run("cpu", graph, input, cpu) || run("ref", graph, input, ref);
    for (int i = 0; !result && i < count; i++) {
        largest = fmax(largest, fabs((double)ref[i]));
        difference = fmax(difference, fabs((double)cpu[i] - (double)ref[i]));
    }
    if (!result) printf("%s: %d values up to %g, largest difference %g\n", what, count, largest, difference);
    if (!result && !(largest > 0 && difference <= 2e-5 * largest)) result = 1;
    free(cpu);
    free(ref);
    return result;
}

static int zoo(void)
{
    enum { SIZE = 64, CLASSES = 10 };
    static float picture[3 * SIZE * SIZE];
    pct_model_options options = ZERO;
    pct_model *model = NULL;
    options.struct_bytes = sizeof options;
    options.classes = CLASSES;
    options.height = SIZE;
    if (pct_model_create("squeezenet1_1", &options, &model) != PCT_OK) return failed("model");
    if (pct_model_load_synthetic(model) != PCT_OK) return failed("weights");
    pct_synthetic_fill("input", 1, 0, 3 * SIZE * SIZE, picture);
    int result = compare("squeezenet1_1", pct_model_graph(model), picture, CLASSES);
    pct_model_destroy(model);
    return result;
}

static int own_graph(void)
{
    const float input[6] = {-3, -1, 0, 0.5f, 2, 4};
    pct_shape shape = ZERO;
    pct_unary_params params = ZERO;
    pct_graph *graph = NULL;
    pct_value x, y;
    shape.rank = 2;
    shape.dims[0] = PCT_DIM_BATCH;
    shape.dims[1] = 6;
    params.fn = PCT_UNARY_HARD_SWISH;
    if (pct_graph_create(&graph) != PCT_OK || pct_graph_add_input(graph, "x", &shape, &x) != PCT_OK ||
        pct_unary(graph, "swish", &params, &x, 1, &y) != PCT_OK || pct_graph_add_output(graph, "y", y) != PCT_OK)
        return failed("graph");
    int result = compare("own graph", graph, input, 6);
    pct_graph_destroy(graph);
    return result;
}

int main(void)
{
    printf("pct %s\n", pct_version());
    return zoo() || own_graph();
}
