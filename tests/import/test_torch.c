/* Both containers of torch.save, in files that PyTorch wrote (make_files.py says how and with which values). */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "import_test.h"

static const char *const containers[] = {"old", "zip"};

static pct_weights *open_saved(const char *name, int container)
{
    char file[64];
    snprintf(file, sizeof file, "%s.%s.pth", name, containers[container]);
    return open_data(file);
}

/* make_files.py's ramps. */
static const float *ramp(float values[64])
{
    for (int i = 0; i < 64; i++) values[i] = (float)i / 4 - 1;
    return values;
}

static const float *integer_ramp(float values[64])
{
    for (int i = 0; i < 64; i++) values[i] = (float)(i - 3);
    return values;
}

static void test_state_dict(void **state)
{
    float values[64], integers[64];
    ramp(values);
    integer_ramp(integers);
    static const char *const names[] = {
        "conv.weight",           "conv.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
        "bn.num_batches_tracked"};
    for (int c = 0; c < 2; c++) {
        pct_weights *weights = open_saved("state", c);
        assert_int_equal(pct_weights_count(weights), 7);
        for (size_t i = 0; i < 7; i++) assert_string_equal(pct_weights_name(weights, i), names[i]);
        check_tensor(weights, names[0], PCT_F32, 4, DIMS(3, 2, 2, 2), values);
        for (int i = 1; i < 6; i++) check_tensor(weights, names[i], PCT_F32, 1, DIMS(3), values);
        check_tensor(weights, names[6], PCT_I64, 0, NULL, integers);
        assert_null(pct_weights_metadata(weights, "version"));
        pct_weights_close(weights);
    }
}

static void test_views(void **state)
{
    float base[64], picked[64];
    ramp(base);
    for (int c = 0; c < 2; c++) {
        pct_weights *weights = open_saved("views", c);
        assert_int_equal(pct_weights_count(weights), 9);
        check_tensor(weights, "base", PCT_F32, 2, DIMS(4, 6), base);
        for (int i = 0; i < 24; i++) picked[i] = base[i % 4 * 6 + i / 4];
        check_tensor(weights, "transposed", PCT_F32, 2, DIMS(6, 4), picked);
        for (int i = 0; i < 12; i++) picked[i] = base[i / 3 * 6 + 1 + i % 3 * 2];
        check_tensor(weights, "columns", PCT_F32, 2, DIMS(4, 3), picked);
        check_tensor(weights, "row", PCT_F32, 1, DIMS(6), base + 12);
        check_tensor(weights, "corner", PCT_F32, 0, NULL, base + 23);
        for (int i = 0; i < 18; i++) picked[i] = base[6 + i % 6];
        check_tensor(weights, "expanded", PCT_F32, 2, DIMS(3, 6), picked);
        check_tensor(weights, "channels_last", PCT_F32, 4, DIMS(2, 3, 2, 2), base);
        check_tensor(weights, "empty", PCT_F32, 2, DIMS(0, 3), NULL);
        check_tensor(weights, "parameter", PCT_F32, 2, DIMS(2, 2), base);

        static const struct {
            const char *name;
            bool direct;
        } lent[] = {{"base", true},        {"row", true},      {"corner", true},
                    {"transposed", false}, {"columns", false}, {"channels_last", false},
                    {"empty", false},      {"expanded", false}};
        for (size_t i = 0; c == 1 && i < sizeof lent / sizeof *lent;
             i++) { /* the zip container aligns its storages */
            size_t index;
            assert_int_equal(pct_weights_find(weights, lent[i].name, &index), PCT_OK);
            assert_int_equal(pct_weights_pointer(weights, index) != NULL, lent[i].direct);
            pct_weights_drop(weights, index, 0, 1);
        }
        check_tensor(weights, "base", PCT_F32, 2, DIMS(4, 6), base);
        pct_weights_close(weights);
    }
}

