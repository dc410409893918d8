/* What clpredict reads and writes: pictures, tensors, weights, labels, JSON. */
#include "run_tool.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "pct/model.h"
#include "pct/weights.h"

enum { SIZE = 32, CLASSES = 3, ITEMS = 5, IMAGENET = 1000 };
#define SMALL "--cpu --model squeezenet1_1 --weights synthetic --size 32 --repeat 1 "

static int set_up(void **state)
{
    if (make_scratch(state)) return -1;
    return symlink(PCT_SOURCE_DIR "/tests/data/files", in_scratch("pictures"));
}

/* ---- JSON ---- */

static cJSON *parse(const outcome *result)
{
    const char *end;
    cJSON *json = cJSON_ParseWithOpts(result->out, &end, true);
    if (!json) fail_msg("not JSON:\n%s\n%s", result->out, result->err);
    return json;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!found) fail_msg("no \"%s\"", name);
    return found;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(member(object, name));
    if (!text) fail_msg("\"%s\" is no text", name);
    return text;
}

static double number_of(const cJSON *object, const char *name)
{
    if (!cJSON_IsNumber(member(object, name))) fail_msg("\"%s\" is no number", name);
    return cJSON_GetNumberValue(member(object, name));
}

static const cJSON *result_of(const cJSON *json, int index)
{
    const cJSON *item = cJSON_GetArrayItem(member(json, "results"), index);
    if (!item) fail_msg("no result %d", index);
    return item;
}

/* ---- files ---- */

/* Synthetic weights of a SqueezeNet with few classes; the last bias of class `wrong` (if not negative) makes
 * its logit infinite. */
static void write_weights(const char *name, int wrong)
{
    pct_model_options options = {.struct_bytes = sizeof options, .classes = CLASSES, .height = SIZE};
    pct_model *model;
    assert_ok(pct_model_create("squeezenet1_1", &options, &model));
    const pct_graph *graph = pct_model_graph(model);
    int count = pct_graph_parameter_count(graph);
    pct_named_tensor *tensors = pcti_calloc((size_t)count, sizeof *tensors);
    assert_non_null(tensors);
    for (int i = 0; i < count; i++) {
        pct_named_tensor *tensor = &tensors[i];
        int64_t elems = 1;
        assert_ok(pct_graph_shape(graph, pct_graph_parameter(graph, i, &tensor->name), &tensor->shape));
        for (int d = 0; d < tensor->shape.rank; d++) elems *= tensor->shape.dims[d];
        float *data = pcti_calloc((size_t)elems, sizeof *data);
        assert_non_null(data);
        double fan_in = (double)(elems / tensor->shape.dims[0]);
        pct_synthetic_fill(tensor->name, tensor->shape.rank > 1 ? sqrt(6 / fan_in) : 0.1, 0, elems, data);
        if (i == count - 1 && wrong >= 0) data[wrong] = INFINITY;
        tensor->data = data;
    }
    assert_ok(pct_safetensors_write(in_scratch(name), tensors, (size_t)count, NULL, 0));
    for (int i = 0; i < count; i++) pcti_free((void *)(uintptr_t)tensors[i].data);
    pcti_free(tensors);
    pct_model_destroy(model);
}

static void write_input(const char *name, const char *tensor, int64_t n, int64_t c, const float *data)
{
    pct_named_tensor input = {
        .name = tensor, .shape = {.dtype = PCT_F32, .rank = 4, .dims = {n, c, SIZE, SIZE}}, .data = data};
    assert_ok(pct_safetensors_write(in_scratch(name), &input, 1, NULL, 0));
}

static float *read_logits(const char *name, int64_t rows, int64_t classes)
{
    pct_weights *file;
    pct_shape shape;
    size_t index;
    assert_ok(pct_weights_open(in_scratch(name), &file));
    assert_ok(pct_weights_find(file, "logits", &index));
    assert_ok(pct_weights_shape(file, index, &shape));
    assert_int_equal(shape.rank, 2);
    assert_int_equal(shape.dims[0], rows);
    assert_int_equal(shape.dims[1], classes);
    float *logits = pcti_calloc((size_t)(rows * classes), sizeof *logits);
    assert_non_null(logits);
    assert_ok(pct_weights_read_f32(file, index, 0, rows * classes, logits));
    pct_weights_close(file);
    return logits;
}

/* ---- tensors ---- */

