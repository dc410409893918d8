/* Result rows of a benchmark, and the set of them that one run or one file holds. */
#ifndef PCTI_PROF_ROW_H
#define PCTI_PROF_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pct/prof.h"
#include "prof/intervals.h"
#include "prof/machine.h"
#include "prof/stats.h"

typedef enum pcti_row_status {
    PCTI_ROW_OK,
    PCTI_ROW_WRONG,   /* it ran, its values are not right (or nobody looked) */
    PCTI_ROW_SKIPPED, /* it was not tried */
    PCTI_ROW_FAILED,
    PCTI_ROW_TIMEOUT,
    PCTI_ROW_STATUSES
} pcti_row_status;

enum { PCTI_ROW_EXTRAS = 24, PCTI_ROW_MISSING = 48 };

/* A further field of a row. A key tells rows of one test apart (shape, direction, bytes); the others are
 * figures. */
typedef struct pcti_extra {
    const char *name, *text; /* text NULL: a number */
    double number;
    bool key;
} pcti_extra;

typedef struct pcti_missing {
    const char *field, *reason;
} pcti_missing;

/* One measurement. Texts are borrowed until pcti_results_add copies them. NULL, 0 for a count and NaN for a
 * figure become null in JSON. */
typedef struct pcti_row {
    const char *suite, *test, *backend, *platform, *device, *driver, *impl;
    int64_t batch, size, threads;
    pcti_row_status status;
    const char *reason; /* NULL exactly where status is ok */
    double first_ms;    /* first run: compilation, tuning, upload */
    struct {
        double median, min, p95, stddev;
        int64_t runs;
    } wall;                                                        /* steady state, host clock, ms */
    double kernel_ms, upload_ms, download_ms, overlap_ms, host_ms; /* as in pcti_split */
    double items_per_s, gflops, gbytes_per_s, peak_memory_bytes;
    double max_error; /* largest |difference| to the expected values */
    pcti_extra extras[PCTI_ROW_EXTRAS];
    pcti_missing missing[PCTI_ROW_MISSING]; /* why a figure is null */
    size_t extra_count, missing_count;
    bool overfull; /* more than fits was added: pcti_results_add refuses the row */
} pcti_row;

/* Everything unknown, status ok. */
void pcti_row_init(pcti_row *row);
void pcti_row_add_text(pcti_row *row, const char *name, const char *text, bool key);
void pcti_row_add_number(pcti_row *row, const char *name, double number, bool key);
void pcti_row_add_missing(pcti_row *row, const char *field, const char *reason);
void pcti_row_set_wall(pcti_row *row, const pcti_stats *wall_ms);
/* Kernel to host time. An impossible split makes an ok row failed; unknown figures get the split's note as
 * reason, and clocks that disagree become an extra "flag". Borrows split->note. */
void pcti_row_set_split(pcti_row *row, const pcti_split *split);
/* The extra of this name, or NULL. */
const pcti_extra *pcti_row_extra(const pcti_row *row, const char *name);

const char *pcti_row_status_name(pcti_row_status status);
bool pcti_row_status_parse(const char *name, pcti_row_status *status);

typedef struct pcti_results {
    char *version, *commit; /* of the program that measured */
    pcti_machine machine;
    pcti_row *rows;
    size_t count, capacity;
    char **strings; /* what the rows point to */
    size_t string_count, string_capacity;
    const char **verdict; /* what the program concludes from its rows, one sentence each */
    size_t verdict_count, verdict_capacity;
} pcti_results;

/* This library's version and commit, this machine, no rows. */
pct_status pcti_results_create(pcti_results **results);
void pcti_results_destroy(pcti_results *results); /* NULL allowed */
/* Copies the row and everything it points to. PCT_ERROR_ARGUMENT for a row without suite, test or backend,
 * without the reason of its status, or with an extra that has a fixed field's name or occurs twice. A row
 * that claims to be ok but has no max_error is kept as wrong, and one whose kernels took longer than the
 * whole as failed. Where OPENBLAS_CORETYPE is set the row gets it as an extra. */
pct_status pcti_results_add(pcti_results *results, const pcti_row *row);
/* Copies a sentence. Tables and Markdown end with the verdict, JSON has it as an array of texts; CSV and SQL have rows
 * only. Readers pass over it. */
pct_status pcti_results_add_verdict(pcti_results *results, const char *sentence);
/* The row as it is, for readers. */
pct_status pcti_results_add_read(pcti_results *results, const pcti_row *row);

/* The fixed fields in the order of all formats. */
typedef enum pcti_column_kind {
    PCTI_COLUMN_TEXT,
    PCTI_COLUMN_COUNT,
    PCTI_COLUMN_STATUS,
    PCTI_COLUMN_FIGURE
} pcti_column_kind;
typedef struct pcti_column {
    const char *name, *flat; /* in JSON (inside `group`); in CSV and SQL */
    const char *group;       /* the object that holds it, NULL: the row */
    pcti_column_kind kind;
    size_t offset;
} pcti_column;
extern const pcti_column pcti_columns[];
extern const size_t pcti_column_count;

/* The field, for the column's kind. */
const char *pcti_row_text(const pcti_row *row, const pcti_column *column);
double pcti_row_figure(const pcti_row *row, const pcti_column *column); /* counts too: NaN for 0 */

/* "table", "md", "csv", "json", "sql"; false for anything else. */
bool pcti_format_parse(const char *name, pct_format *format);

/* All rows as text; the caller frees *text with pcti_free. */
pct_status pcti_results_text(const pcti_results *results, pct_format format, char **text);
/* Reads a JSON file that pcti_results_text wrote. Errors name the file and line, or the field. Members that
 * this version does not know are ignored. */
pct_status pcti_results_read(const char *path, pcti_results **results);

#endif
