#define _POSIX_C_SOURCE 200809L
/* Parameter structs and calls as text: one printer and one parser over the ops' field tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "op/op.h"

static int64_t *int_at(void *params, const pcti_field *field, int i)
{
    return (int64_t *)(void *)((char *)params + field->offset) + i;
}
static double *float_at(void *params, const pcti_field *field, int i)
{
    return (double *)(void *)((char *)params + field->offset) + i;
}
static int64_t *length_at(void *params, const pcti_field *field)
{
    return (int64_t *)(void *)((char *)params + field->length_offset);
}

static void set_fallback(const pcti_field *field, void *params, int i)
{
    if (field->kind == PCTI_FIELD_FLOAT) *float_at(params, field, i) = field->fallback;
    else *int_at(params, field, i) = (int64_t)field->fallback;
}

void pcti_params_init(const pcti_op *op, void *params)
{
    memset(params, 0, op->params_bytes);
    for (int f = 0; f < op->n_fields; f++)
        for (int i = 0; i < op->fields[f].count; i++) set_fallback(&op->fields[f], params, i);
}

static int enum_count(const pcti_field *field)
{
    int count = 0;
    while (field->names[count]) count++;
    return count;
}

pct_status pcti_params_normalise(const pcti_op *op, void *params)
{
    for (int f = 0; f < op->n_fields; f++) {
        const pcti_field *field = &op->fields[f];
        if (field->length_offset >= 0 && (*length_at(params, field) < 0 || *length_at(params, field) > field->count))
            return pcti_fail(PCT_ERROR_ARGUMENT, "%s: %s has %lld entries, at most %d are possible", op->name,
                             field->name, (long long)*length_at(params, field), field->count);
        for (int i = 0; i < field->count; i++) {
            bool zero = field->kind == PCTI_FIELD_FLOAT ? *float_at(params, field, i) == 0 : *int_at(params, field, i) == 0;
            if (zero && field->zero_is_fallback) set_fallback(field, params, i);
            if (field->kind == PCTI_FIELD_ENUM &&
                (*int_at(params, field, i) < 0 || *int_at(params, field, i) >= enum_count(field)))
                return pcti_fail(PCT_ERROR_ARGUMENT, "%s: %s has no value %lld", op->name, field->name,
                                 (long long)*int_at(params, field, i));
        }
    }
    return PCT_OK;
}

static bool is_fallback(const pcti_field *field, void *params)
{
    if (field->length_offset >= 0) return *length_at(params, field) == 0;
    for (int i = 0; i < field->count; i++) {
        double value = field->kind == PCTI_FIELD_FLOAT ? *float_at(params, field, i) : (double)*int_at(params, field, i);
        if (value != field->fallback) return false;
    }
    return true;
}

void pcti_params_print(const pcti_op *op, const void *const_params, pcti_text *text)
{
    void *params = (void *)(uintptr_t)const_params;
    for (int f = 0; f < op->n_fields; f++) {
        const pcti_field *field = &op->fields[f];
        if (is_fallback(field, params) && field->kind != PCTI_FIELD_ENUM) continue;
        int count = field->length_offset >= 0 ? (int)*length_at(params, field) : field->count;
        pcti_text_add(text, "%s%s=", text->length ? " " : "", field->name);
        for (int i = 0; i < count; i++) {
            if (i) pcti_text_add(text, ",");
            if (field->kind == PCTI_FIELD_FLOAT) pcti_text_add_double(text, *float_at(params, field, i), 17);
            else if (field->kind == PCTI_FIELD_ENUM) pcti_text_add(text, "%s", field->names[*int_at(params, field, i)]);
            else pcti_text_add(text, "%lld", (long long)*int_at(params, field, i));
        }
    }
}

static pct_status parse_enum(const pcti_op *op, const pcti_field *field, const char *value, int64_t *out)
{
    for (int i = 0; field->names[i]; i++)
        if (!strcmp(field->names[i], value)) {
            *out = i;
            return PCT_OK;
        }
    pcti_text valid = {0};
    for (int i = 0; field->names[i]; i++) pcti_text_add(&valid, "%s%s", i ? ", " : "", field->names[i]);
    pct_status status = pcti_fail(PCT_ERROR_ARGUMENT, "%s: %s=%s: must be one of %s", op->name, field->name, value,
                                  valid.data ? valid.data : "");
    pcti_text_free(&valid);
    return status;
}

/* Splits at 'x' or ','; one entry at a time. */
static bool next_entry(const char **rest, char separator, char *entry, size_t bytes)
{
    size_t length = 0;
    while ((*rest)[length] && (*rest)[length] != separator && (*rest)[length] != ',') length++;
    if (length == 0 || length >= bytes) return false;
    memcpy(entry, *rest, length);
    entry[length] = 0;
    *rest += length;
    if (**rest) {
        (*rest)++;
        if (!**rest) return false; /* a trailing separator */
    }
    return true;
}

