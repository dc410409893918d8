/* Rows and their forms. */
#include "common.h"

#include <cjson/cJSON.h>

#include "prof/json.h"

static pcti_results *some_results(void) {
    pcti_results *results;
    assert_ok(pcti_results_create(&results));
    pcti_row row = full_row("vgg16", 40.25);
    pcti_row_add_number(&row, "roofline_share", 0.625, false);
    assert_ok(pcti_results_add(results, &row));

    row = full_row("4096", 0.125);
    row.suite = "transfer";
    row.gflops = row.items_per_s = NAN;
    row.batch = row.size = 0;
    pcti_row_add_text(&row, "direction", "upload", true);
    pcti_row_add_number(&row, "bytes", 4096, true);
    pcti_row_add_missing(&row, "gflops", "nothing is computed");
    assert_ok(pcti_results_add(results, &row));

    pcti_row_init(&row);
    row.suite = "infer";
    row.test = "odd, \"name\"\n'; DROP TABLE pct_results; --\x01|\xff\xc3\xa9";
    row.backend = "cpu";
    row.status = PCTI_ROW_SKIPPED;
    row.reason = "needs 822083584 bytes, 268435456 allowed";
    assert_ok(pcti_results_add(results, &row));
    return results;
}

static char *text_of(const pcti_results *results, pct_format format) {
    char *text;
    assert_ok(pcti_results_text(results, format, &text));
    return text;
}

static double number_at(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item)) fail_msg("%s is no number", name);
    return item->valuedouble;
}

static void json_has_the_promised_fields(void **state) {
    static const char *const names[] = {"suite",
                                        "test",
                                        "batch",
                                        "size",
                                        "backend",
                                        "platform",
                                        "device",
                                        "driver",
                                        "threads",
                                        "impl",
                                        "status",
                                        "reason",
                                        "first_ms",
                                        "wall_ms",
                                        "kernel_ms",
                                        "upload_ms",
                                        "download_ms",
                                        "overlap_ms",
                                        "host_ms",
                                        "items_per_s",
                                        "gflops",
                                        "gbytes_per_s",
                                        "peak_memory_bytes",
                                        "max_error"};
    static const char *const wall_names[] = {"median", "min", "p95", "stddev", "runs"};
    pcti_results *results = some_results();
    char *text = text_of(results, PCT_FORMAT_JSON);
    cJSON *root = cJSON_Parse(text), *row;
    assert_non_null(root);
    assert_true(number_at(root, "format") == 1);
    assert_string_equal(cJSON_GetObjectItem(root, "version")->valuestring, pct_version());
    assert_string_equal(cJSON_GetObjectItem(root, "commit")->valuestring, pct_commit());
    assert_true(cJSON_IsObject(cJSON_GetObjectItem(root, "machine")));
    cJSON *rows = cJSON_GetObjectItem(root, "results");
    assert_int_equal(cJSON_GetArraySize(rows), 3);
    cJSON_ArrayForEach(row, rows) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!cJSON_HasObjectItem(row, names[i])) fail_msg("%s is missing", names[i]);
        for (size_t i = 0; i < sizeof wall_names / sizeof *wall_names; i++)
            assert_true(cJSON_HasObjectItem(cJSON_GetObjectItem(row, "wall_ms"), wall_names[i]));
    }
    cJSON *first = cJSON_GetArrayItem(rows, 0), *second = cJSON_GetArrayItem(rows, 1),
          *third = cJSON_GetArrayItem(rows, 2);
    assert_true(number_at(first, "peak_memory_bytes") == 553430176);
    assert_true(number_at(first, "roofline_share") == 0.625);
    assert_true(number_at(cJSON_GetObjectItem(first, "wall_ms"), "median") == 40.25);
    assert_true(number_at(cJSON_GetObjectItem(first, "wall_ms"), "runs") == 20);
    assert_near(number_at(first, "gbytes_per_s"), 1.0 / 3, 1e-9);
    assert_near(number_at(first, "max_error"), 3e-7, 1e-15);
    assert_string_equal(cJSON_GetObjectItem(first, "status")->valuestring, "ok");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(first, "reason")));
    assert_string_equal(cJSON_GetObjectItem(second, "direction")->valuestring, "upload");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(second, "key_fields")), 2);
    assert_string_equal(cJSON_GetObjectItem(third, "status")->valuestring, "skipped");
    cJSON_Delete(root);
    pcti_free(text);
    pcti_results_destroy(results);
}