static void test_dtypes(void **state)
{
    float values[64], integers[64];
    ramp(values);
    integer_ramp(integers);
    for (int c = 0; c < 2; c++) {
        pct_weights *weights = open_saved("dtypes", c);
        const int64_t *dims = DIMS(2, 5);
        assert_int_equal(pct_weights_count(weights), 10);
        check_tensor(weights, "float32", PCT_F32, 2, dims, values);
        check_tensor(weights, "float64", PCT_F64, 2, dims, values);
        check_tensor(weights, "float16", PCT_F16, 2, dims, values);
        check_tensor(weights, "bfloat16", PCT_BF16, 2, dims, values);
        check_tensor(weights, "int64", PCT_I64, 2, dims, integers);
        check_tensor(weights, "int32", PCT_I32, 2, dims, integers);
        check_tensor(weights, "int16", PCT_I32, 2, dims, integers);
        check_tensor(weights, "int8", PCT_I32, 2, dims, integers);
        check_tensor(weights, "uint8", PCT_U8, 2, dims, VALUES(253, 254, 255, 0, 1, 2, 3, 4, 5, 6));
        check_tensor(weights, "bool", PCT_BOOL, 2, dims, VALUES(1, 0, 0, 1, 0, 0, 1, 0, 0, 1));
        int64_t read[10];
        size_t index;
        assert_int_equal(pct_weights_find(weights, "int8", &index), PCT_OK);
        assert_int_equal(pct_weights_read_i64(weights, index, 0, 10, read), PCT_OK);
        for (int i = 0; i < 10; i++) assert_int_equal(read[i], i - 3);
        pct_weights_close(weights);
    }
}

static void test_checkpoints(void **state)
{
    float values[64];
    ramp(values);
    for (int c = 0; c < 2; c++) {
        pct_weights *weights = open_saved("checkpoint", c); /* one dict of tensors: it is the file */
        assert_int_equal(pct_weights_count(weights), 2);
        check_tensor(weights, "w", PCT_F32, 2, DIMS(2, 3), values);
        check_tensor(weights, "b", PCT_F64, 1, DIMS(3), values);
        pct_weights_close(weights);

        weights = open_saved("two_models", c); /* two: they are named by path */
        assert_int_equal(pct_weights_count(weights), 3);
        check_tensor(weights, "model.w", PCT_F32, 2, DIMS(2, 3), values);
        check_tensor(weights, "model.b", PCT_F64, 1, DIMS(3), values);
        check_tensor(weights, "ema.w", PCT_F32, 1, DIMS(2), values);
        pct_weights_close(weights);

        weights = open_saved("protocol4", c);
        assert_int_equal(pct_weights_count(weights), 1);
        check_tensor(weights, "w", PCT_F32, 2, DIMS(2, 3), values);
        pct_weights_close(weights);
    }
}

/* A pickle that calls a function is refused by the function's name, with the file's path. */
static void test_evil(void **state)
{
    static const struct {
        const char *file, *message;
    } evil[] = {{"evil_system", "refuses global posix.system: "}, {"evil_eval", "refuses global __builtin__.eval: "}};
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; i < 2; i++) {
            char path[1024];
            pct_weights *weights;
            snprintf(path, sizeof path, "%s/tests/import/data/%s.%s.pth", PCT_SOURCE_DIR, evil[i].file,
                     containers[c]);
            assert_int_equal(pct_weights_open(path, &weights), PCT_ERROR_UNSUPPORTED);
            assert_null(weights);
            check_message(evil[i].message);
            check_message(path);
        }
}

/* ---- broken zip files: patches of a good one ---- */

static size_t find(const unsigned char *bytes, size_t count, const char *wanted, size_t length, size_t from)
{
    while (from + length <= count && memcmp(bytes + from, wanted, length)) from++;
    assert_true(from + length <= count);
    return from;
}

/* The directory's record of an entry. */
static size_t find_entry(const unsigned char *bytes, size_t count, const char *name)
{
    size_t length = strlen(name), at = find(bytes, count, "PK\1\2", 4, 0);
    while (memcmp(bytes + at + 46, name, length)) at = find(bytes, count, "PK\1\2", 4, at + 1);
    return at;
}

