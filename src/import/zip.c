#include "import/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Record sizes and signatures of the format. */
enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    MAX_COMMENT = 65535,
    EXTRA_ZIP64 = 1,
    ENCRYPTED = 1
};
static const uint32_t END = 0x06054b50, END64 = 0x06064b50, LOCATOR = 0x07064b50, ENTRY = 0x02014b50,
                      LOCAL = 0x04034b50;

static int compare_entries(const void *a, const void *b)
{
    return pcti_text_compare(((const pcti_zip_entry *)a)->name, ((const pcti_zip_entry *)b)->name);
}

/* The end record is the last thing in the file but for a comment, whose length it gives. */
static const unsigned char *find_end(const pcti_file *file)
{
    for (size_t back = END_BYTES; back <= file->bytes && back <= END_BYTES + MAX_COMMENT; back++) {
        const unsigned char *record = file->data + file->bytes - back;
        if (pcti_le(record, 4) == END && END_BYTES + pcti_le(record + 20, 2) == back) return record;
    }
    return NULL;
}

typedef struct directory {
    uint64_t count, bytes, begin;
} directory;

static pct_status find_directory(const pcti_file *file, directory *dir)
{
    const unsigned char *end = find_end(file);
    *dir = (directory){0};
    if (!end) return pcti_fail(PCT_ERROR_FORMAT, "zip: no end record; the file is cut off");
    uint64_t disk = pcti_le(end + 4, 2);
    *dir = (directory){pcti_le(end + 10, 2), pcti_le(end + 12, 4), pcti_le(end + 16, 4)};
    size_t end_at = (size_t)(end - file->data);
    if (end_at >= LOCATOR_BYTES && pcti_le(end - LOCATOR_BYTES, 4) == LOCATOR) {
        uint64_t at = pcti_le(end - LOCATOR_BYTES + 8, 8);
        if (file->bytes < END64_BYTES || at > file->bytes - END64_BYTES || pcti_le(file->data + at, 4) != END64)
            return pcti_fail(PCT_ERROR_FORMAT, "zip: no zip64 end record where its locator points");
        const unsigned char *end64 = file->data + at;
        disk = pcti_le(end64 + 16, 4);
        *dir = (directory){pcti_le(end64 + 32, 8), pcti_le(end64 + 40, 8), pcti_le(end64 + 48, 8)};
    }
    if (disk != 0 && disk != 0xffff) return pcti_fail(PCT_ERROR_UNSUPPORTED, "zip: split over several files");
    if (dir->begin > end_at || dir->bytes > end_at - dir->begin)
        return pcti_fail(PCT_ERROR_FORMAT, "zip: the directory lies outside the file");
    return PCT_OK;
}

/* A field that holds only ones has its value in the zip64 extra field, in the order in which they are asked
 * for. */
static pct_status widen(uint64_t *value, const unsigned char **extra, const unsigned char *end)
{
    if (*value != 0xffffffff) return PCT_OK;
    if (end - *extra < 8) return pcti_fail(PCT_ERROR_FORMAT, "zip: an entry lacks its zip64 sizes");
    *value = pcti_le(*extra, 8);
    *extra += 8;
    return PCT_OK;
}

static pct_status read_zip64(pcti_zip_entry *entry, const unsigned char *extra, size_t bytes)
{
    const unsigned char *end = extra + bytes, *field = end, *field_end = end;
    for (; end - extra >= 4; extra += 4 + pcti_le(extra + 2, 2)) {
        if (pcti_le(extra + 2, 2) > (uint64_t)(end - extra) - 4) break;
        if (pcti_le(extra, 2) != EXTRA_ZIP64) continue;
        field = extra + 4;
        field_end = field + pcti_le(extra + 2, 2);
        break;
    }
    PCTI_RETURN_IF_FAILED(widen(&entry->bytes, &field, field_end));
    PCTI_RETURN_IF_FAILED(widen(&entry->packed_bytes, &field, field_end));
    return widen(&entry->header, &field, field_end);
}

