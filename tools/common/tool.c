#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

static const char *program_name = "pct";
static volatile sig_atomic_t stop_signal;
static int output_error; /* errno of the first failed write */

/* ---- messages ---- */

void tool_message_list(const char *format, va_list args)
{
    flockfile(stderr);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void tool_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tool_message_list(format, args);
    va_end(args);
}

/* Warnings already shown, by hash; beyond this many, repetitions are shown again. */
enum { WARNINGS_KEPT = 64 };
typedef struct log_state {
    pthread_mutex_t lock;
    uint64_t shown[WARNINGS_KEPT];
    size_t count;
    bool verbose;
} log_state;
static log_state log_book = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_new(uint64_t hash)
{
    for (size_t i = 0; i < log_book.count; i++)
        if (log_book.shown[i] == hash) return false;
    if (log_book.count < WARNINGS_KEPT) log_book.shown[log_book.count++] = hash;
    return true;
}

static void print_log(void *cookie, pct_log_level level, const char *message)
{
    static const char *const titles[] = {
        [PCT_LOG_WARNING] = "warning: ", [PCT_LOG_INFO] = "", [PCT_LOG_DEBUG] = "debug: "};
    pthread_mutex_lock(&log_book.lock);
    bool show =
        level == PCT_LOG_WARNING ? is_new(pcti_fnv1a(PCTI_FNV_START, message, strlen(message))) : log_book.verbose;
    pthread_mutex_unlock(&log_book.lock);
    if (show) tool_message("%s%s", titles[level], message);
}

void tool_set_verbose(bool verbose)
{
    pthread_mutex_lock(&log_book.lock);
    log_book.verbose = verbose;
    pthread_mutex_unlock(&log_book.lock);
}

/* ---- signals ---- */

static void on_signal(int number)
{
    if (stop_signal) _exit(128 + number); /* the user has asked twice: leave what is running */
    stop_signal = number;
}

static void watch_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&stop.sa_mask);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

int tool_interrupted(void)
{
    return stop_signal ? 128 + (int)stop_signal : 0;
}

/* ---- begin, exit codes, end ---- */

void tool_begin(const char *program)
{
    program_name = program;
    watch_signals();
    pct_log_set(print_log, NULL);
}

int tool_exit_code(pct_status status, int otherwise)
{
    switch (status) {
    case PCT_OK:
        return TOOL_OK;
    case PCT_ERROR_ARGUMENT:
        return TOOL_USAGE;
    case PCT_ERROR_FORMAT:
        return TOOL_INPUT;
    case PCT_ERROR_MEMORY:
    case PCT_ERROR_DEVICE:
        return TOOL_DEVICE;
    case PCT_ERROR_INTERRUPTED:
        return tool_interrupted() ? tool_interrupted() : 128 + SIGINT;
    case PCT_ERROR_SHAPE:
    case PCT_ERROR_UNSUPPORTED:
    case PCT_ERROR_NOT_FOUND:
    case PCT_ERROR_IO:
        break;
    }
    return otherwise;
}

int tool_fail(pct_status status, int otherwise)
{
    if (status != PCT_OK && status != PCT_ERROR_INTERRUPTED) {
        const char *message = pct_error_message();
        tool_message("%s", *message ? message : pct_status_name(status));
    }
    return tool_exit_code(status, otherwise);
}

bool tool_print(const char *text)
{
    if (!output_error && fputs(text, stdout) == EOF) output_error = errno;
    return !output_error;
}

bool tool_print_flush(void)
{
    if (!output_error && fflush(stdout) == EOF) output_error = errno;
    return !output_error;
}

int tool_end(int code)
{
    tool_print_flush();
    /* Some file systems report a lost write only here. */
    if (close(STDOUT_FILENO) && errno != EBADF && !output_error) output_error = errno;
    pct_log_set(NULL, NULL);
    if (tool_interrupted()) {
        tool_message("interrupted");
        return tool_interrupted();
    }
    if (!output_error) return code;
    if (output_error != EPIPE) tool_message("standard output: %s", strerror(output_error));
    return TOOL_DEVICE;
}
