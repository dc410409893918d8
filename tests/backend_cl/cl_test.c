#define _GNU_SOURCE
#include "cl_test.h"

#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

const char TEST_SOURCE[] = "kernel void twice(global const float *in, global float *out, int n) {\n"
                           "    if (IS_BEYOND(0, n)) return;\n"
                           "    index_t i = (index_t)get_global_id(0);\n"
                           "    out[i] = MUL_ADD(2.0f, in[i], (float)BIAS);\n"
                           "}\n"
                           "kernel void slow(global float *out, int n) {\n"
                           "    float x = 1.0f;\n"
                           "    for (int i = 0; i < n; i++) x = x * 0.999f + 0.5f;\n"
                           "    out[get_global_id(0)] = x;\n"
                           "}\n";

static size_t default_device(pcti_cl_list *list) {
    size_t index = 0;
    assert_int_equal(pcti_cl_list_create(list), PCT_OK);
    if (!list->n_devices) {
        print_message("skipped: %s\n", list->note);
        pcti_cl_list_destroy(list);
        skip();
    }
    assert_int_equal(pcti_cl_select(list, NULL, NULL, &index), PCT_OK);
    return index;
}

pcti_cl_device *test_open(bool profiling) {
    pcti_cl_list list;
    pcti_cl_device *device = NULL;
    size_t index = default_device(&list);
    pct_status status = pcti_cl_device_open(&list.devices[index], profiling, &device);
    if (status != PCT_OK) print_error("%s\n", pct_error_message());
    pcti_cl_list_destroy(&list);
    assert_int_equal(status, PCT_OK);
    return device;
}

bool test_is_pocl(void) {
    pcti_cl_list list;
    size_t index = default_device(&list);
    bool pocl = !strcmp(list.devices[index].platform_name, "Portable Computing Language");
    pcti_cl_list_destroy(&list);
    return pocl;
}

static char folder[256];

const char *test_folder_make(void) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/pct-cl-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    return folder;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

void test_folder_remove(void) {
    if (folder[0]) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = 0;
}

static bool is_overridden(const char *entry, const char *const *variables) {
    for (; *variables; variables++) {
        size_t length = (size_t)(strchr(*variables, '=') - *variables) + 1;
        if (!strncmp(entry, *variables, length)) return true;
    }
    return false;
}

int test_child_start(const char *mode, const char *const *variables) {
    size_t n = 0, n_own = 0, n_new = 0;
    while (environ[n_own]) n_own++;
    while (variables[n_new]) n_new++;
    char **environment = pcti_calloc(n_own + n_new + 1, sizeof *environment);
    assert_non_null(environment);
    for (size_t i = 0; i < n_own; i++)
        if (!is_overridden(environ[i], variables)) environment[n++] = environ[i];
    for (size_t i = 0; i < n_new; i++) environment[n++] = (char *)(uintptr_t)variables[i];
    char self[] = "/proc/self/exe", name[] = "child", *argument = pcti_strdup(mode);
    char path[4096] = "";
    assert_true(readlink(self, path, sizeof path - 1) > 0);
    char *arguments[] = {name, argument, NULL};
    pid_t pid;
    int failed = posix_spawn(&pid, path, NULL, NULL, arguments, environment);
    pcti_free(argument);
    pcti_free(environment);
    assert_int_equal(failed, 0);
    return pid;
}

int test_child_wait(int child) {
    int state;
    while (waitpid(child, &state, 0) < 0) assert_int_equal(errno, EINTR);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

int test_child(const char *mode, const char *const *variables) {
    return test_child_wait(test_child_start(mode, variables));
}

pct_status test_run(pcti_cl_device *device, const char *options, int bias, size_t n, size_t wanted_local,
                    bool *is_cached) {
    pct_status status = PCT_OK;
    pcti_cl_program *program;
    cl_kernel kernel = NULL;
    cl_mem in = NULL, out = NULL;
    size_t local;
    cl_int count = (cl_int)n;
    float *values = pcti_calloc(n, sizeof *values);
    if (!values) return PCT_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++) values[i] = (float)i;
    PCTI_TRY(pcti_cl_program_get_text(device, "test", TEST_SOURCE, options, &program));
    if (is_cached) *is_cached = pcti_cl_program_is_cached(program);
    PCTI_TRY(pcti_cl_kernel_create(program, "twice", &kernel));
    PCTI_TRY(pcti_cl_buffer_create(device, CL_MEM_COPY_HOST_PTR, n * sizeof *values, values, &in));
    PCTI_TRY(pcti_cl_buffer_create(device, CL_MEM_READ_WRITE, n * sizeof *values, NULL, &out));
    PCTI_TRY(pcti_cl_kernel_set(kernel, 0, sizeof in, &in));
    PCTI_TRY(pcti_cl_kernel_set(kernel, 1, sizeof out, &out));
    PCTI_TRY(pcti_cl_kernel_set(kernel, 2, sizeof count, &count));
    PCTI_TRY(pcti_cl_local_size(device, kernel, 1, &wanted_local, &local));
    if (local > device->info.max_work_group || local > wanted_local) {
        status = pcti_fail(PCT_ERROR_DEVICE, "local size %zu", local);
        goto fail;
    }
    PCTI_TRY(pcti_cl_kernel_launch(device->plain.compute, kernel, 1, &n, &local, NULL));
    PCTI_CL_TRY(clEnqueueReadBuffer,
                (device->plain.compute, out, CL_TRUE, 0, n * sizeof *values, values, 0, NULL, NULL));
    for (size_t i = 0; i < n && status == PCT_OK; i++)
        if (values[i] != (float)(2 * (int)i + bias))
            status = pcti_fail(PCT_ERROR_DEVICE, "value %zu is %g", i, (double)values[i]);
fail:
    pcti_cl_device_finish(device);
    pcti_cl_kernel_release(kernel);
    pcti_cl_buffer_release(in);
    pcti_cl_buffer_release(out);
    pcti_free(values);
    return status;
}
