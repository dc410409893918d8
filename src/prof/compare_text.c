/* A comparison as table, Markdown, CSV and JSON. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "prof/compare.h"
#include "prof/grid.h"
#include "prof/json.h"

enum { TITLE_BYTES = 40, MAX_FILES = (PCTI_GRID_COLUMNS - 9) / 3 };

static const pcti_row *row_of(const pcti_compare_cell *line) {
    while (!line->row) line++;
    return line->row;
}

/* "direction=upload bytes=4096" */
static void add_keys(const pcti_row *row, pcti_text *text) {
    const char *space = "";
    for (size_t i = 0; i < row->extra_count; i++) {
        const pcti_extra *extra = &row->extras[i];
        if (!extra->key) continue;
        pcti_text_add(text, "%s", space);
        pcti_text_add_utf8(text, extra->name);
        pcti_text_add(text, "=");
        if (extra->text)
            pcti_text_add_utf8(text, extra->text);
        else
            pcti_text_add_number(text, extra->number);
        space = " ";
    }
}

static void add_value(const pcti_compare_cell *cell, bool human, pcti_grid *grid) {
    const pcti_row *row = cell->row;
    if (!row)
        pcti_grid_cell(grid, NULL);
    else if (row->status != PCTI_ROW_OK)
        pcti_grid_cell(grid, pcti_row_status_name(row->status));
    else if (human)
        pcti_grid_ms(grid, row->wall.median);
    else
        pcti_grid_number(grid, row->wall.median);
}

static void add_line(const pcti_comparison *comparison, const pcti_compare_cell *line, bool human,
                     pcti_grid *grid) {
    const pcti_row *row = row_of(line);
    pcti_text keys = {0};
    add_keys(row, &keys);
    if (keys.failed) grid->failed = true;
    pcti_grid_cell(grid, row->suite);
    pcti_grid_cell(grid, row->test);
    pcti_grid_number(grid, row->batch ? (double)row->batch : NAN);
    pcti_grid_number(grid, row->size ? (double)row->size : NAN);
    pcti_grid_cell(grid, keys.data);
    pcti_grid_cell(grid, row->backend);
    pcti_grid_cell(grid, row->device);
    pcti_grid_number(grid, row->threads ? (double)row->threads : NAN);
    pcti_text_free(&keys);
    add_value(&line[0], human, grid);
    for (size_t f = 1; f < comparison->files; f++) {
        pcti_text verdict = {0};
        add_value(&line[f], human, grid);
        if (human)
            pcti_grid_fixed(grid, line[f].ratio, 3);
        else
            pcti_grid_number(grid, line[f].ratio);
        pcti_text_add(&verdict, "%s%s", pcti_verdict_name(line[f].verdict),
                      line[f].elsewhere && human ? " (other device)" : "");
        pcti_grid_cell(grid, verdict.data);
        if (verdict.failed) grid->failed = true;
        pcti_text_free(&verdict);
    }
}

static void add_grid(const pcti_comparison *comparison, pct_format format, pcti_text *text) {
    static const char *const fixed[] = {"suite", "test",    "batch",  "size",
                                        "keys",  "backend", "device", "threads"};
    char titles[MAX_FILES][3][TITLE_BYTES];
    pcti_grid grid = {.count = 0};
    bool human = format != PCT_FORMAT_CSV;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        pcti_grid_column(&grid, fixed[i], fixed[i][0] == 's' ? i == 3 : i == 2 || i == 7);
    for (size_t f = 0; f < comparison->files; f++) {
        snprintf(titles[f][0], TITLE_BYTES, human ? "[%zu]" : "wall_ms_%zu", f + 1);
        snprintf(titles[f][1], TITLE_BYTES, human ? "[%zu]/[1]" : "ratio_%zu", f + 1);
        snprintf(titles[f][2], TITLE_BYTES, human ? "verdict" : "verdict_%zu", f + 1);
        for (int i = 0; i < (f ? 3 : 1); i++) pcti_grid_column(&grid, titles[f][i], i < 2);
    }
    for (size_t l = 0; l < comparison->lines; l++)
        add_line(comparison, comparison->cells + l * comparison->files, human, &grid);
    pcti_grid_write(&grid, format, text);
    pcti_grid_free(&grid);
}

static void add_files(const pcti_comparison *comparison, bool markdown, pcti_text *text) {
    for (size_t f = 0; f < comparison->files; f++) {
        const pcti_results *results = comparison->results[f];
        pcti_text_add(text, "%s[%zu] ", markdown ? "- " : "", f + 1);
        pcti_text_add_utf8(text, comparison->paths[f]);
        pcti_text_add(text, ": pct ");
        pcti_text_add_utf8(text, results->version);
        pcti_text_add(text, " (");
        pcti_text_add_utf8(text, results->commit);
        pcti_text_add(text, "), ");
        pcti_text_add_utf8(text, results->machine.cpu[0] ? results->machine.cpu : "unknown processor");
        pcti_text_add(text, ", ");
        pcti_text_add_utf8(text, results->machine.date_utc[0] ? results->machine.date_utc : "no date");
        pcti_text_add(text, "\n");
    }
    pcti_text_add(text, "\n");
}

