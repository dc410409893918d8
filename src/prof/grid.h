/* A grid of cells, written as an aligned table, Markdown or CSV. */
#ifndef PCTI_PROF_GRID_H
#define PCTI_PROF_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "pct/prof.h"

enum { PCTI_GRID_COLUMNS = 96 };

/* Zero-initialise; declare the columns, then add the cells row by row. An allocation failure sets `failed`.
 */
typedef struct pcti_grid {
    const char *titles[PCTI_GRID_COLUMNS]; /* borrowed */
    bool right[PCTI_GRID_COLUMNS];         /* aligned to the right */
    size_t columns;
    char **cells; /* owned, NULL: empty */
    size_t count, capacity;
    bool failed;
} pcti_grid;

void pcti_grid_column(pcti_grid *grid, const char *title, bool right);
void pcti_grid_cell(pcti_grid *grid, const char *text); /* copied; NULL: empty */
void pcti_grid_free(pcti_grid *grid);
/* TABLE, MARKDOWN or CSV. Tables and Markdown leave out columns without a single entry; CSV keeps them. A
 * failed grid makes the text fail. */
void pcti_grid_write(const pcti_grid *grid, pct_format format, pcti_text *text);

/* Cells in human units; NaN gives an empty cell. */
void pcti_grid_ms(pcti_grid *grid, double ms);       /* 3 digits and ns, us, ms or s */
void pcti_grid_bytes(pcti_grid *grid, double bytes); /* 3 digits and B, KiB, MiB, GiB */
void pcti_grid_fixed(pcti_grid *grid, double value, int decimals);
void pcti_grid_figure(pcti_grid *grid, double value); /* 4 digits */
void pcti_grid_number(pcti_grid *grid, double value); /* for machines: as in JSON */

#endif
