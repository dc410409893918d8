/* Interval unions, the time split of a run, statistics. */
#include "common.h"

static pcti_interval interval(pcti_interval_kind kind, uint64_t start_us, uint64_t end_us) {
    return (pcti_interval){start_us * 1000, end_us * 1000, kind, true};
}

#define K PCTI_INTERVAL_KERNEL
#define U PCTI_INTERVAL_UPLOAD
#define D PCTI_INTERVAL_DOWNLOAD

/* Length by counting every nanosecond. */
static uint64_t union_by_counting(const pcti_interval *intervals, size_t count, uint64_t end_ns) {
    uint64_t total = 0;
    for (uint64_t t = 0; t < end_ns; t++)
        for (size_t i = 0; i < count; i++)
            if (t >= intervals[i].start_ns && t < intervals[i].end_ns) {
                total++;
                break;
            }
    return total;
}

static void unions_equal_counting(void **state) {
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        pcti_interval a[12], b[12], both[24];
        size_t count = (size_t)(round % 13);
        for (size_t i = 0; i < 24; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            uint64_t start = 1 + (seed >> 40) % 90, end = start + (seed >> 50) % 12;
            both[i] = (pcti_interval){start, end, K, true};
        }
        memcpy(a, both, sizeof a);
        memcpy(b, both + 12, sizeof b);
        memmove(both + count, b, count * sizeof *b);
        uint64_t overlap, wanted = union_by_counting(a, count, 120) + union_by_counting(b, count, 120) -
                                   union_by_counting(both, 2 * count, 120);
        assert_ok(pcti_overlap_ns(a, count, b, count, &overlap));
        assert_int_equal(overlap, wanted);
        assert_int_equal(pcti_union_ns(a, count), union_by_counting(a, count, 120));
    }
}

