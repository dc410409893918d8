/* The two containers of torch.save, and the tensors in what their pickles build. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/pickle.h"
#include "import/zip.h"

/* Deep and large enough for any checkpoint; an end for containers that hold themselves or double at each
 * level. */
enum { MAX_DEPTH = 32, MAX_VISITS = 1 << 20, MAX_TENSORS = 1 << 17, MAX_NAME = 512 };

typedef struct walk {
    pct_weights *weights;
    const pcti_zip *zip; /* NULL: the old container, whose storages are located beforehand */
    pcti_text_view folder;
    pcti_text path; /* to the value at hand */
    size_t visits, depth;
} walk;

/* ---- where storages lie ---- */

/* Bytes of the whole storage; SIZE_MAX if they overflow, which no file can hold. */
static size_t storage_bytes(const pcti_storage *storage)
{
    size_t bytes;
    bool fits = pcti_mul_size((size_t)storage->elems, (size_t)pcti_store_table[storage->store].bytes, &bytes);
    return fits ? bytes : SIZE_MAX;
}

static void set_place(pcti_storage *storage, size_t begin)
{
    storage->begin = begin + (size_t)storage->view_offset * (size_t)pcti_store_table[storage->store].bytes;
    storage->located = true;
}

/* The entry FOLDER/NAME; NULL if there is none. */
static pct_status find_entry(const walk *w, pcti_text_view name, const pcti_zip_entry **entry)
{
    pcti_text path = {0};
    pcti_text_add_bytes(&path, w->folder.bytes, w->folder.length);
    pcti_text_add_bytes(&path, "/", 1);
    pcti_text_add_bytes(&path, name.bytes, name.length);
    bool failed = path.failed;
    *entry = failed ? NULL : pcti_zip_find(w->zip, path.data, path.length);
    pcti_text_free(&path);
    return failed ? PCT_ERROR_MEMORY : PCT_OK;
}

static pct_status locate_in_zip(const walk *w, pcti_storage *storage)
{
    char shown[PCTI_SHOWN];
    pcti_text name = {0};
    const pcti_zip_entry *entry = NULL;
    size_t begin;
    pcti_text_add_bytes(&name, "data/", 5);
    pcti_text_add_bytes(&name, storage->key.bytes, storage->key.length);
    pct_status status =
        name.failed ? PCT_ERROR_MEMORY : find_entry(w, (pcti_text_view){name.data, name.length}, &entry);
    pcti_text_free(&name);
    if (status != PCT_OK) return status;
    pcti_shown(storage->key.bytes, storage->key.length, shown);
    if (!entry) return pcti_fail(PCT_ERROR_FORMAT, "its storage '%s' is missing", shown);
    PCTI_RETURN_IF_FAILED(pcti_zip_locate(&w->weights->file, entry, &begin));
    if (entry->bytes != storage_bytes(storage))
        return pcti_fail(PCT_ERROR_FORMAT,
                         "its storage '%s' of %" PRId64 " elements has %" PRIu64 " bytes in the file", shown,
                         storage->elems, entry->bytes);
    set_place(storage, begin);
    return PCT_OK;
}

static pct_status locate(const walk *w, pcti_storage *storage)
{
    char shown[PCTI_SHOWN];
    if (storage->located) return PCT_OK;
    if (w->zip) return locate_in_zip(w, storage);
    return pcti_fail(PCT_ERROR_FORMAT,
                     "its storage '%s' of %" PRId64 " elements is missing or beyond the end of the file",
                     pcti_shown(storage->key.bytes, storage->key.length, shown), storage->elems);
}

/* ---- the tensors of a checkpoint ---- */

