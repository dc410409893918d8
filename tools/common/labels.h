/* Names of classes: a text file with one name a line, in the order of the class indices. */
#ifndef PCTI_TOOLS_LABELS_H
#define PCTI_TOOLS_LABELS_H

#include <stddef.h>

#include "base/status.h"

typedef struct tool_labels {
    size_t count;
    char **names; /* UTF-8, owned; a line may be empty */
} tool_labels;

/* UTF-8 with or without a byte order mark, lines ending in \n or \r\n, the last with or without its end. */
pct_status tool_labels_read(const char *path, tool_labels **labels);
void tool_labels_free(tool_labels *labels); /* NULL allowed */

/* The path of a data file that comes with the program, below share/pct beside the program's folder. The
 * caller frees *path with pcti_free; PCT_ERROR_NOT_FOUND if it is not there. */
pct_status tool_data_path(const char *name, char **path);

#endif
