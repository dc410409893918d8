/* Every truncation and many byte changes of small files: an error or a file whose tensors can be read, never a crash.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "import_test.h"

static const char *const files[] = {
    "state.old.pth",      "state.zip.pth",      "views.old.pth",       "views.zip.pth",       "dtypes.old.pth",
    "checkpoint.old.pth", "checkpoint.zip.pth", "evil_system.old.pth", "evil_system.zip.pth", "protocol4.old.pth",
};

/* Opens and, if that works, touches the first and the last elements of every tensor. */
static pct_status try_bytes(const unsigned char *bytes, size_t count)
{
    enum { MOST = 256 };
    pct_weights weights;
    float values[MOST];
    int64_t integers[MOST];
    pct_status status = open_bytes(bytes, count, &weights);
    if (status != PCT_OK && !strstr(pct_error_message(), "memory: "))
        fail_msg("no file in '%s'", pct_error_message());
    for (size_t i = 0; status == PCT_OK && i < pct_weights_count(&weights); i++) {
        int64_t elems = weights.tensors[i].elems, part = elems < MOST ? elems : MOST;
        size_t index;
        assert_int_equal(pct_weights_find(&weights, pct_weights_name(&weights, i), &index), PCT_OK);
        assert_int_equal(index, i);
        pct_weights_read_f32(&weights, i, 0, part, values);
        pct_weights_read_f32(&weights, i, elems - part, part, values);
        pct_weights_read_i64(&weights, i, elems - part, part, integers);
        const float *pointer = pct_weights_pointer(&weights, i);
        if (pointer) values[0] = pointer[0] + pointer[elems - 1];
    }
    close_bytes(&weights);
    return status;
}

static void check_truncations(const unsigned char *bytes, size_t count)
{
    for (size_t cut = 0; cut < count; cut++)
        if (try_bytes(bytes, cut) == PCT_OK) fail_msg("accepted %zu of %zu bytes", cut, count);
}

static void check_changes(unsigned char *bytes, size_t count)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    for (size_t at = 0; at < count; at++) {
        unsigned char good = bytes[at];
        for (size_t f = 0; f < sizeof flips; f++) {
            bytes[at] = good ^ flips[f];
            try_bytes(bytes, count);
        }
        bytes[at] = good;
    }
}

static void test_torch_files(void **state)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t count;
        unsigned char *bytes = load_data(files[i], &count);
        check_truncations(bytes, count);
        check_changes(bytes, count);
        free(bytes);
    }
}

static void test_safetensors(void **state)
{
    char path[] = "weights-XXXXXX";
    close(mkstemp(path));
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    const pct_named_tensor tensors[] = {{"conv.weight", {PCT_F32, 2, {2, 3}}, values},
                                        {"labels", {PCT_U8, 1, {3}}, values},
                                        {"empty", {PCT_I64, 1, {0}}, NULL}};
    const pct_text_pair metadata[] = {{"format", "\n\xc3\xa9"}};
    pcti_file file;
    assert_int_equal(pct_safetensors_write(path, tensors, 3, metadata, 1), PCT_OK);
    assert_int_equal(pcti_file_map(path, &file), PCT_OK);
    unsigned char *bytes = malloc(file.bytes);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.bytes);
    assert_int_equal(try_bytes(bytes, file.bytes), PCT_OK);
    check_truncations(bytes, file.bytes);
    check_changes(bytes, file.bytes);
    free(bytes);
    pcti_file_unmap(&file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_torch_files), cmocka_unit_test(test_safetensors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
