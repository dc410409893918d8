/* Devices as the machine has them, and the odd ones that a CPU runtime can be made to show. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void test_enumeration(void **state) {
    (void)state;
    pcti_cl_list list;
    assert_int_equal(pcti_cl_list_create(&list), PCT_OK);
    if (!list.n_devices) {
        assert_true(list.note[0] != 0);
        print_message("skipped: %s\n", list.note);
        pcti_cl_list_destroy(&list);
        skip();
    }
    assert_string_equal(list.note, "");
    size_t seen = 0;
    for (size_t p = 0; p < list.n_platforms; p++) {
        assert_true(list.platforms[p].name[0] != 0);
        assert_true((list.platforms[p].n_devices == 0) == (list.platforms[p].problem[0] != 0));
        for (size_t d = 0; d < list.platforms[p].n_devices; d++, seen++) {
            const pcti_cl_info *info = &list.devices[seen];
            assert_int_equal(info->platform_index, p);
            assert_int_equal(info->device_index, d);
            assert_string_equal(info->platform_name, list.platforms[p].name);
            assert_true(info->name[0] && info->driver_version[0] && info->device_version[0]);
            assert_true(info->version_major >= 1);
            assert_true(info->compute_units > 0 && info->max_work_group > 0 && info->max_work_item[0] > 0);
            assert_true(info->global_bytes >= info->max_alloc_bytes && info->max_alloc_bytes > 0);
            assert_true(info->align_bytes > 0 && info->local_bytes > 0);
            assert_int_equal(info->duplicate_of, PCTI_CL_NO_DUPLICATE);
            assert_true(info->float_width > 0);
        }
    }
    assert_int_equal(seen, list.n_devices);
    pcti_text text = {0};
    pcti_cl_list_describe(&list, &text);
    print_message("%s", text.data);
    pcti_text_free(&text);
    pcti_cl_list_destroy(&list);
}

static void expect_no_live_objects(void) {
    pcti_cl_live live = pcti_cl_live_objects(), none = {0};
    assert_memory_equal(&live, &none, sizeof live);
}

static void test_open_run_close(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    assert_null(device->profiling.compute);
    assert_int_equal(test_run(device, "-DBIAS=1", 1, 1000, 64, NULL), PCT_OK);
    assert_int_equal(pcti_cl_device_add_profiling(device), PCT_OK);
    assert_non_null(device->profiling.compute);
    assert_int_equal(pcti_cl_device_add_profiling(device), PCT_OK); /* once is enough */
    assert_int_equal(pcti_cl_device_finish(device), PCT_OK);
    assert_int_equal(pcti_cl_live_objects().devices, 1);
    assert_int_equal(pcti_cl_live_objects().programs, 1);
    pcti_cl_device_close(device);
    pcti_cl_device_close(NULL);
    expect_no_live_objects();
}

static void test_unusable_device(void **state) {
    (void)state;
    pcti_cl_info info = {.name = "Old", .problem = "OpenCL 1.1 is below OpenCL 1.2"};
    pcti_cl_device *device = NULL;
    assert_int_equal(pcti_cl_device_open(&info, false, &device), PCT_ERROR_DEVICE);
    assert_non_null(strstr(pct_error_message(), "below OpenCL 1.2"));
    assert_null(device);
}

static void test_buffer_limits(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    cl_mem buffer;
    assert_int_equal(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, 0, NULL, &buffer), PCT_ERROR_ARGUMENT);
    size_t allowed = (size_t)device->info.max_alloc_bytes;
    assert_int_equal(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, allowed + 1, NULL, &buffer),
                     PCT_ERROR_MEMORY);
    assert_null(buffer);
    char *bytes = pcti_format("%zu bytes, the device allows %zu", allowed + 1, allowed);
    assert_non_null(strstr(pct_error_message(), bytes));
    pcti_free(bytes);
    assert_int_equal(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, 1, NULL, &buffer), PCT_OK);
    assert_int_equal(pcti_cl_live_objects().buffers, 1);
    pcti_cl_buffer_release(buffer);
    pcti_cl_buffer_release(NULL);
    pcti_cl_device_close(device);
    expect_no_live_objects();
}

