#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

struct pcti_writer {
    int descriptor;
    char *path, *temporary;
};

pct_status pcti_file_map(const char *path, pcti_file *file)
{
    pct_status status = PCT_OK;
    *file = (pcti_file){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return pcti_fail(errno == ENOENT ? PCT_ERROR_NOT_FOUND : PCT_ERROR_IO, "%s: cannot open: %s", path,
                         strerror(errno));
    struct stat info;
    if (fstat(descriptor, &info)) {
        status = pcti_fail(PCT_ERROR_IO, "%s: %s", path, strerror(errno));
        goto fail;
    }
    if (!S_ISREG(info.st_mode)) {
        status = pcti_fail(PCT_ERROR_IO, "%s: not a regular file", path);
        goto fail;
    }
    if (!(file->path = pcti_strdup(path))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    file->bytes = (size_t)info.st_size;
    if (file->bytes) {
        void *data = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED) {
            status = pcti_fail(PCT_ERROR_IO, "%s: cannot map %zu bytes: %s", path, file->bytes, strerror(errno));
            goto fail;
        }
        file->data = data;
    }
    close(descriptor);
    return PCT_OK;
fail:
    close(descriptor);
    pcti_free(file->path);
    *file = (pcti_file){0};
    return status;
}

void pcti_file_unmap(pcti_file *file)
{
    if (file->data) munmap((void *)(uintptr_t)file->data, file->bytes);
    pcti_free(file->path);
    *file = (pcti_file){0};
}

void pcti_file_drop(const pcti_file *file, size_t offset, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first = (offset + page - 1) / page * page, end = (offset + bytes) / page * page;
    if (file->data && end > first && end <= file->bytes)
        madvise((void *)(uintptr_t)(file->data + first), end - first, MADV_DONTNEED);
}

/* The process's umask, read without changing it under other threads; 022 where the system does not say. */
static mode_t file_mask(void)
{
    char line[128];
    unsigned mask = 022;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Umask: %o", &mask) == 1) break;
    if (file) fclose(file);
    return (mode_t)mask;
}

pct_status pcti_writer_begin(const char *path, pcti_writer **out)
{
    *out = NULL;
    struct stat facts; /* renaming over a device or a pipe would put a file in its place */
    if (!stat(path, &facts) && !S_ISREG(facts.st_mode))
        return pcti_fail(PCT_ERROR_IO, "%s: cannot write here: not a regular file", path);
    pcti_writer *writer = pcti_calloc(1, sizeof *writer);
    if (!writer) return PCT_ERROR_MEMORY;
    writer->descriptor = -1;
    char *target = realpath(path, NULL); /* a link stays one: what it points to is replaced */
    writer->path = pcti_strdup(target ? target : path);
    free(target);
    if (writer->path) writer->temporary = pcti_format("%s.tmp-XXXXXX", writer->path);
    if (!writer->path || !writer->temporary) {
        pcti_writer_abort(writer);
        return PCT_ERROR_MEMORY;
    }
    writer->descriptor = mkostemp(writer->temporary, O_CLOEXEC);
    if (writer->descriptor < 0) {
        pct_status status = pcti_fail(PCT_ERROR_IO, "%s: cannot write here: %s", path, strerror(errno));
        writer->temporary[0] = 0;
        pcti_writer_abort(writer);
        return status;
    }
    fchmod(writer->descriptor, 0666 & ~file_mask()); /* mkostemp gives 0600 whatever the user's mask says */
    *out = writer;
    return PCT_OK;
}

pct_status pcti_writer_write(pcti_writer *writer, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes) {
        ssize_t written = write(writer->descriptor, from, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return pcti_fail(PCT_ERROR_IO, "%s: cannot write: %s", writer->path, strerror(errno));
        from += written;
        bytes -= (size_t)written;
    }
    return PCT_OK;
}

pct_status pcti_writer_commit(pcti_writer *writer)
{
    pct_status status = PCT_OK;
    if (fsync(writer->descriptor)) status = pcti_fail(PCT_ERROR_IO, "%s: cannot sync: %s", writer->path, strerror(errno));
    if (close(writer->descriptor) && !status)
        status = pcti_fail(PCT_ERROR_IO, "%s: cannot write: %s", writer->path, strerror(errno));
    writer->descriptor = -1;
    if (!status && rename(writer->temporary, writer->path))
        status = pcti_fail(PCT_ERROR_IO, "%s: cannot rename into place: %s", writer->path, strerror(errno));
    if (!status) writer->temporary[0] = 0;
    pcti_writer_abort(writer);
    return status;
}

void pcti_writer_abort(pcti_writer *writer)
{
    if (!writer) return;
    if (writer->descriptor >= 0) close(writer->descriptor);
    if (writer->temporary && writer->temporary[0]) unlink(writer->temporary);
    pcti_free(writer->temporary);
    pcti_free(writer->path);
    pcti_free(writer);
}

pct_status pcti_file_replace(const char *path, const void *data, size_t bytes)
{
    pcti_writer *writer;
    PCTI_RETURN_IF_FAILED(pcti_writer_begin(path, &writer));
    pct_status status = pcti_writer_write(writer, data, bytes);
    if (status != PCT_OK) {
        pcti_writer_abort(writer);
        return status;
    }
    return pcti_writer_commit(writer);
}

static pct_status make_folders(char *path)
{
    for (char *slash = path + 1;; slash++) {
        if (*slash && *slash != '/') continue;
        char saved = *slash;
        *slash = 0;
        int failed = mkdir(path, 0777) && errno != EEXIST;
        pct_status status =
            failed ? pcti_fail(PCT_ERROR_IO, "%s: cannot make folder: %s", path, strerror(errno)) : PCT_OK;
        *slash = saved;
        if (status != PCT_OK || !saved) return status;
    }
}

pct_status pcti_cache_folder(const char *sub, char **path)
{
    *path = NULL;
    const char *own = getenv("PCT_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *slash = sub ? "/" : "", *below = sub ? sub : "";
    char *folder;
    if (own && *own) folder = pcti_format("%s%s%s", own, slash, below);
    else if (xdg && *xdg) folder = pcti_format("%s/pct%s%s", xdg, slash, below);
    else if (home && *home) folder = pcti_format("%s/.cache/pct%s%s", home, slash, below);
    else return pcti_fail(PCT_ERROR_IO, "no cache folder: set PCT_CACHE_DIR, XDG_CACHE_HOME or HOME");
    if (!folder) return PCT_ERROR_MEMORY;
    pct_status status = make_folders(folder);
    if (status != PCT_OK) {
        pcti_free(folder);
        return status;
    }
    *path = folder;
    return PCT_OK;
}
