/* The networks: parameters as torchvision names and shapes them, sizes, options. */
#include "model_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/zoo.h"

/* ---- parameters ---- */

typedef struct line_list {
    char **lines;
    size_t count;
} line_list;

static void add_line(line_list *list, const char *line)
{
    list->lines = realloc(list->lines, (list->count + 1) * sizeof *list->lines);
    assert_non_null(list->lines);
    assert_non_null(list->lines[list->count++] = pcti_strdup(line));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(line_list *list)
{
    qsort(list->lines, list->count, sizeof *list->lines, compare_lines);
}

static void free_lines(line_list *list)
{
    for (size_t i = 0; i < list->count; i++) pcti_free(list->lines[i]);
    free(list->lines);
}

/* "name d0xd1x...\n" of each parameter, sorted. */
static line_list list_parameters(const pct_graph *graph)
{
    line_list list = {0};
    for (int i = 0; i < pct_graph_parameter_count(graph); i++) {
        const char *name;
        pct_shape shape;
        pcti_text text = {0};
        check_ok(pct_graph_shape(graph, pct_graph_parameter(graph, i, &name), &shape));
        pcti_text_add(&text, "%s ", name);
        for (int d = 0; d < shape.rank; d++) pcti_text_add(&text, "%s%lld", d ? "x" : "", (long long)shape.dims[d]);
        pcti_text_add(&text, "\n");
        add_line(&list, text.data);
        pcti_text_free(&text);
    }
    sort_lines(&list);
    return list;
}

static line_list read_list(const char *name)
{
    char path[1024], line[256];
    line_list list = {0};
    snprintf(path, sizeof path, PCT_SOURCE_DIR "/tests/model/data/%s.txt", name);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s cannot be opened", path);
    while (fgets(line, sizeof line, file)) add_line(&list, line);
    fclose(file);
    sort_lines(&list);
    return list;
}

/* Of the lists that are too long to keep. */
static const struct {
    const char *name;
    size_t count;
    uint64_t hash; /* of the sorted lines */
} hashed[] = {{"densenet121", 606, 0xf082c9b8fd55d7e7},
              {"densenet169", 846, 0xccc5a26cb8b91d69},
              {"densenet201", 1006, 0x5eea09a62cfd6887}};

static void check_parameters(const char *name)
{
    pct_model *model = make_model(name, 0, 0, 0);
    line_list list = list_parameters(pct_model_graph(model));
    pct_model_destroy(model);
    for (size_t h = 0; h < sizeof hashed / sizeof hashed[0]; h++)
        if (!strcmp(hashed[h].name, name)) {
            uint64_t hash = PCTI_FNV_START;
            for (size_t i = 0; i < list.count; i++) hash = pcti_fnv1a(hash, list.lines[i], strlen(list.lines[i]));
            assert_int_equal(list.count, hashed[h].count);
            assert_int_equal(hash, hashed[h].hash);
            free_lines(&list);
            return;
        }
    line_list wanted = read_list(name);
    for (size_t i = 0; i < list.count && i < wanted.count; i++)
        if (strcmp(list.lines[i], wanted.lines[i]))
            fail_msg("%s has %s where torchvision has %s", name, list.lines[i], wanted.lines[i]);
    assert_int_equal(list.count, wanted.count);
    free_lines(&list);
    free_lines(&wanted);
}

static void test_parameters(void **state)
{
    for (int i = 0; pct_model_list(i); i++) check_parameters(pct_model_list(i));
    assert_null(pct_model_list(-1));
}

/* ---- options ---- */

static void test_logits(void **state)
{
    for (int i = 0; pct_model_list(i); i++) {
        pct_model *model = make_model(pct_model_list(i), 7, 64, 96);
        const pct_model_info *info = pct_model_get_info(model);
        const char *name;
        pct_shape shape;
        const pct_graph *graph = pct_model_graph(model);
        assert_string_equal(info->name, pct_model_list(i));
        assert_string_equal(info->preset, strcmp(info->name, "efficientnet_lite0") ? "torchvision" : "lite");
        assert_int_equal(info->classes, 7);
        assert_int_equal(info->height, 64);
        assert_int_equal(info->width, 96);
        assert_int_equal(info->usual_size, 224);
        /* the classifier's bias comes last */
        check_ok(
            pct_graph_shape(graph, pct_graph_parameter(graph, pct_graph_parameter_count(graph) - 1, &name), &shape));
        assert_int_equal(shape.dims[0], 7);
        pct_model_destroy(model);
    }
}

static pct_status create(const char *name, pct_model_options options)
{
    pct_model *model = (pct_model *)&model;
    options.struct_bytes = sizeof options;
    pct_status status = pct_model_create(name, &options, &model);
    if (status != PCT_OK) assert_null(model);
    pct_model_destroy(model);
    return status;
}

static void test_defaults(void **state)
{
    pct_model *model;
    check_ok(pct_model_create("resnet18", NULL, &model));
    assert_int_equal(pct_model_get_info(model)->height, 224);
    assert_int_equal(pct_model_get_info(model)->width, 224);
    assert_int_equal(pct_model_get_info(model)->classes, 1000);
    pct_model_destroy(model);
    model = make_model("resnet18", 0, 0, 40); /* one side stands for both */
    assert_int_equal(pct_model_get_info(model)->height, 40);
    pct_model_destroy(model);
}

static void test_errors(void **state)
{
    assert_int_equal(create("vgg17", (pct_model_options){0}), PCT_ERROR_NOT_FOUND);
    check_message("vgg17");
    for (int i = 0; pct_model_list(i); i++) check_message(pct_model_list(i));
    assert_int_equal(create("vgg16", (pct_model_options){.classes = -1}), PCT_ERROR_ARGUMENT);
    assert_int_equal(create("vgg16", (pct_model_options){.height = -1, .width = 64}), PCT_ERROR_ARGUMENT);
    assert_int_equal(create("vgg16", (pct_model_options){.height = 64, .width = 31}), PCT_ERROR_ARGUMENT);
    check_message("vgg16");
    check_message("64 x 31");
    check_message("32 x 32");
    pct_model *model;
    pct_model_options options = {.struct_bytes = sizeof options + 1};
    assert_int_equal(pct_model_create("vgg16", &options, &model), PCT_ERROR_ARGUMENT);
    check_message("struct_bytes");
    pct_model_destroy(NULL);
}

/* The smallest size in the table is the true one: it works, and one less does not even where the table's
 * check is passed by. */
static void test_smallest_sizes(void **state)
{
    static const struct {
        const char *name;
        pcti_zoo_build build;
        int variant, min_size; /* 1: any size works */
    } models[] = {{"vgg11", pcti_zoo_vgg, 11, 32},
                  {"vgg19_bn", pcti_zoo_vgg, 119, 32},
                  {"densenet121", pcti_zoo_densenet, 121, 29},
                  {"densenet201", pcti_zoo_densenet, 201, 29},
                  {"resnet18", pcti_zoo_resnet, 18, 1},
                  {"resnet50", pcti_zoo_resnet, 50, 1},
                  {"mobilenet_v2", pcti_zoo_mobilenet_v2, 0, 1},
                  {"squeezenet1_1", pcti_zoo_squeezenet, 0, 17},
                  {"efficientnet_lite0", pcti_zoo_efficientnet_lite0, 0, 1}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        int size = models[i].min_size;
        pct_model *model = make_model(models[i].name, 2, size, size);
        assert_int_equal(pct_model_get_info(model)->min_size, size);
        pct_model_destroy(model);
        if (size == 1) continue;
        pct_graph *graph;
        pct_value input;
        pct_shape shape = {PCT_F32, 4, {PCT_DIM_BATCH, 3, size, size - 1}};
        check_ok(pct_graph_create(&graph));
        check_ok(pct_graph_add_input(graph, "input", &shape, &input));
        pcti_net net = {.graph = graph, .classes = 2};
        assert_int_equal(models[i].build(&net, input, models[i].variant), PCT_NONE);
        assert_int_equal(net.status, PCT_ERROR_SHAPE);
        pct_graph_destroy(graph);
    }
}

/* ---- adaptive average pooling, against its definition ---- */

static void check_adaptive(int height, int width)
{
    enum { BATCH = 2, CHANNELS = 3, SIZE = 7 };
    size_t elems = (size_t)(BATCH * CHANNELS * height * width);
    float *src = malloc(elems * sizeof *src), dst[BATCH * CHANNELS * SIZE * SIZE];
    pct_graph *graph;
    pct_value input;
    pct_shape shape = {PCT_F32, 4, {PCT_DIM_BATCH, CHANNELS, height, width}};
    assert_non_null(src);
    check_ok(pct_graph_create(&graph));
    check_ok(pct_graph_add_input(graph, "input", &shape, &input));
    pcti_net net = {.graph = graph};
    pct_value pooled = pcti_net_adaptive_average(&net, input, SIZE, "avgpool");
    check_ok(net.status);
    if (height == SIZE && width == SIZE) assert_int_equal(pooled, input);
    pooled = pcti_net_flatten(&net, pooled, "flatten");
    check_ok(net.status);
    check_ok(pct_graph_add_output(graph, "output", pooled));
    pct_synthetic_fill("input", 1, 0, (int64_t)elems, src);
    run_on_ref(graph, BATCH, src, dst);
    for (int plane = 0; plane < BATCH * CHANNELS; plane++)
        for (int y = 0; y < SIZE; y++)
            for (int x = 0; x < SIZE; x++) {
                int top = y * height / SIZE, bottom = ((y + 1) * height + SIZE - 1) / SIZE;
                int left = x * width / SIZE, right = ((x + 1) * width + SIZE - 1) / SIZE;
                double sum = 0;
                for (int i = top; i < bottom; i++)
                    for (int j = left; j < right; j++) sum += src[(plane * height + i) * width + j];
                sum /= (bottom - top) * (right - left);
                assert_float_equal(dst[(plane * SIZE + y) * SIZE + x], sum, 3e-7);
            }
    free(src);
    pct_graph_destroy(graph);
}

static void test_adaptive_average(void **state)
{
    static const int sizes[][2] = {{1, 1},  {2, 2}, {7, 7},  {14, 21}, {14, 7}, {7, 10},
                                   {10, 7}, {6, 8}, {13, 5}, {15, 14}, {3, 20}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_adaptive(sizes[i][0], sizes[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),     cmocka_unit_test(test_logits),
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_smallest_sizes), cmocka_unit_test(test_adaptive_average)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
