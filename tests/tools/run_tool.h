/* Runs a program of the toolkit as a user does, and keeps what it wrote. */
#ifndef PCTI_TESTS_RUN_TOOL_H
#define PCTI_TESTS_RUN_TOOL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/status.h"

#define assert_ok(expression)                                                                                        \
    do {                                                                                                             \
        pct_status status_ = (expression);                                                                           \
        if (status_ != PCT_OK) fail_msg("%s: %s: %s", #expression, pct_status_name(status_), pct_error_message());   \
    } while (0)

#define assert_contains(text, part)                                                                                  \
    do {                                                                                                             \
        if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);                                      \
    } while (0)

#define assert_lacks(text, part)                                                                                     \
    do {                                                                                                             \
        if (strstr(text, part)) fail_msg("\"%s\" is in:\n%s", part, text);                                           \
    } while (0)

typedef struct outcome {
    int code; /* exit code; 1000 + signal if it was killed */
    char *out, *err;
} outcome;

/* A folder of this test program's own, emptied by remove_scratch. */
extern char scratch[64];
int make_scratch(void **state);   /* a cmocka group setup */
int remove_scratch(void **state); /* a group teardown */
/* Path of a file in the scratch folder. The last 8 results are valid. */
const char *in_scratch(const char *name);
void write_scratch(const char *name, const void *data, size_t bytes);

/* Runs `program` with a command line of words separated by blanks; nothing is expanded. Words before the
 * first that has no "=" are set in its environment, as a shell does. */
outcome run_tool(const char *program, const char *format, ...) PCTI_PRINTF(2, 3);
void outcome_free(outcome *result);
/* Runs it, expects an exit code and a text in what it says on standard error ("" for nothing to look for). */
void expect(const char *program, const char *words, int code, const char *message);

/* The same in steps, for signals: its standard output goes to the descriptor `out`, or if that is negative to
 * a file that wait_tool reads. */
typedef struct running {
    int pid;
    char out_path[96], err_path[96];
} running;
running start_tool(const char *program, const char *words, int out);
/* Waits until the program has written to its standard output file, up to a generous time. */
void wait_for_output(const running *tool);
outcome wait_tool(const running *tool);

#endif
