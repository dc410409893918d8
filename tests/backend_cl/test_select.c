/* Which device --platform and --device mean, over made-up lists: no OpenCL here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cl/cl_device.h"
#include "backend/cl/cl_error.h"
#include "base/text.h"

/* Five platforms: two of one name, one without devices, one with two devices of one name, one CPU. */
static pcti_cl_platform platforms[5];
static pcti_cl_info devices[6];
static pcti_cl_list list;

static void add_device(int platform, int device, const char *name, pcti_cl_type type) {
    pcti_cl_info *info = &devices[list.n_devices++];
    *info =
        (pcti_cl_info){.platform_index = platform, .device_index = device, .type = type, .duplicate_of = -1};
    snprintf(info->platform_name, sizeof info->platform_name, "%s", platforms[platform].name);
    snprintf(info->name, sizeof info->name, "%s", name);
    platforms[platform].n_devices++;
}

static int setup(void **state) {
    (void)state;
    static const char *const names[] = {"Portable Computing Language", "NVIDIA CUDA", "rusticl", "Twin",
                                        "Twin"};
    memset(platforms, 0, sizeof platforms);
    list = (pcti_cl_list){.platforms = platforms, .n_platforms = 5, .devices = devices};
    for (int p = 0; p < 5; p++) snprintf(platforms[p].name, sizeof platforms[p].name, "%s", names[p]);
    snprintf(platforms[2].problem, sizeof platforms[2].problem, "no device (CL_DEVICE_NOT_FOUND)");
    add_device(0, 0, "pthread-epyc", PCTI_CL_CPU);
    add_device(1, 0, "GeForce RTX 3080", PCTI_CL_GPU);
    add_device(1, 1, "GeForce RTX 3080 Ti", PCTI_CL_GPU);
    add_device(3, 0, "Arc", PCTI_CL_GPU);
    add_device(3, 1, "Arc", PCTI_CL_GPU);
    add_device(4, 0, "Arc", PCTI_CL_GPU);
    return 0;
}

static void expect(const char *platform, const char *device, size_t right) {
    size_t index = 99;
    pct_status status = pcti_cl_select(&list, platform, device, &index);
    if (status != PCT_OK) print_error("%s\n", pct_error_message());
    assert_int_equal(status, PCT_OK);
    assert_int_equal(index, right);
}

static void expect_error(const char *platform, const char *device, pct_status right, const char *message) {
    size_t index;
    assert_int_equal(pcti_cl_select(&list, platform, device, &index), right);
    if (!strstr(pct_error_message(), message)) fail_msg("no \"%s\" in: %s", message, pct_error_message());
    assert_non_null(strstr(pct_error_message(), "platform 1: NVIDIA CUDA"));
    assert_non_null(strstr(pct_error_message(), "  device 1: GeForce RTX 3080 Ti (GPU)"));
    assert_non_null(strstr(pct_error_message(), "platform 2: rusticl: no device (CL_DEVICE_NOT_FOUND)"));
}

static void test_default(void **state) {
    (void)state;
    expect(NULL, NULL, 1); /* the first GPU, though the CPU's platform comes first */
    snprintf(devices[1].problem, sizeof devices[1].problem, "no OpenCL C compiler");
    expect(NULL, NULL, 2);
    devices[2].duplicate_of = 3;
    expect(NULL, NULL, 3);
    expect("NVIDIA", NULL, 2); /* a platform that the user names gives its own device */
    list.n_devices = 1;
    expect(NULL, NULL, 0); /* no GPU: the first device */
}

static void test_index(void **state) {
    (void)state;
    expect("1", "1", 2);
    expect("3", "0", 3);
    expect("4", "0", 5);
    expect("3", "1", 4);
    expect("0", NULL, 0);
    expect(NULL, "0", 0); /* device alone: the first platform that has it */
    expect(NULL, "1", 2);
}

static void test_name(void **state) {
    (void)state;
    expect("nvidia", NULL, 1);
    expect("cuda", "1", 2);
    expect(NULL, "ti", 2);
    expect(NULL, "RTX 3080 TI", 2);
    expect(NULL, "geforce rtx 3080", 1); /* one's whole name, another's part */
    expect("4", "arc", 5);
    expect("portable", "EPYC", 0);
}

static void test_bad_text(void **state) {
    (void)state;
    static const char *const bad[] = {"1x", "-1", "+1", "99999999999999999999", "0x1", "1 ", "1.0", "-"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_error(NULL, bad[i], PCT_ERROR_ARGUMENT, "is not an index");
        expect_error(bad[i], NULL, PCT_ERROR_ARGUMENT, "is not an index");
    }
    expect_error("", NULL, PCT_ERROR_ARGUMENT, "empty");
    expect_error(NULL, "", PCT_ERROR_ARGUMENT, "empty");
}