static void stamps_are_judged(void **state) {
    const struct {
        uint64_t queued, submit, start, end;
        bool valid;
    } cases[] = {{10, 20, 30, 40, true},
                 {10, 20, 30, 30, true},
                 {0, 0, 30, 40, true},
                 {0, 20, 30, 40, true},
                 {0, 0, 0, 0, false},
                 {10, 20, 0, 40, false},
                 {10, 20, 30, 0, false},
                 {10, 20, 40, 30, false},
                 {10, 35, 30, 40, false},
                 {35, 0, 30, 40, false},
                 {25, 20, 30, 40, false},
                 {10, 20, 30, UINT64_MAX, false},
                 {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pcti_interval made =
            pcti_interval_from_stamps(U, cases[i].queued, cases[i].submit, cases[i].start, cases[i].end);
        assert_int_equal(made.valid, cases[i].valid);
        assert_int_equal(made.kind, U);
    }
}

/* Upload 100..300, kernels 250..600 and 700..900, download 850..1000 on the device; the host: 0, 90, 1000,
 * 1100. */
static void a_run_is_split(void **state) {
    const pcti_interval run[] = {interval(D, 850, 1000), interval(K, 250, 600), interval(U, 100, 300),
                                 interval(K, 700, 900)};
    const pcti_host_times host = {5000000, 5090000, 6000000, 6100000};
    pcti_split split;
    assert_ok(pcti_split_times(run, 4, &host, &split));
    assert_near(split.wall_ms, 1.1, 1e-9);
    assert_near(split.kernel_ms, 0.55, 1e-9);
    assert_near(split.upload_ms, 0.2, 1e-9);
    assert_near(split.download_ms, 0.15, 1e-9);
    assert_near(split.overlap_ms, 0.1, 1e-9); /* 250..300 and 850..900 */
    assert_near(split.host_ms, 1.1 - 0.8, 1e-9);
    assert_near(split.span_ms, 0.9, 1e-9);
    assert_near(split.clock_ratio, 0.9 / 0.91, 1e-9);
    assert_true(split.clocks_agree);
    assert_int_equal(split.verdict, PCTI_SPLIT_OK);
    assert_int_equal(split.invalid, 0);
    assert_string_equal(split.note, "");
}

/* Known fault 73: no negative and no giant figure, and the bad ones are counted. */
static void invalid_stamps_are_left_out(void **state) {
    const pcti_host_times host = {1000000, 1000000, 2000000, 2000000};
    pcti_interval run[] = {interval(K, 100, 500),     {0, 0, K, true},       {900000, 800000, K, true},
                           {1, UINT64_MAX, K, false}, interval(U, 500, 600), {0, 700000, D, true}};
    pcti_split split;
    assert_ok(pcti_split_times(run, 6, &host, &split));
    assert_int_equal(split.intervals, 6);
    assert_int_equal(split.invalid, 4);
    assert_near(split.kernel_ms, 0.4, 1e-9);
    assert_near(split.upload_ms, 0.1, 1e-9);
    assert_true(isnan(split.download_ms)); /* there was one, of unknown length: not 0 */
    assert_true(isnan(split.host_ms));
    assert_near(split.span_ms, 0.5, 1e-9);
    assert_contains(split.note, "4 of 6 events");

    assert_ok(pcti_split_times(run + 1, 3, &host, &split));
    assert_int_equal(split.verdict, PCTI_SPLIT_UNKNOWN);
    assert_int_equal(split.invalid, 3);
    assert_true(isnan(split.kernel_ms) && isnan(split.host_ms) && isnan(split.span_ms));
    assert_near(split.wall_ms, 1, 1e-9);
    assert_ok(pcti_split_times(NULL, 0, &host, &split));
    assert_int_equal(split.verdict, PCTI_SPLIT_UNKNOWN);
}

/* Known fault 71: a run that was not waited for. */
static void kernels_longer_than_the_run_are_impossible(void **state) {
    const pcti_interval run[] = {interval(K, 100, 1460)};
    pcti_split split;
    pcti_row row = full_row("not waited for", 0.03);
    assert_ok(pcti_split_times(run, 1, &(pcti_host_times){1000000, 1000000, 1030000, 1030000}, &split));
    assert_int_equal(split.verdict, PCTI_SPLIT_IMPOSSIBLE);
    assert_true(isnan(split.host_ms));
    assert_contains(split.note, "busy for 1360 us of a run of 30 us");
    pcti_row_set_split(&row, &split);
    assert_int_equal(row.status, PCTI_ROW_FAILED);
    /* Ten times the work takes ten times the time. */
    pcti_split ten;
    const pcti_interval longer[] = {interval(K, 100, 13700)};
    assert_ok(pcti_split_times(run, 1, &(pcti_host_times){1000, 1000, 1400000, 1400000}, &split));
    assert_ok(pcti_split_times(longer, 1, &(pcti_host_times){1000, 1000, 13700000, 13700000}, &ten));
    assert_int_equal(split.verdict, PCTI_SPLIT_OK);
    assert_near(ten.kernel_ms / split.kernel_ms, 10, 1e-9);
    assert_int_equal(pcti_split_times(run, 1, &(pcti_host_times){5, 4, 6, 7}, &split), PCT_ERROR_ARGUMENT);
}

static void clocks_are_held_against_each_other(void **state) {
    const pcti_interval run[] = {interval(K, 100, 1100)}; /* 1 ms */
    const struct {
        uint64_t finish_ns;
        bool agree;
    } cases[] = {{1000000, true}, {1052000, true}, {1054000, false}, {2000000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pcti_split split;
        assert_ok(pcti_split_times(run, 1, &(pcti_host_times){0, 0, cases[i].finish_ns, cases[i].finish_ns},
                                   &split));
        assert_int_equal(split.clocks_agree, cases[i].agree);
        pcti_row row = full_row("clocks", 2);
        pcti_row_set_split(&row, &split);
        assert_int_equal(row.status, PCTI_ROW_OK);
        assert_int_equal(pcti_row_extra(&row, "flag") != NULL, !cases[i].agree);
    }
    /* Drift of some ppm is no contradiction, and host time never negative. */
    pcti_split split;
    assert_ok(pcti_split_times(run, 1, &(pcti_host_times){0, 0, 999900, 999900}, &split));
    assert_int_equal(split.verdict, PCTI_SPLIT_OK);
    assert_true(split.host_ms == 0);
}

static void runs_are_joined_by_medians(void **state) {
    pcti_split runs[3], median;
    for (uint64_t i = 0; i < 3; i++) {
        const pcti_interval run[] = {interval(K, 100, 1100 + 100 * i), {0, 0, U, i != 1}};
        const pcti_host_times host = {0, 0, 1000000 + 100000 * i, 1100000 + 100000 * i};
        assert_ok(pcti_split_times(run, i == 2 ? 2 : 1, &host, &runs[i]));
    }
    assert_ok(pcti_split_median(runs, 3, &median));
    assert_near(median.kernel_ms, 1.1, 1e-9);
    assert_near(median.wall_ms, 1.2, 1e-9);
    assert_near(median.host_ms, 0.1, 1e-9);
    assert_int_equal(median.intervals, 4);
    assert_int_equal(median.invalid, 1);
    assert_int_equal(median.verdict, PCTI_SPLIT_OK);
    assert_true(median.clocks_agree);
    assert_int_equal(pcti_split_median(runs, 0, &median), PCT_ERROR_ARGUMENT);
}

static void memory_failure_is_reported(void **state) {
    const pcti_interval run[] = {interval(K, 100, 300), interval(U, 50, 120)};
    pcti_split split;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        pcti_memory_fail_at(nth);
        assert_int_equal(pcti_split_times(run, 2, &(pcti_host_times){0, 0, 300000, 300000}, &split),
                         PCT_ERROR_MEMORY);
    }
    pcti_memory_fail_at(0);
}

static void statistics(void **state) {
    double many[100], few[] = {5, 1, 2, 4}, odd[] = {3, NAN, 1, -1, INFINITY, 2};
    for (int i = 0; i < 100; i++) many[i] = 100 - i;
    pcti_stats stats;
    assert_ok(pcti_stats_of(many, 100, &stats));
    assert_true(many[0] == 100); /* the caller's array is left alone */
    assert_near(stats.median, 50.5, 1e-12);
    assert_near(stats.p95, 95, 1e-12);
    assert_near(stats.mean, 50.5, 1e-12);
    assert_near(stats.stddev, 29.011491975882016, 1e-12);
    assert_true(stats.min == 1 && stats.max == 100 && stats.count == 100 && !stats.invalid);
    assert_ok(pcti_stats_of(few, 4, &stats));
    assert_true(stats.median == 3 && stats.p95 == 5);
    assert_ok(pcti_stats_of(odd, 6, &stats));
    assert_true(stats.median == 2 && stats.count == 3 && stats.invalid == 3 && stats.max == 3);
    assert_ok(pcti_stats_of((double[]){7}, 1, &stats));
    assert_true(stats.median == 7 && stats.min == 7 && stats.max == 7 && stats.p95 == 7 && stats.mean == 7);
    assert_true(stats.stddev == 0 && stats.count == 1);
    assert_ok(pcti_stats_of(NULL, 0, &stats));
    assert_true(isnan(stats.median) && isnan(stats.stddev) && stats.count == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unions_equal_counting),
                                       cmocka_unit_test(stamps_are_judged),
                                       cmocka_unit_test(a_run_is_split),
                                       cmocka_unit_test(invalid_stamps_are_left_out),
                                       cmocka_unit_test(kernels_longer_than_the_run_are_impossible),
                                       cmocka_unit_test(clocks_are_held_against_each_other),
                                       cmocka_unit_test(runs_are_joined_by_medians),
                                       cmocka_unit_test(memory_failure_is_reported),
                                       cmocka_unit_test(statistics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