static pct_status add_tensor(walk *w, const pcti_strided *tensor)
{
    pcti_storage *storage = tensor->storage->u.storage;
    if (memchr(w->path.data, 0, w->path.length) || !pcti_utf8_valid(w->path.data, w->path.length)) {
        char shown[PCTI_SHOWN];
        return pcti_fail(PCT_ERROR_FORMAT, "tensor '%s': its name is no UTF-8 text",
                         pcti_shown(w->path.data, w->path.length, shown));
    }
    if (w->weights->count == MAX_TENSORS) return pcti_fail(PCT_ERROR_FORMAT, "more than %d tensors", MAX_TENSORS);
    pct_status status = locate(w, storage);
    if (status != PCT_OK) return pcti_fail_in(status, "tensor '%s'", w->path.data);
    if (tensor->offset < 0 || tensor->offset > storage->view_elems)
        return pcti_fail(PCT_ERROR_FORMAT, "tensor '%s' begins outside its storage", w->path.data);
    size_t element = (size_t)pcti_store_table[storage->store].bytes;
    pcti_weight weight = {.store = storage->store, .rank = tensor->rank};
    memcpy(weight.dims, tensor->dims, sizeof weight.dims);
    memcpy(weight.strides, tensor->strides, sizeof weight.strides);
    weight.start = storage->begin + (size_t)tensor->offset * element;
    if (!(weight.name = pcti_strdup(w->path.data))) return PCT_ERROR_MEMORY;
    return pcti_weights_add(w->weights, &weight, storage->begin,
                            storage->begin + (size_t)storage->view_elems * element);
}

static pct_status collect(walk *w, const pcti_value *value);

/* Appends "key" or ".key" to the path and goes on there; passes over keys that are neither text nor number.
 */
static pct_status collect_item(walk *w, const pcti_value *key, const pcti_value *value)
{
    size_t length = w->path.length;
    if (key->kind != PCTI_STRING && key->kind != PCTI_INTEGER) return PCT_OK;
    if (length) pcti_text_add_bytes(&w->path, ".", 1);
    if (key->kind == PCTI_INTEGER)
        pcti_text_add(&w->path, "%" PRId64, key->u.integer);
    else if (key->u.text.length <= MAX_NAME)
        pcti_text_add_bytes(&w->path, key->u.text.bytes, key->u.text.length);
    else
        return pcti_fail(PCT_ERROR_FORMAT, "a name of %zu bytes, at most %d are read", key->u.text.length, MAX_NAME);
    if (w->path.failed) return PCT_ERROR_MEMORY;
    if (w->path.length > MAX_NAME) return pcti_fail(PCT_ERROR_FORMAT, "a name of more than %d bytes", MAX_NAME);
    PCTI_RETURN_IF_FAILED(collect(w, value));
    w->path.data[w->path.length = length] = 0;
    return PCT_OK;
}

static pct_status collect(walk *w, const pcti_value *value)
{
    bool dict = value->kind == PCTI_DICT;
    if (++w->visits > MAX_VISITS)
        return pcti_fail(PCT_ERROR_FORMAT, "more than %d values, counting repeats", MAX_VISITS);
    if (value->kind == PCTI_TENSOR) return add_tensor(w, value->u.tensor);
    if (!dict && value->kind != PCTI_LIST && value->kind != PCTI_TUPLE) return PCT_OK;
    if (w->depth == MAX_DEPTH)
        return pcti_fail(PCT_ERROR_FORMAT, "nested more than %d deep, or in itself", MAX_DEPTH);
    w->depth++;
    for (size_t i = 0; i < value->u.items.count; i++) {
        pcti_value index = {.kind = PCTI_INTEGER, .u.integer = (int64_t)i};
        const pcti_value *key = dict ? value->u.items.list[i++] : &index;
        PCTI_RETURN_IF_FAILED(collect_item(w, key, value->u.items.list[i]));
    }
    w->depth--;
    return PCT_OK;
}

static bool holds_tensors(const pcti_value *value)
{
    for (size_t i = 1; value->kind == PCTI_DICT && i < value->u.items.count; i += 2)
        if (value->u.items.list[i]->kind == PCTI_TENSOR) return true;
    return false;
}

/* Which dict is taken as the file's is told in pct/weights.h. */
static pct_status collect_checkpoint(walk *w, const pcti_value *root)
{
    const pcti_value *only = NULL;
    size_t dicts = 0;
    if (root->kind != PCTI_DICT) return pcti_fail(PCT_ERROR_FORMAT, "holds no dict of tensors");
    for (size_t i = 1; i < root->u.items.count; i += 2)
        if (holds_tensors(root->u.items.list[i])) {
            only = root->u.items.list[i];
            dicts++;
        }
    pct_status status = collect(w, !holds_tensors(root) && dicts == 1 ? only : root);
    pcti_text_free(&w->path);
    return status;
}

/* ---- zip: FOLDER/data.pkl, FOLDER/data/KEY for each storage ---- */

