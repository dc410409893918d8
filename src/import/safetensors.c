/* safetensors: 8 bytes of header length, a JSON header, raw data
 * (https://github.com/huggingface/safetensors#format). The header has a scanner of its own: offsets must be
 * exact 64-bit integers and no key may be doubled or hold a NUL, all of which a general JSON library lets
 * pass, and a hostile header must not cost many times its size in nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/weights.h"

/* The format's own limit of the header; ours of metadata, which is searched entry by entry. */
enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100000000, MAX_METADATA = 10000 };

typedef struct scanner {
    const char *start, *at, *end;
    pcti_text text; /* of the last string */
} scanner;

static pct_status fail_header(const scanner *scan, const char *what)
{
    return pcti_fail(PCT_ERROR_FORMAT, "header: %s at byte %zu", what, (size_t)(scan->at - scan->start));
}

static void skip_space(scanner *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

static bool accept(scanner *scan, char wanted)
{
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != wanted) return false;
    scan->at++;
    return true;
}

static pct_status expect(scanner *scan, char wanted)
{
    char what[] = "expected ' '";
    what[sizeof what - 3] = wanted;
    return accept(scan, wanted) ? PCT_OK : fail_header(scan, what);
}

static bool scan_hex(scanner *scan, uint32_t *code)
{
    *code = 0;
    if (scan->end - scan->at < 4) return false;
    for (int i = 0; i < 4; i++, scan->at++) {
        char c = *scan->at;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static void add_utf8(pcti_text *text, uint32_t code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    char bytes[4];
    bytes[0] = (char)(lead[more] | code >> 6 * more);
    for (int i = 1; i <= more; i++) bytes[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    pcti_text_add_bytes(text, bytes, (size_t)more + 1);
}

/* What follows a backslash. */
static pct_status scan_escape(scanner *scan)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    uint32_t code, low;
    if (scan->at == scan->end) return fail_header(scan, "unfinished string");
    char kind = *scan->at++;
    const char *name = kind ? strchr(names, kind) : NULL;
    if (name) {
        pcti_text_add_bytes(&scan->text, &values[name - names], 1);
        return PCT_OK;
    }
    if (kind != 'u' || !scan_hex(scan, &code)) return fail_header(scan, "bad escape");
    if (code == 0) return fail_header(scan, "NUL in a string");
    if (code >= 0xd800 && code < 0xe000) { /* a surrogate pair */
        if (code >= 0xdc00 || scan->end - scan->at < 6 || scan->at[0] != '\\' || scan->at[1] != 'u')
            return fail_header(scan, "lone surrogate");
        scan->at += 2;
        if (!scan_hex(scan, &low) || low < 0xdc00 || low >= 0xe000) return fail_header(scan, "lone surrogate");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(&scan->text, code);
    return PCT_OK;
}

/* A string, decoded into scan->text. The header's UTF-8 was checked as a whole. */
static pct_status scan_string(scanner *scan)
{
    PCTI_RETURN_IF_FAILED(expect(scan, '"'));
    scan->text.length = 0;
    pcti_text_add_bytes(&scan->text, "", 0); /* so that even an empty one is terminated */
    for (;;) {
        const char *from = scan->at;
        while (scan->at < scan->end && *scan->at != '"' && *scan->at != '\\' && (unsigned char)*scan->at >= ' ')
            scan->at++;
        pcti_text_add_bytes(&scan->text, from, (size_t)(scan->at - from));
        if (scan->at == scan->end) return fail_header(scan, "unfinished string");
        char stop = *scan->at++;
        if (stop == '"') return scan->text.failed ? PCT_ERROR_MEMORY : PCT_OK;
        if (stop != '\\') return fail_header(scan, "control character in a string");
        PCTI_RETURN_IF_FAILED(scan_escape(scan));
    }
}

static pct_status take_string(scanner *scan, char **out)
{
    PCTI_RETURN_IF_FAILED(scan_string(scan));
    *out = pcti_strdup(scan->text.data);
    return *out ? PCT_OK : PCT_ERROR_MEMORY;
}

/* A count: digits only, at most INT64_MAX. */
static pct_status scan_count(scanner *scan, int64_t *value)
{
    skip_space(scan);
    const char *first = scan->at;
    *value = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
        if (!pcti_mul_int64(*value, 10, value) || __builtin_add_overflow(*value, *scan->at - '0', value))
            return fail_header(scan, "number beyond 64 bits");
    char next = scan->at < scan->end ? *scan->at : 0;
    if (scan->at == first || (*first == '0' && scan->at > first + 1) || next == '.' || next == 'e' || next == 'E')
        return fail_header(scan, "expected a whole number of at least 0");
    return PCT_OK;
}

/* [count, ...] of at most `most`; the rest is an error that says `too_many`. */
static pct_status scan_counts(scanner *scan, int most, const char *too_many, int64_t *values, int *n)
{
    *n = 0;
    PCTI_RETURN_IF_FAILED(expect(scan, '['));
    if (accept(scan, ']')) return PCT_OK;
    do {
        if (*n == most) return fail_header(scan, too_many);
        PCTI_RETURN_IF_FAILED(scan_count(scan, &values[(*n)++]));
    } while (accept(scan, ','));
    return expect(scan, ']');
}

typedef struct span { /* of a tensor, relative to the data section */
    int64_t begin, end;
    size_t index; /* of the tensor */
} span;

static pct_status scan_dtype(scanner *scan, pcti_weight *weight)
{
    char shown[PCTI_SHOWN];
    PCTI_RETURN_IF_FAILED(scan_string(scan));
    for (int s = 0; s < PCTI_STORE_COUNT; s++)
        if (!strcmp(scan->text.data, pcti_store_table[s].safetensors)) {
            weight->store = (pcti_store)s;
            return PCT_OK;
        }
    return pcti_fail(PCT_ERROR_FORMAT, "header: unknown dtype '%s'",
                     pcti_shown(scan->text.data, scan->text.length, shown));
}

/* {"dtype": "F32", "shape": [...], "data_offsets": [begin, end]} */
static pct_status scan_tensor(scanner *scan, pcti_weight *weight, span *range)
{
    enum { DTYPE, SHAPE, OFFSETS, FIELDS };
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    bool seen[FIELDS] = {0};
    int n;
    PCTI_RETURN_IF_FAILED(expect(scan, '{'));
    do {
        PCTI_RETURN_IF_FAILED(scan_string(scan));
        int field = 0;
        while (field < FIELDS && strcmp(scan->text.data, names[field])) field++;
        if (field == FIELDS) return fail_header(scan, "unknown field");
        if (seen[field]) return fail_header(scan, "doubled field");
        seen[field] = true;
        PCTI_RETURN_IF_FAILED(expect(scan, ':'));
        if (field == DTYPE)
            PCTI_RETURN_IF_FAILED(scan_dtype(scan, weight));
        else if (field == SHAPE)
            PCTI_RETURN_IF_FAILED(
                scan_counts(scan, PCT_MAX_RANK, "more than 8 dimensions", weight->dims, &weight->rank));
        else {
            int64_t offsets[2];
            PCTI_RETURN_IF_FAILED(scan_counts(scan, 2, "more than 2 offsets", offsets, &n));
            if (n != 2) return fail_header(scan, "expected 2 offsets");
            range->begin = offsets[0];
            range->end = offsets[1];
        }
    } while (accept(scan, ','));
    PCTI_RETURN_IF_FAILED(expect(scan, '}'));
    for (int i = 0; i < FIELDS; i++)
        if (!seen[i]) return pcti_fail(PCT_ERROR_FORMAT, "header: no %s", names[i]);
    return PCT_OK;
}

static pct_status scan_metadata(scanner *scan, pct_weights *weights)
{
    PCTI_RETURN_IF_FAILED(expect(scan, '{'));
    if (accept(scan, '}')) return PCT_OK;
    do {
        char *key = NULL, *value = NULL;
        if (weights->n_metadata == MAX_METADATA) return fail_header(scan, "too many metadata entries");
        PCTI_RETURN_IF_FAILED(take_string(scan, &key));
        pct_status status = expect(scan, ':');
        if (status == PCT_OK) status = take_string(scan, &value);
        if (status == PCT_OK && pct_weights_metadata(weights, key))
            status = fail_header(scan, "doubled metadata key");
        if (status == PCT_OK)
            status = pcti_grow(&weights->metadata, &weights->metadata_capacity, weights->n_metadata,
                               sizeof *weights->metadata);
        if (status != PCT_OK) {
            pcti_free(key);
            pcti_free(value);
            return status;
        }
        weights->metadata[weights->n_metadata++] = (pct_text_pair){key, value};
    } while (accept(scan, ','));
    return expect(scan, '}');
}

/* The tensor's own consistency; its place among the others is check_cover's business. */
static pct_status add_tensor(pct_weights *weights, pcti_weight *weight, const span *range, size_t data_start)
{
    int64_t data_bytes = (int64_t)(weights->file.bytes - data_start), bytes;
    if (range->begin > range->end || range->end > data_bytes) {
        pct_status status =
            pcti_fail(PCT_ERROR_FORMAT, "tensor '%s': data [%lld, %lld) is not in the file's %lld bytes of data",
                      weight->name, (long long)range->begin, (long long)range->end, (long long)data_bytes);
        pcti_free(weight->name);
        return status;
    }
    bool fits = pcti_weight_set_dense(weight);
    bytes = pcti_store_table[weight->store].bytes;
    for (int d = 0; d < weight->rank && fits; d++) fits = pcti_mul_int64(bytes, weight->dims[d], &bytes);
    if (!fits || bytes != range->end - range->begin) {
        pct_status status =
            fits ? pcti_fail(PCT_ERROR_FORMAT, "tensor '%s': its shape needs %lld bytes, its data has %lld",
                             weight->name, (long long)bytes, (long long)(range->end - range->begin))
                 : pcti_fail(PCT_ERROR_FORMAT, "tensor '%s': its shape overflows", weight->name);
        pcti_free(weight->name);
        return status;
    }
    weight->start = data_start + (size_t)range->begin;
    return pcti_weights_add(weights, weight, weight->start, data_start + (size_t)range->end);
}

static int compare_spans(const void *a, const void *b)
{
    const span *left = a, *right = b;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    return left->end < right->end ? -1 : left->end > right->end;
}

/* Together the tensors must cover the data exactly once, so that no byte is hidden and none is read twice. */
static pct_status check_cover(const pct_weights *weights, span *spans, size_t data_start)
{
    int64_t covered = 0, data_bytes = (int64_t)(weights->file.bytes - data_start);
    if (weights->count) qsort(spans, weights->count, sizeof *spans, compare_spans);
    for (size_t i = 0; i < weights->count; i++) {
        if (spans[i].begin != covered)
            return pcti_fail(PCT_ERROR_FORMAT, "tensor '%s': its data begins at %lld, %s",
                             weights->tensors[spans[i].index].name, (long long)spans[i].begin,
                             spans[i].begin < covered ? "inside another tensor's"
                                                      : "after a gap that no tensor covers");
        covered = spans[i].end;
    }
    if (covered != data_bytes)
        return pcti_fail(PCT_ERROR_FORMAT, "%lld bytes of data after the last tensor",
                         (long long)(data_bytes - covered));
    return PCT_OK;
}

static pct_status scan_header(scanner *scan, pct_weights *weights, size_t data_start)
{
    char *name = NULL, shown[PCTI_SHOWN];
    span *spans = NULL;
    size_t capacity = 0;
    bool metadata_seen = false;
    pct_status status;
    PCTI_TRY(expect(scan, '{'));
    if (!accept(scan, '}')) {
        do {
            PCTI_TRY(take_string(scan, &name));
            PCTI_TRY(expect(scan, ':'));
            if (!strcmp(name, "__metadata__")) {
                if (metadata_seen) PCTI_TRY(fail_header(scan, "doubled __metadata__"));
                metadata_seen = true;
                PCTI_TRY(scan_metadata(scan, weights));
                pcti_free(name);
                name = NULL;
                continue;
            }
            pcti_weight weight = {.name = name};
            span range = {.index = weights->count};
            status = scan_tensor(scan, &weight, &range);
            if (status != PCT_OK) {
                pcti_fail_in(status, "tensor '%s'", pcti_shown(name, strlen(name), shown));
                goto fail;
            }
            PCTI_TRY(pcti_grow(&spans, &capacity, weights->count, sizeof *spans));
            spans[weights->count] = range;
            name = NULL;
            PCTI_TRY(add_tensor(weights, &weight, &range, data_start));
        } while (accept(scan, ','));
        PCTI_TRY(expect(scan, '}'));
    }
    skip_space(scan);
    if (scan->at != scan->end) PCTI_TRY(fail_header(scan, "text after the last '}'"));
    PCTI_TRY(check_cover(weights, spans, data_start));
fail:
    pcti_free(name);
    pcti_free(spans);
    return status;
}

pct_status pcti_safetensors_parse(pct_weights *weights)
{
    const pcti_file *file = &weights->file;
    if (file->bytes < LENGTH_BYTES)
        return pcti_fail(PCT_ERROR_FORMAT, "%zu bytes are too few for a weights file", file->bytes);
    uint64_t length = pcti_le(file->data, LENGTH_BYTES);
    if (length > MAX_HEADER_BYTES || length > file->bytes - LENGTH_BYTES)
        return pcti_fail(PCT_ERROR_FORMAT,
                         "neither a torch file nor safetensors: a header of %llu bytes in a file of %zu (at most %d)",
                         (unsigned long long)length, file->bytes, MAX_HEADER_BYTES);
    const char *header = (const char *)file->data + LENGTH_BYTES;
    if (!pcti_utf8_valid(header, (size_t)length)) return pcti_fail(PCT_ERROR_FORMAT, "header: not UTF-8");
    scanner scan = {.start = header, .at = header, .end = header + length};
    pct_status status = scan_header(&scan, weights, LENGTH_BYTES + (size_t)length);
    pcti_text_free(&scan.text);
    return status;
}