/* The same network and input on the reference. */
static void run_reference(const float *input, float *logits)
{
    pct_device_options device_options = {.struct_bytes = sizeof device_options, .backend = "ref"};
    pct_model_options model_options = {.struct_bytes = sizeof model_options, .height = SIZE};
    pct_plan_options plan_options = {.struct_bytes = sizeof plan_options, .symbols = {ITEMS}};
    pct_device *device;
    pct_model *model;
    pct_plan *plan;
    assert_ok(pct_device_open(&device_options, &device));
    assert_ok(pct_model_create("squeezenet1_1", &model_options, &model));
    assert_ok(pct_model_load_synthetic(model));
    assert_ok(pct_plan_create(device, pct_model_graph(model), &plan_options, &plan));
    assert_ok(pct_plan_run(plan, (const void *[]){input}, (void *[]){logits}, NULL));
    pct_plan_destroy(plan);
    pct_model_destroy(model);
    pct_device_close(device);
}

static void assert_same_logits(const float *logits, const float *wanted, size_t count)
{
    double largest = 0, error = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)wanted[i]));
        error = fmax(error, fabs((double)logits[i] - wanted[i]));
        assert_true(isfinite(logits[i]));
    }
    if (!(error <= 2e-5 * largest)) fail_msg("difference %g, largest logit %g", error, largest);
}

/* Five items in batches of two (the last one is padded), low memory; saved logits, probabilities, order. */
static void test_tensor(void **state)
{
    static float input[ITEMS * 3 * SIZE * SIZE], wanted[ITEMS * IMAGENET];
    pct_synthetic_fill("input", 1, 0, sizeof input / sizeof *input, input);
    write_input("input.safetensors", "input", ITEMS, 3, input);
    run_reference(input, wanted);
    outcome result = run_tool(CLPREDICT,
                              "--cpu --model squeezenet1_1 --weights synthetic --repeat 1 --batch 2 "
                              "--memory low --format json --input %s --save %s",
                              in_scratch("input.safetensors"), in_scratch("logits.safetensors"));
    assert_int_equal(result.code, 0);
    float *logits = read_logits("logits.safetensors", ITEMS, IMAGENET);
    assert_same_logits(logits, wanted, ITEMS * IMAGENET);
    cJSON *json = parse(&result);
    assert_int_equal(number_of(member(json, "plan"), "batch"), 2);
    assert_string_equal(text_of(member(json, "plan"), "memory"), "low");
    assert_true(cJSON_IsNull(member(member(json, "steady"), "decode_ms")));
    assert_int_equal(cJSON_GetArraySize(member(json, "results")), ITEMS);
    for (int n = 0; n < ITEMS; n++) {
        const float *row = logits + n * IMAGENET;
        double sum = 0, before = INFINITY;
        for (int c = 0; c < IMAGENET; c++) sum += exp((double)row[c]);
        const cJSON *item = result_of(json, n), *best;
        assert_string_equal(text_of(item, "status"), "ok");
        assert_int_equal(number_of(item, "item"), n);
        assert_int_equal(number_of(item, "row"), n);
        assert_int_equal(cJSON_GetArraySize(member(item, "top")), 5);
        cJSON_ArrayForEach(best, member(item, "top"))
        {
            int index = (int)number_of(best, "index");
            double probability = number_of(best, "probability");
            assert_true(index >= 0 && index < IMAGENET);
            assert_true(fabs(probability - exp((double)row[index]) / sum) < 1e-7);
            assert_true(probability <= before);
            before = probability;
        }
        int above = 0; /* nothing that is better than the fifth is left out */
        const cJSON *fifth = cJSON_GetArrayItem(member(item, "top"), 4);
        for (int c = 0; c < IMAGENET; c++) above += row[c] > row[(int)number_of(fifth, "index")];
        assert_true(above <= 4);
    }
    cJSON_Delete(json);
    pcti_free(logits);
    outcome_free(&result);
}

