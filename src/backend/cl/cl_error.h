/* OpenCL's error codes as text and as pct_status. */
#ifndef PCTI_BACKEND_CL_ERROR_H
#define PCTI_BACKEND_CL_ERROR_H

#include <CL/cl.h>

#include "base/status.h"

/* "CL_OUT_OF_RESOURCES"; "unknown OpenCL code" for one that no header has. Static storage. */
const char *pcti_cl_code_name(cl_int code);

/* Sets this thread's message to "api: NAME (code)[: detail]" and returns PCT_ERROR_MEMORY for the codes that
 * mean exhaustion, PCT_ERROR_DEVICE otherwise. `format` may be NULL. Never call it with CL_SUCCESS. */
pct_status pcti_cl_fail(const char *api, cl_int code, const char *format, ...) PCTI_PRINTF(3, 4);

/* For a call that returns its code, in functions with one `fail:` label and a local `pct_status status`:
 * PCTI_CL_TRY(clFinish, (queue)). */
#define PCTI_CL_TRY(api, arguments)                                                                          \
    do {                                                                                                     \
        cl_int code_ = api arguments;                                                                        \
        if (code_ != CL_SUCCESS) {                                                                           \
            status = pcti_cl_fail(#api, code_, NULL);                                                        \
            goto fail;                                                                                       \
        }                                                                                                    \
    } while (0)

#endif
