/* What every command of the toolkit does alike: messages, exit codes, signals, standard output. */
#ifndef PCTI_TOOLS_TOOL_H
#define PCTI_TOOLS_TOOL_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/status.h"

/* How a command ends. An interrupted one ends with 128 + the signal's number: 130 or 143. */
enum {
    TOOL_OK = 0,
    TOOL_WRONG = 1, /* a wrong result, or a regression */
    TOOL_USAGE = 2, /* the command line, or the choice of a device */
    TOOL_INPUT = 3, /* a file that was to be read */
    TOOL_DEVICE = 4 /* device, memory, or a result that could not be written */
};

/* The first call of main. `program` is borrowed and stands before every message. Warnings of the library are
 * printed once each, its other news only in verbose mode. From here on SIGINT and SIGTERM only set a flag (a
 * second one ends the process at once), and a closed pipe is a failed write. */
void tool_begin(const char *program);
void tool_set_verbose(bool verbose);

/* "program: text" as a line on standard error. */
void tool_message(const char *format, ...) PCTI_PRINTF(1, 2);
void tool_message_list(const char *format, va_list args);

/* The exit code of a failed call. Some failures say it by themselves (memory, a broken file, an option's
 * value); for the others (not found, unsupported, read or write failed, shapes) `otherwise` tells what the
 * call was about: TOOL_USAGE for names and devices, TOOL_INPUT for a file to read, TOOL_DEVICE for a plan or
 * a file to write. */
int tool_exit_code(pct_status status, int otherwise);
/* The same, after printing the library's message. PCT_OK gives TOOL_OK and prints nothing. */
int tool_fail(pct_status status, int otherwise);

/* 0, or the exit code 130 or 143 if the user wants us to stop. Ask between runs; then close plans and
 * devices, drop unfinished files and end with tool_end. */
int tool_interrupted(void);

/* Writes to standard output; false after a failure, which tool_end reports. */
bool tool_print(const char *text);
bool tool_print_flush(void);

/* Flushes standard output and returns main's result: `code`, or TOOL_DEVICE if output was lost (a full disk
 * is named, a closed pipe is not), or the code of an interruption. */
int tool_end(int code);

#endif
