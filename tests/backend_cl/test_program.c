/* Programs: building, messages, and the cache on disk in all the states that it can be found in. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cl/cl_cache.h"
#include "backend/cl/cl_sources.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

static int warnings;

static void count_warnings(void *cookie, pct_log_level level, const char *message) {
    (void)cookie;
    if (level == PCT_LOG_WARNING) {
        warnings++;
        print_message("warning: %s\n", message);
    }
}

static int setup(void **state) {
    (void)state;
    setenv("PCT_CACHE_DIR", test_folder_make(), 1);
    unsetenv("PCT_CL_DIR");
    pct_log_set(count_warnings, NULL);
    warnings = 0;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    pct_log_set(NULL, NULL);
    unsetenv("PCT_CACHE_DIR");
    test_folder_remove();
    return 0;
}

/* The path of the cache's only entry. */
static char *only_entry(void) {
    char *folder, *path = NULL;
    assert_int_equal(pcti_cache_folder("opencl", &folder), PCT_OK);
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.') continue;
        assert_null(path);
        path = pcti_format("%s/%s", folder, entry->d_name);
    }
    closedir(entries);
    pcti_free(folder);
    return path;
}

/* Opens, runs, saves, closes; whether the program came from the disk. */
static bool run_is_cached(const char *options, int bias) {
    bool is_cached = false;
    pcti_cl_device *device = test_open(false);
    pct_status status = test_run(device, options, bias, 100, 16, &is_cached);
    if (status != PCT_OK) print_error("%s\n", pct_error_message());
    pcti_cl_programs_save(device);
    pcti_cl_device_close(device);
    assert_int_equal(status, PCT_OK);
    assert_int_equal(pcti_cl_live_objects().programs, 0);
    return is_cached;
}

/* NVIDIA's driver caches by itself: no files of ours then. */
static void skip_without_disk(void) {
    pcti_cl_device *device = test_open(false);
    bool own = !strcmp(device->info.platform_name, "NVIDIA CUDA");
    pcti_cl_device_close(device);
    if (own) {
        print_message("skipped: this driver keeps its own cache\n");
        skip();
    }
}

static void test_cache_hit(void **state) {
    (void)state;
    skip_without_disk();
    assert_false(run_is_cached("-DBIAS=1", 1));
    assert_true(run_is_cached("-DBIAS=1", 1));
    assert_false(run_is_cached("-DBIAS=2", 2)); /* other options, other binary */
    assert_true(run_is_cached("-DBIAS=2", 2));
    assert_true(run_is_cached("-DBIAS=1", 1));
    setenv("POCL_EXTRA_BUILD_FLAGS", "-DUNUSED=1",
           1); /* changes what PoCL builds, so it is part of the key */
    assert_false(run_is_cached("-DBIAS=1", 1));
    unsetenv("POCL_EXTRA_BUILD_FLAGS");
    assert_int_equal(warnings, 0);
}

static void test_one_program_per_options(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    pcti_cl_program *a, *b, *c;
    assert_int_equal(pcti_cl_program_get_text(device, "test", TEST_SOURCE, "-DBIAS=1", &a), PCT_OK);
    assert_int_equal(pcti_cl_program_get_text(device, "test", TEST_SOURCE, "-DBIAS=1", &b), PCT_OK);
    assert_int_equal(pcti_cl_program_get_text(device, "test", TEST_SOURCE, "-DBIAS=2", &c), PCT_OK);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(pcti_cl_live_objects().programs, 2);
    pcti_cl_device_close(device);
}

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Whatever lies in the entry's place: rebuilt with right results, replaced, and found again. */
static void expect_replaced(void) {
    assert_false(run_is_cached("-DBIAS=1", 1));
    assert_true(run_is_cached("-DBIAS=1", 1));
}