bool pcti_torch_zip_is(const pcti_file *file)
{
    return file->bytes >= 4 && !memcmp(file->data, "PK\3\4", 4);
}

/* FOLDER is the saved file's name, or "archive". */
static pct_status find_state(const pcti_zip *zip, const pcti_zip_entry **state, pcti_text_view *folder)
{
    static const char suffix[] = "/data.pkl";
    size_t length = sizeof suffix - 1;
    *state = NULL;
    for (size_t i = 0; i < zip->count; i++) {
        pcti_text_view name = zip->entries[i].name;
        if (name.length <= length || memcmp(name.bytes + name.length - length, suffix, length)) continue;
        *folder = (pcti_text_view){name.bytes, name.length - length};
        if (memchr(folder->bytes, '/', folder->length)) continue;
        *state = &zip->entries[i];
        return PCT_OK;
    }
    return pcti_fail(PCT_ERROR_FORMAT, "a zip file, but not one of torch.save: no entry FOLDER/data.pkl");
}

/* Older torch, which wrote on little-endian machines only, has no entry that says so. */
static pct_status check_byte_order(const walk *w)
{
    static const char name[] = "byteorder", little[] = "little";
    const pcti_zip_entry *entry;
    size_t begin;
    PCTI_RETURN_IF_FAILED(find_entry(w, (pcti_text_view){name, sizeof name - 1}, &entry));
    if (!entry) return PCT_OK;
    PCTI_RETURN_IF_FAILED(pcti_zip_locate(&w->weights->file, entry, &begin));
    if (entry->bytes == sizeof little - 1 && !memcmp(w->weights->file.data + begin, little, sizeof little - 1))
        return PCT_OK;
    return pcti_fail(PCT_ERROR_UNSUPPORTED, "saved on a big-endian machine");
}

pct_status pcti_torch_zip_parse(pct_weights *weights)
{
    pcti_zip zip = {0};
    pcti_pickle pickle = {0};
    pcti_value *root;
    const pcti_zip_entry *state;
    walk w = {.weights = weights, .zip = &zip};
    size_t begin, used;
    pct_status status;
    PCTI_TRY(pcti_zip_open(&weights->file, &zip));
    PCTI_TRY(find_state(&zip, &state, &w.folder));
    PCTI_TRY(check_byte_order(&w));
    PCTI_TRY(pcti_zip_locate(&weights->file, state, &begin));
    PCTI_TRY(pcti_pickle_read(&pickle, weights->file.data + begin, (size_t)state->bytes, &used, &root));
    PCTI_TRY(collect_checkpoint(&w, root));
fail:
    pcti_pickle_free(&pickle);
    pcti_zip_close(&zip);
    return status;
}

/* ---- the old container: pickles of magic number, protocol, machine, state dict and storage keys, then for
 * each key an element count of 8 bytes and the elements ---- */

static const char magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"; /* 0x1950a86a20f9469cfc6c, little-endian */
enum { MAGIC_BYTES = sizeof magic - 1, OLD_PROTOCOL = 1001 };

bool pcti_torch_old_is(const pcti_file *file)
{
    /* PROTO 2 or 3, LONG1 10; or PROTO 4 or 5, FRAME, its length, LONG1 10. */
    const unsigned char *data = file->data;
    size_t skip = file->bytes > 3 && data[0] == 0x80 ? (data[2] == 0x95 ? 11 : 2) : SIZE_MAX;
    return skip != SIZE_MAX && file->bytes >= skip + 2 + MAGIC_BYTES && data[skip] == 0x8a &&
           data[skip + 1] == MAGIC_BYTES && !memcmp(data + skip + 2, magic, MAGIC_BYTES);
}

static int compare_keys(const void *a, const void *b)
{
    pcti_value *const *left = a, *const *right = b;
    return pcti_text_compare((*left)->u.storage->key, (*right)->u.storage->key);
}

