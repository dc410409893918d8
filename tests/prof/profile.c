/* Steps of a plan as text. */
#include "common.h"

#include <cjson/cJSON.h>

static const pct_profile_step steps[] = {
    {"features.0", "conv2d", "winograd_4x4_3x3", "1x3x224x224 -> 1x64x224x224", 173408256, 13447168, 0.75, 0},
    {"features.1", "relu", "plain", "1x64x224x224", 3211264, 25690112, 0.25, 1},
    {"classifier, last", "dense", NULL, NULL, NAN, NAN, NAN, NAN}};

static char *text_of(pct_format format) {
    char *text;
    assert_ok(pct_profile_text(steps, 3, format, &text));
    return text;
}

static void tables(void **state) {
    char *table = text_of(PCT_FORMAT_TABLE), *markdown = text_of(PCT_FORMAT_MARKDOWN),
         *csv = text_of(PCT_FORMAT_CSV);
    assert_contains(table, "  750 us   75.0  173.4  12.8 MiB    231.2  17.93\n");
    assert_contains(table, "\ntotal");
    assert_contains(table, "1.00 ms  100.0  176.6  37.3 MiB    176.6  39.14\n");
    assert_contains(markdown, "| features.1 | relu | plain | 1x64x224x224 | 250 us | 25.0 |");
    assert_contains(csv, "node,op,impl,shapes,ms,flops,bytes,gflops,gbytes_per_s\n");
    assert_contains(csv, "features.1,relu,plain,1x64x224x224,0.25,3211264,25690112,12.845056,102.760448\n");
    assert_contains(csv, "\"classifier, last\",dense,,,,,,,\n");
    pcti_free(table);
    pcti_free(markdown);
    pcti_free(csv);
}

static void json_and_trace(void **state) {
    char *text = text_of(PCT_FORMAT_JSON);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    cJSON *list = cJSON_GetObjectItem(root, "steps");
    assert_int_equal(cJSON_GetArraySize(list), 3);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), "ms")->valuedouble == 0.75);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 2), "ms")));
    assert_true(cJSON_IsString(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 2), "reason")));
    cJSON_Delete(root);
    pcti_free(text);

    text = text_of(PCT_FORMAT_TRACE);
    root = cJSON_Parse(text);
    assert_non_null(root);
    list = cJSON_GetObjectItem(root, "traceEvents");
    assert_int_equal(cJSON_GetArraySize(list), 2); /* the step without a time is left out */
    const cJSON *event = cJSON_GetArrayItem(list, 1);
    assert_string_equal(cJSON_GetObjectItem(event, "ph")->valuestring, "X");
    assert_string_equal(cJSON_GetObjectItem(event, "name")->valuestring, "features.1");
    assert_true(cJSON_GetObjectItem(event, "ts")->valuedouble == 1000);
    assert_true(cJSON_GetObjectItem(event, "dur")->valuedouble == 250);
    cJSON_Delete(root);
    pcti_free(text);
}

static void steps_without_starts_follow_each_other(void **state) {
    pct_profile_step timed[] = {steps[0], steps[2], steps[1]};
    char *text;
    for (int i = 0; i < 3; i++) timed[i].start_ms = NAN;
    assert_ok(pct_profile_text(timed, 3, PCT_FORMAT_TRACE, &text));
    cJSON *root = cJSON_Parse(text), *list = cJSON_GetObjectItem(root, "traceEvents");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), "ts")->valuedouble == 0);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 1), "ts")->valuedouble == 750);
    cJSON_Delete(root);
    pcti_free(text);
}

static void bad_calls(void **state) {
    const pct_format formats[] = {PCT_FORMAT_TABLE, PCT_FORMAT_CSV, PCT_FORMAT_JSON, PCT_FORMAT_TRACE};
    char *text;
    assert_int_equal(pct_profile_text(steps, 3, PCT_FORMAT_SQL, &text), PCT_ERROR_ARGUMENT);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        assert_ok(pct_profile_text(NULL, 0, formats[i], &text));
        pcti_free(text);
        pcti_memory_fail_at(1);
        assert_int_equal(pct_profile_text(steps, 3, formats[i], &text), PCT_ERROR_MEMORY);
        assert_null(text);
        pcti_memory_fail_at(0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables), cmocka_unit_test(json_and_trace),
                                       cmocka_unit_test(steps_without_starts_follow_each_other),
                                       cmocka_unit_test(bad_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
