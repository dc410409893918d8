/* Reading result files. cJSON takes numbers apart with the locale's decimal point, whose first byte it
 * assumes to be all of it: the "C" locale is this thread's while it works. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "prof/results_json.h"

enum { PLACE_BYTES = 160 };

static pct_status wrong_type(const char *path, const char *place, const char *name, const char *expected) {
    return pcti_fail(PCT_ERROR_FORMAT, "%s: %s%s%s: %s expected", path, place, place[0] && name[0] ? "." : "",
                     name, expected);
}

/* NULL for null and for a member that is not there. */
static pct_status read_text(const char *path, const char *place, const cJSON *object, const char *name,
                            const char **text) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *text = NULL;
    if (!item || cJSON_IsNull(item)) return PCT_OK;
    if (!cJSON_IsString(item)) return wrong_type(path, place, name, "a text or null");
    *text = item->valuestring;
    return PCT_OK;
}

static pct_status read_required(const char *path, const char *place, const cJSON *object, const char *name,
                                const char **text) {
    PCTI_RETURN_IF_FAILED(read_text(path, place, object, name, text));
    return *text ? PCT_OK : wrong_type(path, place, name, "a text");
}

static pct_status read_figure(const char *path, const char *place, const cJSON *object, const char *name,
                              double *figure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *figure = NAN;
    if (!item || cJSON_IsNull(item)) return PCT_OK;
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return wrong_type(path, place, name, "a number or null");
    *figure = item->valuedouble;
    return PCT_OK;
}

static pct_status read_count(const char *path, const char *place, const cJSON *object, const char *name,
                             int64_t *count) {
    double figure;
    PCTI_RETURN_IF_FAILED(read_figure(path, place, object, name, &figure));
    *count = 0;
    if (!isfinite(figure)) return PCT_OK;
    if (figure < 0 || figure != floor(figure) || figure > 9e15)
        return wrong_type(path, place, name, "a count or null");
    *count = (int64_t)figure;
    return PCT_OK;
}

static pct_status read_machine_text(const char *path, const cJSON *object, const char *name, char *buffer,
                                    size_t size) {
    const char *text;
    PCTI_RETURN_IF_FAILED(read_text(path, "machine", object, name, &text));
    snprintf(buffer, size, "%s", text ? text : "");
    return PCT_OK;
}

static pct_status read_machine(const char *path, const cJSON *root, pcti_machine *machine) {
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "machine"), *item;
    int64_t cores;
    *machine = (pcti_machine){.load_average = {NAN, NAN, NAN}};
    if (!cJSON_IsObject(object)) return wrong_type(path, "", "machine", "an object");
#define READ(field)                                                                                          \
    PCTI_RETURN_IF_FAILED(read_machine_text(path, object, #field, machine->field, sizeof machine->field))
    READ(cpu);
    READ(os);
    READ(kernel);
    READ(compiler);
    READ(date_utc);
    READ(openblas_coretype);
#undef READ
    PCTI_RETURN_IF_FAILED(read_count(path, "machine", object, "logical_cores", &cores));
    machine->logical_cores = cores > 1 << 20 ? 0 : (int)cores;
    PCTI_RETURN_IF_FAILED(read_figure(path, "machine", object, "memory_bytes", &machine->memory_bytes));
    if (!isfinite(machine->memory_bytes)) machine->memory_bytes = 0;
    size_t used = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, "isa")) {
        if (!cJSON_IsString(item)) return wrong_type(path, "machine", "isa", "an array of texts");
        if (used < sizeof machine->isa)
            used += (size_t)snprintf(machine->isa + used, sizeof machine->isa - used, "%s%s", used ? " " : "",
                                     item->valuestring);
    }
    int i = 0;
    cJSON_ArrayForEach(
        item, cJSON_GetObjectItemCaseSensitive(object, "load_average")) if (i < 3 && cJSON_IsNumber(item))
        machine->load_average[i++] = item->valuedouble;
    return PCT_OK;
}

static bool known_member(const char *name) {
    if (!strcmp(name, "missing") || !strcmp(name, "key_fields")) return true;
    for (size_t i = 0; i < pcti_column_count; i++)
        if (!strcmp(name, pcti_columns[i].group ? pcti_columns[i].group : pcti_columns[i].name)) return true;
    return false;
}

static pct_status read_columns(const char *path, const char *place, const cJSON *object, pcti_row *row) {
    for (size_t i = 0; i < pcti_column_count; i++) {
        const pcti_column *column = &pcti_columns[i];
        const cJSON *holder = object;
        char where[PLACE_BYTES + 32];
        void *field = (char *)row + column->offset;
        snprintf(where, sizeof where, "%s%s%s", place, column->group ? "." : "",
                 column->group ? column->group : "");
        if (column->group) {
            holder = cJSON_GetObjectItemCaseSensitive(object, column->group);
            if (!cJSON_IsObject(holder)) return wrong_type(path, place, column->group, "an object");
        }
        if (column->kind == PCTI_COLUMN_TEXT) {
            const char *text;
            PCTI_RETURN_IF_FAILED(read_text(path, where, holder, column->name, &text));
            memcpy(field, &text, sizeof text);
        } else if (column->kind == PCTI_COLUMN_COUNT) {
            int64_t count;
            PCTI_RETURN_IF_FAILED(read_count(path, where, holder, column->name, &count));
            memcpy(field, &count, sizeof count);
        } else if (column->kind == PCTI_COLUMN_FIGURE) {
            double figure;
            PCTI_RETURN_IF_FAILED(read_figure(path, where, holder, column->name, &figure));
            memcpy(field, &figure, sizeof figure);
        }
    }
    return PCT_OK;
}

