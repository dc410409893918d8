/* Files: mapped for reading, written whole or not at all. */
#ifndef PCTI_BASE_FILE_H
#define PCTI_BASE_FILE_H

#include <stddef.h>

#include "base/status.h"

/* A file's bytes, read-only. A file of 0 bytes has data = NULL. Messages name the path and the system's reason. */
typedef struct pcti_file {
    const unsigned char *data;
    size_t bytes;
    char *path; /* owned */
} pcti_file;

pct_status pcti_file_map(const char *path, pcti_file *file);
void pcti_file_unmap(pcti_file *file);
/* Tells the system that a range will not be read again soon, so that its pages stop counting as ours. */
void pcti_file_drop(const pcti_file *file, size_t offset, size_t bytes);

/* Writes to a temporary name beside `path`, syncs, renames: another process sees the old file or the new one whole. */
pct_status pcti_file_replace(const char *path, const void *data, size_t bytes);
/* The same in pieces: begin, write any number of times, then commit (or abort, which leaves the old file alone). */
typedef struct pcti_writer pcti_writer;
pct_status pcti_writer_begin(const char *path, pcti_writer **writer);
pct_status pcti_writer_write(pcti_writer *writer, const void *data, size_t bytes);
pct_status pcti_writer_commit(pcti_writer *writer); /* frees the writer, success or not */
void pcti_writer_abort(pcti_writer *writer);        /* NULL allowed */

/* The folder for caches, made if missing: PCT_CACHE_DIR, else XDG_CACHE_HOME/pct, else HOME/.cache/pct. `sub` names a
 * folder below it or is NULL. The caller frees *path with pcti_free. */
pct_status pcti_cache_folder(const char *sub, char **path);

#endif