/* null with a reason, never nan or inf. */
static void every_null_has_a_reason(void **state) {
    pcti_results *results = some_results();
    pcti_row row = full_row("odd figures", 3);
    row.kernel_ms = INFINITY;
    row.host_ms = -INFINITY;
    row.first_ms = NAN;
    row.wall.stddev = NAN;
    pcti_row_add_number(&row, "tolerance", NAN, false);
    row.kernel_ms = NAN;
    assert_ok(pcti_results_add(results, &row));
    char *text = text_of(results, PCT_FORMAT_JSON);
    cJSON *root = cJSON_Parse(text), *item, *member;
    assert_non_null(root);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "results")) {
        const cJSON *missing = cJSON_GetObjectItem(item, "missing");
        bool ok = !strcmp(cJSON_GetObjectItem(item, "status")->valuestring, "ok");
        if (!ok) assert_true(cJSON_IsString(cJSON_GetObjectItem(item, "reason")));
        cJSON_ArrayForEach(member, item) {
            if (!ok || !cJSON_IsNull(member) || !strcmp(member->string, "reason")) continue;
            if (!cJSON_IsString(cJSON_GetObjectItem(missing, member->string)))
                fail_msg("%s is null without a reason", member->string);
        }
    }
    cJSON *last = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "results"), 3);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(last, "host_ms")));
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(last, "missing"), "wall_ms")->valuestring,
                        "not measured");
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(last, "missing"), "tolerance")->valuestring,
                        "not measured");
    cJSON *transfer = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "results"), 1);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(transfer, "missing"), "gflops")->valuestring,
                        "nothing is computed");
    cJSON_Delete(root);
    pcti_free(text);
    pcti_results_destroy(results);
}

static void rows_are_judged(void **state) {
    pcti_results *results;
    assert_ok(pcti_results_create(&results));
    pcti_row row = full_row("not verified", 3);
    row.max_error = NAN;
    assert_ok(pcti_results_add(results, &row));
    assert_int_equal(results->rows[0].status, PCTI_ROW_WRONG);
    assert_contains(results->rows[0].reason, "not verified");
    row = full_row("not waited for", 0.03); /* known fault 71 */
    row.kernel_ms = 1.36;
    assert_ok(pcti_results_add(results, &row));
    assert_int_equal(results->rows[1].status, PCTI_ROW_FAILED);
    row = full_row("no reason", 3);
    row.status = PCTI_ROW_TIMEOUT;
    assert_int_equal(pcti_results_add(results, &row), PCT_ERROR_ARGUMENT);
    row = full_row("clash", 3);
    pcti_row_add_number(&row, "kernel_ms", 1, false);
    assert_int_equal(pcti_results_add(results, &row), PCT_ERROR_ARGUMENT);
    row = full_row("twice", 3);
    pcti_row_add_number(&row, "tolerance", 1, false);
    pcti_row_add_number(&row, "tolerance", 1, false);
    assert_int_equal(pcti_results_add(results, &row), PCT_ERROR_ARGUMENT);
    row = full_row("full", 3);
    for (int i = 0; i <= PCTI_ROW_EXTRAS; i++) pcti_row_add_number(&row, "x", 1, false);
    assert_int_equal(pcti_results_add(results, &row), PCT_ERROR_ARGUMENT);
    row.suite = NULL;
    assert_int_equal(pcti_results_add(results, &row), PCT_ERROR_ARGUMENT);
    assert_int_equal(results->count, 2);
    pcti_results_destroy(results);
    pcti_results_destroy(NULL);
}

static void openblas_coretype_is_named_in_every_result(void **state) {
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    pcti_results *results = some_results();
    unsetenv("OPENBLAS_CORETYPE");
    for (size_t i = 0; i < results->count; i++)
        assert_string_equal(pcti_row_extra(&results->rows[i], "openblas_coretype")->text, "Haswell");
    char *table = text_of(results, PCT_FORMAT_TABLE);
    assert_contains(table, "OPENBLAS_CORETYPE=Haswell");
    pcti_free(table);
    pcti_results_destroy(results);
}

