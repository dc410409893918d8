#include "prof/compare.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

const char *pcti_verdict_name(pcti_verdict verdict) {
    static const char *const names[PCTI_VERDICTS] = {
        [PCTI_VERDICT_BASE] = "base",       [PCTI_VERDICT_SAME] = "same",
        [PCTI_VERDICT_NOISE] = "noise",     [PCTI_VERDICT_FASTER] = "faster",
        [PCTI_VERDICT_SLOWER] = "slower",   [PCTI_VERDICT_BROKEN] = "broken",
        [PCTI_VERDICT_FIXED] = "fixed",     [PCTI_VERDICT_SKIPPED] = "skipped",
        [PCTI_VERDICT_MISSING] = "missing", [PCTI_VERDICT_ADDED] = "added",
        [PCTI_VERDICT_NONE] = "none"};
    return names[verdict];
}

static bool same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_keys(const pcti_row *a, const pcti_row *b) {
    size_t keys_a = 0, keys_b = 0;
    for (size_t i = 0; i < b->extra_count; i++) keys_b += b->extras[i].key;
    for (size_t i = 0; i < a->extra_count; i++) {
        if (!a->extras[i].key) continue;
        keys_a++;
        const pcti_extra *other = pcti_row_extra(b, a->extras[i].name);
        if (!other || !other->key || !same(a->extras[i].text, other->text)) return false;
        if (!other->text && a->extras[i].number != other->number) return false;
    }
    return keys_a == keys_b;
}

/* How closely rows must resemble each other; each step drops one demand. */
typedef enum closeness { SAME_ALL, ANY_IMPL, ANY_PLATFORM, ANY_DEVICE, CLOSENESSES } closeness;

static bool belong(const pcti_row *a, const pcti_row *b, closeness level) {
    if (!same(a->test, b->test) || !same(a->suite, b->suite) || !same(a->backend, b->backend) ||
        a->batch != b->batch || a->size != b->size || !same_keys(a, b))
        return false;
    return (level >= ANY_IMPL || same(a->impl, b->impl)) &&
           (level >= ANY_PLATFORM || same(a->platform, b->platform)) &&
           (level >= ANY_DEVICE || (same(a->device, b->device) && a->threads == b->threads));
}

static pcti_compare_cell *line_of(const pcti_comparison *comparison, size_t line) {
    return comparison->cells + line * comparison->files;
}

/* The row that stands for a line: that of the first file that has one. */
static const pcti_row *row_of(const pcti_compare_cell *line) {
    while (!line->row) line++;
    return line->row;
}

/* Puts each row of file `f` into the line it belongs to, or into a new one. `taken` marks rows that have a
 * place. */
static void join(pcti_comparison *comparison, size_t f, bool *taken) {
    const pcti_results *results = comparison->results[f];
    size_t lines = comparison->lines;
    for (int level = 0; level < CLOSENESSES; level++)
        for (size_t l = 0; l < lines; l++) {
            pcti_compare_cell *line = line_of(comparison, l);
            if (line[f].row) continue;
            for (size_t r = 0; r < results->count; r++) {
                if (taken[r] || !belong(row_of(line), &results->rows[r], (closeness)level)) continue;
                taken[r] = true;
                line[f].row = &results->rows[r];
                line[f].elsewhere = level == ANY_DEVICE;
                break;
            }
        }
    for (size_t r = 0; r < results->count; r++)
        if (!taken[r]) line_of(comparison, comparison->lines++)[f].row = &results->rows[r];
}

/* Twice the standard error of the difference of two medians, 0 where a spread is unknown. */
static double noise_ms(const pcti_row *a, const pcti_row *b) {
    const pcti_row *const rows[] = {a, b};
    double variance = 0;
    for (int i = 0; i < 2; i++) {
        if (rows[i]->wall.runs < 2 || !isfinite(rows[i]->wall.stddev)) continue;
        double error = 1.2533 * rows[i]->wall.stddev / sqrt((double)rows[i]->wall.runs);
        variance += error * error;
    }
    return 2 * sqrt(variance);
}

