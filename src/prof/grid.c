#include "prof/grid.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "prof/json.h"

void pcti_grid_column(pcti_grid *grid, const char *title, bool right) {
    if (grid->columns == PCTI_GRID_COLUMNS) {
        pcti_fail(PCT_ERROR_ARGUMENT, "table: more than %d columns at \"%s\"", PCTI_GRID_COLUMNS, title);
        grid->failed = true;
        return;
    }
    grid->titles[grid->columns] = title;
    grid->right[grid->columns++] = right;
}

void pcti_grid_cell(pcti_grid *grid, const char *text) {
    if (grid->failed ||
        pcti_grow(&grid->cells, &grid->capacity, grid->count, sizeof *grid->cells) != PCT_OK ||
        (text && !(grid->cells[grid->count] = pcti_strdup(text)))) {
        grid->failed = true;
        return;
    }
    if (!text) grid->cells[grid->count] = NULL;
    grid->count++;
}

void pcti_grid_free(pcti_grid *grid) {
    for (size_t i = 0; i < grid->count; i++) pcti_free(grid->cells[i]);
    pcti_free(grid->cells);
    *grid = (pcti_grid){.cells = NULL};
}

static void cell_of(pcti_grid *grid, pcti_text *text) {
    if (text->failed) grid->failed = true;
    pcti_grid_cell(grid, text->data);
    pcti_text_free(text);
}

/* Fixed decimals without the locale's help. */
static void add_fixed(pcti_text *text, double value, int decimals) {
    long long power = 1;
    for (int i = 0; i < decimals; i++) power *= 10;
    double scaled = round(fabs(value) * (double)power);
    if (scaled > 9e15) {
        pcti_text_add_double(text, value, 4);
        return;
    }
    long long digits = (long long)scaled;
    pcti_text_add(text, "%s%lld", value < 0 && digits ? "-" : "", digits / power);
    if (decimals) pcti_text_add(text, ".%0*lld", decimals, digits % power);
}

static void scaled_cell(pcti_grid *grid, double value, double first, double step, const char *const *units,
                        int count) {
    if (!isfinite(value)) {
        pcti_grid_cell(grid, NULL);
        return;
    }
    int unit = 0;
    value *= first;
    /* 999.5 would be printed as 1000. */
    while (unit < count - 1 && fabs(value) >= (step == 1000 ? 999.5 : step)) {
        value /= step;
        unit++;
    }
    if (value == 0) {
        pcti_grid_cell(grid, "0");
        return;
    }
    pcti_text text = {0};
    add_fixed(&text, value, fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0);
    pcti_text_add(&text, " %s", units[unit]);
    cell_of(grid, &text);
}

void pcti_grid_ms(pcti_grid *grid, double ms) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    scaled_cell(grid, ms, 1e6, 1000, units, 4);
}

void pcti_grid_bytes(pcti_grid *grid, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    scaled_cell(grid, bytes, 1, 1024, units, 5);
}

void pcti_grid_fixed(pcti_grid *grid, double value, int decimals) {
    pcti_text text = {0};
    if (isfinite(value)) add_fixed(&text, value, decimals);
    cell_of(grid, &text);
}

void pcti_grid_figure(pcti_grid *grid, double value) {
    pcti_text text = {0};
    if (isfinite(value)) {
        if (fabs(value) >= 1000 && fabs(value) < 1e12)
            add_fixed(&text, value, 0);
        else
            pcti_text_add_double(&text, value, 4);
    }
    cell_of(grid, &text);
}

void pcti_grid_number(pcti_grid *grid, double value) {
    pcti_text text = {0};
    if (isfinite(value)) pcti_text_add_number(&text, value);
    cell_of(grid, &text);
}

/* Characters on a terminal, near enough: one for each code point. */
static size_t width_of(const char *cell) {
    size_t width = 0;
    for (; cell && *cell; width++) {
        size_t bytes = pcti_utf8_bytes(cell);
        cell += bytes ? bytes : 1;
    }
    return width;
}

