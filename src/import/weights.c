/* An opened weights file: its table of tensors, and names found in it. */
#include "import/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

const struct pcti_store_info pcti_store_table[PCTI_STORE_COUNT] = {
    [PCTI_STORE_F32] = {"F32", "FloatStorage", 4, PCT_F32, true},
    [PCTI_STORE_F64] = {"F64", "DoubleStorage", 8, PCT_F64, true},
    [PCTI_STORE_F16] = {"F16", "HalfStorage", 2, PCT_F16, true},
    [PCTI_STORE_BF16] = {"BF16", "BFloat16Storage", 2, PCT_BF16, true},
    [PCTI_STORE_I64] = {"I64", "LongStorage", 8, PCT_I64, true},
    [PCTI_STORE_I32] = {"I32", "IntStorage", 4, PCT_I32, true},
    [PCTI_STORE_I16] = {"I16", "ShortStorage", 2, PCT_I32, true},
    [PCTI_STORE_I8] = {"I8", "CharStorage", 1, PCT_I32, true},
    [PCTI_STORE_U8] = {"U8", "ByteStorage", 1, PCT_U8, true},
    [PCTI_STORE_U16] = {"U16", NULL, 2, PCT_I32, true},
    [PCTI_STORE_U32] = {"U32", NULL, 4, PCT_I64, true},
    [PCTI_STORE_BOOL] = {"BOOL", "BoolStorage", 1, PCT_BOOL, true},
    [PCTI_STORE_U64] = {"U64", NULL, 8, PCT_I64, false},
    [PCTI_STORE_F8_E4M3] = {"F8_E4M3", NULL, 1, PCT_U8, false},
    [PCTI_STORE_F8_E5M2] = {"F8_E5M2", NULL, 1, PCT_U8, false},
};

pct_status pct_weights_open(const char *path, pct_weights **out)
{
    *out = NULL;
    pct_weights *weights = pcti_calloc(1, sizeof *weights);
    if (!weights) return PCT_ERROR_MEMORY;
    pct_status status;
    PCTI_TRY(pcti_file_map(path, &weights->file));
    PCTI_TRY(pcti_weights_parse(weights));
    *out = weights;
    return PCT_OK;
fail:
    pct_weights_close(weights);
    return status;
}

void pct_weights_close(pct_weights *weights)
{
    if (!weights) return;
    pcti_weights_clear(weights);
    pcti_file_unmap(&weights->file);
    pcti_free(weights);
}

void pcti_weights_clear(pct_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++) pcti_free(weights->tensors[i].name);
    for (size_t i = 0; i < weights->n_metadata; i++) {
        pcti_free((void *)(uintptr_t)weights->metadata[i].key);
        pcti_free((void *)(uintptr_t)weights->metadata[i].value);
    }
    pcti_free(weights->tensors);
    pcti_free(weights->by_name);
    pcti_free(weights->metadata);
    *weights = (pct_weights){.file = weights->file};
}

/* qsort has no context argument in C11, so it sorts pointers to the tensors. */
static int compare_names(const void *a, const void *b)
{
    const pcti_weight *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static pct_status sort_names(pct_weights *weights)
{
    char shown[PCTI_SHOWN];
    size_t count = weights->count;
    const pcti_weight **sorted = pcti_calloc(count, sizeof *sorted);
    weights->by_name = pcti_calloc(count, sizeof *weights->by_name);
    pct_status status = sorted && weights->by_name ? PCT_OK : PCT_ERROR_MEMORY;
    if (status != PCT_OK) goto fail;
    for (size_t i = 0; i < count; i++) sorted[i] = &weights->tensors[i];
    if (count) qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; i++) {
        weights->by_name[i] = (size_t)(sorted[i] - weights->tensors);
        if (i && !strcmp(sorted[i]->name, sorted[i - 1]->name)) {
            status = pcti_fail(PCT_ERROR_FORMAT, "two tensors are named '%s'",
                               pcti_shown(sorted[i]->name, strlen(sorted[i]->name), shown));
            goto fail;
        }
    }
fail:
    pcti_free(sorted);
    return status;
}

