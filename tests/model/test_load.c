/* Weights files bound to a model: values, what does not fit, and how long the file lives. */
#include "model_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "pct/weights.h"

enum { MODEL_SIZE = 32, CLASSES = 5, MAX_TENSORS = 80 };

typedef struct tensor_list {
    pct_named_tensor tensors[MAX_TENSORS];
    size_t count;
} tensor_list;

static pct_model *make_small(void)
{
    return make_model("squeezenet1_1", CLASSES, MODEL_SIZE, MODEL_SIZE);
}

static char path[256];

/* The synthetic weights of a model; names are lent by it. */
static tensor_list collect(const pct_model *model)
{
    tensor_list list = {0};
    const pct_graph *graph = pct_model_graph(model);
    for (int i = 0; i < pct_graph_parameter_count(graph); i++) {
        pct_named_tensor *tensor = &list.tensors[list.count++];
        assert_true(list.count < MAX_TENSORS);
        check_ok(pct_graph_shape(graph, pct_graph_parameter(graph, i, &tensor->name), &tensor->shape));
        int64_t elems = 1;
        for (int d = 0; d < tensor->shape.rank; d++) elems *= tensor->shape.dims[d];
        float *data = malloc((size_t)elems * sizeof *data);
        assert_non_null(data);
        assert_true(read_parameter(model, tensor->name, 0, elems, data));
        tensor->data = data;
    }
    return list;
}

static void save(const tensor_list *list)
{
    check_ok(pct_safetensors_write(path, list->tensors, list->count, NULL, 0));
}

static int make_files(void **state)
{
    snprintf(path, sizeof path, "model_load_%ld.safetensors", (long)getpid());
    pct_model *model = make_small();
    check_ok(pct_model_load_synthetic(model));
    tensor_list *list = malloc(sizeof *list);
    assert_non_null(list);
    *list = collect(model);
    *state = list;
    /* Names must outlive the model. */
    for (size_t i = 0; i < list->count; i++)
        assert_non_null(list->tensors[i].name = pcti_strdup(list->tensors[i].name));
    pct_model_destroy(model);
    return 0;
}

static int remove_files(void **state)
{
    tensor_list *list = *state;
    for (size_t i = 0; i < list->count; i++) {
        pcti_free((void *)(uintptr_t)list->tensors[i].name);
        free((void *)(uintptr_t)list->tensors[i].data);
    }
    free(list);
    remove(path);
    return 0;
}

static void test_values(void **state)
{
    const tensor_list *list = *state;
    pct_model *model = make_small();
    save(list);
    check_ok(pct_model_load(model, path));
    check_ok(pct_model_load(model, path)); /* again: the first file's sources go */
    remove(path);
    for (size_t i = 0; i < list->count; i++) {
        const pct_named_tensor *tensor = &list->tensors[i];
        int64_t elems = 1;
        for (int d = 0; d < tensor->shape.rank; d++) elems *= tensor->shape.dims[d];
        float *data = malloc((size_t)elems * sizeof *data);
        assert_non_null(data);
        assert_true(read_parameter(model, tensor->name, 0, elems, data));
        assert_memory_equal(data, tensor->data, (size_t)elems * sizeof *data);
        free(data);
    }
    pct_model_destroy(model);
}

/* The plan keeps the file when the model has gone; the same logits as with the values themselves. */
static void test_lifetime(void **state)
{
    static float input[3 * MODEL_SIZE * MODEL_SIZE];
    float wanted[CLASSES], logits[CLASSES];
    pct_device_options device_options = {.struct_bytes = sizeof device_options, .backend = "ref"};
    pct_plan_options plan_options = {.struct_bytes = sizeof plan_options};
    pct_device *device;
    pct_plan *plan;
    pct_synthetic_fill("input", 1, 0, sizeof input / sizeof input[0], input);

    pct_model *model = make_small();
    check_ok(pct_model_load_synthetic(model));
    run_on_ref(pct_model_graph(model), 1, input, wanted);
    pct_model_destroy(model);

    save(*state);
    model = make_small();
    check_ok(pct_model_load(model, path));
    check_ok(pct_device_open(&device_options, &device));
    check_ok(pct_plan_create(device, pct_model_graph(model), &plan_options, &plan));
    pct_model_destroy(model);
    check_ok(pct_plan_run(plan, (const void *[]){input}, (void *[]){logits}, NULL));
    assert_memory_equal(logits, wanted, sizeof logits);
    pct_plan_destroy(plan);
    pct_device_close(device);
}