static void add_summary(const pcti_comparison *comparison, pcti_text *text) {
    pcti_text_add(text, "\n%zu rows: %zu regression%s beyond ", comparison->lines, comparison->regressions,
                  comparison->regressions == 1 ? "" : "s");
    pcti_text_add_double(text, comparison->tolerance * 100, 3);
    pcti_text_add(text, " %%, %zu improvement%s, %zu missing, %zu added\n", comparison->improvements,
                  comparison->improvements == 1 ? "" : "s", comparison->missing, comparison->added);
}

static void add_json_line(const pcti_comparison *comparison, const pcti_compare_cell *line, pcti_json *json) {
    const pcti_row *row = row_of(line);
    pcti_json_line(json);
    pcti_json_open(json, NULL, '{');
    pcti_json_string(json, "suite", row->suite);
    pcti_json_string(json, "test", row->test);
    pcti_json_number(json, "batch", row->batch ? (double)row->batch : NAN);
    pcti_json_number(json, "size", row->size ? (double)row->size : NAN);
    pcti_json_string(json, "backend", row->backend);
    for (size_t i = 0; i < row->extra_count; i++) {
        if (!row->extras[i].key) continue;
        if (row->extras[i].text)
            pcti_json_string(json, row->extras[i].name, row->extras[i].text);
        else
            pcti_json_number(json, row->extras[i].name, row->extras[i].number);
    }
    pcti_json_open(json, "files", '[');
    for (size_t f = 0; f < comparison->files; f++) {
        const pcti_row *own = line[f].row;
        pcti_json_open(json, NULL, '{');
        pcti_json_string(json, "verdict", pcti_verdict_name(line[f].verdict));
        pcti_json_number(json, "ratio", line[f].ratio);
        pcti_json_string(json, "status", own ? pcti_row_status_name(own->status) : NULL);
        pcti_json_string(json, "reason", own ? own->reason : "not in this file");
        pcti_json_number(json, "wall_ms_median", own ? own->wall.median : NAN);
        pcti_json_string(json, "platform", own ? own->platform : NULL);
        pcti_json_string(json, "device", own ? own->device : NULL);
        pcti_json_number(json, "threads", own && own->threads ? (double)own->threads : NAN);
        pcti_json_string(json, "impl", own ? own->impl : NULL);
        pcti_json_bool(json, "other_device", line[f].elsewhere);
        pcti_json_close(json, '}');
    }
    pcti_json_close(json, ']');
    pcti_json_close(json, '}');
}

static void add_json(const pcti_comparison *comparison, pcti_json *json) {
    pcti_json_open(json, NULL, '{');
    pcti_json_line(json);
    pcti_json_number(json, "format", 1);
    pcti_json_number(json, "tolerance", comparison->tolerance);
    pcti_json_number(json, "regressions", (double)comparison->regressions);
    pcti_json_number(json, "improvements", (double)comparison->improvements);
    pcti_json_number(json, "missing", (double)comparison->missing);
    pcti_json_number(json, "added", (double)comparison->added);
    pcti_json_line(json);
    pcti_json_open(json, "files", '[');
    for (size_t f = 0; f < comparison->files; f++) {
        pcti_json_open(json, NULL, '{');
        pcti_json_string(json, "path", comparison->paths[f]);
        pcti_json_string(json, "version", comparison->results[f]->version);
        pcti_json_string(json, "commit", comparison->results[f]->commit);
        pcti_json_string(json, "cpu", comparison->results[f]->machine.cpu);
        pcti_json_string(json, "date_utc", comparison->results[f]->machine.date_utc);
        pcti_json_close(json, '}');
    }
    pcti_json_close(json, ']');
    pcti_json_line(json);
    pcti_json_open(json, "rows", '[');
    for (size_t l = 0; l < comparison->lines; l++)
        add_json_line(comparison, comparison->cells + l * comparison->files, json);
    pcti_json_line(json);
    pcti_json_close(json, ']');
    pcti_json_line(json);
    pcti_json_close(json, '}');
    pcti_text_add(json->text, "\n");
}

pct_status pcti_comparison_text(const pcti_comparison *comparison, pct_format format, char **text) {
    pcti_text out = {0};
    *text = NULL;
    if (format == PCT_FORMAT_JSON) {
        add_json(comparison, &(pcti_json){.text = &out});
    } else if (format == PCT_FORMAT_TABLE || format == PCT_FORMAT_MARKDOWN || format == PCT_FORMAT_CSV) {
        if (comparison->files > MAX_FILES)
            return pcti_fail(PCT_ERROR_UNSUPPORTED, "compare: a table holds at most %d files", MAX_FILES);
        if (format != PCT_FORMAT_CSV) add_files(comparison, format == PCT_FORMAT_MARKDOWN, &out);
        add_grid(comparison, format, &out);
        if (format != PCT_FORMAT_CSV) add_summary(comparison, &out);
    } else {
        return pcti_fail(PCT_ERROR_ARGUMENT, "a comparison cannot be written in this format");
    }
    if (out.failed) {
        pcti_text_free(&out);
        return PCT_ERROR_MEMORY;
    }
    *text = out.data;
    return PCT_OK;
}
