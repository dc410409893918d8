/* Result files side by side. */
#include "common.h"

#include <cjson/cJSON.h>

#include "prof/compare.h"

static const char *const paths[] = {"a.json", "b.json", "c.json"};

static pcti_results *results_of(const pcti_row *rows, size_t count) {
    pcti_results *results;
    assert_ok(pcti_results_create(&results));
    for (size_t i = 0; i < count; i++) assert_ok(pcti_results_add(results, &rows[i]));
    return results;
}

/* Compares two rows and returns the second one's cell; counts the regressions. */
static pcti_compare_cell compare_rows(const pcti_row *a, const pcti_row *b, double tolerance,
                                      size_t *regressions) {
    pcti_results *first = results_of(a, 1), *second = results_of(b, 1);
    pcti_comparison *comparison;
    assert_ok(pcti_compare((const pcti_results *[]){first, second}, paths, 2, tolerance, &comparison));
    assert_int_equal(comparison->lines, 1);
    pcti_compare_cell cell = comparison->cells[1];
    *regressions = comparison->regressions;
    pcti_comparison_destroy(comparison);
    pcti_results_destroy(first);
    pcti_results_destroy(second);
    return cell;
}

static void times_are_judged_with_their_spread(void **state) {
    const struct {
        double median, stddev;
        int64_t runs;
        double tolerance;
        pcti_verdict verdict;
    } cases[] = {
        {100, 1, 20, 0.05, PCTI_VERDICT_SAME},     {104.9, 1, 20, 0.05, PCTI_VERDICT_SAME},
        {106, 1, 20, 0.05, PCTI_VERDICT_SLOWER},   {94, 1, 20, 0.05, PCTI_VERDICT_FASTER},
        {106, 1, 20, 0.10, PCTI_VERDICT_SAME},     {101.5, 0.1, 20, 0.01, PCTI_VERDICT_SLOWER},
        {106, 20, 20, 0.05, PCTI_VERDICT_NOISE}, /* 2 * 1.2533 * 20 / sqrt(20) = 11.2 */
        {94, 20, 20, 0.05, PCTI_VERDICT_NOISE},    {112, 20, 20, 0.05, PCTI_VERDICT_SLOWER},
        {106, 20, 400, 0.05, PCTI_VERDICT_SLOWER}, /* more runs: 2.5 */
        {106, 0, 1, 0.05, PCTI_VERDICT_SLOWER},    {200, NAN, 20, 0.05, PCTI_VERDICT_SLOWER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pcti_row a = full_row("vgg16", 100), b = full_row("vgg16", cases[i].median);
        a.wall.stddev = 0;
        b.wall.stddev = cases[i].stddev;
        b.wall.runs = cases[i].runs;
        b.driver = "1.6"; /* a baseline survives a driver update */
        size_t regressions;
        pcti_compare_cell cell = compare_rows(&a, &b, cases[i].tolerance, &regressions);
        if (cell.verdict != cases[i].verdict) fail_msg("case %zu: %s", i, pcti_verdict_name(cell.verdict));
        assert_near(cell.ratio, cases[i].median / 100, 1e-12);
        assert_int_equal(regressions, cases[i].verdict == PCTI_VERDICT_SLOWER);
        assert_false(cell.elsewhere);
    }
}

static void states_are_judged(void **state) {
    const struct {
        pcti_row_status before, after;
        pcti_verdict verdict;
        size_t regressions;
    } cases[] = {{PCTI_ROW_OK, PCTI_ROW_WRONG, PCTI_VERDICT_BROKEN, 1},
                 {PCTI_ROW_OK, PCTI_ROW_FAILED, PCTI_VERDICT_BROKEN, 1},
                 {PCTI_ROW_OK, PCTI_ROW_TIMEOUT, PCTI_VERDICT_BROKEN, 1},
                 {PCTI_ROW_OK, PCTI_ROW_SKIPPED, PCTI_VERDICT_SKIPPED, 0},
                 {PCTI_ROW_WRONG, PCTI_ROW_OK, PCTI_VERDICT_FIXED, 0},
                 {PCTI_ROW_WRONG, PCTI_ROW_FAILED, PCTI_VERDICT_NONE, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pcti_row a = full_row("vgg16", 100), b = full_row("vgg16", 10); /* fast and wrong is not better */
        size_t regressions;
        a.status = cases[i].before;
        b.status = cases[i].after;
        a.reason = b.reason = "some reason";
        pcti_compare_cell cell = compare_rows(&a, &b, 0.05, &regressions);
        assert_int_equal(cell.verdict, cases[i].verdict);
        assert_int_equal(regressions, cases[i].regressions);
        assert_true(isnan(cell.ratio));
    }
}

static void rates_stand_in_for_times(void **state) {
    pcti_row a = full_row("peak", 1), b = full_row("peak", 1);
    size_t regressions;
    a.wall.median = b.wall.median = a.items_per_s = NAN;
    a.gflops = 500;
    b.gflops = 400;
    pcti_compare_cell cell = compare_rows(&a, &b, 0.05, &regressions);
    assert_near(cell.ratio, 1.25, 1e-12);
    assert_int_equal(cell.verdict, PCTI_VERDICT_SLOWER);
    b.gflops = a.gbytes_per_s = NAN;
    cell = compare_rows(&a, &b, 0.05, &regressions);
    assert_int_equal(cell.verdict, PCTI_VERDICT_NONE);
    assert_true(isnan(cell.ratio));
}

static void partners_are_found(void **state) {
    enum { N = 7 };
    pcti_row a[N], b[N];
    for (int i = 0; i < N; i++) a[i] = b[i] = full_row("t", 100 + i);
    /* Two implementations side by side keep apart, whatever the order. */
    a[0].impl = b[1].impl = "direct";
    a[1].impl = b[0].impl = "gemm";
    /* Key extras tell rows apart, others do not. */
    a[2].test = a[3].test = b[2].test = b[3].test = "copy";
    pcti_row_add_text(&a[2], "direction", "upload", true);
    pcti_row_add_text(&a[3], "direction", "download", true);
    pcti_row_add_text(&b[2], "direction", "download", true);
    pcti_row_add_text(&b[3], "direction", "upload", true);
    pcti_row_add_number(&b[3], "roofline_share", 0.5, false);
    /* Another implementation, another platform, another device. */
    a[4].test = b[4].test = "impl";
    b[4].impl = "new";
    a[5].test = b[5].test = "platform";
    b[5].platform = "Other";
    a[6].test = b[6].test = "device";
    b[6].device = "Other";
    b[6].wall.median = 500;
    pcti_results *first = results_of(a, N), *second = results_of(b, N);
    pcti_comparison *comparison;
    assert_ok(pcti_compare((const pcti_results *[]){first, second}, paths, 2, 0.05, &comparison));
    assert_int_equal(comparison->lines, N);
    const int partner[N] = {1, 0, 3, 2, 4, 5, 6};
    for (int i = 0; i < N; i++) {
        assert_ptr_equal(comparison->cells[2 * i].row, &first->rows[i]);
        assert_ptr_equal(comparison->cells[2 * i + 1].row, &second->rows[partner[i]]);
        assert_int_equal(comparison->cells[2 * i + 1].elsewhere, i == 6);
    }
    assert_int_equal(comparison->cells[13].verdict, PCTI_VERDICT_SLOWER);
    assert_int_equal(comparison->regressions, 0); /* another device is slower: that is no regression */
    pcti_comparison_destroy(comparison);
    pcti_results_destroy(first);
    pcti_results_destroy(second);
}

static cJSON *json_of(const pcti_comparison *comparison) {
    char *text;
    assert_ok(pcti_comparison_text(comparison, PCT_FORMAT_JSON, &text));
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    pcti_free(text);
    return root;
}

static void three_files_and_missing_rows(void **state) {
    pcti_row a[] = {full_row("vgg16", 100), full_row("resnet50", 50)};
    pcti_row b[] = {full_row("vgg16", 120), full_row("densenet121", 30)};
    pcti_row c[] = {full_row("densenet121", 30), full_row("resnet50", 40), full_row("vgg16", 101)};
    pcti_results *files[] = {results_of(a, 2), results_of(b, 2), results_of(c, 3)};
    pcti_comparison *comparison;
    assert_ok(pcti_compare((const pcti_results *const *)files, paths, 3, 0.05, &comparison));
    assert_int_equal(comparison->lines, 3);
    assert_int_equal(comparison->regressions, 1);
    assert_int_equal(comparison->improvements, 1);
    assert_int_equal(comparison->missing, 1);
    assert_int_equal(comparison->added, 2);
    const pcti_verdict wanted[] = {PCTI_VERDICT_BASE, PCTI_VERDICT_SLOWER,  PCTI_VERDICT_SAME,
                                   PCTI_VERDICT_BASE, PCTI_VERDICT_MISSING, PCTI_VERDICT_FASTER,
                                   PCTI_VERDICT_NONE, PCTI_VERDICT_ADDED,   PCTI_VERDICT_ADDED};
    for (size_t i = 0; i < 9; i++) assert_int_equal(comparison->cells[i].verdict, wanted[i]);

    char *table, *markdown, *csv, *none;
    assert_ok(pcti_comparison_text(comparison, PCT_FORMAT_TABLE, &table));
    assert_ok(pcti_comparison_text(comparison, PCT_FORMAT_MARKDOWN, &markdown));
    assert_ok(pcti_comparison_text(comparison, PCT_FORMAT_CSV, &csv));
    assert_contains(table, "[2] b.json: pct ");
    assert_contains(table, "1.200");
    assert_contains(table, "slower");
    assert_contains(table, "missing");
    assert_contains(table, "3 rows: 1 regression beyond 5 %, 1 improvement, 1 missing, 2 added\n");
    assert_contains(markdown, "| 100 ms | 120 ms | 1.200 | slower | 101 ms | 1.010 | same |");
    assert_contains(csv, "infer,vgg16,8,224,,opencl,Some device,2,100,120,1.2,slower,101,1.01,same\n");
    assert_contains(csv, "infer,resnet50,8,224,,opencl,Some device,2,50,,,missing,40,0.8,faster\n");
    assert_int_equal(pcti_comparison_text(comparison, PCT_FORMAT_SQL, &none), PCT_ERROR_ARGUMENT);

    cJSON *root = json_of(comparison);
    assert_int_equal(cJSON_GetObjectItem(root, "regressions")->valueint, 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "rows")), 3);
    const cJSON *cells =
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "rows"), 1), "files");
    assert_int_equal(cJSON_GetArraySize(cells), 3);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(cells, 1), "verdict")->valuestring, "missing");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(cells, 1), "ratio")));
    cJSON_Delete(root);

    for (uint64_t nth = 1; nth <= 6; nth++) {
        pcti_memory_fail_at(nth);
        assert_int_equal(pcti_comparison_text(comparison, PCT_FORMAT_TABLE, &none), PCT_ERROR_MEMORY);
    }
    pcti_memory_fail_at(0);
    pcti_free(table);
    pcti_free(markdown);
    pcti_free(csv);
    pcti_comparison_destroy(comparison);
    for (int i = 0; i < 3; i++) pcti_results_destroy(files[i]);
}