static void test_broken_entries(void **state) {
    (void)state;
    skip_without_disk();
    assert_false(run_is_cached("-DBIAS=1", 1));
    char *path = only_entry();
    pcti_file file;
    assert_int_equal(pcti_file_map(path, &file), PCT_OK);
    size_t bytes = file.bytes;
    unsigned char *right = pcti_calloc(bytes, 1), *wrong = pcti_calloc(bytes + 1, 1);
    assert_true(right && wrong);
    memcpy(right, file.data, bytes);
    pcti_file_unmap(&file);

    const size_t cuts[] = {0, 1, 10, 31, 32, 40, bytes / 2, bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        write_file(path, right, cuts[i]);
        expect_replaced();
    }
    memcpy(wrong, right, bytes);
    write_file(path, wrong, bytes + 1); /* one byte too many */
    expect_replaced();
    /* one bit of: magic, format, key length, body length, hash, key, binary (early and last) */
    const size_t bits[] = {0, 8, 12, 16, 24, 40, bytes * 3 / 4, bytes - 1};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        memcpy(wrong, right, bytes);
        wrong[bits[i]] ^= 1;
        write_file(path, wrong, bytes);
        expect_replaced();
    }
    for (size_t i = 0; i < bytes; i++) wrong[i] = (unsigned char)pcti_splitmix64(i);
    write_file(path, wrong, bytes);
    expect_replaced();
    assert_int_equal(warnings, 0);
    pcti_free(right);
    pcti_free(wrong);
    pcti_free(path);
}

static void test_foreign_entries(void **state) {
    (void)state;
    skip_without_disk();
    /* A whole entry of another key under this name. */
    assert_false(run_is_cached("-DBIAS=1", 1));
    char *path = only_entry();
    pcti_file file;
    assert_int_equal(pcti_file_map(path, &file), PCT_OK);
    uint32_t key_bytes;
    memcpy(&key_bytes, file.data + 12, sizeof key_bytes);
    char *key = pcti_calloc(key_bytes + 1, 1);
    assert_non_null(key);
    memcpy(key, file.data + 32, key_bytes);
    pcti_file_unmap(&file);
    assert_non_null(strstr(key, "options -cl-std=CL1.2 -DBIAS=1\n"));
    assert_int_equal(remove(path), 0);
    assert_false(run_is_cached("-DBIAS=2", 2));
    char *other = only_entry();
    assert_int_equal(rename(other, path), 0);
    expect_replaced();

    /* An entry that is whole, but holds a binary that no driver takes. */
    static const char body[] = "another platform's binary";
    assert_int_equal(pcti_cl_cache_store(key, body, sizeof body), PCT_OK);
    const unsigned char *found;
    size_t found_bytes;
    assert_true(pcti_cl_cache_find(key, &file, &found, &found_bytes));
    assert_int_equal(found_bytes, sizeof body);
    assert_memory_equal(found, body, sizeof body);
    pcti_file_unmap(&file);
    expect_replaced();
    assert_false(pcti_cl_cache_find("no such key", &file, &found, &found_bytes));
    pcti_free(key);
    pcti_free(other);
    pcti_free(path);
}

/* A file in the folder's place cannot be written even by root. One warning for the whole process. */
static int child_unwritable(void) {
    pct_log_set(count_warnings, NULL);
    for (int i = 0; i < 2; i++) {
        pcti_cl_device *device = test_open(false);
        bool is_cached[2];
        pct_status status = test_run(device, "-DBIAS=1", 1, 100, 16, &is_cached[0]);
        if (status == PCT_OK) status = test_run(device, "-DBIAS=2", 2, 100, 16, &is_cached[1]);
        pcti_cl_programs_save(device);
        pcti_cl_programs_save(device);
        pcti_cl_device_close(device);
        if (status != PCT_OK || is_cached[0] || is_cached[1]) return 1;
    }
    return warnings == 1 ? 0 : 10 + warnings;
}

