/* The directory of a zip file (PKWARE's APPNOTE.TXT; zip64 too). */
#ifndef PCTI_IMPORT_ZIP_H
#define PCTI_IMPORT_ZIP_H

#include "base/file.h"
#include "import/pickle.h"

typedef struct pcti_zip_entry {
    pcti_text_view name;
    uint64_t header, bytes, packed_bytes; /* header: where its local header lies */
    unsigned flags, method;
} pcti_zip_entry;

typedef struct pcti_zip {
    pcti_zip_entry *entries; /* sorted by name */
    size_t count, capacity;
} pcti_zip;

pct_status pcti_zip_open(const pcti_file *file, pcti_zip *zip);
void pcti_zip_close(pcti_zip *zip);
/* NULL if there is none. */
const pcti_zip_entry *pcti_zip_find(const pcti_zip *zip, const char *name, size_t length);
/* Where the entry's bytes lie in the file; PCT_ERROR_UNSUPPORTED if they are compressed or encrypted. */
pct_status pcti_zip_locate(const pcti_file *file, const pcti_zip_entry *entry, size_t *begin);

#endif