static void test_allocation_failures(void **state) {
    (void)state;
    pcti_cl_device_close(test_open(false)); /* skips without a device */
    pct_status status = PCT_ERROR_MEMORY;
    for (uint64_t nth = 1; status != PCT_OK; nth++) {
        pcti_cl_list list;
        pcti_cl_device *device = NULL;
        size_t index;
        assert_true(nth < 100);
        pcti_memory_fail_at(nth);
        status = pcti_cl_list_create(&list);
        if (status == PCT_OK) status = pcti_cl_select(&list, NULL, NULL, &index);
        if (status == PCT_OK) status = pcti_cl_device_open(&list.devices[index], true, &device);
        pcti_memory_fail_at(0);
        if (status != PCT_OK) assert_int_equal(status, PCT_ERROR_MEMORY);
        pcti_cl_device_close(device);
        pcti_cl_list_destroy(&list);
        expect_no_live_objects();
    }
}

static void test_fit_local(void **state) {
    (void)state;
    static const struct {
        int n_dims;
        size_t wanted[3];
        uint64_t max_item[3], limit;
        size_t right[3];
    } cases[] = {
        {1, {256}, {1024, 1024, 1024}, 1024, {256}},
        {1, {256}, {1024, 1024, 1024}, 8, {8}},
        {1, {256}, {4, 4, 4}, 8, {4}},
        {1, {0}, {1024, 1024, 64}, 1024, {1}},
        {2, {16, 16}, {1024, 1024, 64}, 1024, {16, 16}},
        {2, {16, 16}, {1024, 1024, 64}, 64, {8, 8}},
        {2, {32, 4}, {1024, 1024, 64}, 32, {8, 4}},
        {3, {8, 8, 8}, {8, 8, 1}, 1, {1, 1, 1}},
        {3, {8, 8, 8}, {1024, 1024, 2}, 1024, {8, 8, 2}},
        {2, {SIZE_MAX, SIZE_MAX}, {SIZE_MAX, SIZE_MAX, 1}, 256, {16, 16}},
        {3, {64, 1, 1}, {64, 64, 64}, 0, {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t local[3] = {77, 77, 77};
        pcti_cl_fit_local(cases[i].n_dims, cases[i].wanted, cases[i].max_item, cases[i].limit, local);
        for (int d = 0; d < cases[i].n_dims; d++) assert_int_equal(local[d], cases[i].right[d]);
    }
}

static void test_fixed_local(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    static const char source[] =
        "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void fixed(global int *x) {\n"
        "    x[get_global_id(1) * get_global_size(0) + get_global_id(0)] = 1;\n}\n";
    pcti_cl_program *program;
    cl_kernel kernel;
    size_t wanted[] = {64, 1}, local[2];
    assert_int_equal(pcti_cl_program_get_text(device, "fixed", source, "", &program), PCT_OK);
    assert_int_equal(pcti_cl_kernel_create(program, "fixed", &kernel), PCT_OK);
    assert_int_equal(pcti_cl_local_size(device, kernel, 2, wanted, local), PCT_OK);
    assert_int_equal(local[0], 4);
    assert_int_equal(local[1], 2);
    device->info.max_work_item[0] = 2;
    assert_int_equal(pcti_cl_local_size(device, kernel, 2, wanted, local), PCT_ERROR_DEVICE);
    pcti_cl_kernel_release(kernel);
    pcti_cl_device_close(device);
}

static void test_launch_errors(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    pcti_cl_program *program;
    cl_kernel kernel;
    size_t global = 64, local = 1, nothing = 0, huge = (size_t)device->info.max_work_group * 2;
    assert_int_equal(pcti_cl_program_get_text(device, "test", TEST_SOURCE, "-DBIAS=1", &program), PCT_OK);
    assert_int_equal(pcti_cl_kernel_create(program, "absent", &kernel), PCT_ERROR_DEVICE);
    assert_non_null(strstr(pct_error_message(), "\"absent\" of \"test\""));
    assert_int_equal(pcti_cl_kernel_create(program, "slow", &kernel), PCT_OK);
    assert_int_equal(pcti_cl_kernel_launch(device->plain.compute, kernel, 1, &nothing, &local, NULL), PCT_OK);
    assert_int_equal(pcti_cl_kernel_launch(device->plain.compute, kernel, 1, &global, &local, NULL),
                     PCT_ERROR_DEVICE);
    assert_non_null(strstr(pct_error_message(), "CL_INVALID_KERNEL_ARGS (-52): kernel \"slow\""));
    cl_mem buffer;
    cl_int n = 1;
    assert_int_equal(pcti_cl_kernel_set(kernel, 1, 1, &n), PCT_ERROR_DEVICE);
    assert_non_null(strstr(pct_error_message(), "kernel \"slow\", argument 1"));
    assert_int_equal(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, huge * sizeof(float), NULL, &buffer),
                     PCT_OK);
    assert_int_equal(pcti_cl_kernel_set(kernel, 0, sizeof buffer, &buffer), PCT_OK);
    assert_int_equal(pcti_cl_kernel_set(kernel, 1, sizeof n, &n), PCT_OK);
    assert_int_equal(pcti_cl_kernel_launch(device->plain.compute, kernel, 1, &huge, &huge, NULL),
                     PCT_ERROR_DEVICE);
    assert_true(strstr(pct_error_message(), "CL_INVALID_WORK_GROUP_SIZE") ||
                strstr(pct_error_message(), "CL_INVALID_WORK_ITEM_SIZE"));
    pcti_cl_device_finish(device);
    pcti_cl_kernel_release(kernel);
    pcti_cl_buffer_release(buffer);
    pcti_cl_device_close(device);
    expect_no_live_objects();
}

/* ---- odd machines: each is a child process ---- */

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_error("%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, pct_error_message());             \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

static int child_no_platform(void) {
    pcti_cl_list list;
    size_t index;
    CHECK(pcti_cl_list_create(&list) == PCT_OK);
    CHECK(list.n_platforms == 0 && list.n_devices == 0);
    CHECK(strstr(list.note, "no OpenCL platform found (CL_PLATFORM_NOT_FOUND_KHR): install an ICD"));
    CHECK(pcti_cl_select(&list, NULL, NULL, &index) == PCT_ERROR_NOT_FOUND);
    CHECK(strstr(pct_error_message(), "pocl-opencl-icd"));
    pcti_cl_list_destroy(&list);
    return 0;
}

static int child_no_device(void) {
    pcti_cl_list list;
    size_t index;
    CHECK(pcti_cl_list_create(&list) == PCT_OK);
    CHECK(list.n_platforms == 1 && list.n_devices == 0);
    CHECK(strstr(list.platforms[0].problem, "no device (CL_DEVICE_NOT_FOUND)"));
    CHECK(list.note[0]);
    CHECK(pcti_cl_select(&list, "0", NULL, &index) == PCT_ERROR_NOT_FOUND);
    CHECK(strstr(pct_error_message(), "platform 0: Portable Computing Language: no device"));
    pcti_cl_list_destroy(&list);
    return 0;
}

static int child_two_devices(void) {
    pcti_cl_list list;
    pcti_cl_device *first, *second;
    size_t index;
    CHECK(pcti_cl_list_create(&list) == PCT_OK);
    CHECK(list.n_devices == 2 && !strcmp(list.devices[0].name, list.devices[1].name));
    CHECK(list.devices[1].duplicate_of == PCTI_CL_NO_DUPLICATE);
    CHECK(pcti_cl_select(&list, NULL, "pthread", &index) == PCT_ERROR_ARGUMENT);
    CHECK(pcti_cl_select(&list, NULL, "1", &index) == PCT_OK && index == 1);
    CHECK(pcti_cl_device_open(&list.devices[0], false, &first) == PCT_OK);
    CHECK(pcti_cl_device_open(&list.devices[1], true, &second) == PCT_OK);
    CHECK(first->info.id != second->info.id);
    CHECK(test_run(first, "-DBIAS=1", 1, 100, 16, NULL) == PCT_OK);
    CHECK(test_run(second, "-DBIAS=2", 2, 100, 16, NULL) == PCT_OK);
    pcti_cl_device_close(first);
    pcti_cl_device_close(second);
    pcti_cl_list_destroy(&list);
    return 0;
}

static int child_two_platforms(void) {
    pcti_cl_list list;
    size_t index;
    CHECK(pcti_cl_list_create(&list) == PCT_OK);
    CHECK(list.n_platforms == 2 && list.n_devices == 2);
    CHECK(!strcmp(list.platforms[0].name, list.platforms[1].name));
    CHECK(list.devices[1].platform_index == 1 && list.devices[1].device_index == 0);
    CHECK(pcti_cl_select(&list, "portable", NULL, &index) == PCT_ERROR_ARGUMENT);
    CHECK(pcti_cl_select(&list, "1", NULL, &index) == PCT_OK && index == 1);
    pcti_cl_list_destroy(&list);
    return 0;
}

static int child_small_groups(void) {
    pcti_cl_list list;
    pcti_cl_device *device;
    CHECK(pcti_cl_list_create(&list) == PCT_OK);
    uint64_t limit = strtoull(getenv("POCL_MAX_WORK_GROUP_SIZE"), NULL, 10);
    CHECK(list.n_devices == 1 && list.devices[0].max_work_group == limit);
    CHECK(pcti_cl_device_open(&list.devices[0], false, &device) == PCT_OK);
    CHECK(test_run(device, "-DBIAS=3", 3, 1001, 256, NULL) == PCT_OK);
    pcti_cl_device_close(device);
    pcti_cl_list_destroy(&list);
    return 0;
}

/* An error right after an enqueue, while the runtime may still be compiling for it: exit code 4 and no crash.
 */
static int child_error_exit(void) {
    pct_status status = PCT_OK;
    pcti_cl_list list;
    pcti_cl_device *device = NULL;
    pcti_cl_program *program;
    cl_kernel kernel = NULL;
    cl_mem buffer = NULL, refused = NULL;
    size_t index, global = 64, local = 4;
    cl_int n = 1000;
    PCTI_TRY(pcti_cl_list_create(&list));
    PCTI_TRY(pcti_cl_select(&list, NULL, NULL, &index));
    PCTI_TRY(pcti_cl_device_open(&list.devices[index], true, &device));
    PCTI_TRY(pcti_cl_program_get_text(device, "test", TEST_SOURCE, "-DBIAS=1", &program));
    PCTI_TRY(pcti_cl_kernel_create(program, "slow", &kernel));
    PCTI_TRY(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, global * sizeof(float), NULL, &buffer));
    PCTI_TRY(pcti_cl_kernel_set(kernel, 0, sizeof buffer, &buffer));
    PCTI_TRY(pcti_cl_kernel_set(kernel, 1, sizeof n, &n));
    for (int i = 0; i < 3; i++)
        PCTI_TRY(pcti_cl_kernel_launch(device->profiling.compute, kernel, 1, &global, &local, NULL));
    clFlush(device->profiling.compute);
    PCTI_TRY(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, SIZE_MAX, NULL, &refused));
fail:
    pcti_cl_kernel_release(kernel);
    pcti_cl_buffer_release(buffer);
    pcti_cl_device_close(device);
    pcti_cl_list_destroy(&list);
    return status == PCT_ERROR_MEMORY ? 4 : 1;
}

