/* Results as table, Markdown, CSV and SQL. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "prof/grid.h"
#include "prof/results_json.h"

enum { EXTRA_COLUMNS = 48 };

typedef struct extra_list {
    const char *names[EXTRA_COLUMNS];
    size_t count, keys; /* the keys come first */
} extra_list;

static bool same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* The extras that occur in `count` rows, in the order of their appearance, those that are keys in some row
 * first. */
static extra_list list_extras(const pcti_row *rows, size_t count) {
    extra_list list = {.count = 0};
    for (int keys = 1; keys >= 0; keys--) {
        for (size_t r = 0; r < count; r++)
            for (size_t e = 0; e < rows[r].extra_count; e++) {
                const pcti_extra *extra = &rows[r].extras[e];
                if (keys && !extra->key) continue;
                size_t i = 0;
                while (i < list.count && strcmp(list.names[i], extra->name)) i++;
                if (i == list.count && i < EXTRA_COLUMNS) list.names[list.count++] = extra->name;
            }
        if (keys) list.keys = list.count;
    }
    return list;
}

/* Rows of one table: what its heading names is the same in all of them. */
static bool same_table(const pcti_row *a, const pcti_row *b) {
    return same(a->suite, b->suite) && same(a->backend, b->backend) && same(a->platform, b->platform) &&
           same(a->device, b->device) && same(a->driver, b->driver) && a->threads == b->threads;
}

static void add_heading(const pcti_row *row, bool markdown, pcti_text *text) {
    const char *const parts[] = {row->platform, row->device, row->driver};
    pcti_text_add(text, markdown ? "\n### " : "\n");
    pcti_text_add_utf8(text, row->suite);
    pcti_text_add(text, ": ");
    pcti_text_add_utf8(text, row->backend);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i]) continue;
        pcti_text_add(text, ", ");
        pcti_text_add_utf8(text, parts[i]);
    }
    if (row->threads)
        pcti_text_add(text, ", %lld thread%s", (long long)row->threads, row->threads == 1 ? "" : "s");
    pcti_text_add(text, markdown ? "\n\n" : "\n");
}

static void add_extra_cell(const pcti_row *row, const char *name, pcti_grid *grid) {
    const pcti_extra *extra = pcti_row_extra(row, name);
    if (extra && extra->text)
        pcti_grid_cell(grid, extra->text);
    else
        pcti_grid_figure(grid, extra ? extra->number : NAN);
}

/* Shown in the note, or the same in every row of a table. */
static bool hidden(const char *name) {
    static const char *const names[] = {"flag", "openblas_coretype", "compute_units", "device_memory_bytes", "isa"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

static void add_table_columns(const extra_list *extras, pcti_grid *grid) {
    static const char *const figures[] = {"median", "min",  "p95",     "first",   "kernel", "up",
                                          "down",   "host", "items/s", "GFLOP/s", "GB/s",   "max error"};
    pcti_grid_column(grid, "test", false);
    pcti_grid_column(grid, "batch", true);
    pcti_grid_column(grid, "size", true);
    for (size_t i = 0; i < extras->keys; i++) pcti_grid_column(grid, extras->names[i], true);
    pcti_grid_column(grid, "implementation", false);
    pcti_grid_column(grid, "status", false);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) pcti_grid_column(grid, figures[i], true);
    for (size_t i = extras->keys; i < extras->count; i++)
        if (!hidden(extras->names[i])) pcti_grid_column(grid, extras->names[i], true);
    pcti_grid_column(grid, "note", false);
}

static void add_table_row(const pcti_row *row, const extra_list *extras, pcti_grid *grid) {
    const double times[] = {row->wall.median, row->wall.min,  row->wall.p95,    row->first_ms,
                            row->kernel_ms,   row->upload_ms, row->download_ms, row->host_ms};
    pcti_grid_cell(grid, row->test);
    pcti_grid_number(grid, row->batch ? (double)row->batch : NAN);
    pcti_grid_number(grid, row->size ? (double)row->size : NAN);
    for (size_t i = 0; i < extras->keys; i++) add_extra_cell(row, extras->names[i], grid);
    pcti_grid_cell(grid, row->impl);
    pcti_grid_cell(grid, pcti_row_status_name(row->status));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) pcti_grid_ms(grid, times[i]);
    pcti_grid_figure(grid, row->items_per_s);
    pcti_grid_figure(grid, row->gflops);
    pcti_grid_figure(grid, row->gbytes_per_s);
    pcti_grid_figure(grid, row->max_error);
    for (size_t i = extras->keys; i < extras->count; i++)
        if (!hidden(extras->names[i])) add_extra_cell(row, extras->names[i], grid);
    const pcti_extra *flag = pcti_row_extra(row, "flag");
    pcti_grid_cell(grid, row->reason ? row->reason : flag ? flag->text : NULL);
}