static void test_unwritable_folder(void **state) {
    (void)state;
    skip_without_disk();
    char *path = pcti_format("%s/in_the_way", getenv("PCT_CACHE_DIR"));
    write_file(path, "x", 1);
    char *in_place = pcti_format("PCT_CACHE_DIR=%s", path),
         *below = pcti_format("PCT_CACHE_DIR=%s/sub", path);
    assert_int_equal(test_child("unwritable", (const char *[]){in_place, NULL}), 0);
    assert_int_equal(test_child("unwritable", (const char *[]){below, NULL}), 0);
    const char *const none[] = {"PCT_CACHE_DIR=", "XDG_CACHE_HOME=", "HOME=", "POCL_CACHE_DIR=/tmp", NULL};
    assert_int_equal(test_child("unwritable", none), 0);
    pcti_free(path);
    pcti_free(in_place);
    pcti_free(below);
}

static int child_run(void) {
    pcti_cl_device *device = test_open(false);
    pct_status status = PCT_OK;
    for (int bias = 1; bias <= 3 && status == PCT_OK; bias++) {
        char options[32];
        snprintf(options, sizeof options, "-DBIAS=%d", bias);
        status = test_run(device, options, bias, 100, 16, NULL);
        pcti_cl_programs_save(device);
    }
    pcti_cl_device_close(device);
    return status == PCT_OK ? 0 : 1;
}

static void test_processes_at_once(void **state) {
    (void)state;
    skip_without_disk();
    const char *const none[] = {NULL};
    for (int round = 0; round < 2; round++) { /* all write, then all read */
        int children[3];
        for (int i = 0; i < 3; i++) children[i] = test_child_start("run", none);
        for (int i = 0; i < 3; i++) assert_int_equal(test_child_wait(children[i]), 0);
    }
    assert_true(run_is_cached("-DBIAS=1", 1));
    assert_true(run_is_cached("-DBIAS=3", 3));
}

static void test_build_error(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    pcti_cl_program *program = NULL;
    static const char broken[] = "kernel void f(global int *x) {\n    x[0] = no_such_name;\n}\n";
    assert_int_equal(pcti_cl_program_get_text(device, "broken", broken, "-DTILE=7", &program),
                     PCT_ERROR_DEVICE);
    assert_null(program);
    const char *message = pct_error_message();
    static const char *const parts[] = {"clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)",
                                        "kernels \"broken\"", "options \"-cl-std=CL1.2 -DTILE=7\"",
                                        "no_such_name"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(message, parts[i])) fail_msg("no \"%s\" in: %s", parts[i], message);
    /* The compiler names our file and its line; Oclgrind's counts through the whole text instead. */
    if (strcmp(device->info.platform_name, "Oclgrind")) assert_non_null(strstr(message, "broken:2:"));
    assert_int_equal(pcti_cl_program_get(device, "no_family", "", &program), PCT_ERROR_NOT_FOUND);
    assert_non_null(strstr(pct_error_message(), "no_family.cl"));
    assert_int_equal(pcti_cl_live_objects().programs, 0);
    pcti_cl_device_close(device);
}

static void test_source_folder(void **state) {
    (void)state;
    const char *folder = getenv("PCT_CACHE_DIR");
    pcti_cl_device *device = test_open(false);
    pcti_cl_program *program;
    cl_kernel kernel;
    char *family = pcti_format("%s/mine.cl", folder), *prelude = pcti_format("%s/prelude.clh", folder);
    setenv("PCT_CL_DIR", folder, 1);
    assert_int_equal(pcti_cl_program_get(device, "mine", "", &program), PCT_ERROR_NOT_FOUND);
    assert_non_null(strstr(pct_error_message(), "PCT_CL_DIR: "));
    write_file(prelude, "#define FROM_DISK f", 19);
    write_file(family, "kernel void FROM_DISK(global int *x) { x[0] = 1; }", 50);
    assert_int_equal(pcti_cl_program_get(device, "mine", "", &program), PCT_OK);
    assert_int_equal(pcti_cl_kernel_create(program, "f", &kernel), PCT_OK);
    pcti_cl_kernel_release(kernel);
    write_file(family, "kernel void FROM_DISK2(global int *x) { x[0] = 1; }", 51); /* changed: built anew */
    assert_int_equal(pcti_cl_program_get(device, "mine", "", &program), PCT_OK);
    assert_int_equal(pcti_cl_kernel_create(program, "FROM_DISK2", &kernel), PCT_OK);
    pcti_cl_kernel_release(kernel);
    unsetenv("PCT_CL_DIR");
    pcti_cl_device_close(device);
    pcti_free(family);
    pcti_free(prelude);
}