static void table_and_markdown(void **state) {
    pcti_results *results = some_results();
    char *table = text_of(results, PCT_FORMAT_TABLE), *markdown = text_of(results, PCT_FORMAT_MARKDOWN);
    assert_contains(table, "infer: opencl, Some platform, Some device, 1.5, 2 threads\n");
    assert_contains(table, "40.3 ms");
    assert_contains(table, "125 us");
    assert_contains(table, "812 ms");
    assert_contains(table, "needs 822083584 bytes");
    assert_contains(markdown, "| vgg16 | 8 | 224 | winograd_4x4_3x3 | ok | 40.3 ms |");
    assert_contains(markdown, "\\|");
    for (const char *c = table; *c; c++) assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
    /* Every line of a table has its columns at the same place. */
    const char *title = strstr(table, "\ntest") + 1, *line = strchr(title, '\n') + 1;
    long at = strstr(title, "status") - title;
    assert_memory_equal(line + at, "ok", 2);
    pcti_free(table);
    pcti_free(markdown);
    pcti_results_destroy(results);
}

/* Splits RFC 4180 text in place into fields; returns the fields of one record and moves *at behind it. */
static size_t csv_record(char **at, char **fields, size_t room) {
    size_t count = 0;
    char *in = *at;
    for (;;) {
        assert_true(count < room);
        char *out = fields[count++] = in, end;
        if (*in == '"')
            for (in++;; in++) {
                if (*in == '"' && in[1] == '"')
                    in++;
                else if (*in == '"')
                    break;
                *out++ = *in;
            }
        in += *in == '"';
        while (*in != ',' && *in != '\n') *out++ = *in++;
        end = *in++;
        *out = 0;
        if (end == '\n') break;
    }
    *at = in;
    return count;
}

static void csv_is_quoted(void **state) {
    pcti_results *results = some_results();
    char *csv = text_of(results, PCT_FORMAT_CSV), *at = csv, *titles[64], *fields[64];
    size_t columns = csv_record(&at, titles, 64);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(csv_record(&at, fields, 64), columns);
        for (size_t i = 0; i < columns; i++) {
            if (!strcmp(titles[i], "test"))
                assert_string_equal(
                    fields[i], r == 0 ? "vgg16"
                               : r == 1
                                   ? "4096"
                                   : "odd, \"name\"\n'; DROP TABLE pct_results; --\x01|\xef\xbf\xbd\xc3\xa9");
            if (!strcmp(titles[i], "wall_ms_median"))
                assert_string_equal(fields[i], r == 0 ? "40.25" : r == 1 ? "0.125" : "");
            if (!strcmp(titles[i], "direction")) assert_string_equal(fields[i], r == 1 ? "upload" : "");
            if (!strcmp(titles[i], "version")) assert_string_equal(fields[i], pct_version());
        }
    }
    assert_string_equal(at, "");
    pcti_free(csv);
    pcti_results_destroy(results);
}

static void sql_is_quoted(void **state) {
    pcti_results *results = some_results();
    char *sql = text_of(results, PCT_FORMAT_SQL);
    assert_contains(sql, "CREATE TABLE IF NOT EXISTS pct_results (suite TEXT, test TEXT, batch INTEGER,");
    assert_contains(sql, "'odd, \"name\"\n''; DROP TABLE pct_results; --\x01|\xef\xbf\xbd\xc3\xa9'");
    assert_contains(sql, "{\"roofline_share\": 0.625}");
    if (system("sqlite3 --version >/dev/null 2>&1")) {
        print_message("no sqlite3 here: the statements were not executed\n");
    } else {
        char path[] = "prof_results_XXXXXX.sql", command[128], answer[64];
        int fd = mkstemps(path, 4);
        assert_true(fd >= 0);
        FILE *file = fdopen(fd, "w");
        fputs(sql, file);
        fputs(sql, file); /* a second run goes into the same table */
        fputs("SELECT count(*), sum(batch), sum(length(extras) > 1), max(wall_ms_median) FROM pct_results;\n",
              file);
        fclose(file);
        snprintf(command, sizeof command, "sqlite3 -batch -bail < %s", path);
        FILE *pipe = popen(command, "r");
        assert_non_null(fgets(answer, sizeof answer, pipe));
        assert_int_equal(pclose(pipe), 0);
        remove(path);
        assert_string_equal(answer, "6|16|6|40.25\n");
    }
    pcti_free(sql);
    pcti_results_destroy(results);
}

