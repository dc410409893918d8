/* tools/common: exit codes, numbers and words of the command line, files of class names. */
#include "run_tool.h"

#include "common/labels.h"
#include "common/options.h"
#include "common/tool.h"

static void test_exit_codes(void **state)
{
    assert_int_equal(tool_exit_code(PCT_OK, TOOL_INPUT), 0);
    assert_int_equal(tool_exit_code(PCT_ERROR_ARGUMENT, TOOL_INPUT), 2);
    assert_int_equal(tool_exit_code(PCT_ERROR_FORMAT, TOOL_DEVICE), 3);
    assert_int_equal(tool_exit_code(PCT_ERROR_MEMORY, TOOL_USAGE), 4);
    assert_int_equal(tool_exit_code(PCT_ERROR_DEVICE, TOOL_USAGE), 4);
    assert_int_equal(tool_exit_code(PCT_ERROR_NOT_FOUND, TOOL_USAGE), 2);
    assert_int_equal(tool_exit_code(PCT_ERROR_NOT_FOUND, TOOL_INPUT), 3);
    assert_int_equal(tool_exit_code(PCT_ERROR_IO, TOOL_DEVICE), 4);
    assert_int_equal(tool_exit_code(PCT_ERROR_UNSUPPORTED, TOOL_DEVICE), 4);
    assert_int_equal(tool_exit_code(PCT_ERROR_INTERRUPTED, TOOL_DEVICE), 130);
}

static void test_numbers(void **state)
{
    static const char *const bad[] = {"", "0", "11", "1x", " 1", "+1", "-1", "1.0", "1e0", "99999999999999999999"};
    int64_t value;
    assert_ok(tool_parse_int("1", 1, 10, &value));
    assert_int_equal(value, 1);
    assert_ok(tool_parse_int("10", 1, 10, &value));
    assert_int_equal(value, 10);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (tool_parse_int(bad[i], 1, 10, &value) != PCT_ERROR_ARGUMENT) fail_msg("\"%s\" was taken", bad[i]);
        assert_contains(pct_error_message(), "from 1 to 10");
    }
}

static void test_words(void **state)
{
    static const char *const words[] = {"low", "fast", NULL};
    int index;
    assert_ok(tool_parse_word("fast", words, &index));
    assert_int_equal(index, 1);
    assert_int_equal(tool_parse_word("fas", words, &index), PCT_ERROR_ARGUMENT);
    assert_contains(pct_error_message(), "low, fast");
}

static tool_labels *labels_of(const char *text, size_t bytes)
{
    tool_labels *labels;
    write_scratch("labels.txt", text, bytes);
    assert_ok(tool_labels_read(in_scratch("labels.txt"), &labels));
    return labels;
}

static void test_labels(void **state)
{
    static const char *const texts[] = {"tench\ngreat grey owl\n\nd\xc3\xa9j\xc3\xa0\n",
                                        "\xef\xbb\xbftench\r\ngreat grey owl\r\n\r\nd\xc3\xa9j\xc3\xa0"};
    for (size_t i = 0; i < 2; i++) {
        tool_labels *labels = labels_of(texts[i], strlen(texts[i]));
        assert_int_equal(labels->count, 4);
        assert_string_equal(labels->names[0], "tench");
        assert_string_equal(labels->names[1], "great grey owl");
        assert_string_equal(labels->names[2], "");
        assert_string_equal(labels->names[3], "d\xc3\xa9j\xc3\xa0");
        tool_labels_free(labels);
    }
}

static void test_bad_labels(void **state)
{
    tool_labels *labels;
    const char *path = in_scratch("labels.txt");
    write_scratch("labels.txt", "", 0);
    assert_int_equal(tool_labels_read(path, &labels), PCT_ERROR_FORMAT);
    assert_null(labels);
    write_scratch("labels.txt", "a\nb\0c\n", 6);
    assert_int_equal(tool_labels_read(path, &labels), PCT_ERROR_FORMAT);
    assert_contains(pct_error_message(), "labels.txt:2: a zero byte");
    write_scratch("labels.txt", "a\nb\n\xe9t\xe9\n", 8);
    assert_int_equal(tool_labels_read(path, &labels), PCT_ERROR_FORMAT);
    assert_contains(pct_error_message(), "labels.txt:3: not UTF-8");
    assert_int_equal(tool_labels_read(in_scratch("none.txt"), &labels), PCT_ERROR_NOT_FOUND);
    assert_contains(pct_error_message(), "none.txt");
    assert_int_equal(tool_labels_read(scratch, &labels), PCT_ERROR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exit_codes), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_words), cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_bad_labels)};
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
