/* Result files side by side. */
#ifndef PCTI_PROF_COMPARE_H
#define PCTI_PROF_COMPARE_H

#include "prof/row.h"

typedef enum pcti_verdict {
    PCTI_VERDICT_BASE,  /* the first file's row */
    PCTI_VERDICT_SAME,  /* within the tolerance */
    PCTI_VERDICT_NOISE, /* beyond the tolerance, but not beyond the spread of the runs */
    PCTI_VERDICT_FASTER,
    PCTI_VERDICT_SLOWER,
    PCTI_VERDICT_BROKEN,  /* ok in the first file; wrong, failed or timed out here */
    PCTI_VERDICT_FIXED,   /* the other way round */
    PCTI_VERDICT_SKIPPED, /* ok in the first file, skipped here */
    PCTI_VERDICT_MISSING, /* in the first file only */
    PCTI_VERDICT_ADDED,   /* not in the first file */
    PCTI_VERDICT_NONE,    /* not ok in both, or no figure that both have */
    PCTI_VERDICTS
} pcti_verdict;

const char *pcti_verdict_name(pcti_verdict verdict);

typedef struct pcti_compare_cell {
    const pcti_row *row; /* NULL: not in this file */
    double ratio;        /* time over the first file's time, above 1 is slower; NaN where there is none */
    pcti_verdict verdict;
    bool elsewhere; /* the first file's row ran on another device or with another thread count */
} pcti_compare_cell;

typedef struct pcti_comparison {
    const pcti_results *const *results; /* borrowed, as are the paths */
    const char *const *paths;
    size_t files, lines;
    pcti_compare_cell *cells; /* [line][file] */
    double tolerance;
    size_t regressions; /* broken ones, and slower ones on the same device */
    size_t improvements, missing, added;
} pcti_comparison;

/* Joins the rows of two or more files. Rows belong together where suite, test, batch, size, backend and key
 * extras are the same; among those the closest partner is taken: same platform, device, threads and
 * implementation first, then another implementation, then another platform, and last another device, so that
 * two machines can be held side by side. The driver's version does not matter.
 *
 * Compared are medians of the wall time or, where a row has none, rates. A row is slower (faster) if its
 * median is more than `tolerance` (0.05: 5 %) above (below) and by more than twice the standard error of the
 * two medians, 1.2533 * stddev / sqrt(runs) each (that of a normal distribution); a single run has no known
 * spread. */
pct_status pcti_compare(const pcti_results *const *results, const char *const *paths, size_t files,
                        double tolerance, pcti_comparison **comparison);
void pcti_comparison_destroy(pcti_comparison *comparison); /* NULL allowed */
/* Table, Markdown, CSV or JSON; the caller frees *text with pcti_free. */
pct_status pcti_comparison_text(const pcti_comparison *comparison, pct_format format, char **text);

#endif