/* What was embedded is the file, byte for byte. */
static void test_embedded(void **state) {
    (void)state;
    assert_true(pcti_cl_n_sources > 0);
    for (size_t i = 0; i < pcti_cl_n_sources; i++) {
        pcti_file file;
        char *path = pcti_format(PCT_SOURCE_DIR "/cl/%s", pcti_cl_sources[i].name);
        assert_int_equal(pcti_file_map(path, &file), PCT_OK);
        assert_int_equal(file.bytes, pcti_cl_sources[i].bytes);
        assert_memory_equal(file.data, pcti_cl_sources[i].text, file.bytes);
        pcti_file_unmap(&file);
        pcti_free(path);
    }
}

static void test_trial(void **state) {
    (void)state;
    pcti_cl_device *device = test_open(false);
    float values[3] = {0};
    static const char good[] =
        "kernel void f(global float *x) { for (int i = 0; i < 3; i++) x[i] = i * SCALE; }";
    assert_true(pcti_cl_trial(device, good, "-DSCALE=2.5f", "f", values, 3));
    assert_true(values[0] == 0.0f && values[1] == 2.5f && values[2] == 5.0f);
    assert_false(pcti_cl_trial(device, good, "", "f", values, 3)); /* SCALE is not defined */
    assert_false(pcti_cl_trial(device, good, "-DSCALE=1", "g", values, 3));
    assert_non_null(strstr(pct_error_message(), "\"g\""));
    assert_false(pcti_cl_trial(device, "kernel void f(global float *x) { x[0] = no_such_function(1.0f); }",
                               "", "f", values, 3));
    pcti_cl_live live = pcti_cl_live_objects();
    assert_true(live.programs == 0 && live.kernels == 0 && live.buffers == 0);
    pcti_cl_device_close(device);
}

static void test_defines(void **state) {
    (void)state;
    /* A locale with a decimal comma, where the machine has one. */
    static const char *const names[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    for (int i = 0; i < 3; i++) {
        if (!setlocale(LC_ALL, names[i])) continue;
        pcti_text text = {0};
        pcti_cl_define_int(&text, "A", -1234567890123);
        pcti_cl_define_float(&text, "B", 0.1f);
        pcti_cl_define_float(&text, "C", 3.0f);
        pcti_cl_define_float(&text, "D", -1e-30f);
        pcti_cl_define_float(&text, "E", HUGE_VALF);
        pcti_cl_define_float(&text, "F", -HUGE_VALF);
        assert_false(text.failed);
        assert_string_equal(text.data, " -DA=-1234567890123 -DB=0.100000001f -DC=3.0f -DD=-1e-30f"
                                       " -DE=INFINITY -DF=-INFINITY");
        pcti_text_free(&text);
    }
    setlocale(LC_ALL, "C");
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "unwritable")) return child_unwritable();
    if (argc > 1 && !strcmp(argv[1], "run")) return child_run();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cache_hit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_program_per_options, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_entries, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_entries, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unwritable_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_processes_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_source_folder, setup, teardown),
        cmocka_unit_test(test_embedded),
        cmocka_unit_test(test_trial),
        cmocka_unit_test(test_defines),
    };
    return cmocka_run_group_tests_name("cl_program", tests, NULL, NULL);
}
