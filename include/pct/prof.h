/* Profiles: what each step of a plan did and how long it took. */
#ifndef PCT_PROF_H
#define PCT_PROF_H

#include <stddef.h>
#include <stdint.h>

#include "pct/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pct_format {
    PCT_FORMAT_TABLE, /* aligned, human units */
    PCT_FORMAT_MARKDOWN,
    PCT_FORMAT_CSV, /* RFC 4180 quoting, UTF-8, lines end in \n */
    PCT_FORMAT_JSON,
    PCT_FORMAT_SQL,  /* results only; SQLite's dialect */
    PCT_FORMAT_TRACE /* profiles only; Chrome's trace event JSON, which Perfetto reads */
} pct_format;

/* One step of a plan. Strings are borrowed, NULL where unknown; numbers are NaN where unknown. */
typedef struct pct_profile_step {
    const char *node, *op, *impl, *shapes;
    double flops, bytes; /* of one run: floating-point operations, bytes read and written */
    double ms;           /* median of the runs */
    double start_ms; /* since the start of the first step, for the trace; all NaN: steps follow each other */
} pct_profile_step;

/* Steps in execution order as text, in every format but SQL. The caller frees *text with pct_text_free. */
PCT_API pct_status pct_profile_text(const pct_profile_step *steps, size_t count, pct_format format,
                                    char **text);

#ifdef __cplusplus
}
#endif
#endif