static void test_zip_refusals(void **state)
{
    static const struct {
        const char *entry;
        int offset, width; /* of the patched field in its directory record */
        uint32_t value;
        pct_status status;
        const char *message;
    } cases[] = {
        {"views.zip/data/1", 10, 2, 8, PCT_ERROR_UNSUPPORTED,
         "tensor 'channels_last': zip: 'views.zip/data/1' is compressed (method 8)"},
        {"views.zip/data.pkl", 10, 2, 12, PCT_ERROR_UNSUPPORTED, "'views.zip/data.pkl' is compressed (method 12)"},
        {"views.zip/data/1", 8, 2, 1, PCT_ERROR_UNSUPPORTED, "'views.zip/data/1' is encrypted"},
        {"views.zip/data/1", 20, 4, 1 << 20, PCT_ERROR_FORMAT, "two different sizes"},
        {"views.zip/data/1", 42, 4, 1 << 20, PCT_ERROR_FORMAT, "no header"},
        {"views.zip/data/1", 42, 4, 1, PCT_ERROR_FORMAT, "no header"},
        {"views.zip/data/1", 42, 4, UINT32_MAX, PCT_ERROR_FORMAT, "lacks its zip64 sizes"},
        {"views.zip/data/1", 46 + 15, 1, 'x', PCT_ERROR_FORMAT, "tensor 'channels_last': its storage '1' is missing"},
        {"views.zip/data/1", 46 + 15, 1, '0', PCT_ERROR_FORMAT, "two entries are named 'views.zip/data/0'"},
        {"views.zip/data.pkl", 46 + 17, 1, 'x', PCT_ERROR_FORMAT, "not one of torch.save"},
        {"views.zip/data.pkl", 28, 2, 9999, PCT_ERROR_FORMAT, "directory is cut off"},
    };
    size_t count;
    unsigned char *bytes = load_data("views.zip.pth", &count);
    pct_weights weights;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char saved[4], *field = bytes + find_entry(bytes, count, cases[i].entry) + cases[i].offset;
        memcpy(saved, field, 4);
        for (int b = 0; b < cases[i].width; b++) field[b] = (unsigned char)(cases[i].value >> 8 * b);
        assert_int_equal(open_bytes(bytes, count, &weights), cases[i].status);
        check_message(cases[i].message);
        close_bytes(&weights);
        memcpy(field, saved, 4);
    }
    /* Both sizes beyond the end: the tensor is named. */
    size_t entry = find_entry(bytes, count, "views.zip/data/1");
    bytes[entry + 22] = bytes[entry + 26] = 1; /* + 65536 */
    assert_int_equal(open_bytes(bytes, count, &weights), PCT_ERROR_FORMAT);
    check_message("tensor 'channels_last': zip: 'views.zip/data/1' lies beyond the end of the file");
    close_bytes(&weights);
    bytes[entry + 22] = bytes[entry + 26] = 0;
    bytes[entry + 20] = bytes[entry + 24] = 92; /* one element less than the pickle says */
    assert_int_equal(open_bytes(bytes, count, &weights), PCT_ERROR_FORMAT);
    check_message("tensor 'channels_last': its storage '1' of 24 elements has 92 bytes");
    close_bytes(&weights);
    bytes[entry + 20] = bytes[entry + 24] = 96;
    memcpy(bytes + find(bytes, count, "little", 6, 0), "big\0\0\0", 6);
    assert_int_equal(open_bytes(bytes, count, &weights), PCT_ERROR_UNSUPPORTED);
    check_message("big-endian");
    close_bytes(&weights);
    free(bytes);
}

/* The same file with its directory rewritten to zip64: sizes and offsets in extra fields, a zip64 end record. */
static void test_zip64(void **state)
{
    enum { EXTRA = 28 };
    size_t count, old_size = 0;
    unsigned char *bytes = load_data("state.zip.pth", &count);
    size_t end = count - 22, begin = pcti_le(bytes + end + 16, 4), entries = pcti_le(bytes + end + 10, 2);
    unsigned char *wide = calloc(1, count + entries * EXTRA + 76), *to = wide + begin;
    memcpy(wide, bytes, begin);
    for (size_t i = 0, at = begin; i < entries; i++, at += old_size) {
        size_t name = pcti_le(bytes + at + 28, 2), extra = pcti_le(bytes + at + 30, 2);
        old_size = 46 + name + extra + pcti_le(bytes + at + 32, 2);
        memcpy(to, bytes + at, 46 + name);
        to[30] = EXTRA;
        to[31] = to[32] = to[33] = 0;
        memset(to + 20, 0xff, 8);
        memset(to + 42, 0xff, 4);
        unsigned char *field = to + 46 + name;
        field[0] = 1;
        field[2] = EXTRA - 4;
        memcpy(field + 4, bytes + at + 24, 4);
        memcpy(field + 12, bytes + at + 20, 4);
        memcpy(field + 20, bytes + at + 42, 4);
        to = field + EXTRA;
    }
    uint32_t directory = (uint32_t)(to - wide - (ptrdiff_t)begin), begin_32 = (uint32_t)begin,
             end64 = begin_32 + directory;
    memcpy(to, "PK\6\6\54", 5);
    memcpy(to + 24, &entries, 2);
    memcpy(to + 32, &entries, 2);
    memcpy(to + 40, &directory, 4);
    memcpy(to + 48, &begin_32, 4);
    memcpy(to + 56, "PK\6\7", 4);
    memcpy(to + 64, &end64, 4);
    memcpy(to + 76, bytes + end, 22);
    memset(to + 76 + 8, 0xff, 12);
    size_t wide_count = (size_t)(to - wide) + 76 + 22;

    pct_weights weights;
    float values[64];
    if (open_bytes(wide, wide_count, &weights) != PCT_OK) fail_msg("%s", pct_error_message());
    assert_int_equal(pct_weights_count(&weights), 7);
    check_tensor(&weights, "conv.weight", PCT_F32, 4, DIMS(3, 2, 2, 2), ramp(values));
    close_bytes(&weights);
    memset(to + 64, 0x7f, 8); /* a wild place of the zip64 end record */
    assert_int_equal(open_bytes(wide, wide_count, &weights), PCT_ERROR_FORMAT);
    close_bytes(&weights);
    free(wide);
    free(bytes);
}