static void test_bad_tensors(void **state)
{
    static const float zeros[4 * SIZE * SIZE];
    struct stat info;
    write_input("unnamed.safetensors", "x", 1, 3, zeros);
    write_input("planes.safetensors", "input", 1, 4, zeros);
    write_input("empty.safetensors", "input", 0, 3, zeros);
    write_scratch("noise.safetensors", "not a safetensors file", 22);
    static const struct {
        const char *file, *message;
    } cases[] = {{"unnamed.safetensors", "no tensor named \"input\""},
                 {"planes.safetensors", "input is (1,4,32,32), not (N,3,H,W)"},
                 {"empty.safetensors", "input is (0,3,32,32), not (N,3,H,W)"},
                 {"noise.safetensors", "noise.safetensors"},
                 {"none.safetensors", "cannot open"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome result = run_tool(CLPREDICT, "--cpu --model squeezenet1_1 --weights synthetic --input %s --save %s",
                                  in_scratch(cases[i].file), in_scratch("unwritten.safetensors"));
        assert_int_equal(result.code, 3);
        assert_contains(result.err, cases[i].message);
        outcome_free(&result);
    }
    assert_int_equal(stat(in_scratch("unwritten.safetensors"), &info), -1);
}

/* ---- weights, labels ---- */

static void test_other_class_count(void **state)
{
    write_weights("three.safetensors", -1);
    write_scratch("three.txt", "cat\ndog\nhorse\n", 14);
    outcome result =
        run_tool(CLPREDICT,
                 "--cpu --model squeezenet1_1 --weights %s --labels %s --size 32 "
                 "--top 7 --repeat 0 --format json %s",
                 in_scratch("three.safetensors"), in_scratch("three.txt"), in_scratch("pictures/rgb.png"));
    assert_int_equal(result.code, 0);
    cJSON *json = parse(&result);
    assert_int_equal(number_of(member(json, "model"), "classes"), CLASSES);
    assert_string_equal(text_of(member(json, "model"), "preset"), "torchvision");
    assert_true(cJSON_IsNull(member(json, "steady")));
    const cJSON *top = member(result_of(json, 0), "top"), *best;
    static const char *const names[] = {"cat", "dog", "horse"};
    double sum = 0;
    assert_int_equal(cJSON_GetArraySize(top), CLASSES);
    cJSON_ArrayForEach(best, top)
    {
        assert_string_equal(text_of(best, "name"), names[(int)number_of(best, "index")]);
        sum += number_of(best, "probability");
    }
    assert_true(fabs(sum - 1) < 1e-6);
    cJSON_Delete(json);
    outcome_free(&result);
    /* Without a file the classes have no names. */
    result = run_tool(CLPREDICT, "--cpu --model squeezenet1_1 --weights %s --size 32 --format json %s",
                      in_scratch("three.safetensors"), in_scratch("pictures/rgb.png"));
    assert_int_equal(result.code, 0);
    json = parse(&result);
    assert_true(cJSON_IsNull(member(cJSON_GetArrayItem(member(result_of(json, 0), "top"), 0), "name")));
    cJSON_Delete(json);
    outcome_free(&result);
}

static void test_bad_labels_and_weights(void **state)
{
    write_weights("three.safetensors", -1);
    write_scratch("two.txt", "cat\ndog\n", 8);
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"--model squeezenet1_1 --weights %s/three.safetensors --labels %s/two.txt", "2 names, but the model has 3"},
        {"--model squeezenet1_1 --weights %s/three.safetensors --labels %s/none.txt", "cannot open"},
        {"--model resnet18 --weights %s/three.safetensors --labels %s/two.txt", "not the weights of this resnet18"},
        {"--model squeezenet1_1 --weights %s/none.safetensors --labels %s/two.txt", "cannot open"},
        {"--model squeezenet1_1 --weights %s/two.txt --labels %s/two.txt", "two.txt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *middle = strstr(cases[i].words, "%s"), *last = strstr(middle + 2, "%s");
        char *words = pcti_format("--cpu --size 32 %.*s%s%.*s%s%s x.png", (int)(middle - cases[i].words),
                                  cases[i].words, scratch, (int)(last - middle - 2), middle + 2, scratch, last + 2);
        expect(CLPREDICT, words, 3, cases[i].message);
        pcti_free(words);
    }
}

/* A logit that is not finite is no class, and the others of the run go on. */
static void test_wrong_result(void **state)
{
    write_weights("infinite.safetensors", 1);
    outcome result = run_tool(CLPREDICT, "--cpu --model squeezenet1_1 --weights %s --size 32 --format json %s",
                              in_scratch("infinite.safetensors"), in_scratch("pictures/rgb.png"));
    assert_int_equal(result.code, 1);
    cJSON *json = parse(&result);
    assert_string_equal(text_of(result_of(json, 0), "status"), "wrong");
    assert_contains(text_of(result_of(json, 0), "reason"), "class 1 is inf");
    assert_int_equal(cJSON_GetArraySize(member(result_of(json, 0), "top")), 0);
    cJSON_Delete(json);
    outcome_free(&result);
    result = run_tool(CLPREDICT, "--cpu --model squeezenet1_1 --weights %s --size 32 %s",
                      in_scratch("infinite.safetensors"), in_scratch("pictures/rgb.png"));
    assert_int_equal(result.code, 1);
    assert_contains(result.out, "wrong result: the logit of class 1 is inf");
    assert_contains(result.out, "0 classified, 1 with a wrong result");
    outcome_free(&result);
}

/* ---- pictures ---- */

