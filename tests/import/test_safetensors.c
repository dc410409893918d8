/* safetensors: what the format allows, what it forbids, and the writer. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "import_test.h"

/* A file: `length` as its header length (the true one if DECLARED), the header, n_data zero bytes. */
#define DECLARED UINT64_MAX - 1
static size_t make(unsigned char *file, uint64_t length, const char *header, size_t header_bytes, size_t n_data)
{
    uint64_t written = length == DECLARED ? header_bytes : length;
    for (int i = 0; i < 8; i++) file[i] = (unsigned char)(written >> 8 * i);
    memcpy(file + 8, header, header_bytes);
    memset(file + 8 + header_bytes, 0, n_data);
    return 8 + header_bytes + n_data;
}

#define TENSOR(name, dtype, shape, begin, end)                                                                       \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
#define PAIR(name, begin, end) TENSOR(name, "F32", "[2]", begin, end)
#define TWO_32 "4294967296"

static const struct bad {
    const char *what;
    uint64_t length;
    const char *header;
    size_t n_data;
    const char *message;
} bad[] = {
    {"longest length", UINT64_MAX, "{}", 0, "header of 18446744073709551615 bytes"},
    {"length 2^63", (uint64_t)1 << 63, "{}", 0, "header of 9223372036854775808 bytes"},
    {"header beyond the file", 1000, "{}", 0, "header of 1000 bytes in a file of 10"},
    {"header one byte beyond", 3, "{}", 0, "header of 3 bytes"},
    {"above the limit", 100000001, "{}", 0, "at most 100000000"},
    {"no header", 0, "", 0, "expected '{' at byte 0"},
    {"list", DECLARED, "[]", 0, "expected '{'"},
    {"cut JSON", DECLARED, "{\"a\":{", 0, "expected '\"'"},
    {"text after it", DECLARED, "{}x", 0, "text after"},
    {"overlap", DECLARED, "{" PAIR("a", "0", "8") "," PAIR("b", "4", "12") "}", 12, "'b'"},
    {"same range", DECLARED, "{" PAIR("a", "0", "8") "," PAIR("b", "0", "8") "}", 8, "inside another"},
    {"hole", DECLARED, "{" PAIR("a", "0", "8") "," PAIR("b", "12", "20") "}", 20,
     "'b': its data begins at 12, after a gap"},
    {"late", DECLARED, "{" PAIR("a", "4", "12") "}", 12, "'a': its data begins at 4"},
    {"reversed", DECLARED, "{" PAIR("a", "8", "0") "}", 8, "'a'"},
    {"negative", DECLARED, "{" PAIR("a", "-8", "0") "}", 8, "'a': header: expected a whole number of at least 0"},
    {"float offset", DECLARED, "{" PAIR("a", "0", "8.0") "}", 8, "whole number"},
    {"exponent", DECLARED, "{" PAIR("a", "0", "8e0") "}", 8, "whole number"},
    {"leading zero", DECLARED, "{" PAIR("a", "0", "08") "}", 8, "whole number"},
    {"2^64 + 8", DECLARED, "{" PAIR("a", "0", "18446744073709551624") "}", 8, "beyond 64 bits"},
    {"2^53 + 1, which a double rounds", DECLARED, "{" PAIR("a", "0", "9007199254740993") "}", 8, "9007199254740993"},
    {"three offsets", DECLARED, "{" TENSOR("a", "F32", "[2]", "0,4", "8") "}", 8, "more than 2 offsets"},
    {"trailing bytes", DECLARED, "{" PAIR("a", "0", "8") "}", 12, "4 bytes of data after"},
    {"data without tensors", DECLARED, "{}", 4, "4 bytes of data after"},
    {"data cut off", DECLARED, "{" PAIR("a", "0", "8") "}", 4, "'a': data [0, 8) is not in the file's 4 bytes"},
    {"shape", DECLARED, "{" TENSOR("a", "F32", "[3]", "0", "8") "}", 8,
     "'a': its shape needs 12 bytes, its data has 8"},
    {"overflow", DECLARED, "{" TENSOR("a", "F32", "[" TWO_32 "," TWO_32 "]", "0", "0") "}", 0,
     "'a': its shape overflows"},
    {"overflow by size", DECLARED, "{" TENSOR("a", "F64", "[2305843009213693952]", "0", "0") "}", 0, "overflows"},
    {"negative dimension", DECLARED, "{" TENSOR("a", "F32", "[-2]", "0", "8") "}", 8, "whole number"},
    {"nine dimensions", DECLARED, "{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,2]", "0", "8") "}", 8, "more than 8"},
    {"unknown dtype", DECLARED, "{" TENSOR("a", "F31", "[2]", "0", "8") "}", 8, "'a': header: unknown dtype 'F31'"},
    {"lower case dtype", DECLARED, "{" TENSOR("a", "f32", "[2]", "0", "8") "}", 8, "unknown dtype 'f32'"},
    {"no shape", DECLARED, "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "'a': header: no shape"},
    {"no dtype", DECLARED, "{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "no dtype"},
    {"no offsets", DECLARED, "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "no data_offsets"},
    {"unknown field", DECLARED, "{\"a\":{\"dtype\":\"F32\",\"kind\":1}}", 8, "unknown field"},
    {"doubled field", DECLARED, "{\"a\":{\"shape\":[2],\"shape\":[2]}}", 8, "doubled field"},
    {"no dict", DECLARED, "{\"a\":[]}", 0, "'a': header: expected '{'"},
    {"doubled name", DECLARED, "{" PAIR("a", "0", "8") "," PAIR("a", "0", "8") "}", 8, "'a'"},
    {"doubled empty name", DECLARED,
     "{" TENSOR("a", "F32", "[0]", "0", "0") "," TENSOR("\\u0061", "F32", "[0]", "0", "0") "}", 0,
     "two tensors are named 'a'"},
    {"trailing comma", DECLARED, "{" PAIR("a", "0", "8") ",}", 8, "expected '\"'"},
    {"NUL escape", DECLARED, "{" TENSOR("a\\u0000b", "F32", "[2]", "0", "8") "}", 8, "NUL in a string"},
    {"lone surrogate", DECLARED, "{" TENSOR("\\ud800", "F32", "[2]", "0", "8") "}", 8, "lone surrogate"},
    {"reversed surrogates", DECLARED, "{" TENSOR("\\udc00\\ud800", "F32", "[2]", "0", "8") "}", 8, "lone surrogate"},
    {"bad escape", DECLARED, "{" TENSOR("\\x", "F32", "[2]", "0", "8") "}", 8, "bad escape"},
    {"raw line end in a name", DECLARED, "{" TENSOR("a\nb", "F32", "[2]", "0", "8") "}", 8, "control character"},
    {"bad UTF-8", DECLARED, "{" TENSOR("a\xff", "F32", "[2]", "0", "8") "}", 8, "not UTF-8"},
    {"overlong UTF-8", DECLARED, "{" TENSOR("\xc0\xaf", "F32", "[2]", "0", "8") "}", 8, "not UTF-8"},
    {"surrogate in UTF-8", DECLARED, "{" TENSOR("\xed\xa0\x80", "F32", "[2]", "0", "8") "}", 8, "not UTF-8"},
    {"metadata number", DECLARED, "{\"__metadata__\":{\"a\":1}}", 0, "expected '\"'"},
    {"doubled metadata", DECLARED, "{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}", 0, "doubled metadata key"},
    {"metadata twice", DECLARED, "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "doubled __metadata__"},
};

static void test_refused(void **state)
{
    unsigned char file[1024];
    pct_weights weights;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t bytes = make(file, bad[i].length, bad[i].header, strlen(bad[i].header), bad[i].n_data);
        if (open_bytes(file, bytes, &weights) != PCT_ERROR_FORMAT) fail_msg("%s was accepted", bad[i].what);
        check_message("memory: ");
        check_message(bad[i].message);
        close_bytes(&weights);
    }
    size_t bytes = make(file, DECLARED, "{\"a\0\":1}", 8, 0); /* a NUL byte itself */
    assert_int_equal(open_bytes(file, bytes, &weights), PCT_ERROR_FORMAT);
    check_message("control character");
    close_bytes(&weights);
}

static void test_too_short(void **state)
{
    static const unsigned char zeros[7];
    pct_weights weights;
    for (size_t bytes = 0; bytes <= sizeof zeros; bytes++) {
        assert_int_equal(open_bytes(zeros, bytes, &weights), PCT_ERROR_FORMAT);
        check_message("too few");
        close_bytes(&weights);
    }
}

/* Nothing is allocated on the word of a length. */
static void test_refused_before_allocating(void **state)
{
    unsigned char file[16];
    pct_weights weights;
    size_t bytes = make(file, 99999999, "{}", 2, 0);
    uint64_t before = pcti_memory_allocations();
    assert_int_equal(open_bytes(file, bytes, &weights), PCT_ERROR_FORMAT);
    assert_int_equal(pcti_memory_allocations(), before);
    close_bytes(&weights);
}

static void test_valid(void **state)
{
    unsigned char file[1024];
    pct_weights weights;
    static const char *const empty[] = {"{}", "{}    ", "   {}", " \t\r\n{ } ", "{\"__metadata__\":{}}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        size_t bytes = make(file, DECLARED, empty[i], strlen(empty[i]), 0);
        assert_int_equal(open_bytes(file, bytes, &weights), PCT_OK);
        assert_int_equal(pct_weights_count(&weights), 0);
        close_bytes(&weights);
    }
    static const char header[] = "{" TENSOR("later", "F32", "[2]", "4", "12") "," TENSOR(
        "scalar", "F32", "[]", "0",
        "4") ","
             "\"__metadata__\": {\"format\" : \"pt\", \"q\\\"\":\"\\u00e9\\ud83d\\ude00\\n\"} ," TENSOR(
                 "none", "I64", "[0,3]", "0", "0") "," TENSOR("none too", "F16", "[0]", "12", "12") " } ";
    size_t bytes = make(file, DECLARED, header, sizeof header - 1, 12);
    float three = 3;
    memcpy(file + bytes - 12, &three, sizeof three);
    assert_int_equal(open_bytes(file, bytes, &weights), PCT_OK);
    assert_int_equal(pct_weights_count(&weights), 4);
    assert_string_equal(pct_weights_name(&weights, 0), "later");
    assert_null(pct_weights_name(&weights, 4));
    check_tensor(&weights, "scalar", PCT_F32, 0, NULL, VALUES(3));
    check_tensor(&weights, "later", PCT_F32, 1, DIMS(2), VALUES(0, 0));
    check_tensor(&weights, "none", PCT_I64, 2, DIMS(0, 3), NULL);
    check_tensor(&weights, "none too", PCT_F16, 1, DIMS(0), NULL);
    assert_string_equal(pct_weights_metadata(&weights, "format"), "pt");
    assert_string_equal(pct_weights_metadata(&weights, "q\""), "\xc3\xa9\xf0\x9f\x98\x80\n");
    assert_null(pct_weights_metadata(&weights, "nothing"));
    size_t index;
    assert_int_equal(pct_weights_find(&weights, "nowhere", &index), PCT_ERROR_NOT_FOUND);
    check_message("no tensor 'nowhere' among its 4: 'later'");
    close_bytes(&weights);
}

/* Every stored type, its extremes included. */
static void test_types(void **state)
{
    static const char header[] =
        "{" TENSOR("i64", "I64", "[2]", "0", "16") "," TENSOR("f64", "F64", "[2]", "16", "32") "," TENSOR("u32", "U32", "[1]", "32", "36") "," TENSOR(
            "i32", "I32", "[1]",
            "36",
            "40") "," TENSOR("f16", "F16", "[8]", "40",
                             "56") "," TENSOR("bf16", "BF16", "[2]", "56",
                                              "60") "," TENSOR("u16", "U16", "[1]", "60",
                                                               "62") "," TENSOR("i16", "I16", "[1]", "62",
                                                                                "64") "," TENSOR("u8", "U8", "[2]",
                                                                                                 "64",
                                                                                                 "66") "," TENSOR("i"
                                                                                                                  "8",
                                                                                                                  "I"
                                                                                                                  "8",
                                                                                                                  "[2"
                                                                                                                  "]",
                                                                                                                  "6"
                                                                                                                  "6",
                                                                                                                  "6"
                                                                                                                  "8") "," TENSOR("bool",
                                                                                                                                  "BOOL",
                                                                                                                                  "[2]",
                                                                                                                                  "68",
                                                                                                                                  "70") "," TENSOR("u64",
                                                                                                                                                   "U64",
                                                                                                                                                   "[1]",
                                                                                                                                                   "70",
                                                                                                                                                   "78") "," TENSOR("f8",
                                                                                                                                                                    "F8_E4M3",
                                                                                                                                                                    "[1]",
                                                                                                                                                                    "78",
                                                                                                                                                                    "79") "}";
    static const int64_t i64[2] = {INT64_MIN, INT64_MAX};
    static const double f64[2] = {-0.1, 1e300};
    static const uint32_t u32 = UINT32_MAX;
    static const int32_t i32 = INT32_MIN;
    static const uint16_t f16[8] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x7c00, 0x8000},
                          bf16[2] = {0x3f80, 0xc0a0};
    static const uint16_t u16 = 65535;
    static const int16_t i16 = -32768;
    static const unsigned char bytes_8[] = {0, 255, 0x80, 0x7f, 2, 0};
    unsigned char file[2048], *data = file + 8 + sizeof header - 1;
    size_t bytes = make(file, DECLARED, header, sizeof header - 1, 79);
    memcpy(data, i64, 16);
    memcpy(data + 16, f64, 16);
    memcpy(data + 32, &u32, 4);
    memcpy(data + 36, &i32, 4);
    memcpy(data + 40, f16, 16);
    memcpy(data + 56, bf16, 4);
    memcpy(data + 60, &u16, 2);
    memcpy(data + 62, &i16, 2);
    memcpy(data + 64, bytes_8, 6);
    pct_weights weights;
    assert_int_equal(open_bytes(file, bytes, &weights), PCT_OK);
    check_tensor(&weights, "i64", PCT_I64, 1, DIMS(2), VALUES(-0x1p63f, 0x1p63f));
    check_tensor(&weights, "f64", PCT_F64, 1, DIMS(2), VALUES(-0.1f, INFINITY));
    check_tensor(&weights, "u32", PCT_I64, 1, DIMS(1), VALUES(0x1p32f));
    check_tensor(&weights, "i32", PCT_I32, 1, DIMS(1), VALUES(-0x1p31f));
    check_tensor(&weights, "f16", PCT_F16, 1, DIMS(8),
                 VALUES(1, -2, 65504, 0x1p-14f, 0x1p-24f, -1023 * 0x1p-24f, INFINITY, -0.0f));
    check_tensor(&weights, "bf16", PCT_BF16, 1, DIMS(2), VALUES(1, -5));
    check_tensor(&weights, "u16", PCT_I32, 1, DIMS(1), VALUES(65535));
    check_tensor(&weights, "i16", PCT_I32, 1, DIMS(1), VALUES(-32768));
    check_tensor(&weights, "u8", PCT_U8, 1, DIMS(2), VALUES(0, 255));
    check_tensor(&weights, "i8", PCT_I32, 1, DIMS(2), VALUES(-128, 127));
    check_tensor(&weights, "bool", PCT_BOOL, 1, DIMS(2), VALUES(1, 0));

    int64_t integers[2];
    size_t index;
    assert_int_equal(pct_weights_find(&weights, "i64", &index), PCT_OK);
    assert_int_equal(pct_weights_read_i64(&weights, index, 0, 2, integers), PCT_OK);
    assert_memory_equal(integers, i64, sizeof i64);
    assert_int_equal(pct_weights_find(&weights, "u32", &index), PCT_OK);
    assert_int_equal(pct_weights_read_i64(&weights, index, 0, 1, integers), PCT_OK);
    assert_int_equal(integers[0], UINT32_MAX);
    assert_int_equal(pct_weights_find(&weights, "bool", &index), PCT_OK);
    assert_int_equal(pct_weights_read_i64(&weights, index, 0, 2, integers), PCT_OK);
    assert_true(integers[0] == 1 && integers[1] == 0);
    assert_int_equal(pct_weights_find(&weights, "f64", &index), PCT_OK);
    assert_int_equal(pct_weights_read_i64(&weights, index, 0, 1, integers), PCT_ERROR_UNSUPPORTED);

    static const char *const unreadable[] = {"u64", "f8"};
    for (int i = 0; i < 2; i++) {
        float value;
        pct_shape shape;
        assert_int_equal(pct_weights_find(&weights, unreadable[i], &index), PCT_OK);
        assert_int_equal(pct_weights_shape(&weights, index, &shape), PCT_ERROR_UNSUPPORTED);
        assert_int_equal(pct_weights_read_f32(&weights, index, 0, 1, &value), PCT_ERROR_UNSUPPORTED);
        check_message(unreadable[i]);
    }
    close_bytes(&weights);
}

static void test_densenet_names(void **state)
{
    unsigned char file[1024];
    static const char header[] =
        "{" TENSOR("features.denseblock1.denselayer1.norm.1.weight", "F32", "[]", "0",
                   "4") "," TENSOR("features.denseblock1.denselayer2.conv2.weight", "F32", "[]", "4",
                                   "8") "," TENSOR("features.norm.5.weight", "F32", "[]", "8", "12") "}";
    size_t bytes = make(file, DECLARED, header, sizeof header - 1, 12), index;
    pct_weights weights;
    assert_int_equal(open_bytes(file, bytes, &weights), PCT_OK);
    static const struct {
        const char *asked;
        int index; /* -1: none */
    } cases[] = {
        {"features.denseblock1.denselayer1.norm.1.weight", 0},
        {"features.denseblock1.denselayer1.norm1.weight", 0},
        {"features.denseblock1.denselayer2.conv2.weight", 1},
        {"features.denseblock1.denselayer2.conv.2.weight", 1},
        {"features.norm.5.weight", 2},
        {"features.norm5.weight", -1},
        {"features.denseblock1.denselayer1.norm2.weight", -1},
        {"features.denseblock1.denselayer1.norm", -1},
        {"features.denseblock1.denselayer1.", -1},
        {"denselayer", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pct_status status = pct_weights_find(&weights, cases[i].asked, &index);
        assert_int_equal(status, cases[i].index < 0 ? PCT_ERROR_NOT_FOUND : PCT_OK);
        if (cases[i].index >= 0) assert_int_equal(index, cases[i].index);
    }
    close_bytes(&weights);
}

/* ---- the writer ---- */

static void test_write_and_read(void **state)
{
    char path[] = "weights-XXXXXX";
    close(mkstemp(path));
    static const float floats[6] = {1, 2, 3, 4, 5, -6.5f};
    static const int64_t labels[2] = {7, -1};
    static const unsigned char odd[3] = {1, 0, 1};
    const pct_named_tensor tensors[] = {
        {"flags", {PCT_BOOL, 1, {3}}, odd},    {"w \"quoted\"\\\n\xc3\xa9", {PCT_F32, 2, {2, 3}}, floats},
        {"empty", {PCT_F32, 2, {0, 3}}, NULL}, {"scalar", {PCT_F32, 0, {0}}, floats + 5},
        {"labels", {PCT_I64, 1, {2}}, labels},
    };
    const pct_text_pair metadata[] = {{"format", "pt"}, {"key\t", "\x01 value"}};
    pct_weights *weights;
    size_t index;
    assert_int_equal(pct_safetensors_write(path, tensors, 5, metadata, 2), PCT_OK);
    assert_int_equal(pct_weights_open(path, &weights), PCT_OK);
    assert_int_equal(pct_weights_count(weights), 5);
    check_tensor(weights, tensors[0].name, PCT_BOOL, 1, DIMS(3), VALUES(1, 0, 1));
    check_tensor(weights, tensors[1].name, PCT_F32, 2, DIMS(2, 3), floats);
    check_tensor(weights, "empty", PCT_F32, 2, DIMS(0, 3), NULL);
    check_tensor(weights, "scalar", PCT_F32, 0, NULL, floats + 5);
    check_tensor(weights, "labels", PCT_I64, 1, DIMS(2), VALUES(7, -1));
    assert_string_equal(pct_weights_metadata(weights, "format"), "pt");
    assert_string_equal(pct_weights_metadata(weights, "key\t"), "\x01 value");
    assert_int_equal(pct_weights_find(weights, tensors[1].name, &index), PCT_OK);
    assert_non_null(pct_weights_pointer(weights, index)); /* aligned in spite of the odd one */
    pct_weights_drop(weights, index, 0, 6);
    assert_memory_equal(pct_weights_pointer(weights, index), floats, sizeof floats); /* still there */
    pct_weights_close(weights);

    assert_int_equal(pct_safetensors_write(path, NULL, 0, NULL, 0), PCT_OK);
    assert_int_equal(pct_weights_open(path, &weights), PCT_OK);
    assert_int_equal(pct_weights_count(weights), 0);
    pct_weights_close(weights);
    pct_weights_close(NULL);
    unlink(path);
}

static void test_write_refuses(void **state)
{
    char path[] = "weights-XXXXXX";
    close(mkstemp(path));
    static const float value = 1;
    const pct_named_tensor good = {"a", {PCT_F32, 0, {0}}, &value};
    static const pct_text_pair twice[] = {{"a", "1"}, {"a", "2"}};
    const pct_named_tensor refused[][2] = {
        {good, good},
        {good, {"", {PCT_F32, 0, {0}}, &value}},
        {good, {"__metadata__", {PCT_F32, 0, {0}}, &value}},
        {good, {"\xff", {PCT_F32, 0, {0}}, &value}},
        {good, {"b", {PCT_F32, 1, {PCT_DIM_BATCH}}, &value}},
        {good, {"b", {PCT_F32, 1, {1}}, NULL}},
        {good, {"b", {PCT_F32, 2, {INT64_MAX, 2}}, &value}},
    };
    assert_int_equal(pct_safetensors_write(path, &good, 1, NULL, 0), PCT_OK);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_not_equal(pct_safetensors_write(path, refused[i], 2, NULL, 0), PCT_OK);
        check_message(path);
    }
    assert_int_equal(pct_safetensors_write(path, &good, 1, twice, 2), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_safetensors_write("no/such/folder", &good, 1, NULL, 0), PCT_ERROR_IO);
    pct_weights *weights; /* the good one was left alone */
    assert_int_equal(pct_weights_open(path, &weights), PCT_OK);
    assert_int_equal(pct_weights_count(weights), 1);
    pct_weights_close(weights);
    unlink(path);
    assert_int_equal(pct_weights_open(path, &weights), PCT_ERROR_NOT_FOUND);
    assert_null(weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_too_short),
        cmocka_unit_test(test_valid),          cmocka_unit_test(test_refused_before_allocating),
        cmocka_unit_test(test_types),          cmocka_unit_test(test_densenet_names),
        cmocka_unit_test(test_write_and_read), cmocka_unit_test(test_write_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
