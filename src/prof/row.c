#include "prof/row.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define TEXT(field)                                                                                          \
    { #field, #field, NULL, PCTI_COLUMN_TEXT, offsetof(pcti_row, field) }
#define COUNT(field)                                                                                         \
    { #field, #field, NULL, PCTI_COLUMN_COUNT, offsetof(pcti_row, field) }
#define FIGURE(field)                                                                                        \
    { #field, #field, NULL, PCTI_COLUMN_FIGURE, offsetof(pcti_row, field) }
#define WALL(field, flat, kind)                                                                              \
    { #field, flat, "wall_ms", kind, offsetof(pcti_row, wall.field) }

const pcti_column pcti_columns[] = {
    TEXT(suite),
    TEXT(test),
    COUNT(batch),
    COUNT(size),
    TEXT(backend),
    TEXT(platform),
    TEXT(device),
    TEXT(driver),
    COUNT(threads),
    TEXT(impl),
    {"status", "status", NULL, PCTI_COLUMN_STATUS, offsetof(pcti_row, status)},
    TEXT(reason),
    FIGURE(first_ms),
    WALL(median, "wall_ms_median", PCTI_COLUMN_FIGURE),
    WALL(min, "wall_ms_min", PCTI_COLUMN_FIGURE),
    WALL(p95, "wall_ms_p95", PCTI_COLUMN_FIGURE),
    WALL(stddev, "wall_ms_stddev", PCTI_COLUMN_FIGURE),
    WALL(runs, "runs", PCTI_COLUMN_COUNT),
    FIGURE(kernel_ms),
    FIGURE(upload_ms),
    FIGURE(download_ms),
    FIGURE(overlap_ms),
    FIGURE(host_ms),
    FIGURE(items_per_s),
    FIGURE(gflops),
    FIGURE(gbytes_per_s),
    FIGURE(peak_memory_bytes),
    FIGURE(max_error)};
const size_t pcti_column_count = sizeof pcti_columns / sizeof *pcti_columns;

const char *pcti_row_text(const pcti_row *row, const pcti_column *column) {
    if (column->kind == PCTI_COLUMN_STATUS) return pcti_row_status_name(row->status);
    const char *text;
    memcpy(&text, (const char *)row + column->offset, sizeof text);
    return text;
}

double pcti_row_figure(const pcti_row *row, const pcti_column *column) {
    double figure;
    int64_t count;
    if (column->kind == PCTI_COLUMN_COUNT) {
        memcpy(&count, (const char *)row + column->offset, sizeof count);
        return count ? (double)count : NAN;
    }
    memcpy(&figure, (const char *)row + column->offset, sizeof figure);
    return figure;
}

static const char *const status_names[PCTI_ROW_STATUSES] = {"ok", "wrong", "skipped", "failed", "timeout"};

const char *pcti_row_status_name(pcti_row_status status) {
    return status_names[status];
}

bool pcti_row_status_parse(const char *name, pcti_row_status *status) {
    for (int i = 0; i < PCTI_ROW_STATUSES; i++) {
        if (strcmp(name, status_names[i])) continue;
        *status = (pcti_row_status)i;
        return true;
    }
    return false;
}

bool pcti_format_parse(const char *name, pct_format *format) {
    static const char *const names[] = {[PCT_FORMAT_TABLE] = "table",
                                        [PCT_FORMAT_MARKDOWN] = "md",
                                        [PCT_FORMAT_CSV] = "csv",
                                        [PCT_FORMAT_JSON] = "json",
                                        [PCT_FORMAT_SQL] = "sql"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i])) continue;
        *format = (pct_format)i;
        return true;
    }
    return false;
}

void pcti_row_init(pcti_row *row) {
    memset(row, 0, sizeof *row);
    const double unknown = NAN;
    for (size_t i = 0; i < pcti_column_count; i++)
        if (pcti_columns[i].kind == PCTI_COLUMN_FIGURE)
            memcpy((char *)row + pcti_columns[i].offset, &unknown, sizeof unknown);
}

static void add_extra(pcti_row *row, pcti_extra extra) {
    if (row->extra_count == PCTI_ROW_EXTRAS)
        row->overfull = true;
    else
        row->extras[row->extra_count++] = extra;
}

void pcti_row_add_text(pcti_row *row, const char *name, const char *text, bool key) {
    if (text) add_extra(row, (pcti_extra){name, text, NAN, key});
}

void pcti_row_add_number(pcti_row *row, const char *name, double number, bool key) {
    add_extra(row, (pcti_extra){name, NULL, number, key});
}

void pcti_row_add_missing(pcti_row *row, const char *field, const char *reason) {
    if (row->missing_count == PCTI_ROW_MISSING)
        row->overfull = true;
    else
        row->missing[row->missing_count++] = (pcti_missing){field, reason};
}

const pcti_extra *pcti_row_extra(const pcti_row *row, const char *name) {
    for (size_t i = 0; i < row->extra_count; i++)
        if (!strcmp(row->extras[i].name, name)) return &row->extras[i];
    return NULL;
}

void pcti_row_set_wall(pcti_row *row, const pcti_stats *wall_ms) {
    row->wall.median = wall_ms->median;
    row->wall.min = wall_ms->min;
    row->wall.p95 = wall_ms->p95;
    row->wall.stddev = wall_ms->stddev;
    row->wall.runs = (int64_t)wall_ms->count;
}

void pcti_row_set_split(pcti_row *row, const pcti_split *split) {
    const struct {
        const char *name;
        double value;
        double *field;
    } figures[] = {{"kernel_ms", split->kernel_ms, &row->kernel_ms},
                   {"upload_ms", split->upload_ms, &row->upload_ms},
                   {"download_ms", split->download_ms, &row->download_ms},
                   {"overlap_ms", split->overlap_ms, &row->overlap_ms},
                   {"host_ms", split->host_ms, &row->host_ms}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        *figures[i].field = figures[i].value;
        if (!isfinite(figures[i].value)) pcti_row_add_missing(row, figures[i].name, split->note);
    }
    if (split->invalid) pcti_row_add_number(row, "invalid_events", (double)split->invalid, false);
    if (split->verdict == PCTI_SPLIT_OK && !split->clocks_agree)
        pcti_row_add_text(row, "flag", split->note, false);
    if (split->verdict == PCTI_SPLIT_IMPOSSIBLE && row->status == PCTI_ROW_OK) {
        row->status = PCTI_ROW_FAILED;
        row->reason = split->note;
    }
}

pct_status pcti_results_create(pcti_results **results) {
    pcti_results *created = pcti_calloc(1, sizeof *created);
    *results = NULL;
    if (!created) return PCT_ERROR_MEMORY;
    created->version = pcti_strdup(pct_version());
    created->commit = pcti_strdup(pct_commit());
    if (!created->version || !created->commit) {
        pcti_results_destroy(created);
        return PCT_ERROR_MEMORY;
    }
    pcti_machine_describe(&created->machine);
    *results = created;
    return PCT_OK;
}

void pcti_results_destroy(pcti_results *results) {
    if (!results) return;
    for (size_t i = 0; i < results->string_count; i++) pcti_free(results->strings[i]);
    pcti_free(results->strings);
    pcti_free(results->verdict);
    pcti_free(results->rows);
    pcti_free(results->version);
    pcti_free(results->commit);
    pcti_free(results);
}

/* Replaces *text by a copy that the results own. */
static pct_status keep(pcti_results *results, const char **text) {
    if (!*text) return PCT_OK;
    PCTI_RETURN_IF_FAILED(pcti_grow(&results->strings, &results->string_capacity, results->string_count,
                                    sizeof *results->strings));
    char *copy = pcti_strdup(*text);
    if (!copy) return PCT_ERROR_MEMORY;
    results->strings[results->string_count++] = copy;
    *text = copy;
    return PCT_OK;
}

pct_status pcti_results_add_read(pcti_results *results, const pcti_row *row) {
    PCTI_RETURN_IF_FAILED(
        pcti_grow(&results->rows, &results->capacity, results->count, sizeof *results->rows));
    pcti_row *copy = &results->rows[results->count];
    *copy = *row;
    for (size_t i = 0; i < pcti_column_count; i++) {
        if (pcti_columns[i].kind != PCTI_COLUMN_TEXT) continue;
        const char *text = pcti_row_text(row, &pcti_columns[i]);
        PCTI_RETURN_IF_FAILED(keep(results, &text));
        memcpy((char *)copy + pcti_columns[i].offset, &text, sizeof text);
    }
    for (size_t i = 0; i < copy->extra_count; i++) {
        PCTI_RETURN_IF_FAILED(keep(results, &copy->extras[i].name));
        PCTI_RETURN_IF_FAILED(keep(results, &copy->extras[i].text));
    }
    for (size_t i = 0; i < copy->missing_count; i++) {
        PCTI_RETURN_IF_FAILED(keep(results, &copy->missing[i].field));
        PCTI_RETURN_IF_FAILED(keep(results, &copy->missing[i].reason));
    }
    results->count++;
    return PCT_OK;
}

static pct_status check_extras(const pcti_row *row) {
    static const char *const taken[] = {"wall_ms", "missing", "key_fields", "version",
                                        "commit",  "cpu",     "date_utc",   "extras"};
    for (size_t e = 0; e < row->extra_count; e++) {
        const char *name = row->extras[e].name;
        bool clash = pcti_row_extra(row, name) != &row->extras[e];
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) clash |= !strcmp(name, taken[i]);
        for (size_t i = 0; i < pcti_column_count; i++)
            clash |= !strcmp(name, pcti_columns[i].flat) ||
                     (!pcti_columns[i].group && !strcmp(name, pcti_columns[i].name));
        if (clash)
            return pcti_fail(PCT_ERROR_ARGUMENT, "result %s/%s: the field \"%s\" is there already",
                             row->suite, row->test, name);
    }
    return PCT_OK;
}

