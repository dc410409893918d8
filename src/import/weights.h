/* What the readers of weights files fill in. */
#ifndef PCTI_IMPORT_WEIGHTS_H
#define PCTI_IMPORT_WEIGHTS_H

#include <stdbool.h>

#include "base/file.h"
#include "pct/weights.h"

/* How an element is stored. Little-endian always. */
typedef enum pcti_store {
    PCTI_STORE_F32,
    PCTI_STORE_F64,
    PCTI_STORE_F16,
    PCTI_STORE_BF16,
    PCTI_STORE_I64,
    PCTI_STORE_I32,
    PCTI_STORE_I16,
    PCTI_STORE_I8,
    PCTI_STORE_U8,
    PCTI_STORE_U16,
    PCTI_STORE_U32,
    PCTI_STORE_BOOL,
    PCTI_STORE_U64, /* this and the ones below are checked but cannot be read */
    PCTI_STORE_F8_E4M3,
    PCTI_STORE_F8_E5M2,
    PCTI_STORE_COUNT
} pcti_store;

extern const struct pcti_store_info {
    const char *safetensors; /* its name in a safetensors header */
    const char *torch;       /* its storage class in torch, or NULL */
    int bytes;
    pct_dtype dtype; /* that holds its values */
    bool readable;
} pcti_store_table[PCTI_STORE_COUNT];

typedef struct pcti_weight {
    char *name; /* owned */
    pcti_store store;
    int32_t rank;
    int64_t dims[PCT_MAX_RANK], strides[PCT_MAX_RANK]; /* in elements, none negative */
    size_t start;                                      /* of element 0, in bytes from the start of the file */
    int64_t elems;
    int64_t reach; /* bytes from element 0's start to the end of the furthest element; 0 if empty */
} pcti_weight;

struct pct_weights {
    pcti_file file;
    pcti_weight *tensors;
    size_t count, capacity;
    size_t *by_name; /* indices, sorted */
    pct_text_pair *metadata;
    size_t n_metadata, metadata_capacity;
};

/* Fills a zeroed `weights` whose `file` is set; clear frees all but the file. */
pct_status pcti_weights_parse(pct_weights *weights);
void pcti_weights_clear(pct_weights *weights);

/* Appends a tensor. Takes `weight->name` over, also on failure. elems and reach are computed here, and every
 * element must lie in the file's range [begin, end), the tensor's storage. */
pct_status pcti_weights_add(pct_weights *weights, pcti_weight *weight, size_t begin, size_t end);

/* Row-major strides of the weight's dims; false if their product overflows. */
bool pcti_weight_set_dense(pcti_weight *weight);
bool pcti_weight_is_dense(const pcti_weight *weight);

/* The readers: fill tensors (unsorted) and metadata from weights->file. */
pct_status pcti_safetensors_parse(pct_weights *weights);
bool pcti_torch_old_is(const pcti_file *file);
pct_status pcti_torch_old_parse(pct_weights *weights);
bool pcti_torch_zip_is(const pcti_file *file);
pct_status pcti_torch_zip_parse(pct_weights *weights);

bool pcti_utf8_valid(const char *text, size_t length);
/* Up to 80 bytes of foreign text for a message, anything unprintable shown as '?'; returns `out`. */
enum { PCTI_SHOWN = 84 };
char *pcti_shown(const char *text, size_t length, char out[PCTI_SHOWN]);

static inline uint64_t pcti_le(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--) value = value << 8 | bytes[i];
    return value;
}

#endif
