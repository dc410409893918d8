#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/status.h"
#include "pct/data.h"

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes over `path`, which may be NULL after a failed allocation. */
static pct_status add_path(pct_picture_paths *list, size_t *capacity, char *path) {
    pct_status status =
        path ? pcti_grow(&list->paths, capacity, list->count, sizeof *list->paths) : PCT_ERROR_MEMORY;
    if (status == PCT_OK)
        list->paths[list->count++] = path;
    else
        pcti_free(path);
    return status;
}

static pct_status add_folder(pct_picture_paths *list, size_t *capacity, const char *path, DIR *folder) {
    size_t length = strlen(path);
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry)
            return errno ? pcti_fail(PCT_ERROR_IO, "%s: cannot list: %s", path, strerror(errno)) : PCT_OK;
        if (entry->d_name[0] == '.') continue;
        char *file = pcti_format("%s%s%s", path, slash, entry->d_name);
        struct stat info;
        if (file && (stat(file, &info) || !S_ISREG(info.st_mode))) {
            pcti_free(file);
            continue;
        }
        PCTI_RETURN_IF_FAILED(add_path(list, capacity, file));
    }
}

pct_status pct_picture_list(const char *path, pct_picture_paths **out) {
    pct_status status;
    size_t capacity = 0;
    struct stat info;
    DIR *folder = NULL;
    *out = NULL;
    pct_picture_paths *list = pcti_calloc(1, sizeof *list);
    if (!list) return PCT_ERROR_MEMORY;
    if (stat(path, &info) || !S_ISDIR(info.st_mode)) {
        PCTI_TRY(add_path(list, &capacity, pcti_strdup(path)));
    } else if (!(folder = opendir(path))) {
        status = pcti_fail(PCT_ERROR_IO, "%s: cannot list: %s", path, strerror(errno));
        goto fail;
    } else {
        PCTI_TRY(add_folder(list, &capacity, path, folder));
        closedir(folder);
    }
    if (list->count) qsort(list->paths, list->count, sizeof *list->paths, by_bytes);
    *out = list;
    return PCT_OK;
fail:
    if (folder) closedir(folder);
    pct_picture_paths_free(list);
    return status;
}

void pct_picture_paths_free(pct_picture_paths *list) {
    if (!list) return;
    for (size_t i = 0; i < list->count; i++) pcti_free(list->paths[i]);
    pcti_free(list->paths);
    pcti_free(list);
}