pct_status pcti_params_parse(const pcti_op *op, void *params, const char *name, const char *value, bool *known)
{
    *known = false;
    for (int f = 0; f < op->n_fields; f++) {
        const pcti_field *field = &op->fields[f];
        if (strcmp(field->name, name)) continue;
        *known = true;
        if (field->kind == PCTI_FIELD_ENUM) return parse_enum(op, field, value, int_at(params, field, 0));
        const char *rest = value;
        char entry[64];
        int count = 0;
        while (*rest || !count) {
            bool good = count < field->count && next_entry(&rest, 'x', entry, sizeof entry);
            if (good && field->kind == PCTI_FIELD_FLOAT) {
                double number;
                if ((good = pcti_parse_double(entry, &number))) *float_at(params, field, count) = number;
            } else if (good) {
                int64_t number;
                if ((good = pcti_parse_int(entry, &number))) *int_at(params, field, count) = number;
            }
            if (!good)
                return pcti_fail(PCT_ERROR_ARGUMENT, "%s: %s=%s: takes %d number%s", op->name, name, value,
                                 field->count, field->count > 1 ? "s, separated by x or commas" : "");
            count++;
        }
        if (field->length_offset >= 0) *length_at(params, field) = count;
        else if (count == 1 || (count == 2 && field->count == 4)) {
            for (int i = count; i < field->count; i++) { /* one number for all; height and width for both sides */
                if (field->kind == PCTI_FIELD_FLOAT) *float_at(params, field, i) = *float_at(params, field, i % count);
                else *int_at(params, field, i) = *int_at(params, field, i % count);
            }
        } else if (count != field->count)
            return pcti_fail(PCT_ERROR_ARGUMENT, "%s: %s=%s: takes 1 or %d numbers", op->name, name, value, field->count);
        return PCT_OK;
    }
    return PCT_OK;
}

static pct_status parse_shape(const char *name, const char *value, pct_shape *shape)
{
    const char *rest = value;
    *shape = (pct_shape){.dtype = PCT_F32};
    if (!strncmp(rest, "i64:", 4)) {
        shape->dtype = PCT_I64;
        rest += 4;
    }
    if (!strcmp(rest, "scalar")) return PCT_OK;
    char entry[32];
    while (*rest || !shape->rank) {
        int64_t dim;
        if (shape->rank == PCT_MAX_RANK || !next_entry(&rest, 'x', entry, sizeof entry) || !pcti_parse_int(entry, &dim) ||
            dim < 0)
            return pcti_fail(PCT_ERROR_ARGUMENT, "%s=%s: must be a shape such as 1x64x56x56 (or i64:3x4, or scalar)", name,
                             value);
        shape->dims[shape->rank++] = dim;
    }
    return PCT_OK;
}

/* The operand that "src2" or "wei" means; -1 for none. */
static int operand_index(const pcti_op *op, const char *name)
{
    if (op->max_src != PCTI_VARIADIC) {
        for (int i = 0; i < op->max_src; i++)
            if (!strcmp(op->src_names[i], name)) return i;
        return -1;
    }
    size_t length = strlen(op->src_names[0]);
    int64_t index;
    if (strncmp(op->src_names[0], name, length)) return -1;
    if (!name[length]) return 0;
    return pcti_parse_int(name + length, &index) && index > 0 && index < 4096 ? (int)index : -1;
}

