/* Writes safetensors files. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/tensor.h"
#include "import/weights.h"

/* The format asks that data begin at a multiple of 8. */
enum { ALIGNMENT = 8 };

static void add_string(pcti_text *text, const char *string)
{
    pcti_text_add_bytes(text, "\"", 1);
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            pcti_text_add(text, "\\%c", *string);
        else if ((unsigned char)*string < ' ')
            pcti_text_add(text, "\\u%04x", (unsigned)*string);
        else
            pcti_text_add_bytes(text, string, 1);
    }
    pcti_text_add_bytes(text, "\"", 1);
}

static const char *stored_name(pct_dtype dtype)
{
    for (int s = 0; s < PCTI_STORE_COUNT; s++) /* the first of a dtype is the one stored as such */
        if (pcti_store_table[s].dtype == dtype && pcti_store_table[s].readable)
            return pcti_store_table[s].safetensors;
    return NULL;
}

static pct_status check_tensor(const pct_named_tensor *tensor, size_t *bytes)
{
    int64_t elems;
    if (!tensor->name || !*tensor->name || !strcmp(tensor->name, "__metadata__") ||
        !pcti_utf8_valid(tensor->name, strlen(tensor->name)))
        return pcti_fail(PCT_ERROR_ARGUMENT, "a tensor's name must be UTF-8, not empty and not __metadata__");
    if (!stored_name(tensor->shape.dtype))
        return pcti_fail(PCT_ERROR_ARGUMENT, "tensor '%s': no such element type", tensor->name);
    pct_status status = pcti_shape_elems(&tensor->shape, &elems);
    if (status != PCT_OK) return pcti_fail_in(status, "tensor '%s'", tensor->name);
    if (!pcti_mul_size((size_t)elems, pct_dtype_size(tensor->shape.dtype), bytes))
        return pcti_fail(PCT_ERROR_ARGUMENT, "tensor '%s': too large", tensor->name);
    if (*bytes && !tensor->data) return pcti_fail(PCT_ERROR_ARGUMENT, "tensor '%s': no data", tensor->name);
    return PCT_OK;
}

static pct_status check_pairs(const pct_text_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!pairs[i].key || !pairs[i].value || !pcti_utf8_valid(pairs[i].key, strlen(pairs[i].key)) ||
            !pcti_utf8_valid(pairs[i].value, strlen(pairs[i].value)))
            return pcti_fail(PCT_ERROR_ARGUMENT, "metadata %zu: not UTF-8", i);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(pairs[i].key, pairs[j].key))
                return pcti_fail(PCT_ERROR_ARGUMENT, "metadata key '%s' twice", pairs[i].key);
    }
    return PCT_OK;
}

static void add_metadata(pcti_text *text, const pct_text_pair *pairs, size_t n)
{
    add_string(text, "__metadata__");
    pcti_text_add(text, ":{");
    for (size_t i = 0; i < n; i++) {
        if (i) pcti_text_add(text, ",");
        add_string(text, pairs[i].key);
        pcti_text_add(text, ":");
        add_string(text, pairs[i].value);
    }
    pcti_text_add(text, "}");
}

static void add_tensor(pcti_text *text, const pct_named_tensor *tensor, size_t begin, size_t end)
{
    add_string(text, tensor->name);
    pcti_text_add(text, ":{\"dtype\":\"%s\",\"shape\":[", stored_name(tensor->shape.dtype));
    for (int d = 0; d < tensor->shape.rank; d++)
        pcti_text_add(text, "%s%lld", d ? "," : "", (long long)tensor->shape.dims[d]);
    pcti_text_add(text, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

static pct_status check_names(const pct_named_tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(tensors[i].name, tensors[j].name))
                return pcti_fail(PCT_ERROR_ARGUMENT, "two tensors are named '%s'", tensors[i].name);
    return PCT_OK;
}

/* Fills `order` with the order in the file, tensors of 8-byte elements first, then 4, 2, 1, so that each is
 * aligned to its element; `bytes` follows the caller's order. */
static pct_status plan(const pct_named_tensor *tensors, size_t n, size_t *order, size_t *bytes)
{
    size_t total = 0, placed = 0;
    for (size_t i = 0; i < n; i++) {
        PCTI_RETURN_IF_FAILED(check_tensor(&tensors[i], &bytes[i]));
        if (bytes[i] > SIZE_MAX / 2 - total)
            return pcti_fail(PCT_ERROR_ARGUMENT, "the tensors are too large together");
        total += bytes[i];
    }
    for (size_t size = 8; size; size /= 2)
        for (size_t i = 0; i < n; i++)
            if (pct_dtype_size(tensors[i].shape.dtype) == size) order[placed++] = i;
    return check_names(tensors, n);
}

static pct_status make_header(pcti_text *text, const pct_named_tensor *tensors, size_t n, const size_t *order,
                              const size_t *bytes, const pct_text_pair *metadata, size_t n_metadata)
{
    size_t at = 0;
    pcti_text_add(text, "{");
    if (n_metadata) add_metadata(text, metadata, n_metadata);
    for (size_t i = 0; i < n; i++) {
        if (i || n_metadata) pcti_text_add(text, ",");
        add_tensor(text, &tensors[order[i]], at, at + bytes[order[i]]);
        at += bytes[order[i]];
    }
    pcti_text_add(text, "}");
    while (!text->failed && text->length % ALIGNMENT) pcti_text_add(text, " ");
    return text->failed ? PCT_ERROR_MEMORY : PCT_OK;
}

pct_status pct_safetensors_write(const char *path, const pct_named_tensor *tensors, size_t n_tensors,
                                 const pct_text_pair *metadata, size_t n_metadata)
{
    pct_status status = PCT_ERROR_MEMORY;
    pcti_writer *writer = NULL;
    pcti_text header = {0};
    unsigned char length[8];
    size_t *order = pcti_calloc(n_tensors, sizeof *order), *bytes = pcti_calloc(n_tensors, sizeof *bytes);
    if (!order || !bytes) goto fail;
    PCTI_TRY(plan(tensors, n_tensors, order, bytes));
    PCTI_TRY(check_pairs(metadata, n_metadata));
    PCTI_TRY(make_header(&header, tensors, n_tensors, order, bytes, metadata, n_metadata));
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header.length >> 8 * i);

    PCTI_TRY(pcti_writer_begin(path, &writer));
    PCTI_TRY(pcti_writer_write(writer, length, sizeof length));
    PCTI_TRY(pcti_writer_write(writer, header.data, header.length));
    for (size_t i = 0; i < n_tensors; i++)
        PCTI_TRY(pcti_writer_write(writer, tensors[order[i]].data, bytes[order[i]]));
    status = pcti_writer_commit(writer);
    writer = NULL;
fail:
    if (status == PCT_ERROR_ARGUMENT || status == PCT_ERROR_SHAPE) pcti_fail_in(status, "%s", path);
    pcti_writer_abort(writer);
    pcti_text_free(&header);
    pcti_free(order);
    pcti_free(bytes);
    return status;
}