/* The old container ends with its storages; cut there, the first tensor that loses its own is named. */
static void test_old_cut(void **state)
{
    size_t count;
    unsigned char *bytes = load_data("state.old.pth", &count);
    pct_weights weights;
    assert_int_equal(open_bytes(bytes, count - 1, &weights), PCT_ERROR_FORMAT);
    check_message("memory: tensor '");
    check_message("is missing or beyond the end of the file");
    close_bytes(&weights);
    free(bytes);
}

/* Whatever allocation fails: an error and no leak. */
static void test_out_of_memory(void **state)
{
    static const char *const files[] = {"state.zip.pth", "checkpoint.old.pth", "views.zip.pth"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t count;
        unsigned char *bytes = load_data(files[i], &count);
        pct_status status = PCT_ERROR_MEMORY;
        int n = 0;
        while (status != PCT_OK) {
            pct_weights weights;
            pcti_memory_fail_at((uint64_t)++n);
            status = open_bytes(bytes, count, &weights);
            pcti_memory_fail_at(0);
            if (status != PCT_OK) assert_int_equal(status, PCT_ERROR_MEMORY);
            close_bytes(&weights);
        }
        assert_true(n > 20);
        free(bytes);
    }
}

/* The real file of the demo, whose convolution weights are not contiguous, against the same weights in safetensors.
 */
static void test_efficientnet_lite0(void **state)
{
    const char *folder = getenv("PCT_DEMO_DIR");
    char path[1024], reference[1024];
    snprintf(path, sizeof path, "%s/efficientnet-lite0-57934424.pth", folder ? folder : "");
    snprintf(reference, sizeof reference, "%s/models/efficientnet_lite0.safetensors", PCT_SHARED_DIR);
    if (!folder || access(path, R_OK) || access(reference, R_OK)) {
        print_message("skipped: needs PCT_DEMO_DIR/efficientnet-lite0-57934424.pth and %s\n", reference);
        skip();
    }
    pct_weights *weights, *expected;
    assert_int_equal(pct_weights_open(path, &weights), PCT_OK);
    assert_int_equal(pct_weights_open(reference, &expected), PCT_OK);
    size_t compared = 0, strided = 0;
    for (size_t i = 0; i < pct_weights_count(expected); i++) {
        pct_shape a, b;
        size_t index;
        int64_t elems = 1;
        const char *name = pct_weights_name(expected, i);
        if (pct_weights_find(weights, name, &index) != PCT_OK) fail_msg("%s", pct_error_message());
        assert_int_equal(pct_weights_shape(expected, i, &a), PCT_OK);
        assert_int_equal(pct_weights_shape(weights, index, &b), PCT_OK);
        assert_memory_equal(&a, &b, sizeof a);
        for (int d = 0; d < a.rank; d++) elems *= a.dims[d];
        float *x = malloc((size_t)elems * sizeof *x), *y = malloc((size_t)elems * sizeof *y);
        assert_int_equal(pct_weights_read_f32(expected, i, 0, elems, x), PCT_OK);
        assert_int_equal(pct_weights_read_f32(weights, index, 0, elems, y), PCT_OK);
        for (int64_t e = 0; e < elems; e++)
            if (x[e] != y[e]) fail_msg("%s[%lld]: %g and %g", name, (long long)e, (double)x[e], (double)y[e]);
        strided += !pcti_weight_is_dense(&weights->tensors[index]);
        compared++;
        free(x);
        free(y);
    }
    print_message("%zu tensors compared, %zu of them not contiguous; the file has %zu\n", compared, strided,
                  pct_weights_count(weights));
    assert_true(compared > 200 && strided > 40);
    pct_weights_close(weights);
    pct_weights_close(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_dict),    cmocka_unit_test(test_views),
        cmocka_unit_test(test_dtypes),        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_evil),          cmocka_unit_test(test_zip_refusals),
        cmocka_unit_test(test_zip64),         cmocka_unit_test(test_old_cut),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_efficientnet_lite0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