/* Sets ratio and gives the verdict of two rows that are both ok. */
static pcti_verdict judge_times(const pcti_row *base, const pcti_row *row, double tolerance, double *ratio) {
    const double rates[][2] = {{base->items_per_s, row->items_per_s},
                               {base->gflops, row->gflops},
                               {base->gbytes_per_s, row->gbytes_per_s}};
    bool noisy = false;
    if (base->wall.median > 0 && row->wall.median > 0) {
        *ratio = row->wall.median / base->wall.median;
        noisy = fabs(row->wall.median - base->wall.median) <= noise_ms(base, row);
    }
    for (size_t i = 0; i < sizeof rates / sizeof *rates && isnan(*ratio); i++)
        if (rates[i][0] > 0 && rates[i][1] > 0) *ratio = rates[i][0] / rates[i][1];
    if (isnan(*ratio)) return PCTI_VERDICT_NONE;
    bool slower = *ratio > 1 + tolerance, faster = *ratio < 1 - tolerance;
    if (!slower && !faster) return PCTI_VERDICT_SAME;
    if (noisy) return PCTI_VERDICT_NOISE;
    return slower ? PCTI_VERDICT_SLOWER : PCTI_VERDICT_FASTER;
}

static pcti_verdict judge(const pcti_row *base, const pcti_row *row, double tolerance, double *ratio) {
    if (!base) return row ? PCTI_VERDICT_ADDED : PCTI_VERDICT_NONE;
    if (!row) return PCTI_VERDICT_MISSING;
    bool was_ok = base->status == PCTI_ROW_OK, is_ok = row->status == PCTI_ROW_OK;
    if (was_ok && is_ok) return judge_times(base, row, tolerance, ratio);
    if (was_ok) return row->status == PCTI_ROW_SKIPPED ? PCTI_VERDICT_SKIPPED : PCTI_VERDICT_BROKEN;
    return is_ok ? PCTI_VERDICT_FIXED : PCTI_VERDICT_NONE;
}

static void judge_all(pcti_comparison *comparison) {
    for (size_t l = 0; l < comparison->lines; l++) {
        pcti_compare_cell *line = line_of(comparison, l);
        for (size_t f = 0; f < comparison->files; f++) {
            pcti_compare_cell *cell = &line[f];
            cell->ratio = NAN;
            cell->verdict = !f && cell->row ? PCTI_VERDICT_BASE
                            : f ? judge(line[0].row, cell->row, comparison->tolerance, &cell->ratio)
                                : PCTI_VERDICT_NONE;
            switch (cell->verdict) {
            case PCTI_VERDICT_BROKEN:
                comparison->regressions++;
                break;
            case PCTI_VERDICT_SLOWER:
                comparison->regressions += !cell->elsewhere;
                break;
            case PCTI_VERDICT_FASTER:
            case PCTI_VERDICT_FIXED:
                comparison->improvements += !cell->elsewhere;
                break;
            case PCTI_VERDICT_MISSING:
            case PCTI_VERDICT_SKIPPED:
                comparison->missing++;
                break;
            case PCTI_VERDICT_ADDED:
                comparison->added++;
                break;
            default:
                break;
            }
        }
    }
}

pct_status pcti_compare(const pcti_results *const *results, const char *const *paths, size_t files,
                        double tolerance, pcti_comparison **comparison) {
    *comparison = NULL;
    if (files < 2) return pcti_fail(PCT_ERROR_ARGUMENT, "compare: two result files or more are needed");
    if (!(tolerance >= 0 && tolerance < 1))
        return pcti_fail(PCT_ERROR_ARGUMENT, "compare: the tolerance must be at least 0 and below 1");
    size_t rows = 0, cells;
    for (size_t f = 0; f < files; f++) rows += results[f]->count;
    pcti_comparison *created = pcti_calloc(1, sizeof *created);
    bool *taken = pcti_calloc(rows, sizeof *taken);
    if (!created || !taken || !pcti_mul_size(rows, files, &cells) ||
        !(created->cells = pcti_calloc(cells, sizeof *created->cells))) {
        pcti_free(taken);
        pcti_comparison_destroy(created);
        return PCT_ERROR_MEMORY;
    }
    created->results = results;
    created->paths = paths;
    created->files = files;
    created->tolerance = tolerance;
    for (size_t f = 0; f < files; f++) {
        memset(taken, 0, rows * sizeof *taken);
        join(created, f, taken);
    }
    pcti_free(taken);
    judge_all(created);
    *comparison = created;
    return PCT_OK;
}

void pcti_comparison_destroy(pcti_comparison *comparison) {
    if (!comparison) return;
    pcti_free(comparison->cells);
    pcti_free(comparison);
}