static pct_status read_entry(const unsigned char *record, size_t left, pcti_zip_entry *entry, size_t *used)
{
    *used = 0;
    if (left < ENTRY_BYTES || pcti_le(record, 4) != ENTRY)
        return pcti_fail(PCT_ERROR_FORMAT, "zip: the directory is broken");
    size_t name = pcti_le(record + 28, 2), extra = pcti_le(record + 30, 2), comment = pcti_le(record + 32, 2);
    *used = ENTRY_BYTES + name + extra + comment;
    if (*used > left) return pcti_fail(PCT_ERROR_FORMAT, "zip: the directory is cut off");
    *entry = (pcti_zip_entry){.name = {(const char *)record + ENTRY_BYTES, name},
                              .flags = (unsigned)pcti_le(record + 8, 2),
                              .method = (unsigned)pcti_le(record + 10, 2),
                              .packed_bytes = pcti_le(record + 20, 4),
                              .bytes = pcti_le(record + 24, 4),
                              .header = pcti_le(record + 42, 4)};
    return read_zip64(entry, record + ENTRY_BYTES + name, extra);
}

pct_status pcti_zip_open(const pcti_file *file, pcti_zip *zip)
{
    char shown[PCTI_SHOWN];
    directory dir;
    pct_status status;
    *zip = (pcti_zip){0};
    PCTI_TRY(find_directory(file, &dir));
    for (uint64_t at = 0; at < dir.bytes;) {
        pcti_zip_entry entry;
        size_t used;
        PCTI_TRY(read_entry(file->data + dir.begin + at, (size_t)(dir.bytes - at), &entry, &used));
        PCTI_TRY(pcti_grow(&zip->entries, &zip->capacity, zip->count, sizeof *zip->entries));
        zip->entries[zip->count++] = entry;
        at += used;
    }
    if (zip->count != dir.count)
        PCTI_TRY(pcti_fail(PCT_ERROR_FORMAT, "zip: %zu entries where %llu are announced", zip->count,
                           (unsigned long long)dir.count));
    if (zip->count) qsort(zip->entries, zip->count, sizeof *zip->entries, compare_entries);
    for (size_t i = 1; i < zip->count; i++)
        if (!compare_entries(&zip->entries[i - 1], &zip->entries[i]))
            PCTI_TRY(pcti_fail(PCT_ERROR_FORMAT, "zip: two entries are named '%s'",
                               pcti_shown(zip->entries[i].name.bytes, zip->entries[i].name.length, shown)));
    return PCT_OK;
fail:
    pcti_zip_close(zip);
    return status;
}

void pcti_zip_close(pcti_zip *zip)
{
    pcti_free(zip->entries);
    *zip = (pcti_zip){0};
}

const pcti_zip_entry *pcti_zip_find(const pcti_zip *zip, const char *name, size_t length)
{
    pcti_zip_entry wanted = {.name = {name, length}};
    return zip->count ? bsearch(&wanted, zip->entries, zip->count, sizeof wanted, compare_entries) : NULL;
}

pct_status pcti_zip_locate(const pcti_file *file, const pcti_zip_entry *entry, size_t *begin)
{
    char shown[PCTI_SHOWN];
    pcti_shown(entry->name.bytes, entry->name.length, shown);
    if (entry->flags & ENCRYPTED) return pcti_fail(PCT_ERROR_UNSUPPORTED, "zip: '%s' is encrypted", shown);
    if (entry->method != 0)
        return pcti_fail(PCT_ERROR_UNSUPPORTED,
                         "zip: '%s' is compressed (method %u); torch.save stores its entries uncompressed", shown,
                         entry->method);
    if (entry->bytes != entry->packed_bytes)
        return pcti_fail(PCT_ERROR_FORMAT, "zip: '%s' is stored with two different sizes", shown);
    if (file->bytes < LOCAL_BYTES || entry->header > file->bytes - LOCAL_BYTES ||
        pcti_le(file->data + entry->header, 4) != LOCAL)
        return pcti_fail(PCT_ERROR_FORMAT, "zip: no header of '%s' where the directory points", shown);
    const unsigned char *local = file->data + entry->header;
    uint64_t data = entry->header + LOCAL_BYTES + pcti_le(local + 26, 2) + pcti_le(local + 28, 2);
    if (data > file->bytes || entry->bytes > file->bytes - data)
        return pcti_fail(PCT_ERROR_FORMAT, "zip: '%s' lies beyond the end of the file", shown);
    *begin = (size_t)data;
    return PCT_OK;
}
