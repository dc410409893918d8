#include "prof/results_json.h"

#include <math.h>
#include <string.h>

static const char *or_null(const char *text) {
    return text[0] ? text : NULL;
}

void pcti_machine_add_json(const pcti_machine *machine, const char *name, pcti_json *json) {
    const struct {
        const char *name, *text;
    } texts[] = {{"cpu", machine->cpu},           {"os", machine->os},
                 {"kernel", machine->kernel},     {"compiler", machine->compiler},
                 {"date_utc", machine->date_utc}, {"openblas_coretype", machine->openblas_coretype}};
    const size_t count = sizeof texts / sizeof *texts;
    double cores = machine->logical_cores ? machine->logical_cores : NAN;
    double memory = machine->memory_bytes > 0 ? machine->memory_bytes : NAN;

    pcti_json_open(json, name, '{');
    for (size_t i = 0; i < count; i++) pcti_json_string(json, texts[i].name, or_null(texts[i].text));
    pcti_json_number(json, "logical_cores", cores);
    pcti_json_number(json, "memory_bytes", memory);
    pcti_json_open(json, "isa", '[');
    for (const char *word = machine->isa; *word;) {
        char flag[64] = {0};
        size_t length = strcspn(word, " ");
        memcpy(flag, word, length < sizeof flag ? length : sizeof flag - 1);
        pcti_json_string(json, NULL, flag);
        word += length + (word[length] == ' ');
    }
    pcti_json_close(json, ']');
    pcti_json_open(json, "load_average", '[');
    for (int i = 0; i < 3; i++) pcti_json_number(json, NULL, machine->load_average[i]);
    pcti_json_close(json, ']');

    pcti_json_open(json, "missing", '{');
    for (size_t i = 0; i + 1 < count; i++)
        if (!texts[i].text[0]) pcti_json_string(json, texts[i].name, "this system does not say");
    if (!machine->openblas_coretype[0]) pcti_json_string(json, "openblas_coretype", "not set");
    if (!isfinite(cores)) pcti_json_string(json, "logical_cores", "/proc/cpuinfo does not say");
    if (!isfinite(memory)) pcti_json_string(json, "memory_bytes", "/proc/meminfo does not say");
    if (!isfinite(machine->load_average[0] + machine->load_average[1] + machine->load_average[2]))
        pcti_json_string(json, "load_average", "/proc/loadavg does not say");
    pcti_json_close(json, '}');
    pcti_json_close(json, '}');
}

static void add_extra(const pcti_extra *extra, pcti_json *json) {
    if (extra->text)
        pcti_json_string(json, extra->name, extra->text);
    else
        pcti_json_number(json, extra->name, extra->number);
}

void pcti_row_add_extras_json(const pcti_row *row, pcti_json *json) {
    pcti_json_open(json, NULL, '{');
    for (size_t i = 0; i < row->extra_count; i++) add_extra(&row->extras[i], json);
    pcti_json_close(json, '}');
}

static bool has_reason(const pcti_row *row, const char *field) {
    for (size_t i = 0; i < row->missing_count; i++)
        if (!strcmp(row->missing[i].field, field)) return true;
    return false;
}

/* Why each null is null. The reason of a row that is not ok explains all of its own. */
static void add_missing(const pcti_row *row, pcti_json *json) {
    pcti_json_open(json, "missing", '{');
    for (size_t i = 0; i < row->missing_count; i++)
        pcti_json_string(json, row->missing[i].field, row->missing[i].reason);
    const char *group = NULL;
    for (size_t i = 0; i < pcti_column_count && row->status == PCTI_ROW_OK; i++) {
        const pcti_column *column = &pcti_columns[i];
        bool text = column->kind == PCTI_COLUMN_TEXT || column->kind == PCTI_COLUMN_STATUS;
        bool null = text ? !pcti_row_text(row, column) : !isfinite(pcti_row_figure(row, column));
        if (!null || !strcmp(column->name, "reason") || (column->group && column->group == group)) continue;
        group = column->group;
        const char *field = group ? group : column->name;
        if (has_reason(row, field)) continue;
        pcti_json_string(json, field,
                         column->kind == PCTI_COLUMN_FIGURE || group ? "not measured" : "does not apply");
    }
    for (size_t i = 0; i < row->extra_count && row->status == PCTI_ROW_OK; i++) {
        const pcti_extra *extra = &row->extras[i];
        if (!extra->text && !isfinite(extra->number) && !has_reason(row, extra->name))
            pcti_json_string(json, extra->name, "not measured");
    }
    pcti_json_close(json, '}');
}

static void add_row(const pcti_row *row, pcti_json *json) {
    const char *group = NULL;
    pcti_json_line(json);
    pcti_json_open(json, NULL, '{');
    for (size_t i = 0; i < pcti_column_count; i++) {
        const pcti_column *column = &pcti_columns[i];
        if (group && column->group != group) pcti_json_close(json, '}');
        if (column->group && column->group != group) pcti_json_open(json, column->group, '{');
        group = column->group;
        if (column->kind == PCTI_COLUMN_TEXT || column->kind == PCTI_COLUMN_STATUS)
            pcti_json_string(json, column->name, pcti_row_text(row, column));
        else if (group && column->kind == PCTI_COLUMN_COUNT)
            pcti_json_number(json, column->name, (double)row->wall.runs);
        else
            pcti_json_number(json, column->name, pcti_row_figure(row, column));
    }
    if (group) pcti_json_close(json, '}');
    size_t keys = 0;
    for (size_t i = 0; i < row->extra_count; i++) {
        add_extra(&row->extras[i], json);
        keys += row->extras[i].key;
    }
    if (keys) {
        pcti_json_open(json, "key_fields", '[');
        for (size_t i = 0; i < row->extra_count; i++)
            if (row->extras[i].key) pcti_json_string(json, NULL, row->extras[i].name);
        pcti_json_close(json, ']');
    }
    add_missing(row, json);
    pcti_json_close(json, '}');
}

void pcti_results_add_json(const pcti_results *results, pcti_json *json) {
    pcti_json_open(json, NULL, '{');
    pcti_json_line(json);
    pcti_json_number(json, "format", PCTI_RESULTS_FORMAT);
    pcti_json_line(json);
    pcti_json_string(json, "version", results->version);
    pcti_json_line(json);
    pcti_json_string(json, "commit", results->commit);
    pcti_json_line(json);
    pcti_machine_add_json(&results->machine, "machine", json);
    pcti_json_line(json);
    pcti_json_open(json, "results", '[');
    for (size_t i = 0; i < results->count; i++) add_row(&results->rows[i], json);
    if (results->count) pcti_json_line(json);
    pcti_json_close(json, ']');
    pcti_json_line(json);
    pcti_json_open(json, "verdict", '[');
    for (size_t i = 0; i < results->verdict_count; i++) {
        pcti_json_line(json);
        pcti_json_string(json, NULL, results->verdict[i]);
    }
    if (results->verdict_count) pcti_json_line(json);
    pcti_json_close(json, ']');
    pcti_json_line(json);
    pcti_json_close(json, '}');
    pcti_text_add(json->text, "\n");
}