static void add_tables(const pcti_results *results, pct_format format, pcti_text *text) {
    const pcti_machine *machine = &results->machine;
    bool markdown = format == PCT_FORMAT_MARKDOWN;
    pcti_text_add(text, "pct %s (%s), ", results->version, results->commit);
    pcti_text_add_utf8(text, machine->cpu[0] ? machine->cpu : "unknown processor");
    pcti_text_add(text, ", %d cores, ", machine->logical_cores);
    pcti_text_add_utf8(text, machine->os[0] ? machine->os : "unknown system");
    if (machine->date_utc[0]) pcti_text_add(text, ", %s", machine->date_utc);
    if (machine->openblas_coretype[0]) {
        pcti_text_add(text, ", OPENBLAS_CORETYPE=");
        pcti_text_add_utf8(text, machine->openblas_coretype);
    }
    pcti_text_add(text, "\n");
    for (size_t first = 0, end; first < results->count; first = end) {
        const pcti_row *rows = results->rows;
        for (end = first + 1; end < results->count && same_table(&rows[first], &rows[end]);) end++;
        extra_list extras = list_extras(rows + first, end - first);
        pcti_grid grid = {.count = 0};
        add_heading(&rows[first], markdown, text);
        add_table_columns(&extras, &grid);
        for (size_t r = first; r < end; r++) add_table_row(&rows[r], &extras, &grid);
        pcti_grid_write(&grid, format, text);
        pcti_grid_free(&grid);
    }
    if (results->verdict_count) pcti_text_add(text, markdown ? "\n### verdict\n\n" : "\nverdict\n");
    for (size_t i = 0; i < results->verdict_count; i++) {
        pcti_text_add(text, markdown ? "- " : "  ");
        pcti_text_add_utf8(text, results->verdict[i]);
        pcti_text_add(text, "\n");
    }
}

/* One line per row; every line also holds what the JSON file says once. */
static void add_csv(const pcti_results *results, pcti_text *text) {
    const char *const common[][2] = {{"version", results->version},
                                     {"commit", results->commit},
                                     {"cpu", results->machine.cpu},
                                     {"date_utc", results->machine.date_utc}};
    const size_t common_count = sizeof common / sizeof *common;
    extra_list extras = list_extras(results->rows, results->count);
    pcti_grid grid = {.count = 0};
    for (size_t i = 0; i < pcti_column_count; i++) pcti_grid_column(&grid, pcti_columns[i].flat, false);
    for (size_t i = 0; i < extras.count; i++) pcti_grid_column(&grid, extras.names[i], false);
    for (size_t i = 0; i < common_count; i++) pcti_grid_column(&grid, common[i][0], false);
    for (size_t r = 0; r < results->count; r++) {
        const pcti_row *row = &results->rows[r];
        for (size_t i = 0; i < pcti_column_count; i++) {
            const pcti_column *column = &pcti_columns[i];
            if (column->kind == PCTI_COLUMN_TEXT || column->kind == PCTI_COLUMN_STATUS)
                pcti_grid_cell(&grid, pcti_row_text(row, column));
            else
                pcti_grid_number(&grid, pcti_row_figure(row, column));
        }
        for (size_t i = 0; i < extras.count; i++) {
            const pcti_extra *extra = pcti_row_extra(row, extras.names[i]);
            if (extra && extra->text)
                pcti_grid_cell(&grid, extra->text);
            else
                pcti_grid_number(&grid, extra ? extra->number : NAN);
        }
        for (size_t i = 0; i < common_count; i++) pcti_grid_cell(&grid, common[i][1]);
    }
    pcti_grid_write(&grid, PCT_FORMAT_CSV, text);
    pcti_grid_free(&grid);
}