pct_status pcti_weights_parse(pct_weights *weights)
{
    pct_status status;
    if (pcti_torch_zip_is(&weights->file))
        PCTI_TRY(pcti_torch_zip_parse(weights));
    else if (pcti_torch_old_is(&weights->file))
        PCTI_TRY(pcti_torch_old_parse(weights));
    else
        PCTI_TRY(pcti_safetensors_parse(weights));
    PCTI_TRY(sort_names(weights));
    return PCT_OK;
fail:
    return pcti_fail_in(status, "%s", weights->file.path);
}

/* ---- adding tensors ---- */

bool pcti_weight_set_dense(pcti_weight *weight)
{
    int64_t stride = 1;
    for (int d = weight->rank - 1; d >= 0; d--) {
        weight->strides[d] = stride;
        if (!pcti_mul_int64(stride, weight->dims[d], &stride)) return false;
    }
    return true;
}

bool pcti_weight_is_dense(const pcti_weight *weight)
{
    int64_t stride = 1;
    if (weight->elems == 0) return true;
    for (int d = weight->rank - 1; d >= 0; d--) {
        if (weight->dims[d] != 1 && weight->strides[d] != stride) return false;
        stride *= weight->dims[d];
    }
    return true;
}

/* Product of the dimensions; false if one is negative or it overflows. */
static bool count_elems(const pcti_weight *weight, int64_t *elems)
{
    *elems = 1;
    for (int d = 0; d < weight->rank; d++)
        if (weight->dims[d] < 0 || !pcti_mul_int64(*elems, weight->dims[d], elems)) return false;
    return true;
}