static void bad_calls_and_empty_files(void **state) {
    pcti_results *empty = results_of(NULL, 0);
    const pcti_results *files[] = {empty, empty};
    pcti_comparison *comparison;
    assert_int_equal(pcti_compare(files, paths, 1, 0.05, &comparison), PCT_ERROR_ARGUMENT);
    assert_int_equal(pcti_compare(files, paths, 2, NAN, &comparison), PCT_ERROR_ARGUMENT);
    assert_int_equal(pcti_compare(files, paths, 2, -1, &comparison), PCT_ERROR_ARGUMENT);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        pcti_memory_fail_at(nth);
        assert_int_equal(pcti_compare(files, paths, 2, 0.05, &comparison), PCT_ERROR_MEMORY);
        assert_null(comparison);
    }
    pcti_memory_fail_at(0);
    assert_ok(pcti_compare(files, paths, 2, 0.05, &comparison));
    assert_int_equal(comparison->lines + comparison->regressions, 0);
    cJSON_Delete(json_of(comparison));
    pcti_comparison_destroy(comparison);
    pcti_comparison_destroy(NULL);
    pcti_results_destroy(empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_judged_with_their_spread), cmocka_unit_test(states_are_judged),
        cmocka_unit_test(rates_stand_in_for_times),           cmocka_unit_test(partners_are_found),
        cmocka_unit_test(three_files_and_missing_rows),       cmocka_unit_test(bad_calls_and_empty_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
