/* The machine's description, from a root folder that the test makes. */
#include "common.h"

static const char root[] = "prof_machine_root";

static void make_root(void) {
    assert_int_equal(
        system(
            "rm -rf prof_machine_root && mkdir -p prof_machine_root/proc/sys/kernel prof_machine_root/etc"),
        0);
    setenv("PCT_SYSFS_ROOT", root, 1);
}

static void write_below(const char *path, const char *text) {
    char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    write_file(full, text);
}

static void a_faked_machine_is_described(void **state) {
    pcti_machine machine;
    make_root();
    write_below("/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Test CPU @ 3 GHz\nflags\t\t: fpu avx2 avx512fx fma avx512f\n\n"
                "processor\t: 1\nmodel name\t: Other\nflags\t\t: fpu\n");
    write_below("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:  1 kB\n");
    write_below("/proc/loadavg", "0.25 1.50 2.75 1/234 5678\n");
    write_below("/proc/sys/kernel/osrelease", "6.1.0-test\n");
    write_below("/etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Test OS 12\"\n");
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    pcti_machine_describe(&machine);
    unsetenv("OPENBLAS_CORETYPE");
    assert_string_equal(machine.cpu, "Test CPU @ 3 GHz");
    assert_int_equal(machine.logical_cores, 2);
    assert_string_equal(machine.isa, "avx2 fma avx512f");
    assert_true(machine.memory_bytes == 16384 * 1024.0);
    assert_true(machine.load_average[0] == 0.25 && machine.load_average[1] == 1.5 &&
                machine.load_average[2] == 2.75);
    assert_string_equal(machine.kernel, "6.1.0-test");
    assert_string_equal(machine.os, "Test OS 12");
    assert_string_equal(machine.openblas_coretype, "Haswell");
    assert_true(strlen(machine.compiler) > 4);
    assert_int_equal(strlen(machine.date_utc), strlen("2024-05-31T12:00:00Z"));
    assert_int_equal(machine.date_utc[19], 'Z');

    write_below("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n");
    write_below("/etc/os-release", "PRETTY_NAME=Plain\n");
    pcti_machine_describe(&machine);
    assert_string_equal(machine.isa, "asimd sve");
    assert_string_equal(machine.os, "Plain");
    assert_string_equal(machine.openblas_coretype, "");
}

static void what_is_not_there_is_null_with_a_reason(void **state) {
    pcti_results *results;
    char *text;
    make_root();
    assert_ok(pcti_results_create(&results));
    assert_int_equal(results->machine.logical_cores, 0);
    assert_true(isnan(results->machine.load_average[0]));
    assert_ok(pcti_results_text(results, PCT_FORMAT_JSON, &text));
    assert_contains(text, "\"memory_bytes\": null");
    assert_contains(text, "\"memory_bytes\": \"/proc/meminfo does not say\"");
    assert_contains(text, "\"cpu\": \"this system does not say\"");
    assert_contains(text, "\"load_average\": [null, null, null]");
    pcti_free(text);
    pcti_results_destroy(results);
}

static void long_lines_do_no_harm(void **state) {
    static char lines[60000];
    pcti_machine machine;
    make_root();
    memset(lines, 'x', sizeof lines - 1);
    memcpy(lines, "model name : ", 13);
    write_below("/proc/cpuinfo", lines);
    write_below("/proc/loadavg", "");
    pcti_machine_describe(&machine);
    assert_int_equal(strlen(machine.cpu), sizeof machine.cpu - 1);
    assert_true(isnan(machine.load_average[2]));
}

static int clean_up(void **state) {
    unsetenv("PCT_SYSFS_ROOT");
    return system("rm -rf prof_machine_root");
}

static void this_machine_has_cores(void **state) {
    pcti_machine machine;
    unsetenv("PCT_SYSFS_ROOT");
    pcti_machine_describe(&machine);
    assert_true(machine.logical_cores > 0);
    assert_true(machine.memory_bytes > 1e6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_faked_machine_is_described),
                                       cmocka_unit_test(what_is_not_there_is_null_with_a_reason),
                                       cmocka_unit_test(long_lines_do_no_harm),
                                       cmocka_unit_test(this_machine_has_cores)};
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
