/* Result files: what is written is read, what is broken is named. */
#include "common.h"

static const char path[] = "prof_read.json";

static void written_is_read(void **state) {
    pcti_results *results, *again;
    char *text, *text_again;
    assert_ok(pcti_results_create(&results));
    snprintf(results->machine.openblas_coretype, sizeof results->machine.openblas_coretype, "Haswell");
    pcti_row row = full_row("vgg16", 40.123456);
    pcti_row_add_text(&row, "shape", "1x64x56x56", true);
    pcti_row_add_number(&row, "bytes", 268435456, true);
    pcti_row_add_number(&row, "roofline_share", 0.5, false);
    pcti_row_add_number(&row, "tolerance", NAN, false);
    assert_ok(pcti_results_add(results, &row));
    pcti_row_init(&row);
    row.suite = "launch";
    row.test = "empty \"kernel\" \xc3\xa9\n";
    row.backend = "cpu";
    row.status = PCTI_ROW_TIMEOUT;
    row.reason = "no answer within 10 s";
    assert_ok(pcti_results_add(results, &row));

    assert_ok(pcti_results_text(results, PCT_FORMAT_JSON, &text));
    write_file(path, text);
    assert_ok(pcti_results_read(path, &again));
    assert_string_equal(again->version, results->version);
    assert_string_equal(again->commit, results->commit);
    assert_string_equal(again->machine.cpu, results->machine.cpu);
    assert_string_equal(again->machine.isa, results->machine.isa);
    assert_int_equal(again->machine.logical_cores, results->machine.logical_cores);
    assert_true(again->machine.memory_bytes == results->machine.memory_bytes);
    assert_int_equal(again->count, 2);
    for (size_t r = 0; r < 2; r++) {
        const pcti_row *a = &results->rows[r], *b = &again->rows[r];
        assert_int_equal(a->status, b->status);
        assert_int_equal(a->wall.runs, b->wall.runs);
        for (size_t i = 0; i < pcti_column_count; i++) {
            const pcti_column *column = &pcti_columns[i];
            if (column->kind == PCTI_COLUMN_TEXT) {
                const char *x = pcti_row_text(a, column), *y = pcti_row_text(b, column);
                assert_int_equal(!x, !y);
                if (x) assert_string_equal(x, y);
            } else if (column->kind != PCTI_COLUMN_STATUS) {
                double x = pcti_row_figure(a, column), y = pcti_row_figure(b, column);
                assert_int_equal(isnan(x), isnan(y));
                if (!isnan(x)) assert_near(y, x, fabs(x) * 1e-8);
            }
        }
        assert_int_equal(a->extra_count, b->extra_count);
        for (size_t i = 0; i < a->extra_count; i++) {
            assert_string_equal(a->extras[i].name, b->extras[i].name);
            assert_int_equal(a->extras[i].key, b->extras[i].key);
            assert_int_equal(!a->extras[i].text, !b->extras[i].text);
        }
    }
    assert_ok(pcti_results_text(again, PCT_FORMAT_JSON, &text_again));
    assert_string_equal(text_again, text);
    pcti_free(text);
    pcti_free(text_again);
    pcti_results_destroy(results);
    pcti_results_destroy(again);
    remove(path);
}

#define ROW_START "{\"suite\":\"s\",\"test\":\"t\",\"backend\":\"cpu\",\"status\":\"ok\","
#define FILE_OF(rows)                                                                                        \
    "{\"format\":1,\"version\":\"1\",\"commit\":\"c\",\"machine\":{},\"results\":[" rows "]}"

