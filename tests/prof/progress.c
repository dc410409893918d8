/* The progress line: something on a terminal, nothing elsewhere. */
#include "common.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "progress.h"

static void nothing_in_a_file(void **state) {
    FILE *file = tmpfile();
    progress line;
    progress_begin(&line, file, "measuring", 3);
    for (size_t i = 0; i <= 3; i++) progress_update(&line, i, "vgg16");
    progress_clear(&line);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

static void a_line_on_a_terminal(void **state) {
    char text[1024], long_name[400];
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        print_message("no pseudo terminal here\n");
        skip();
    }
    FILE *stream = fopen(ptsname(terminal), "w");
    assert_non_null(stream);
    setenv("TERM", "xterm", 1);
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    progress line;
    progress_begin(&line, stream, "measuring", 3);
    uint64_t start_ns = pcti_clock_ns();
    progress_update(&line, 0, "vgg16");
    progress_update(&line, 1, "too soon");
    bool soon = pcti_clock_ns() - start_ns < 100000000;
    progress_update(&line, 3, long_name);
    progress_clear(&line);
    fclose(stream); /* the terminal's other end then gives everything, and an error */
    size_t length = 0;
    for (ssize_t got; (got = read(terminal, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = 0;
    const char *first = "\rmeasuring 0/3 (0 %) vgg16\033[K", *last = "\r\033[K";
    assert_memory_equal(text, first, strlen(first));
    if (soon) assert_null(strstr(text, "too soon"));
    assert_string_equal(text + length - strlen(last), last);
    const char *second = strstr(text, "\rmeasuring 3/3 (100 %) xxx");
    assert_non_null(second);
    assert_true(strstr(second, "\033[K") - second <= 80); /* it never wraps */
    close(terminal);
}

static void nothing_on_a_dumb_terminal(void **state) {
    progress line;
    setenv("TERM", "dumb", 1);
    progress_begin(&line, stdout, "measuring", 0);
    assert_false(line.terminal);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_in_a_file),
                                       cmocka_unit_test(a_line_on_a_terminal),
                                       cmocka_unit_test(nothing_on_a_dumb_terminal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