static size_t find(const tensor_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->tensors[i].name, name)) return i;
    fail_msg("no tensor %s", name);
    return 0;
}

/* Everything that does not fit is named at once, and the model keeps what it had. */
static void test_misfit(void **state)
{
    tensor_list list = *(const tensor_list *)*state;
    float value;
    list.tensors[find(&list, "features.0.bias")].name = "features.0.offset";
    list.tensors[find(&list, "features.3.squeeze.weight")].name = "extra.tensor";
    list.tensors[find(&list, "classifier.1.bias")].shape.dims[0] = CLASSES - 1;
    save(&list);
    pct_model *model = make_small();
    check_ok(pct_model_load_synthetic(model));
    assert_int_equal(pct_model_load(model, path), PCT_ERROR_FORMAT);
    check_message(path);
    check_message("squeezenet1_1");
    check_message("2 tensors are missing: features.0.bias, features.3.squeeze.weight");
    check_message("1 have another shape: classifier.1.bias (f32[4], the model has f32[5])");
    check_message("2 are not in the model: ");
    check_message("extra.tensor");
    check_message("features.0.offset");
    assert_true(read_parameter(model, "features.0.bias", 0, 1, &value));
    assert_true(value == *(const float *)list.tensors[find(&list, "features.0.offset")].data);
    pct_model_destroy(model);
}

/* The wrong file altogether: more names than a message holds are counted. */
static void test_wrong_file(void **state)
{
    save(*state);
    pct_model *model = make_model("densenet121", 0, 0, 0);
    assert_int_equal(pct_model_load(model, path), PCT_ERROR_FORMAT);
    check_message("606 tensors are missing: features.conv0.weight");
    check_message(" more; 52 are not in the model");
    pct_model_destroy(model);
    model = make_small();
    assert_int_equal(pct_model_load(model, "no/such/file"), PCT_ERROR_NOT_FOUND);
    check_message("no/such/file");
    pct_model_destroy(model);
}

static void test_batch_counters(void **state)
{
    tensor_list list = *(const tensor_list *)*state;
    int64_t batches = 12;
    list.tensors[list.count++] =
        (pct_named_tensor){"features.norm.num_batches_tracked", {.dtype = PCT_I64, .rank = 0}, &batches};
    save(&list);
    pct_model *model = make_small();
    check_ok(pct_model_load(model, path));
    list.tensors[list.count - 1].name = "features.norm.some_batches_tracked";
    save(&list);
    assert_int_equal(pct_model_load(model, path), PCT_ERROR_FORMAT);
    check_message("some_batches_tracked");
    pct_model_destroy(model);
}

/* Every allocation in turn fails: an error each time, nothing leaks, and the model takes the weights afterwards. */
static void test_memory(void **state)
{
    pct_status status;
    pct_model *model;
    pct_model_options options = {.struct_bytes = sizeof options, .height = MODEL_SIZE, .classes = CLASSES};
    uint64_t nth = 0;
    save(*state);
    do {
        pcti_memory_fail_at(++nth);
        status = pct_model_create("squeezenet1_1", &options, &model);
        if (status != PCT_OK) assert_null(model);
    } while (status == PCT_ERROR_MEMORY);
    pcti_memory_fail_at(0);
    check_ok(status);
    assert_true(nth > 52); /* at least one for each parameter */
    for (int synthetic = 0; synthetic < 2; synthetic++) {
        nth = 0;
        do {
            pcti_memory_fail_at(++nth);
            status = synthetic ? pct_model_load_synthetic(model) : pct_model_load(model, path);
        } while (status == PCT_ERROR_MEMORY);
        pcti_memory_fail_at(0);
        check_ok(status);
        assert_true(nth > 52);
    }
    pct_model_destroy(model);
}

static void test_efficientnet(void **state)
{
    const char *file = PCT_SHARED_DIR "/models/efficientnet_lite0.safetensors";
    if (access(file, R_OK)) {
        print_message("skipped: %s is not there\n", file);
        skip();
    }
    pct_model *model = make_model("efficientnet_lite0", 0, 0, 0);
    check_ok(pct_model_load(model, file));
    pct_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),         cmocka_unit_test(test_lifetime),
                                       cmocka_unit_test(test_misfit),         cmocka_unit_test(test_wrong_file),
                                       cmocka_unit_test(test_batch_counters), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_efficientnet)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