static bool is_key(const cJSON *object, const char *name) {
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(
                                 object, "key_fields")) if (cJSON_IsString(item) &&
                                                            !strcmp(item->valuestring, name)) return true;
    return false;
}

static pct_status read_row(const char *path, size_t index, const cJSON *object, pcti_results *results) {
    char place[PLACE_BYTES];
    const char *text;
    const cJSON *item;
    pcti_row row;
    pcti_row_init(&row);
    snprintf(place, sizeof place, "results[%zu]", index);
    if (!cJSON_IsObject(object)) return wrong_type(path, place, "", "an object");
    PCTI_RETURN_IF_FAILED(read_required(path, place, object, "suite", &text));
    PCTI_RETURN_IF_FAILED(read_required(path, place, object, "test", &text));
    PCTI_RETURN_IF_FAILED(read_required(path, place, object, "backend", &text));
    PCTI_RETURN_IF_FAILED(read_required(path, place, object, "status", &text));
    if (!pcti_row_status_parse(text, &row.status))
        return wrong_type(path, place, "status", "ok, wrong, skipped, failed or timeout");
    PCTI_RETURN_IF_FAILED(read_columns(path, place, object, &row));
    cJSON_ArrayForEach(item, object) {
        if (known_member(item->string)) continue;
        bool key = is_key(object, item->string);
        if (cJSON_IsString(item))
            pcti_row_add_text(&row, item->string, item->valuestring, key);
        else if (cJSON_IsNull(item))
            pcti_row_add_number(&row, item->string, NAN, key);
        else if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
            pcti_row_add_number(&row, item->string, item->valuedouble, key);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, "missing")) {
        if (!item->string || !cJSON_IsString(item))
            return wrong_type(path, place, "missing", "an object of texts");
        pcti_row_add_missing(&row, item->string, item->valuestring);
    }
    if (row.overfull) return pcti_fail(PCT_ERROR_FORMAT, "%s: %s: too many fields", path, place);
    return pcti_results_add_read(results, &row);
}

static pct_status parse(const pcti_file *file, cJSON **root) {
    const char *data = (const char *)file->data, *end = NULL;
    *root = NULL;
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain) return pcti_fail(PCT_ERROR_MEMORY, "out of memory: no \"C\" locale");
    locale_t before = uselocale(plain);
    *root = file->bytes ? cJSON_ParseWithLengthOpts(data, file->bytes, &end, 0) : NULL;
    uselocale(before);
    freelocale(plain);
    size_t at = end ? (size_t)(end - data) : 0;
    while (*root && at < file->bytes && isspace((unsigned char)data[at])) at++;
    if (*root && at == file->bytes) return PCT_OK;
    cJSON_Delete(*root);
    *root = NULL;
    if (at > file->bytes) at = file->bytes;
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = data[i] == '\n' ? 1 : column + 1;
        line += data[i] == '\n';
    }
    return pcti_fail(PCT_ERROR_FORMAT, "%s:%zu:%zu: not valid JSON%s", file->path, line, column,
                     file->bytes ? "" : ": the file is empty");
}

pct_status pcti_results_read(const char *path, pcti_results **results) {
    pct_status status;
    pcti_file file = {0};
    cJSON *root = NULL;
    const cJSON *rows, *row;
    const char *text;
    pcti_results *created = NULL;
    double format;
    size_t index = 0;

    *results = NULL;
    PCTI_TRY(pcti_file_map(path, &file));
    PCTI_TRY(parse(&file, &root));
    if (!cJSON_IsObject(root)) {
        status = wrong_type(path, "", "the file", "an object");
        goto fail;
    }
    PCTI_TRY(read_figure(path, "", root, "format", &format));
    if (format != PCTI_RESULTS_FORMAT) {
        status = isfinite(format)
                     ? pcti_fail(PCT_ERROR_FORMAT, "%s: results of format %g, this program reads format %d",
                                 path, format, PCTI_RESULTS_FORMAT)
                     : wrong_type(path, "", "format", "a number");
        goto fail;
    }
    status = PCT_ERROR_MEMORY;
    if (!(created = pcti_calloc(1, sizeof *created))) goto fail;
    PCTI_TRY(read_text(path, "", root, "version", &text));
    status = PCT_ERROR_MEMORY;
    if (!(created->version = pcti_strdup(text ? text : "unknown"))) goto fail;
    PCTI_TRY(read_text(path, "", root, "commit", &text));
    status = PCT_ERROR_MEMORY;
    if (!(created->commit = pcti_strdup(text ? text : "unknown"))) goto fail;
    PCTI_TRY(read_machine(path, root, &created->machine));
    rows = cJSON_GetObjectItemCaseSensitive(root, "results");
    if (!cJSON_IsArray(rows)) {
        status = wrong_type(path, "", "results", "an array");
        goto fail;
    }
    cJSON_ArrayForEach(row, rows) PCTI_TRY(read_row(path, index++, row, created));
    *results = created;
    created = NULL;
    status = PCT_OK;
fail:
    pcti_results_destroy(created);
    cJSON_Delete(root);
    pcti_file_unmap(&file);
    return status;
}