static void broken_files_are_named(void **state) {
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "prof_read.json:1:1: not valid JSON: the file is empty"},
        {"{\"format\":1,\n \"results\":[nan]}", "prof_read.json:2:"},
        {FILE_OF("") " x", "prof_read.json:1:"},
        {"{\"format\":1,\"results\":[", "not valid JSON"},
        {"[]", "an object expected"},
        {"{\"results\":[]}", "format: a number expected"},
        {"{\"format\":\"1\"}", "format: a number or null expected"},
        {"{\"format\":2,\"machine\":{},\"results\":[]}", "results of format 2, this program reads format 1"},
        {"{\"format\":1,\"results\":[]}", "machine: an object expected"},
        {"{\"format\":1,\"machine\":{\"cpu\":5},\"results\":[]}", "machine.cpu: a text or null expected"},
        {"{\"format\":1,\"machine\":{}}", "results: an array expected"},
        {FILE_OF("5"), "results[0]: an object expected"},
        {FILE_OF("{\"suite\":\"s\"}"), "results[0].test: a text expected"},
        {FILE_OF("{\"suite\":\"s\",\"test\":\"t\",\"backend\":\"cpu\",\"status\":\"fine\"}"),
         "results[0].status: ok, wrong"},
        {FILE_OF(ROW_START "\"wall_ms\":{\"median\":\"fast\"}}"),
         "results[0].wall_ms.median: a number or null expected"},
        {FILE_OF(ROW_START "\"wall_ms\":5}"), "results[0].wall_ms: an object expected"},
        {FILE_OF(ROW_START "\"wall_ms\":{}}," ROW_START "\"wall_ms\":{},\"batch\":-1}"),
         "results[1].batch: a count or null"},
        {FILE_OF(ROW_START "\"wall_ms\":{},\"gflops\":1e999}"),
         "results[0].gflops: a number or null expected"},
        {FILE_OF(ROW_START "\"wall_ms\":{},\"device\":[]}"), "results[0].device: a text or null expected"},
        {FILE_OF(ROW_START "\"wall_ms\":{},\"missing\":[1]}"), "results[0].missing: an object of texts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pcti_results *results = (pcti_results *)1;
        write_file(path, cases[i].text);
        assert_int_equal(pcti_results_read(path, &results), PCT_ERROR_FORMAT);
        assert_null(results);
        assert_contains(pct_error_message(), path);
        assert_contains(pct_error_message(), cases[i].part);
    }
    pcti_results *results;
    remove(path);
    assert_true(pcti_results_read(path, &results) != PCT_OK);
    assert_contains(pct_error_message(), path);
}

static void unknown_members_do_no_harm(void **state) {
    pcti_results *results;
    write_file(
        path,
        FILE_OF(ROW_START
                "\"wall_ms\":{\"median\":5,\"q1\":4},\"later\":{\"a\":[1]},\"flagged\":true,\"x\":0.5}"));
    assert_ok(pcti_results_read(path, &results));
    assert_int_equal(results->count, 1);
    assert_true(results->rows[0].wall.median == 5);
    assert_int_equal(results->rows[0].extra_count, 1);
    assert_true(pcti_row_extra(&results->rows[0], "x")->number == 0.5);
    pcti_results_destroy(results);
    remove(path);
}

/* Every prefix of a good file is an error, never a crash. */
static void truncated_files_are_errors(void **state) {
    pcti_results *results;
    char *text;
    assert_ok(pcti_results_create(&results));
    pcti_row row = full_row("vgg16", 40);
    assert_ok(pcti_results_add(results, &row));
    assert_ok(pcti_results_text(results, PCT_FORMAT_JSON, &text));
    pcti_results_destroy(results);
    for (size_t length = 0; length + 1 < strlen(text); length += 7) {
        assert_ok(pcti_file_replace(path, text, length));
        assert_int_equal(pcti_results_read(path, &results), PCT_ERROR_FORMAT);
    }
    for (uint64_t nth = 1; nth <= 12; nth++) {
        write_file(path, text);
        pcti_memory_fail_at(nth);
        assert_int_equal(pcti_results_read(path, &results), PCT_ERROR_MEMORY);
        pcti_memory_fail_at(0);
    }
    pcti_free(text);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_is_read), cmocka_unit_test(broken_files_are_named),
        cmocka_unit_test(unknown_members_do_no_harm), cmocka_unit_test(truncated_files_are_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
