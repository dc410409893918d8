#include "base/status.h"

#include <stdio.h>
#include <string.h>

#include "pct_build.h"

enum { MESSAGE_BYTES = 8192 };
static _Thread_local char message[MESSAGE_BYTES];

static pct_log_fn log_fn;
static void *log_cookie;

const char *pct_status_name(pct_status status)
{
    switch (status) {
    case PCT_OK: return "PCT_OK";
    case PCT_ERROR_ARGUMENT: return "PCT_ERROR_ARGUMENT";
    case PCT_ERROR_SHAPE: return "PCT_ERROR_SHAPE";
    case PCT_ERROR_UNSUPPORTED: return "PCT_ERROR_UNSUPPORTED";
    case PCT_ERROR_NOT_FOUND: return "PCT_ERROR_NOT_FOUND";
    case PCT_ERROR_FORMAT: return "PCT_ERROR_FORMAT";
    case PCT_ERROR_IO: return "PCT_ERROR_IO";
    case PCT_ERROR_MEMORY: return "PCT_ERROR_MEMORY";
    case PCT_ERROR_DEVICE: return "PCT_ERROR_DEVICE";
    case PCT_ERROR_INTERRUPTED: return "PCT_ERROR_INTERRUPTED";
    }
    return "unknown status";
}

const char *pct_error_message(void) { return message; }
const char *pct_version(void) { return PCT_BUILD_VERSION; }
const char *pct_commit(void) { return PCT_BUILD_COMMIT; }

pct_status pcti_fail(pct_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES]; /* formatted apart: the arguments may point into `message` */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(message, text, sizeof message);
    return status;
}

pct_status pcti_fail_in(pct_status status, const char *format, ...)
{
    char context[512], text[MESSAGE_BYTES + sizeof context + 2];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s: %s", context, message);
    text[MESSAGE_BYTES - 1] = 0;
    memcpy(message, text, sizeof message);
    return status;
}

void pct_log_set(pct_log_fn fn, void *cookie)
{
    log_fn = fn;
    log_cookie = cookie;
}

void pcti_log(pct_log_level level, const char *format, ...)
{
    if (!log_fn) return;
    char text[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_fn(log_cookie, level, text);
}
