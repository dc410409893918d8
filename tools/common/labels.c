#define _GNU_SOURCE
#include "labels.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "prof/json.h"

static pct_status check_utf8(const char *path, size_t line, const char *name)
{
    for (size_t bytes; *name; name += bytes)
        if (!(bytes = pcti_utf8_bytes(name))) return pcti_fail(PCT_ERROR_FORMAT, "%s:%zu: not UTF-8", path, line);
    return PCT_OK;
}

static pct_status add_line(tool_labels *labels, size_t *capacity, const char *path, const char *line, size_t length)
{
    if (length && line[length - 1] == '\r') length--;
    PCTI_RETURN_IF_FAILED(pcti_grow(&labels->names, capacity, labels->count, sizeof *labels->names));
    char *name = pcti_calloc(length + 1, 1);
    if (!name) return PCT_ERROR_MEMORY;
    memcpy(name, line, length);
    labels->names[labels->count++] = name;
    if (strlen(name) != length)
        return pcti_fail(PCT_ERROR_FORMAT, "%s:%zu: a zero byte: not a text file", path, labels->count);
    return check_utf8(path, labels->count, name);
}

pct_status tool_labels_read(const char *path, tool_labels **out)
{
    static const char mark[] = "\xef\xbb\xbf";
    pct_status status = PCT_OK;
    pcti_file file = {0};
    size_t capacity = 0;
    *out = NULL;
    tool_labels *labels = pcti_calloc(1, sizeof *labels);
    if (!labels) return PCT_ERROR_MEMORY;
    PCTI_TRY(pcti_file_map(path, &file));
    const char *at = (const char *)file.data, *end = at + file.bytes;
    if (file.bytes >= sizeof mark - 1 && !memcmp(at, mark, sizeof mark - 1)) at += sizeof mark - 1;
    while (at != end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        PCTI_TRY(add_line(labels, &capacity, path, at, (size_t)((stop ? stop : end) - at)));
        at = stop ? stop + 1 : end;
    }
    if (!labels->count) {
        status = pcti_fail(PCT_ERROR_FORMAT, "%s: no names in it", path);
        goto fail;
    }
    pcti_file_unmap(&file);
    *out = labels;
    return PCT_OK;
fail:
    pcti_file_unmap(&file);
    tool_labels_free(labels);
    return status;
}

void tool_labels_free(tool_labels *labels)
{
    if (!labels) return;
    for (size_t i = 0; i < labels->count; i++) pcti_free(labels->names[i]);
    pcti_free(labels->names);
    pcti_free(labels);
}

pct_status tool_data_path(const char *name, char **path)
{
    char program[PATH_MAX];
    *path = NULL;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return pcti_fail(PCT_ERROR_NOT_FOUND, "%s: where this program lies is unknown", name);
    program[length] = 0;
    char *slash = strrchr(program, '/');
    if (slash) *slash = 0;
    char *found = pcti_format("%s/%s/%s", program, PCT_DATA_FROM_PROGRAM, name);
    if (!found) return PCT_ERROR_MEMORY;
    if (access(found, R_OK)) {
        pct_status status = pcti_fail(PCT_ERROR_NOT_FOUND, "%s: not there", found);
        pcti_free(found);
        return status;
    }
    *path = found;
    return PCT_OK;
}
