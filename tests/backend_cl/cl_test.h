/* What the tests of the OpenCL layer share: a device, a scratch folder, and the same program again as a child
 * with other environment variables, since runtimes read theirs once. */
#ifndef CL_TEST_H
#define CL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cl/cl_program.h"

/* Opens the default device; skips the calling test, saying why, where there is none. */
pcti_cl_device *test_open(bool profiling);

/* The platform of the default device is PoCL, whose environment variables make odd devices. */
bool test_is_pocl(void);

/* Makes a folder for this process, "/tmp/pct-cl-XXXXXX" or under TMPDIR; removed with its contents at
 * `remove`. */
const char *test_folder_make(void);
void test_folder_remove(void);

/* Starts this program with one argument and these variables ("NAME=value", ends with NULL) on top of its own;
 * returns a handle for wait. */
int test_child_start(const char *mode, const char *const *variables);
/* The exit code, or 128 + signal. */
int test_child_wait(int child);
int test_child(const char *mode, const char *const *variables);

/* out[i] = 2 in[i] + BIAS for i < n; and a kernel that takes a while. */
extern const char TEST_SOURCE[];

/* Builds, runs and checks TEST_SOURCE's first kernel over n values; `options` define BIAS. */
pct_status test_run(pcti_cl_device *device, const char *options, int bias, size_t n, size_t wanted_local,
                    bool *is_cached);

#endif