pct_status pcti_results_add(pcti_results *results, const pcti_row *row) {
    if (!row->suite || !row->test || !row->backend)
        return pcti_fail(PCT_ERROR_ARGUMENT, "result: suite, test and backend are required");
    if (row->overfull)
        return pcti_fail(PCT_ERROR_ARGUMENT, "result %s/%s: too many fields", row->suite, row->test);
    if (row->status != PCTI_ROW_OK && !row->reason)
        return pcti_fail(PCT_ERROR_ARGUMENT, "result %s/%s: %s without a reason", row->suite, row->test,
                         pcti_row_status_name(row->status));
    pcti_row judged = *row;
    if (judged.status == PCTI_ROW_OK) {
        judged.reason = NULL;
        if (!isfinite(judged.max_error)) {
            judged.status = PCTI_ROW_WRONG;
            judged.reason = "the values were not verified: max_error is unknown";
        } else if (judged.kernel_ms > judged.wall.median * 1.05) { /* two medians: allow for their spread */
            judged.status = PCTI_ROW_FAILED;
            judged.reason = "invalid: the kernels took longer than the whole run, which was not waited for";
        }
    }
    if (results->machine.openblas_coretype[0] && !pcti_row_extra(row, "openblas_coretype"))
        pcti_row_add_text(&judged, "openblas_coretype", results->machine.openblas_coretype, false);
    PCTI_RETURN_IF_FAILED(check_extras(&judged));
    return pcti_results_add_read(results, &judged);
}

pct_status pcti_results_add_verdict(pcti_results *results, const char *sentence) {
    PCTI_RETURN_IF_FAILED(pcti_grow(&results->verdict, &results->verdict_capacity, results->verdict_count,
                                    sizeof *results->verdict));
    PCTI_RETURN_IF_FAILED(keep(results, &sentence));
    results->verdict[results->verdict_count++] = sentence;
    return PCT_OK;
}