/* The first storage of that key among the sorted ones; n_storages if none has it. */
static size_t find_key(const pcti_pickle *pickle, pcti_text_view key)
{
    size_t low = 0, high = pickle->n_storages;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pcti_text_compare(pickle->storages[middle]->u.storage->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pickle->n_storages && !pcti_text_compare(pickle->storages[low]->u.storage->key, key)
               ? low
               : pickle->n_storages;
}

/* Places the storages in the order of the keys from `at` on; `cut` if the file ends before they do. */
static pct_status place_storages(pct_weights *weights, pcti_pickle *pickle, const pcti_value *keys, size_t at,
                                 bool *cut)
{
    *cut = false;
    char shown[PCTI_SHOWN];
    if (keys->kind != PCTI_LIST) return pcti_fail(PCT_ERROR_FORMAT, "its storage keys are no list");
    if (pickle->n_storages) qsort(pickle->storages, pickle->n_storages, sizeof *pickle->storages, compare_keys);
    for (size_t i = 0; i < keys->u.items.count; i++) {
        const pcti_value *key = keys->u.items.list[i];
        if (key->kind != PCTI_STRING) return pcti_fail(PCT_ERROR_FORMAT, "a storage key is no text");
        pcti_shown(key->u.text.bytes, key->u.text.length, shown);
        size_t first = find_key(pickle, key->u.text);
        if (first == pickle->n_storages) return pcti_fail(PCT_ERROR_FORMAT, "storage '%s' is of unknown type", shown);
        const pcti_storage *whole = pickle->storages[first]->u.storage;
        if (whole->located) return pcti_fail(PCT_ERROR_FORMAT, "storage '%s' is listed twice", shown);
        size_t bytes = storage_bytes(whole);
        *cut = weights->file.bytes - at < 8 || bytes > weights->file.bytes - at - 8;
        if (*cut) return PCT_OK; /* a tensor that needs it says so by name */
        if (pcti_le(weights->file.data + at, 8) != (uint64_t)whole->elems)
            return pcti_fail(PCT_ERROR_FORMAT,
                             "storage '%s' should have %" PRId64 " elements, in the file it has %" PRIu64, shown,
                             whole->elems, pcti_le(weights->file.data + at, 8));
        for (size_t j = first; j < pickle->n_storages; j++) {
            pcti_storage *storage = pickle->storages[j]->u.storage;
            if (pcti_text_compare(storage->key, key->u.text)) break;
            if (storage->store != whole->store || storage->elems != whole->elems)
                return pcti_fail(PCT_ERROR_FORMAT, "storage '%s' is described in two ways", shown);
            set_place(storage, at + 8);
        }
        at += 8 + bytes;
    }
    return PCT_OK;
}

static pct_status check_machine(const pcti_value *protocol, const pcti_value *machine)
{
    if (protocol->kind != PCTI_INTEGER || protocol->u.integer != OLD_PROTOCOL)
        return pcti_fail(PCT_ERROR_UNSUPPORTED, "torch container of an unknown version");
    for (size_t i = 0; machine->kind == PCTI_DICT && i < machine->u.items.count; i += 2)
        if (pcti_value_is_text(machine->u.items.list[i], "little_endian") &&
            machine->u.items.list[i + 1]->kind == PCTI_BOOLEAN && !machine->u.items.list[i + 1]->u.integer)
            return pcti_fail(PCT_ERROR_UNSUPPORTED, "saved on a big-endian machine");
    return PCT_OK;
}

pct_status pcti_torch_old_parse(pct_weights *weights)
{
    enum { MAGIC, PROTOCOL, MACHINE, STATE, KEYS, PICKLES };
    pcti_value *parts[PICKLES];
    pcti_pickle pickle = {0};
    walk w = {.weights = weights};
    size_t at = 0, used;
    bool cut;
    pct_status status;
    for (int i = 0; i < PICKLES; i++) {
        status = pcti_pickle_read(&pickle, weights->file.data + at, weights->file.bytes - at, &used, &parts[i]);
        if (status != PCT_OK) {
            pcti_fail_in(status, "pickle %d of %d", i + 1, PICKLES);
            goto fail;
        }
        at += used;
    }
    PCTI_TRY(check_machine(parts[PROTOCOL], parts[MACHINE]));
    PCTI_TRY(place_storages(weights, &pickle, parts[KEYS], at, &cut));
    PCTI_TRY(collect_checkpoint(&w, parts[STATE]));
    if (cut) status = pcti_fail(PCT_ERROR_FORMAT, "the file is cut off after %zu bytes", weights->file.bytes);
fail:
    pcti_pickle_free(&pickle);
    return status;
}
