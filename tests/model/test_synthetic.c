/* Synthetic values against those of the recipe in Python (make_expected.py), bit for bit. */
#include "model_test.h"

#include <stdlib.h>
#include <string.h>

static const struct value {
    const char *name;
    int64_t index;
    uint32_t bits;
} parameters[] = {
    /* mobilenet_v2: a filter, a matrix, a bias, batch-norm's four */
    {"features.0.0.weight", 0, 0x3eb2c4bf},        {"features.0.0.weight", 1, 0x3e7ecb67},
    {"features.0.0.weight", 255, 0xbdbad4d2},      {"features.0.0.weight", 256, 0x3e880601},
    {"features.0.0.weight", 863, 0x3e1a923e},      {"classifier.1.weight", 0, 0x3c1e9be8},
    {"classifier.1.weight", 1279999, 0xbd4adf26},  {"classifier.1.bias", 0, 0x3dc35efd},
    {"classifier.1.bias", 999, 0x3cb1bcfa},        {"features.0.1.weight", 0, 0x3f85f55a},
    {"features.0.1.weight", 31, 0x3f80cf8c},       {"features.0.1.bias", 0, 0xbdc7aef8},
    {"features.0.1.bias", 31, 0x3d83e333},         {"features.0.1.running_mean", 0, 0xbda94300},
    {"features.0.1.running_mean", 31, 0xbc8f460d}, {"features.0.1.running_var", 0, 0x3fa39465},
    {"features.0.1.running_var", 31, 0x3f803af2},
};
static const struct value input[] = {{"input", 0, 0xbf4deac2},
                                     {"input", 1, 0xbf347db0},
                                     {"input", 150527, 0xbd364d60},
                                     {"input", INT64_C(1) << 40, 0x3eb911f8}};

static void check_bits(const struct value *wanted, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits != wanted->bits)
        fail_msg("%s[%lld]: 0x%08x, not 0x%08x", wanted->name, (long long)wanted->index, bits, wanted->bits);
}

static void test_input(void **state)
{
    for (size_t i = 0; i < sizeof input / sizeof input[0]; i++) {
        float value;
        pct_synthetic_fill("input", 1, input[i].index, 1, &value);
        check_bits(&input[i], value);
    }
}

static void test_parameters(void **state)
{
    pct_model *model = make_model("mobilenet_v2", 0, 0, 0);
    check_ok(pct_model_load_synthetic(model));
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        float value;
        assert_true(read_parameter(model, parameters[i].name, parameters[i].index, 1, &value));
        check_bits(&parameters[i], value);
    }
    pct_model_destroy(model);
}

/* Any range read by itself equals that range of the whole, and nothing around it is touched. */
static void test_ranges(void **state)
{
    enum { ELEMS = 1280 * 320, GUARD = 8 };
    static const struct {
        const char *name;
        int64_t elems;
    } tensors[] = {{"features.18.0.weight", ELEMS}, {"features.18.1.running_var", 1280}};
    static const int64_t counts[] = {0, 1, 2, 7, 255, 256, 257, 1000};
    pct_model *model = make_model("mobilenet_v2", 0, 0, 0);
    float *whole = malloc(ELEMS * sizeof *whole), part[1000 + 2 * GUARD];
    assert_non_null(whole);
    check_ok(pct_model_load_synthetic(model));
    for (size_t t = 0; t < sizeof tensors / sizeof tensors[0]; t++) {
        assert_true(read_parameter(model, tensors[t].name, 0, tensors[t].elems, whole));
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int64_t first = 0; first <= tensors[t].elems - counts[c]; first += tensors[t].elems / 29) {
                for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) part[i] = -77;
                assert_true(read_parameter(model, tensors[t].name, first, counts[c], part + GUARD));
                assert_memory_equal(part + GUARD, whole + first, (size_t)counts[c] * sizeof *part);
                for (int i = 0; i < GUARD; i++) {
                    assert_true(part[i] == -77);
                    assert_true(part[GUARD + counts[c] + i] == -77);
                }
            }
    }
    free(whole);
    pct_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_input), cmocka_unit_test(test_parameters),
                                       cmocka_unit_test(test_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
