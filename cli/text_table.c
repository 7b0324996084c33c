/* SPDX-License-Identifier: MIT
 *
 * Tables with aligned columns, and what is known of the terminal they appear on. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const FILE *on_terminal; /* what goes to it through a pager; NULL: nothing does */

void cli_terminal_is(const FILE *out) {
    on_terminal = out;
}

/* Where a stream is seen. */
static FILE *seen_as(FILE *out) {
    return out == on_terminal ? stdout : out;
}

size_t cli_columns(FILE *out) {
    if (!cli_is_terminal(seen_as(out))) return 0;
    const size_t columns = cli_terminal_columns(seen_as(out));
    return columns ? columns : 80;
}

static bool has_style(FILE *out) {
    if (cli.no_color || cli_variable("NO_COLOR") || !cli_has_colours()) return false;
    return cli_is_terminal(seen_as(out));
}

const char *cli_style_on(FILE *out, cli_style style) {
    static const char *const sequences[] = {
        [CLI_PLAIN] = "",       [CLI_BOLD] = "\033[1m",    [CLI_DIM] = "\033[2m",
        [CLI_RED] = "\033[31m", [CLI_YELLOW] = "\033[33m", [CLI_GREEN] = "\033[32m",
    };
    return has_style(out) ? sequences[style] : "";
}

const char *cli_style_off(FILE *out) {
    return has_style(out) ? "\033[0m" : "";
}

#define COLUMNS_MAX 12
#define GAP         2 /* spaces between columns */

typedef struct column {
    char *heading;
    size_t width;
    bool is_right, is_flexible;
} column;

struct cli_table {
    column columns[COLUMNS_MAX];
    size_t n_columns;
    char **cells;
    size_t n_cells, room;
};

cli_table *cli_table_new(const char *headings) {
    cli_table *table = cli_alloc(1, sizeof *table);
    while (table->n_columns < COLUMNS_MAX) {
        column *c = &table->columns[table->n_columns++];
        for (; *headings == '>' || *headings == '~'; headings++) {
            if (*headings == '>') c->is_right = true;
            if (*headings == '~') c->is_flexible = true;
        }
        size_t n = strcspn(headings, "|");
        c->heading = cli_copy(headings, n);
        c->width = n;
        if (headings[n] == '\0') break;
        headings += n + 1;
    }
    return table;
}

void cli_table_free(cli_table *table) {
    if (!table) return;
    for (size_t i = 0; i < table->n_columns; i++) free(table->columns[i].heading);
    for (size_t i = 0; i < table->n_cells; i++) free(table->cells[i]);
    free(table->cells);
    free(table);
}

void cli_table_add(cli_table *table, const char *cell) {
    if (table->n_cells == table->room) {
        table->room = table->room ? table->room * 2 : 64;
        table->cells = cli_grow(table->cells, table->room, sizeof *table->cells);
    }
    column *c = &table->columns[table->n_cells % table->n_columns];
    size_t width = cli_width(cell);
    if (width > c->width) c->width = width;
    table->cells[table->n_cells++] = cli_copy(cell, strlen(cell));
}

/* One row of cells; a last column that is left-aligned gets no spaces after it. */
static void print_row(const cli_table *table, const size_t *widths, char *const *cells, FILE *out,
                      size_t indent, cli_style style) {
    fprintf(out, "%*s%s", (int)indent, "", cli_style_on(out, style));
    size_t n_last = table->n_columns;
    while (n_last > 1 && cells[n_last - 1][0] == '\0') n_last--;
    for (size_t i = 0; i < n_last; i++) {
        const char *text = cells[i];
        char *cut = NULL;
        size_t width = cli_width(text);
        if (width > widths[i]) {
            cut = cli_copy(text, strlen(text));
            cli_cut(cut, widths[i]);
            text = cut;
            width = cli_width(text);
        }
        size_t space = widths[i] > width ? widths[i] - width : 0;
        if (table->columns[i].is_right) fprintf(out, "%*s", (int)space, "");
        fputs(text, out);
        if (i + 1 < n_last) {
            fprintf(out, "%*s", (int)(GAP + (table->columns[i].is_right ? 0 : space)), "");
        }
        free(cut);
    }
    fprintf(out, "%s\n", style ? cli_style_off(out) : "");
}

/* Takes from the flexible column what the terminal is too narrow for; it keeps some columns. */
static void fit(const cli_table *table, size_t *widths, size_t columns, size_t indent) {
    size_t total = indent, least = 24;
    for (size_t i = 0; i < table->n_columns; i++) total += widths[i] + (i ? GAP : 0);
    for (size_t i = 0; i < table->n_columns && total > columns; i++) {
        if (!table->columns[i].is_flexible || widths[i] <= least) continue;
        size_t over = total - columns;
        size_t take = widths[i] - least < over ? widths[i] - least : over;
        widths[i] -= take;
        total -= take;
    }
}

void cli_table_print(const cli_table *table, FILE *out, size_t indent) {
    size_t widths[COLUMNS_MAX];
    char *headings[COLUMNS_MAX];
    bool has_headings = false;
    for (size_t i = 0; i < table->n_columns; i++) {
        widths[i] = table->columns[i].width;
        headings[i] = table->columns[i].heading;
        if (headings[i][0]) has_headings = true;
    }
    size_t columns = cli_columns(out);
    if (columns) fit(table, widths, columns, indent);
    if (has_headings) print_row(table, widths, headings, out, indent, CLI_BOLD);
    for (size_t i = 0; i + table->n_columns <= table->n_cells; i += table->n_columns) {
        print_row(table, widths, table->cells + i, out, indent, CLI_PLAIN);
    }
}
