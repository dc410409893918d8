/* Known fault 77: a decimal comma, or grouping, in the locale changes no byte of any output and no number
 * that is read. */
#include "common.h"

#include <locale.h>

#include "base/text.h"
#include "prof/compare.h"

static const char path[] = "prof_locale.json", folder[] = "prof_locales";

static void any_decimal_point_becomes_a_dot(void **state) {
    const struct {
        const char *number, *point, *wanted;
    } cases[] = {{"1,5", ",", "1.5"},
                 {"-0,25e-07", ",", "-0.25e-07"},
                 {"1e+300", ",", "1e+300"},
                 {"12", ",", "12"},
                 {"1.5", ".", "1.5"},
                 {"3\xd9\xab"
                  "25",
                  "\xd9\xab", "3.25"},
                 {"7\xd9\xab", "\xd9\xab", "7."},
                 {"1,5", "", "1,5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char number[32];
        snprintf(number, sizeof number, "%s", cases[i].number);
        pcti_number_set_point(number, cases[i].point);
        assert_string_equal(number, cases[i].wanted);
    }
}

/* All outputs one after the other, through a file that is written and read. */
static char *all_outputs(void) {
    static const pct_format formats[] = {PCT_FORMAT_TABLE, PCT_FORMAT_MARKDOWN, PCT_FORMAT_CSV,
                                         PCT_FORMAT_JSON, PCT_FORMAT_SQL};
    const pct_profile_step steps[] = {
        {"conv1", "conv2d", "gemm_1x1", "1x3x224x224", 1.5e9, 2.5e6, 1.25, 0.125},
        {"relu1", "relu", "plain", NULL, NAN, 12345.5, 0.0625, 1.5}};
    pcti_text all = {0};
    pcti_results *results, *again;
    char *text;
    assert_ok(pcti_results_create(&results));
    results->machine.date_utc[0] = 0; /* the clock goes on */
    for (int i = 0; i < 3; i++) results->machine.load_average[i] = 0.25;
    pcti_row row = full_row("vgg16", 1234.5678);
    pcti_row_add_number(&row, "roofline_share", 0.625, false);
    assert_ok(pcti_results_add(results, &row));
    assert_ok(pcti_results_text(results, PCT_FORMAT_JSON, &text));
    write_file(path, text);
    pcti_free(text);
    assert_ok(pcti_results_read(path, &again));
    assert_true(pcti_row_extra(&again->rows[0], "roofline_share")->number == 0.625);
    remove(path);
    pcti_comparison *comparison; /* it lends both arrays */
    const pcti_results *both[] = {results, again};
    const char *const names[] = {"a", "b"};
    assert_ok(pcti_compare(both, names, 2, 0.025, &comparison));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        assert_ok(pcti_results_text(again, formats[i], &text));
        pcti_text_add(&all, "%s", text);
        pcti_free(text);
        if (formats[i] == PCT_FORMAT_SQL) continue;
        assert_ok(pcti_comparison_text(comparison, formats[i], &text));
        pcti_text_add(&all, "%s", text);
        pcti_free(text);
        assert_ok(pct_profile_text(steps, 2, formats[i], &text));
        pcti_text_add(&all, "%s", text);
        pcti_free(text);
    }
    assert_ok(pct_profile_text(steps, 2, PCT_FORMAT_TRACE, &text));
    pcti_text_add(&all, "%s", text);
    pcti_free(text);
    pcti_comparison_destroy(comparison);
    pcti_results_destroy(results);
    pcti_results_destroy(again);
    assert_false(all.failed);
    return all.data;
}

/* The system's locale, or one compiled here from the system's sources. */
static bool use_locale(const char *language) {
    char name[32], command[256];
    snprintf(name, sizeof name, "%s.UTF-8", language);
    unsetenv("LOCPATH"); /* the C library remembers what it did not find in a folder */
    if (setlocale(LC_ALL, name)) return true;
    snprintf(command, sizeof command, "mkdir -p %s && localedef -i %s -f UTF-8 ./%s/%s >/dev/null 2>&1",
             folder, language, folder, name);
    if (system(command)) return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, name) != NULL;
}

static void outputs_do_not_depend_on_the_locale(void **state) {
    static const char *const languages[] = {"de_DE", "fr_FR", "ps_AF"};
    int used = 0;
    char *plain = all_outputs();
    assert_contains(plain, "1234.5678");
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        char number[16];
        if (!use_locale(languages[i])) {
            print_message("no locale %s here and localedef cannot make it\n", languages[i]);
            continue;
        }
        used++;
        snprintf(number, sizeof number, "%.1f", 1.5);
        assert_string_not_equal(number, "1.5"); /* it has another decimal point */
        char *text = all_outputs();
        setlocale(LC_ALL, "C");
        assert_string_equal(text, plain);
        pcti_free(text);
    }
    pcti_free(plain);
    if (system("rm -rf prof_locales")) print_message("%s is left behind\n", folder);
    if (!used) skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_decimal_point_becomes_a_dot),
                                       cmocka_unit_test(outputs_do_not_depend_on_the_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