static void test_no_platform(void **state) {
    (void)state;
    assert_int_equal(
        test_child("no_platform", (const char *[]){"OCL_ICD_VENDORS=/nonexistent/vendors", NULL}), 0);
}

static void test_no_device(void **state) {
    (void)state;
    if (!test_is_pocl()) {
        print_message("skipped: needs PoCL\n");
        skip();
    }
    /* A cache folder that cannot be made lets PoCL's device vanish. */
    assert_int_equal(test_child("no_device", (const char *[]){"POCL_CACHE_DIR=/dev/null/x", NULL}), 0);
}

static void test_two_devices(void **state) {
    (void)state;
    if (!test_is_pocl()) {
        print_message("skipped: needs PoCL\n");
        skip();
    }
    assert_int_equal(test_child("two_devices", (const char *[]){"POCL_DEVICES=pthread pthread", NULL}), 0);
}

static void test_two_platforms(void **state) {
    (void)state;
    FILE *from = fopen("/etc/OpenCL/vendors/pocl.icd", "r");
    char library[512] = "";
    if (from && fgets(library, sizeof library, from)) library[strcspn(library, "\n")] = 0;
    if (from) fclose(from);
    if (!library[0]) {
        print_message("skipped: no /etc/OpenCL/vendors/pocl.icd\n");
        skip();
    }
    const char *folder = test_folder_make();
    for (int i = 0; i < 2; i++) {
        char *path = pcti_format("%s/%d.icd", folder, i);
        FILE *to = fopen(path, "w");
        assert_non_null(to);
        fprintf(to, "%s\n", library);
        fclose(to);
        pcti_free(path);
    }
    char *vendors = pcti_format("OCL_ICD_VENDORS=%s", folder);
    int code = test_child("two_platforms", (const char *[]){vendors, NULL});
    pcti_free(vendors);
    test_folder_remove();
    assert_int_equal(code, 0);
}