/* A folder with good pictures, broken ones, and files that are none. */
static void make_folder(void)
{
    char *source = pcti_format("%s/tests/data/files/", PCT_SOURCE_DIR);
    static const char *const good[][2] = {
        {"rgb.png", "folder/1.png"}, {"gray.jpg", "folder/10.jpg"}, {"palette.png", "folder/2"}};
    assert_int_equal(mkdir(in_scratch("folder"), 0700), 0);
    assert_int_equal(mkdir(in_scratch("folder/sub.png"), 0700), 0);
    assert_int_equal(mkdir(in_scratch("nothing"), 0700), 0);
    for (size_t i = 0; i < 3; i++) {
        char *from = pcti_format("%s%s", source, good[i][0]);
        assert_int_equal(symlink(from, in_scratch(good[i][1])), 0);
        pcti_free(from);
    }
    write_scratch("folder/11.JPG", "", 0);
    write_scratch("folder/12.jpeg", "\xff\xd8\xff\xe0", 4);
    write_scratch("folder/README.txt", "not a picture", 13);
    write_scratch("folder/.hidden.png", "", 0);
    pcti_free(source);
}

static void test_folder(void **state)
{
    make_folder();
    static const struct {
        const char *file, *status;
    } wanted[] = {{"folder/1.png", "ok"},           {"folder/10.jpg", "ok"},    {"folder/11.JPG", "unreadable"},
                  {"folder/12.jpeg", "unreadable"}, {"folder/2", "ok"},         {"nothing", "unreadable"},
                  {"none.png", "unreadable"},       {"pictures/gray.png", "ok"}};
    outcome result = run_tool(CLPREDICT, SMALL "--batch 2 --format json --save %s %s %s %s %s",
                              in_scratch("folder.safetensors"), in_scratch("folder"), in_scratch("nothing"),
                              in_scratch("none.png"), in_scratch("pictures/gray.png"));
    assert_int_equal(result.code, 3);
    assert_contains(result.err, "folder/11.JPG");
    assert_contains(result.err, "folder/12.jpeg");
    assert_contains(result.err, "nothing: no pictures in this folder");
    assert_contains(result.err, "none.png: cannot open");
    assert_lacks(result.err, "README");
    assert_null(strstr(strstr(result.err, "11.JPG") + 1, "11.JPG")); /* named once */
    cJSON *json = parse(&result);
    int row = 0;
    assert_int_equal(cJSON_GetArraySize(member(json, "results")), sizeof wanted / sizeof *wanted);
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        const cJSON *item = result_of(json, i);
        assert_string_equal(text_of(item, "file"), in_scratch(wanted[i].file));
        assert_string_equal(text_of(item, "status"), wanted[i].status);
        bool ok = !strcmp(wanted[i].status, "ok");
        if (ok) assert_int_equal(number_of(item, "row"), row++);
        assert_true(ok == (bool)cJSON_IsNull(member(item, "reason")));
        assert_int_equal(cJSON_GetArraySize(member(item, "top")), ok ? 5 : 0);
    }
    cJSON_Delete(json);
    pcti_free(read_logits("folder.safetensors", 4, IMAGENET));
    outcome_free(&result);
}

/* Whatever the batch, a picture has the same classes. */
static void test_batches_agree(void **state)
{
    float *single = NULL;
    for (int batch = 1; batch <= 8; batch += 3) {
        outcome result = run_tool(CLPREDICT, SMALL "--batch %d --save %s %s %s %s %s %s", batch,
                                  in_scratch("batch.safetensors"), in_scratch("pictures/rgb.png"),
                                  in_scratch("pictures/odd_420.jpg"), in_scratch("pictures/gray.jpg"),
                                  in_scratch("pictures/interlaced.png"), in_scratch("pictures/rgba.png"));
        assert_int_equal(result.code, 0);
        float *logits = read_logits("batch.safetensors", 5, IMAGENET);
        if (single)
            assert_same_logits(logits, single, 5 * IMAGENET);
        else
            single = logits;
        if (logits != single) pcti_free(logits);
        outcome_free(&result);
    }
    pcti_free(single);
}

static void test_only_unreadable(void **state)
{
    outcome result =
        run_tool(CLPREDICT, SMALL "--save %s %s", in_scratch("nothing.safetensors"), in_scratch("none.png"));
    assert_int_equal(result.code, 3);
    assert_contains(result.out, "0 classified, 1 unreadable");
    assert_int_equal(access(in_scratch("nothing.safetensors"), F_OK), -1);
    outcome_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_other_class_count),
        cmocka_unit_test(test_bad_labels_and_weights),
        cmocka_unit_test(test_wrong_result),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_batches_agree),
        cmocka_unit_test(test_only_unreadable),
    };
    return cmocka_run_group_tests(tests, set_up, remove_scratch);
}