/* False if a stride is negative or it overflows. */
static bool measure_reach(const pcti_weight *weight, int64_t *bytes)
{
    int64_t last = 0, step;
    for (int d = 0; d < weight->rank; d++)
        if (weight->strides[d] < 0 || !pcti_mul_int64(weight->dims[d] - 1, weight->strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    return !__builtin_add_overflow(last, 1, &last) &&
           pcti_mul_int64(last, pcti_store_table[weight->store].bytes, bytes);
}

pct_status pcti_weights_add(pct_weights *weights, pcti_weight *weight, size_t begin, size_t end)
{
    pct_status status;
    weight->reach = 0;
    if (!count_elems(weight, &weight->elems)) {
        status = pcti_fail(PCT_ERROR_FORMAT, "tensor '%s': a dimension is negative, or their product overflows",
                           weight->name);
        goto fail;
    }
    if (weight->elems == 0)
        weight->start = begin;
    else if (!measure_reach(weight, &weight->reach) || weight->start < begin || weight->start > end ||
             (uint64_t)weight->reach > end - weight->start) {
        status =
            pcti_fail(PCT_ERROR_FORMAT, "tensor '%s' leaves its storage of %zu bytes", weight->name, end - begin);
        goto fail;
    }
    PCTI_TRY(pcti_grow(&weights->tensors, &weights->capacity, weights->count, sizeof *weights->tensors));
    weights->tensors[weights->count++] = *weight;
    return PCT_OK;
fail:
    pcti_free(weight->name);
    weight->name = NULL;
    return status;
}

/* ---- getters ---- */

size_t pct_weights_count(const pct_weights *weights)
{
    return weights->count;
}

const char *pct_weights_name(const pct_weights *weights, size_t index)
{
    return index < weights->count ? weights->tensors[index].name : NULL;
}

pct_status pct_weights_shape(const pct_weights *weights, size_t index, pct_shape *shape)
{
    *shape = (pct_shape){0};
    if (index >= weights->count)
        return pcti_fail(PCT_ERROR_ARGUMENT, "%s: tensor %zu of %zu", weights->file.path, index, weights->count);
    const pcti_weight *weight = &weights->tensors[index];
    const struct pcti_store_info *info = &pcti_store_table[weight->store];
    if (!info->readable)
        return pcti_fail(PCT_ERROR_UNSUPPORTED, "%s: tensor '%s': elements of type %s cannot be read",
                         weights->file.path, weight->name, info->safetensors);
    shape->dtype = info->dtype;
    shape->rank = weight->rank;
    memcpy(shape->dims, weight->dims, sizeof shape->dims);
    return PCT_OK;
}

const char *pct_weights_metadata(const pct_weights *weights, const char *key)
{
    for (size_t i = 0; i < weights->n_metadata; i++)
        if (!strcmp(weights->metadata[i].key, key)) return weights->metadata[i].value;
    return NULL;
}

static bool lookup(const pct_weights *weights, const char *name, size_t *index)
{
    size_t low = 0, high = weights->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, weights->tensors[weights->by_name[middle]].name);
        if (order == 0) {
            *index = weights->by_name[middle];
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* The other spelling of a name inside a DenseNet layer, ".norm.1" for ".norm1" and back, in `out` of
 * strlen(name) + 2 bytes; false if the name has none. */
static bool respell(const char *name, char *out)
{
    static const char *const kinds[] = {".norm", ".relu", ".conv"};
    const char *layer = strstr(name, "denselayer");
    const char *dot = layer ? strchr(layer, '.') : NULL;
    for (size_t k = 0; dot && k < sizeof kinds / sizeof *kinds; k++) {
        size_t length = strlen(kinds[k]);
        if (strncmp(dot, kinds[k], length)) continue;
        const char *rest = dot + length;
        bool dotted = *rest == '.';
        if (rest[dotted] < '0' || rest[dotted] > '9') return false;
        size_t before = (size_t)(rest - name);
        memcpy(out, name, before);
        if (!dotted) out[before++] = '.';
        strcpy(out + before, rest + dotted);
        return true;
    }
    return false;
}

static pct_status fail_not_found(const pct_weights *weights, const char *name)
{
    enum { LISTED = 5 };
    pcti_text list = {0};
    for (size_t i = 0; i < weights->count && i < LISTED; i++)
        pcti_text_add(&list, "%s'%s'", i ? ", " : "", weights->tensors[i].name);
    pct_status status =
        pcti_fail(PCT_ERROR_NOT_FOUND, "%s: no tensor '%s' among its %zu: %s%s", weights->file.path, name,
                  weights->count, list.data ? list.data : "", weights->count > LISTED ? ", ..." : "");
    pcti_text_free(&list);
    return status;
}

pct_status pct_weights_find(const pct_weights *weights, const char *name, size_t *index)
{
    *index = 0;
    if (lookup(weights, name, index)) return PCT_OK;
    char *other = pcti_calloc(strlen(name) + 2, 1);
    if (!other) return PCT_ERROR_MEMORY;
    bool found = respell(name, other) && lookup(weights, other, index);
    pcti_free(other);
    return found ? PCT_OK : fail_not_found(weights, name);
}

/* ---- foreign text ---- */

bool pcti_utf8_valid(const char *text, size_t length)
{
    const unsigned char *byte = (const unsigned char *)text, *end = byte + length;
    while (byte < end) {
        uint32_t code = *byte++;
        if (code < 0x80) continue;
        int more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : 1;
        if (code < 0xc2 || code > 0xf4 || end - byte < more) return false;
        code &= 0x3fu >> more;
        for (int i = 0; i < more; i++, byte++) {
            if ((*byte & 0xc0) != 0x80) return false;
            code = code << 6 | (*byte & 0x3f);
        }
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    }
    return true;
}

char *pcti_shown(const char *text, size_t length, char out[PCTI_SHOWN])
{
    enum { MOST = PCTI_SHOWN - 4 };
    size_t kept = length < MOST ? length : MOST;
    for (size_t i = 0; i < kept; i++) out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    strcpy(out + kept, kept < length ? "..." : "");
    return out;
}