static void test_missing_and_ambiguous(void **state) {
    (void)state;
    expect_error("9", NULL, PCT_ERROR_NOT_FOUND, "there are 5 platform(s)");
    expect_error("5", "0", PCT_ERROR_NOT_FOUND, "there are 5 platform(s)");
    expect_error(NULL, "7", PCT_ERROR_NOT_FOUND, "no such device");
    expect_error("1", "2", PCT_ERROR_NOT_FOUND, "no such device");
    expect_error("mali", NULL, PCT_ERROR_NOT_FOUND, "mali");
    expect_error(NULL, "mali", PCT_ERROR_NOT_FOUND, "mali");
    expect_error("0", "GeForce", PCT_ERROR_NOT_FOUND, "no such device");
    expect_error("2", NULL, PCT_ERROR_NOT_FOUND, "has no usable device");
    expect_error("rusticl", "0", PCT_ERROR_NOT_FOUND, "no such device");
    expect_error("twin", NULL, PCT_ERROR_ARGUMENT, "ambiguous");
    expect_error("twin", "0", PCT_ERROR_ARGUMENT, "ambiguous");
    expect_error("3", "arc", PCT_ERROR_ARGUMENT,
                 "ambiguous"); /* two of one name: only the index tells them apart */
    expect_error(NULL, "geforce", PCT_ERROR_ARGUMENT, "ambiguous");
    snprintf(devices[4].problem, sizeof devices[4].problem, "no OpenCL C compiler");
    expect_error("3", "1", PCT_ERROR_DEVICE, "no OpenCL C compiler");
}

static void test_empty_list(void **state) {
    (void)state;
    pcti_cl_list none = {0};
    size_t index;
    snprintf(none.note, sizeof none.note, "no OpenCL platform found: install something");
    static const char *const texts[] = {NULL, "0", "name"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pcti_cl_select(&none, NULL, texts[i], &index), PCT_ERROR_NOT_FOUND);
        assert_non_null(strstr(pct_error_message(), "install something"));
    }
    assert_int_equal(pcti_cl_select(&none, "1x", NULL, &index), PCT_ERROR_ARGUMENT);
}

static pcti_cl_info board(int platform, const char *platform_name, uint32_t domain, uint32_t bus) {
    pcti_cl_info info = {.platform_index = platform, .pci = {true, domain, bus, 0, 0}};
    snprintf(info.platform_name, sizeof info.platform_name, "%s", platform_name);
    return info;
}

static void test_duplicates(void **state) {
    (void)state;
    pcti_cl_info boards[] = {
        board(0, "rusticl", 0, 3), board(0, "rusticl", 1, 3),      board(1, "Vendor", 0, 3),
        board(1, "Vendor", 0, 4),  board(2, "Other vendor", 0, 3), board(1, "Vendor", 0, 4),
        board(0, "rusticl", 0, 5),
    };
    boards[6].pci.known = false;
    size_t n = sizeof boards / sizeof *boards;
    pcti_cl_mark_duplicates(boards, n);
    static const int right[] = {2, -1, -1, -1, 2, -1, -1};
    for (size_t i = 0; i < n; i++) assert_int_equal(boards[i].duplicate_of, right[i]);

    pcti_cl_info three[] = {board(0, "Portable Computing Language", 0, 3), board(1, "rusticl", 0, 3),
                            board(2, "NVIDIA CUDA", 0, 3)};
    pcti_cl_mark_duplicates(three, 3);
    assert_int_equal(three[0].duplicate_of, 2);
    assert_int_equal(three[1].duplicate_of, 2);
    assert_int_equal(three[2].duplicate_of, -1);

    pcti_cl_info unknown[] = {board(0, "A", 0, 0), board(1, "A", 0, 0)};
    unknown[0].pci.known = unknown[1].pci.known = false;
    pcti_cl_mark_duplicates(unknown, 2);
    assert_int_equal(unknown[1].duplicate_of, -1);
}

static void test_error_text(void **state) {
    (void)state;
    assert_string_equal(pcti_cl_code_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(pcti_cl_code_name(-54), "CL_INVALID_WORK_GROUP_SIZE");
    assert_string_equal(pcti_cl_code_name(-55), "CL_INVALID_WORK_ITEM_SIZE");
    assert_string_equal(pcti_cl_code_name(12345), "unknown OpenCL code");
    /* every code that the standard has a number for has a name: 0..-19 and -30..-72 */
    for (int code = 0; code >= -72; code--)
        if (code >= -19 || code <= -30) assert_memory_equal(pcti_cl_code_name(code), "CL_", 3);
    assert_int_equal(pcti_cl_fail("clFinish", -36, NULL), PCT_ERROR_DEVICE);
    assert_string_equal(pct_error_message(), "clFinish: CL_INVALID_COMMAND_QUEUE (-36)");
    static const int exhausted[] = {-4, -5, -6};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pcti_cl_fail("clCreateBuffer", exhausted[i], "%d bytes", 7), PCT_ERROR_MEMORY);
    assert_string_equal(pct_error_message(), "clCreateBuffer: CL_OUT_OF_HOST_MEMORY (-6): 7 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_default, setup),
        cmocka_unit_test_setup(test_index, setup),
        cmocka_unit_test_setup(test_name, setup),
        cmocka_unit_test_setup(test_bad_text, setup),
        cmocka_unit_test_setup(test_missing_and_ambiguous, setup),
        cmocka_unit_test(test_empty_list),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_error_text),
    };
    return cmocka_run_group_tests_name("cl_select", tests, NULL, NULL);
}
