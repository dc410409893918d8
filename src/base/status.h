/* How the library's own code reports failure: `return pcti_fail(PCT_ERROR_..., "what, where, which value")`. */
#ifndef PCTI_BASE_STATUS_H
#define PCTI_BASE_STATUS_H

#include <stdarg.h>

#include "pct/status.h"

#if defined(__GNUC__)
#define PCTI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PCTI_PRINTF(fmt, args)
#endif

/* Sets this thread's message and returns `status`. The arguments may refer to the present message. */
pct_status pcti_fail(pct_status status, const char *format, ...) PCTI_PRINTF(2, 3);

/* Puts "context: " before this thread's message and returns `status`, for callers that know the file or node. */
pct_status pcti_fail_in(pct_status status, const char *format, ...) PCTI_PRINTF(2, 3);

void pcti_log(pct_log_level level, const char *format, ...) PCTI_PRINTF(2, 3);

/* For functions with one `fail:` label and a local `pct_status status`. */
#define PCTI_TRY(expression)                                                                                         \
    do {                                                                                                             \
        status = (expression);                                                                                       \
        if (status != PCT_OK) goto fail;                                                                             \
    } while (0)

/* For functions with nothing to free. */
#define PCTI_RETURN_IF_FAILED(expression)                                                                            \
    do {                                                                                                             \
        pct_status status_ = (expression);                                                                           \
        if (status_ != PCT_OK) return status_;                                                                       \
    } while (0)

#endif