/* A string literal of SQL: only the quote is special. */
static void add_sql_text(pcti_text *text, const char *string) {
    if (!string) {
        pcti_text_add(text, "NULL");
        return;
    }
    pcti_text_add(text, "'");
    for (; *string;) {
        size_t bytes = pcti_utf8_bytes(string);
        if (*string == '\'')
            pcti_text_add(text, "''");
        else if (bytes)
            pcti_text_add_bytes(text, string, bytes);
        else
            pcti_text_add(text, "\xef\xbf\xbd");
        string += bytes ? bytes : 1;
    }
    pcti_text_add(text, "'");
}

static void add_sql_columns(bool types, pcti_text *text) {
    static const char *const common[] = {"version", "commit_id", "cpu", "date_utc", "extras"};
    static const char *const names[] = {[PCTI_COLUMN_TEXT] = "TEXT",
                                        [PCTI_COLUMN_COUNT] = "INTEGER",
                                        [PCTI_COLUMN_STATUS] = "TEXT",
                                        [PCTI_COLUMN_FIGURE] = "REAL"};
    for (size_t i = 0; i < pcti_column_count; i++)
        pcti_text_add(text, "%s%s%s%s", i ? ", " : "", pcti_columns[i].flat, types ? " " : "",
                      types ? names[pcti_columns[i].kind] : "");
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        pcti_text_add(text, ", %s%s", common[i], types ? " TEXT" : "");
}

static void add_sql(const pcti_results *results, pcti_text *text) {
    pcti_text_add(text, "CREATE TABLE IF NOT EXISTS pct_results (");
    add_sql_columns(true, text);
    pcti_text_add(text, ");\nBEGIN;\n");
    for (size_t r = 0; r < results->count; r++) {
        const pcti_row *row = &results->rows[r];
        pcti_text_add(text, "INSERT INTO pct_results (");
        add_sql_columns(false, text);
        pcti_text_add(text, ") VALUES (");
        for (size_t i = 0; i < pcti_column_count; i++) {
            const pcti_column *column = &pcti_columns[i];
            if (i) pcti_text_add(text, ", ");
            if (column->kind == PCTI_COLUMN_TEXT || column->kind == PCTI_COLUMN_STATUS)
                add_sql_text(text, pcti_row_text(row, column));
            else if (isfinite(pcti_row_figure(row, column)))
                pcti_text_add_number(text, pcti_row_figure(row, column));
            else
                pcti_text_add(text, "NULL");
        }
        pcti_text extras = {0};
        pcti_row_add_extras_json(row, &(pcti_json){.text = &extras});
        const char *const common[] = {results->version, results->commit, results->machine.cpu,
                                      results->machine.date_utc, extras.data};
        for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
            pcti_text_add(text, ", ");
            add_sql_text(text, common[i]);
        }
        if (extras.failed) text->failed = true;
        pcti_text_free(&extras);
        pcti_text_add(text, ");\n");
    }
    pcti_text_add(text, "COMMIT;\n");
}

pct_status pcti_results_text(const pcti_results *results, pct_format format, char **text) {
    pcti_text out = {0};
    *text = NULL;
    switch (format) {
    case PCT_FORMAT_TABLE:
    case PCT_FORMAT_MARKDOWN:
        add_tables(results, format, &out);
        break;
    case PCT_FORMAT_CSV:
        add_csv(results, &out);
        break;
    case PCT_FORMAT_JSON:
        pcti_results_add_json(results, &(pcti_json){.text = &out});
        break;
    case PCT_FORMAT_SQL:
        add_sql(results, &out);
        break;
    default:
        return pcti_fail(PCT_ERROR_ARGUMENT, "results cannot be written in this format");
    }
    if (out.failed) {
        pcti_text_free(&out);
        return PCT_ERROR_MEMORY;
    }
    *text = out.data;
    return PCT_OK;
}