static pct_status parse_words(char *words, const pcti_op *op, void *params, pct_shape *shapes, int capacity, int *n_src)
{
    for (char *save = NULL, *word = strtok_r(words, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        char *equals = strchr(word, '=');
        if (!equals)
            return pcti_fail(PCT_ERROR_ARGUMENT, "%s: \"%s\" is not NAME=VALUE", op->name, word);
        *equals = 0;
        int operand = operand_index(op, word);
        if (operand >= 0) {
            if (operand >= capacity) return pcti_fail(PCT_ERROR_ARGUMENT, "%s: too many operands", op->name);
            PCTI_RETURN_IF_FAILED(parse_shape(word, equals + 1, &shapes[operand]));
            if (operand >= *n_src) *n_src = operand + 1;
            continue;
        }
        bool known;
        PCTI_RETURN_IF_FAILED(pcti_params_parse(op, params, word, equals + 1, &known));
        if (known) continue;
        pcti_text valid = {0};
        for (int i = 0; i < (op->max_src == PCTI_VARIADIC ? 1 : op->max_src); i++)
            pcti_text_add(&valid, " %s", op->src_names[i]);
        for (int i = 0; i < op->n_fields; i++) pcti_text_add(&valid, " %s", op->fields[i].name);
        pct_status status = pcti_fail(PCT_ERROR_ARGUMENT, "%s: has neither operand nor parameter \"%s\"; there are%s",
                                      op->name, word, valid.data ? valid.data : "");
        pcti_text_free(&valid);
        return status;
    }
    return PCT_OK;
}

pct_status pcti_op_parse(const char *text, const pcti_op **op, void **params, pct_shape *shapes, int capacity, int *n_src)
{
    pct_status status = PCT_OK;
    *op = NULL;
    *params = NULL;
    *n_src = 0;
    char *words = pcti_strdup(text);
    if (!words) return PCT_ERROR_MEMORY;
    size_t length = strcspn(words, " \t");
    bool more = words[length] != 0;
    words[length] = 0;
    if (!(*op = pcti_op_find(words))) {
        pcti_text valid = {0};
        for (int i = 0; i < pcti_op_count; i++) pcti_text_add(&valid, " %s", pcti_ops[i]->name);
        status = pcti_fail(PCT_ERROR_ARGUMENT, "no operator \"%s\"; there are%s", words, valid.data ? valid.data : "");
        pcti_text_free(&valid);
        goto fail;
    }
    if (!(*params = pcti_calloc(1, (*op)->params_bytes))) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    pcti_params_init(*op, *params);
    for (int i = 0; i < capacity; i++) shapes[i] = (pct_shape){.rank = PCTI_ABSENT};
    if (more) PCTI_TRY(parse_words(words + length + 1, *op, *params, shapes, capacity, n_src));
    PCTI_TRY(pcti_params_normalise(*op, *params));
    pcti_free(words);
    return PCT_OK;
fail:
    pcti_free(words);
    pcti_free(*params);
    *params = NULL;
    return status;
}

void pcti_call_print(const pcti_call *call, pcti_text *text)
{
    const pcti_op *op = call->op;
    bool variadic = op->max_src == PCTI_VARIADIC;
    pcti_text_add(text, "%s", op->name);
    for (int i = 0; i < call->n_src && (variadic || i < op->max_src); i++) {
        const pcti_tensor *tensor = &call->src[i].tensor;
        if (tensor->rank == PCTI_ABSENT) continue;
        pcti_text_add(text, " %s", op->src_names[variadic ? 0 : i]);
        if (variadic && i) pcti_text_add(text, "%d", i);
        pcti_text_add(text, "=%s%s", tensor->dtype == PCT_I64 ? "i64:" : "", tensor->rank ? "" : "scalar");
        for (int d = 0; d < tensor->rank; d++) pcti_text_add(text, "%s%lld", d ? "x" : "", (long long)tensor->dims[d]);
    }
    pcti_params_print(op, call->params, text);
}

static void add_activation(const pcti_activation *act, const char *where, pcti_text *text)
{
    if (act->kind == PCTI_ACT_NONE) return;
    pcti_text_add(text, " %s=%s(", where, act->kind == PCTI_ACT_CLIP ? "clip" : "unary");
    if (act->kind == PCTI_ACT_UNARY) pcti_text_add(text, "%lld,", (long long)act->unary.fn);
    pcti_text_add_double(text, act->kind == PCTI_ACT_CLIP ? act->low : act->unary.alpha, 9);
    pcti_text_add(text, ",");
    pcti_text_add_double(text, act->kind == PCTI_ACT_CLIP ? act->high : act->unary.beta, 9);
    pcti_text_add(text, ")");
}

void pcti_call_key(const pcti_call *call, pcti_text *text)
{
    const pcti_fusion *f = call->fusion;
    pcti_call_print(call, text);
    if (call->weight_storage != PCT_F32) pcti_text_add(text, " weights=%s", pct_dtype_name(call->weight_storage));
    if (!f) return;
    if (f->pre_affine) pcti_text_add(text, " pre=scale,shift");
    add_activation(&f->pre_act, "pre", text);
    if (f->pre_average_pool) pcti_text_add(text, " pre=average2x2");
    if (pcti_call_fused(call, PCTI_FUSED_RESIDUAL)) pcti_text_add(text, " post=add");
    add_activation(&f->post_act, "post", text);
    if (f->post_max_pool) pcti_text_add(text, " post=max2x2");
}