/* No control character reaches a terminal or breaks a line of a table; Markdown's bar is escaped. */
static void add_cell(pcti_text *text, const char *cell, bool markdown) {
    for (; cell && *cell;) {
        size_t bytes = pcti_utf8_bytes(cell);
        unsigned char c = (unsigned char)*cell;
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && bytes == 2 && (unsigned char)cell[1] < 0xa0))
            pcti_text_add(text, " ");
        else if (c == '|' && markdown)
            pcti_text_add(text, "\\|");
        else if (!bytes)
            pcti_text_add(text, "?");
        else
            pcti_text_add_bytes(text, cell, bytes);
        cell += bytes ? bytes : 1;
    }
}

static void write_line(const pcti_grid *grid, const char *const *cells, const size_t *widths, bool markdown,
                       pcti_text *text) {
    size_t spaces = 0; /* owed: a table line never ends in them */
    for (size_t c = 0; c < grid->columns; c++) {
        if (!widths[c]) continue;
        size_t width = width_of(cells[c]), pad = widths[c] > width ? widths[c] - width : 0;
        if (markdown) {
            pcti_text_add(text, "| ");
            add_cell(text, cells[c], true);
            pcti_text_add(text, " ");
            continue;
        }
        if (grid->right[c]) spaces += pad;
        if (width) {
            pcti_text_add(text, "%*s", (int)spaces, "");
            spaces = 0;
        }
        add_cell(text, cells[c], false);
        spaces += grid->right[c] ? 2 : 2 + pad;
    }
    pcti_text_add(text, markdown ? "|\n" : "\n");
}

static void write_csv_line(const char *const *cells, size_t columns, pcti_text *text) {
    for (size_t c = 0; c < columns; c++) {
        if (c) pcti_text_add(text, ",");
        const char *cell = cells[c] ? cells[c] : "";
        bool quote = strpbrk(cell, ",\"\r\n") != NULL;
        if (quote) pcti_text_add(text, "\"");
        for (; *cell;) {
            size_t bytes = pcti_utf8_bytes(cell);
            if (*cell == '"')
                pcti_text_add(text, "\"\"");
            else if (bytes)
                pcti_text_add_bytes(text, cell, bytes);
            else
                pcti_text_add(text, "\xef\xbf\xbd");
            cell += bytes ? bytes : 1;
        }
        if (quote) pcti_text_add(text, "\"");
    }
    pcti_text_add(text, "\n");
}

void pcti_grid_write(const pcti_grid *grid, pct_format format, pcti_text *text) {
    if (grid->failed) {
        text->failed = true;
        return;
    }
    const char *const *cells = (const char *const *)grid->cells;
    if (format == PCT_FORMAT_CSV) {
        write_csv_line(grid->titles, grid->columns, text);
        for (size_t i = 0; i < grid->count; i += grid->columns)
            write_csv_line(cells + i, grid->columns, text);
        return;
    }
    size_t widths[PCTI_GRID_COLUMNS] = {0}; /* 0: nothing in it, left out */
    for (size_t i = 0; i < grid->count; i++) {
        size_t width = width_of(cells[i]);
        if (width > widths[i % grid->columns]) widths[i % grid->columns] = width;
    }
    for (size_t c = 0; c < grid->columns; c++) {
        size_t title = width_of(grid->titles[c]);
        if (widths[c] && widths[c] < title) widths[c] = title;
    }
    bool markdown = format == PCT_FORMAT_MARKDOWN;
    write_line(grid, grid->titles, widths, markdown, text);
    if (markdown) {
        for (size_t c = 0; c < grid->columns; c++)
            if (widths[c]) pcti_text_add(text, grid->right[c] ? "| ---: " : "| --- ");
        pcti_text_add(text, "|\n");
    }
    for (size_t i = 0; i < grid->count; i += grid->columns)
        write_line(grid, cells + i, widths, markdown, text);
}