static void numbers_and_texts_in_json(void **state) {
    const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {0.1, "0.1"},
                 {1.0 / 3, "0.333333333"},
                 {-2.5, "-2.5"},
                 {553430176, "553430176"},
                 {9007199254740991.0, "9007199254740991"},
                 {1e300, "1e+300"},
                 {3e-7, "3e-07"},
                 {NAN, "null"},
                 {INFINITY, "null"},
                 {-INFINITY, "null"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pcti_text text = {0};
        pcti_json_number(&(pcti_json){.text = &text}, NULL, cases[i].value);
        assert_string_equal(text.data, cases[i].text);
        pcti_text_free(&text);
    }
    pcti_text text = {0};
    pcti_json json = {.text = &text};
    pcti_json_open(&json, NULL, '{');
    pcti_json_string(&json, "a\"b",
                     "\\ \n\t\x01\x7f \xc3\xa9 \xf0\x9f\x98\x80 \xc0\xaf \xed\xa0\x80 \xf5 \xe2\x82");
    pcti_json_bool(&json, "yes", true);
    pcti_json_open(&json, "empty", '[');
    pcti_json_close(&json, ']');
    pcti_json_string(&json, "none", NULL);
    pcti_json_close(&json, '}');
#define BAD "\xef\xbf\xbd"
    assert_string_equal(
        text.data, "{\"a\\\"b\": \"\\\\ \\n\\t\\u0001\\u007f \xc3\xa9 \xf0\x9f\x98\x80 " BAD BAD
                   " " BAD BAD BAD " " BAD " " BAD BAD "\", \"yes\": true, \"empty\": [], \"none\": null}");
    pcti_text_free(&text);
}

static void allocation_failures_are_reported(void **state) {
    pcti_results *results = some_results();
    const pct_format formats[] = {PCT_FORMAT_TABLE, PCT_FORMAT_MARKDOWN, PCT_FORMAT_CSV, PCT_FORMAT_JSON,
                                  PCT_FORMAT_SQL};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        uint64_t before = pcti_memory_allocations();
        pcti_free(text_of(results, formats[f]));
        uint64_t needed = pcti_memory_allocations() - before;
        for (uint64_t nth = 1; nth <= needed; nth++) {
            char *text;
            pcti_memory_fail_at(nth);
            assert_int_equal(pcti_results_text(results, formats[f], &text), PCT_ERROR_MEMORY);
            assert_null(text);
        }
    }
    pcti_row row = full_row("more", 1);
    pcti_row_add_text(&row, "direction", "upload", true);
    for (uint64_t nth = 1; nth <= 8; nth++) {
        pcti_memory_fail_at(nth);
        assert_int_equal(pcti_results_add(results, &row), PCT_ERROR_MEMORY);
        assert_int_equal(results->count, 3);
    }
    pcti_memory_fail_at(0);
    char *text;
    assert_int_equal(pcti_results_text(results, PCT_FORMAT_TRACE, &text), PCT_ERROR_ARGUMENT);
    pcti_results_destroy(results);
}

static void names_are_parsed(void **state) {
    pct_format format;
    pcti_row_status status;
    assert_true(pcti_format_parse("md", &format) && format == PCT_FORMAT_MARKDOWN);
    assert_true(pcti_format_parse("sql", &format) && format == PCT_FORMAT_SQL);
    assert_false(pcti_format_parse("xml", &format) || pcti_format_parse("", &format));
    for (int i = 0; i < PCTI_ROW_STATUSES; i++)
        assert_true(pcti_row_status_parse(pcti_row_status_name((pcti_row_status)i), &status) &&
                    (int)status == i);
    assert_false(pcti_row_status_parse("fine", &status));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(json_has_the_promised_fields),
                                       cmocka_unit_test(every_null_has_a_reason),
                                       cmocka_unit_test(rows_are_judged),
                                       cmocka_unit_test(openblas_coretype_is_named_in_every_result),
                                       cmocka_unit_test(table_and_markdown),
                                       cmocka_unit_test(csv_is_quoted),
                                       cmocka_unit_test(sql_is_quoted),
                                       cmocka_unit_test(numbers_and_texts_in_json),
                                       cmocka_unit_test(allocation_failures_are_reported),
                                       cmocka_unit_test(names_are_parsed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
