/* Program binaries on disk, in the cache folder "opencl". Other processes may read and write the same
 * entries. */
#ifndef PCTI_BACKEND_CL_CACHE_H
#define PCTI_BACKEND_CL_CACHE_H

#include <stdbool.h>

#include "base/file.h"

/* Goes into every key: binaries of an older layout or of other conventions are never found again. */
enum { PCTI_CL_CACHE_FORMAT = 1 };

/* Finds the entry of `key`, a text that names everything the binary depends on, and checks all of it: a
 * runtime may abort the process on a binary that was cut short. On true, `body` lies in `file`, which the
 * caller unmaps. */
bool pcti_cl_cache_find(const char *key, pcti_file *file, const unsigned char **body, size_t *body_bytes);

/* Makes or replaces the entry. Errors: what base/file.h says of an unwritable folder. */
pct_status pcti_cl_cache_store(const char *key, const void *body, size_t body_bytes);

#endif
