/* clpredict with EfficientNet-Lite0's trained weights against PyTorch's values for ten pictures. */
#include "run_tool.h"

#include <math.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "pct/device.h"
#include "pct/weights.h"

enum { CLASSES = 1000, SIDE = 224, ELEMS = 3 * SIDE * SIDE };
#define NETWORK "--model efficientnet_lite0 --weights "

static bool have_files;

static int set_up(void **state)
{
    if (make_scratch(state)) return -1;
    have_files = !access(PCT_SHARED_DIR "/models/efficientnet_lite0.safetensors", R_OK) &&
                 !access(PCT_SHARED_DIR "/models/efficientnet_lite0_expected.json", R_OK);
    if (!have_files) print_message("skipped: no trained weights in %s\n", PCT_SHARED_DIR);
    return have_files ? symlink(PCT_SHARED_DIR, in_scratch("shared")) : 0;
}

static cJSON *parse(const char *text)
{
    cJSON *json = cJSON_Parse(text);
    if (!json) fail_msg("not JSON:\n%s", text);
    return json;
}

static cJSON *read_expected(void)
{
    pcti_file file;
    assert_ok(pcti_file_map(in_scratch("shared/models/efficientnet_lite0_expected.json"), &file));
    cJSON *json = cJSON_ParseWithLength((const char *)file.data, file.bytes);
    pcti_file_unmap(&file);
    assert_non_null(json);
    return json;
}

static double number(const cJSON *object, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Same best class; each of the five listed ones within 0.01 of its probability, whatever its place. */
static void check_picture(const cJSON *wanted, const cJSON *found)
{
    const cJSON *top = cJSON_GetObjectItemCaseSensitive(found, "top"), *class, *best;
    const cJSON *listed = cJSON_GetObjectItemCaseSensitive(wanted, "top5");
    const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(wanted, "file"));
    assert_int_equal(cJSON_GetArraySize(listed), 5);
    assert_int_equal(number(cJSON_GetArrayItem(top, 0), "index"),
                     cJSON_GetNumberValue(cJSON_GetArrayItem(cJSON_GetArrayItem(listed, 0), 0)));
    cJSON_ArrayForEach(class, listed)
    {
        int index = (int)cJSON_GetNumberValue(cJSON_GetArrayItem(class, 0));
        double probability = NAN;
        cJSON_ArrayForEach(best, top) if ((int)number(best, "index") == index)
        {
            probability = number(best, "probability");
            assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(best, "name")),
                                cJSON_GetStringValue(cJSON_GetArrayItem(class, 1)));
        }
        double expected = cJSON_GetNumberValue(cJSON_GetArrayItem(class, 2));
        if (!(fabs(probability - expected) <= 0.01))
            fail_msg("%s: class %d has probability %g, not %g", file, index, probability, expected);
    }
}

static void classify(const char *device)
{
    cJSON *expected = read_expected();
    const cJSON *picture;
    char *paths = pcti_strdup("");
    cJSON_ArrayForEach(picture, expected)
    {
        char *more = pcti_format("%s %s/shared/%s", paths, scratch,
                                 cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(picture, "file")));
        pcti_free(paths);
        paths = more;
    }
    outcome result = run_tool(CLPREDICT, NETWORK "%s %s --top 1000 --repeat 1 --batch 4 --format json%s",
                              in_scratch("shared/models/efficientnet_lite0.safetensors"), device, paths);
    if (result.code) fail_msg("exit code %d: %s", result.code, result.err);
    cJSON *json = parse(result.out);
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(json, "results");
    assert_int_equal(cJSON_GetArraySize(found), cJSON_GetArraySize(expected));
    assert_int_equal(cJSON_GetArraySize(found), 10);
    for (int i = 0; i < 10; i++) check_picture(cJSON_GetArrayItem(expected, i), cJSON_GetArrayItem(found, i));
    cJSON_Delete(json);
    cJSON_Delete(expected);
    outcome_free(&result);
    pcti_free(paths);
}

/* ---- from prepared tensors ---- */

static void read_tensor(const pct_weights *file, const char *name, int64_t first, int64_t count, float *dst)
{
    size_t index;
    assert_ok(pct_weights_find(file, name, &index));
    assert_ok(pct_weights_read_f32(file, index, first, count, dst));
}

static void predict_tensors(const char *device)
{
    static const int rows[] = {0, 7};
    static float input[2 * ELEMS], wanted[2 * CLASSES], found[2 * CLASSES];
    pct_weights *file;
    assert_ok(pct_weights_open(in_scratch("shared/models/efficientnet_lite0_expected.safetensors"), &file));
    for (int i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "input.%d", rows[i]);
        read_tensor(file, name, 0, ELEMS, input + i * ELEMS);
        read_tensor(file, "logits", (int64_t)rows[i] * CLASSES, CLASSES, wanted + i * CLASSES);
    }
    pct_weights_close(file);
    pct_named_tensor tensor = {
        .name = "input", .shape = {.dtype = PCT_F32, .rank = 4, .dims = {2, 3, SIDE, SIDE}}, .data = input};
    assert_ok(pct_safetensors_write(in_scratch("input.safetensors"), &tensor, 1, NULL, 0));
    outcome result = run_tool(CLPREDICT, NETWORK "%s %s --repeat 0 --input %s --save %s",
                              in_scratch("shared/models/efficientnet_lite0.safetensors"), device,
                              in_scratch("input.safetensors"), in_scratch("logits.safetensors"));
    if (result.code) fail_msg("exit code %d: %s", result.code, result.err);
    outcome_free(&result);
    assert_ok(pct_weights_open(in_scratch("logits.safetensors"), &file));
    read_tensor(file, "logits", 0, 2 * CLASSES, found);
    pct_weights_close(file);
    for (int i = 0; i < 2 * CLASSES; i++)
        if (!(fabs((double)found[i] - wanted[i]) <= 1e-3))
            fail_msg("row %d, class %d: %g, not %g", rows[i / CLASSES], i % CLASSES, (double)found[i],
                     (double)wanted[i]);
}

static void test_cpu(void **state)
{
    if (!have_files) skip();
    classify("--cpu");
    predict_tensors("--cpu");
}

#ifdef HAVE_OPENCL
/* Every platform's first device, so that a second vendor's runtime is tried where there is one. */
static void test_opencl(void **state)
{
    pct_device_list *list;
    if (!have_files) skip();
    assert_ok(pct_device_list_create(&list));
    int count = pct_device_list_count(list);
    if (!count) print_message("skipped: %s\n", pct_device_list_note(list));
    for (int i = 0; i < count; i++) {
        const pct_device_info *info = pct_device_list_get(list, i);
        char device[64];
        if (info->device_index) continue;
        snprintf(device, sizeof device, "--platform %d --device 0", (int)info->platform_index);
        print_message("%s, %s\n", info->platform, info->device);
        classify(device);
        predict_tensors(device);
    }
    pct_device_list_destroy(list);
    if (!count) skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
#ifdef HAVE_OPENCL
        cmocka_unit_test(test_opencl),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, remove_scratch);
}
