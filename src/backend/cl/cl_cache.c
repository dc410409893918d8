/* An entry is a header, the whole key, the binary. Its name is the key's hash; the key itself is compared, so
 * two keys with one hash only replace each other. */
#include "backend/cl/cl_cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

typedef struct header {
    char magic[8];
    uint32_t format, key_bytes;
    uint64_t body_bytes, hash; /* of the key and the body */
} header;

static const char MAGIC[8] = {'P', 'C', 'T', 'C', 'L', 'B', 'I', 'N'};

static pct_status entry_path(const char *key, char **path) {
    char *folder;
    *path = NULL;
    PCTI_RETURN_IF_FAILED(pcti_cache_folder("opencl", &folder));
    uint64_t hash = pcti_fnv1a(PCTI_FNV_START, key, strlen(key));
    *path = pcti_format("%s/%016llx.clbin", folder, (unsigned long long)hash);
    pcti_free(folder);
    return *path ? PCT_OK : PCT_ERROR_MEMORY;
}

static header header_of(const char *key, const void *body, size_t body_bytes) {
    header head = {
        .format = PCTI_CL_CACHE_FORMAT, .key_bytes = (uint32_t)strlen(key), .body_bytes = body_bytes};
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    head.hash = pcti_fnv1a(pcti_fnv1a(PCTI_FNV_START, key, head.key_bytes), body, body_bytes);
    return head;
}

/* Whether the file's bytes are a whole entry of this key. */
static bool is_entry(const pcti_file *file, const char *key) {
    header head;
    size_t key_bytes = strlen(key);
    if (file->bytes <= sizeof head + key_bytes) return false;
    memcpy(&head, file->data, sizeof head);
    if (head.key_bytes != key_bytes || head.body_bytes != file->bytes - sizeof head - key_bytes) return false;
    if (memcmp(file->data + sizeof head, key, key_bytes)) return false;
    header right = header_of(key, file->data + sizeof head + key_bytes, (size_t)head.body_bytes);
    return !memcmp(&head, &right, sizeof head);
}

bool pcti_cl_cache_find(const char *key, pcti_file *file, const unsigned char **body, size_t *body_bytes) {
    char *path = NULL;
    *file = (pcti_file){0};
    *body = NULL;
    *body_bytes = 0;
    bool found =
        entry_path(key, &path) == PCT_OK && pcti_file_map(path, file) == PCT_OK && is_entry(file, key);
    pcti_free(path);
    if (!found) {
        pcti_file_unmap(file);
        return false;
    }
    *body = file->data + sizeof(header) + strlen(key);
    *body_bytes = file->bytes - sizeof(header) - strlen(key);
    return true;
}

pct_status pcti_cl_cache_store(const char *key, const void *body, size_t body_bytes) {
    pct_status status = PCT_OK;
    char *path = NULL;
    pcti_writer *writer = NULL;
    header head = header_of(key, body, body_bytes);
    PCTI_TRY(entry_path(key, &path));
    PCTI_TRY(pcti_writer_begin(path, &writer));
    PCTI_TRY(pcti_writer_write(writer, &head, sizeof head));
    PCTI_TRY(pcti_writer_write(writer, key, head.key_bytes));
    PCTI_TRY(pcti_writer_write(writer, body, body_bytes));
    pcti_free(path);
    return pcti_writer_commit(writer);
fail:
    pcti_writer_abort(writer);
    pcti_free(path);
    return status;
}