static void test_small_groups(void **state) {
    (void)state;
    if (!test_is_pocl()) {
        print_message("skipped: needs PoCL\n");
        skip();
    }
    assert_int_equal(test_child("small_groups", (const char *[]){"POCL_MAX_WORK_GROUP_SIZE=8", NULL}), 0);
    assert_int_equal(test_child("small_groups", (const char *[]){"POCL_MAX_WORK_GROUP_SIZE=1", NULL}), 0);
}

static void test_error_exit(void **state) {
    (void)state;
    enum { RUNS = 20, AT_ONCE = 2 };
    pcti_cl_device_close(test_open(false)); /* skips without a device */
    const char *folder = test_folder_make();
    int codes[RUNS];
    for (int run = 0; run < RUNS; run += AT_ONCE) {
        int children[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            /* A fresh cache of the runtime's own, so that it compiles again at the enqueue. */
            char *cache = pcti_format("POCL_CACHE_DIR=%s/%d", folder, run + i);
            children[i] = test_child_start("error_exit", (const char *[]){cache, NULL});
            pcti_free(cache);
        }
        for (int i = 0; i < AT_ONCE; i++) codes[run + i] = test_child_wait(children[i]);
    }
    test_folder_remove();
    for (int run = 0; run < RUNS; run++) assert_int_equal(codes[run], 4);
}

int main(int argc, char **argv) {
    static const struct {
        const char *mode;
        int (*run)(void);
    } children[] = {
        {"no_platform", child_no_platform},   {"no_device", child_no_device},
        {"two_devices", child_two_devices},   {"two_platforms", child_two_platforms},
        {"small_groups", child_small_groups}, {"error_exit", child_error_exit},
    };
    for (size_t i = 0; argc > 1 && i < sizeof children / sizeof *children; i++)
        if (!strcmp(argv[1], children[i].mode)) return children[i].run();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enumeration),         cmocka_unit_test(test_open_run_close),
        cmocka_unit_test(test_unusable_device),     cmocka_unit_test(test_buffer_limits),
        cmocka_unit_test(test_allocation_failures), cmocka_unit_test(test_fit_local),
        cmocka_unit_test(test_fixed_local),         cmocka_unit_test(test_launch_errors),
        cmocka_unit_test(test_no_platform),         cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_two_devices),         cmocka_unit_test(test_two_platforms),
        cmocka_unit_test(test_small_groups),        cmocka_unit_test(test_error_exit),
    };
    return cmocka_run_group_tests_name("cl_runtime", tests, NULL, NULL);
}
