/* One line that tells how far a long job is: on a terminal only, nothing in a pipe or file. */
#ifndef PCTI_TOOLS_PROGRESS_H
#define PCTI_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct progress {
    FILE *stream;
    const char *what; /* borrowed */
    size_t done, total;
    uint64_t shown_ns; /* when the line was last written; 0: it is not on the screen */
    bool terminal;
} progress;

/* total 0: unknown. Prefer stderr: results go to stdout. */
void progress_begin(progress *line, FILE *stream, const char *what, size_t total);
/* `done` of `total`, now at `detail` (NULL allowed). Written at most ten times a second. */
void progress_update(progress *line, size_t done, const char *detail);
/* Takes the line off the screen, before other output and at the end. The next update brings it back. */
void progress_clear(progress *line);

#endif
