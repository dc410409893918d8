/* Python's pickle format (PEP 307, PEP 3154; opcodes as Lib/pickletools.py describes them), as far as
 * PyTorch's state dicts use it. A pickle is a program for a stack machine that may call any function; this
 * one has none but those that build containers and tensors, and refuses every other by name. */
#ifndef PCTI_IMPORT_PICKLE_H
#define PCTI_IMPORT_PICKLE_H

#include "import/weights.h"

typedef enum pcti_kind {
    PCTI_NONE,
    PCTI_BOOLEAN, /* integer */
    PCTI_INTEGER, /* integer */
    PCTI_LONG,    /* an integer beyond 64 bits: text holds it, little-endian */
    PCTI_REAL,    /* its value is of no use to us */
    PCTI_STRING,  /* text, bytes too */
    PCTI_LIST,    /* items */
    PCTI_TUPLE,   /* items */
    PCTI_DICT,    /* items: key, value, key, value ... in order of insertion */
    PCTI_GLOBAL,  /* global */
    PCTI_STORAGE, /* storage */
    PCTI_TENSOR   /* tensor */
} pcti_kind;

static inline bool pcti_is_integer(pcti_kind kind)
{
    return kind == PCTI_INTEGER || kind == PCTI_BOOLEAN;
}

typedef struct pcti_text_view {
    const char *bytes; /* in the file, not terminated */
    size_t length;
} pcti_text_view;

/* As memcmp, a prefix first. */
int pcti_text_compare(pcti_text_view a, pcti_text_view b);

/* The functions and classes that a state dict may name. A storage class is PCTI_GLOBAL_STORAGE + pcti_store.
 */
typedef enum pcti_global {
    PCTI_GLOBAL_ORDERED_DICT,
    PCTI_GLOBAL_SIZE,
    PCTI_GLOBAL_TENSOR,    /* _rebuild_tensor, before torch 0.4 */
    PCTI_GLOBAL_TENSOR_V2, /* _rebuild_tensor_v2 */
    PCTI_GLOBAL_PARAMETER,
    PCTI_GLOBAL_STORAGE
} pcti_global;

/* Part of a named block of bytes that lies elsewhere in the file. */
typedef struct pcti_storage {
    pcti_text_view key;
    pcti_store store;
    int64_t elems;                   /* of the whole block */
    int64_t view_offset, view_elems; /* of the part, in elements; the whole block if it is no view */
    bool located;                    /* set, with begin, when its container is read on */
    size_t begin;                    /* of the part in the file */
} pcti_storage;

typedef struct pcti_value pcti_value;

typedef struct pcti_strided {
    pcti_value *storage;
    int64_t offset; /* in elements */
    int32_t rank;
    int64_t dims[PCT_MAX_RANK], strides[PCT_MAX_RANK];
} pcti_strided;

struct pcti_value {
    pcti_kind kind;
    union {
        int64_t integer;
        pcti_text_view text;
        pcti_global global;
        pcti_storage *storage;
        pcti_strided *tensor;
        struct {
            pcti_value **list;
            size_t count, capacity;
        } items;
    } u;
};

/* Owns the values of any number of pickles read from one file. Containers may hold themselves: walk with a
 * limit. */
typedef struct pcti_pickle {
    struct pcti_value_block *blocks;
    size_t values;
    pcti_value **storages; /* every storage, in order of appearance */
    size_t n_storages, storages_capacity;
} pcti_pickle;

/* Runs the pickle at the start of data; `used` is where it ends. Messages count bytes from there. */
pct_status pcti_pickle_read(pcti_pickle *pickle, const unsigned char *data, size_t bytes, size_t *used,
                            pcti_value **root);
void pcti_pickle_free(pcti_pickle *pickle);

/* A value of that kind, the rest of it zero; fails when memory or the limit of values is exhausted. */
pct_status pcti_value_new(pcti_pickle *pickle, pcti_kind kind, pcti_value **value);
pct_status pcti_value_append(pcti_value *container, pcti_value *item);
bool pcti_value_is_text(const pcti_value *value, const char *text);

/* What torch adds to the machine: the globals, calls of them, and persistent ids, which name storages. */
pct_status pcti_pickle_global(pcti_pickle *pickle, pcti_text_view module, pcti_text_view name, pcti_value **value);
pct_status pcti_pickle_call(pcti_pickle *pickle, const pcti_value *function, const pcti_value *arguments,
                            pcti_value **result);
pct_status pcti_pickle_persistent(pcti_pickle *pickle, const pcti_value *id, pcti_value **value);

#endif
