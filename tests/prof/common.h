/* Rows that the tests of this folder share. */
#ifndef PCTI_TESTS_PROF_COMMON_H
#define PCTI_TESTS_PROF_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv, mkstemps, posix_openpt */
#endif

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "prof/row.h"

#define assert_ok(expression)                                                                                \
    do {                                                                                                     \
        pct_status status_ = (expression);                                                                   \
        if (status_ != PCT_OK)                                                                               \
            fail_msg("%s: %s: %s", #expression, pct_status_name(status_), pct_error_message());              \
    } while (0)

#define assert_contains(text, part)                                                                          \
    do {                                                                                                     \
        if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);                              \
    } while (0)

#define assert_near(value, wanted, bound)                                                                    \
    do {                                                                                                     \
        double value_ = (value);                                                                             \
        if (!(fabs(value_ - (wanted)) <= (bound)))                                                           \
            fail_msg("%s is %.17g, not %.17g", #value, value_, (double)(wanted));                            \
    } while (0)

/* A measured row with every field set. */
static inline pcti_row full_row(const char *test, double median_ms) {
    pcti_row row;
    pcti_row_init(&row);
    row.suite = "infer";
    row.test = test;
    row.backend = "opencl";
    row.platform = "Some platform";
    row.device = "Some device";
    row.driver = "1.5";
    row.impl = "winograd_4x4_3x3";
    row.batch = 8;
    row.size = 224;
    row.threads = 2;
    row.first_ms = 812.25;
    row.wall.median = median_ms;
    row.wall.min = median_ms * 0.98;
    row.wall.p95 = median_ms * 1.03;
    row.wall.stddev = median_ms * 0.01;
    row.wall.runs = 20;
    row.kernel_ms = median_ms * 0.75;
    row.upload_ms = 0.5;
    row.download_ms = 0;
    row.overlap_ms = 0;
    row.host_ms = median_ms * 0.2;
    row.items_per_s = 8000 / median_ms;
    row.gflops = 123.456789;
    row.gbytes_per_s = 1.0 / 3;
    row.peak_memory_bytes = 553430176;
    row.max_error = 3.0e-7;
    return row;
}

static inline void write_file(const char *path, const char *text) {
    assert_ok(pcti_file_replace(path, text, strlen(text)));
}

#endif
