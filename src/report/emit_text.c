/*
 * Plain text. libsmartcols lays out the tables and wants a UTF-8 locale for its widths: one is set
 * for this thread alone, and what was there is put back. Where a row is wider than the page, the
 * widest texts are narrowed and broken; numbers are never cut.
 */
#include <libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/emit.h"
#include "report/text.h"
#include "report/format.h"

enum {
    WIDTH_DEFAULT = 100,
    WIDTH_LEAST = 40,
    INDENT = 2,
    GAP = 2,
    TEXT_LEAST = 12,
    BAR_CELLS = 26
};

struct printer {
    FILE *sink;
    size_t width;
    bool exact;
    bool color;
};

static void cleanup_table(struct libscols_table **table) {
    scols_unref_table(*table);
}

static const char *tone_on(const struct printer *printer, enum cf_tone tone) {
    static const char *const codes[] = {[CF_TONE_PLAIN] = "",
                                        [CF_TONE_LEAD] = "\033[1m",
                                        [CF_TONE_WARNING] = "\033[33m",
                                        [CF_TONE_FAINT] = "\033[2m"};
    return printer->color ? codes[tone] : "";
}

static const char *tone_off(const struct printer *printer, enum cf_tone tone) {
    return printer->color && tone != CF_TONE_PLAIN ? "\033[0m" : "";
}

static int no_memory(struct cf_err *err) {
    return cf_err_set(err, CF_ENOMEM, "out of memory while the report was printed");
}

static int print_wrapped(const struct printer *printer, enum cf_tone tone, char *escaped,
                         const char *first, const char *rest, struct cf_err *err) {
    CF_CLEANUP_FREE char *text = escaped;
    if (text == NULL)
        return no_memory(err);
    (void)fputs(tone_on(printer, tone), printer->sink);
    cf_text_wrap(printer->sink, text, printer->width, first, rest);
    (void)fputs(tone_off(printer, tone), printer->sink);
    return CF_OK;
}

/* `fraction` of BAR_CELLS cells in eighths of a cell. */
static char *draw_bar(double fraction) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    enum { FULL_BYTES = sizeof "█" - 1 };
    double clamped = fraction > 1 ? 1 : fraction > 0 ? fraction : 0;
    unsigned parts = (unsigned)(clamped * BAR_CELLS * 8 + 0.5);
    char *bar = malloc((BAR_CELLS + 1) * FULL_BYTES + 1);
    if (bar == NULL)
        return NULL;
    char *to = bar;
    for (unsigned i = 0; i < parts / 8; i++)
        to = mempcpy(to, "█", FULL_BYTES);
    *stpncpy(to, eighths[parts % 8], FULL_BYTES) = '\0';
    return bar;
}

/* What stands in a cell, escaped; NULL when memory is out. `header_mark` is already said. */
static char *cell_text(const struct printer *printer, const struct cf_table *table, size_t row,
                       size_t column, enum cf_figure_mark header_mark) {
    struct cf_datum shown = *cf_table_cell(table, row, column);
    if (shown.mark == header_mark)
        shown.mark = CF_MARK_EXACT;
    const struct cf_datum *cell = &shown;
    const struct cf_column *description = &table->columns[column];
    if (description->unit == CF_UNIT_BAR && cell->kind == CF_CELL_REAL)
        return draw_bar(cell->real);
    char buffer[CF_FORMAT_MAX];
    return cf_escape_text(cf_format_cell(buffer, description, cell, printer->exact));
}

/* A table as it will stand: the columns of it that are shown, the header's texts and the cells, and
 * how wide each column may be. */
struct text_grid {
    size_t nr_rows;
    size_t nr_columns;
    bool headed; /* columns have names, in a line of their own */
    size_t *shown;
    char **headers;
    char **cells;
    size_t *widths;
};

static void free_texts(char **texts, size_t len) {
    for (size_t i = 0; texts != NULL && i < len; i++)
        free(texts[i]);
    free(texts);
}

static void cleanup_grid(struct text_grid *grid) {
    free_texts(grid->headers, grid->nr_columns);
    free_texts(grid->cells, grid->nr_rows * grid->nr_columns);
    free(grid->shown);
    free(grid->widths);
}

static bool fill_column(const struct printer *printer, const struct cf_table *table,
                        struct text_grid *grid, size_t at) {
    size_t column = grid->shown[at];
    /* What all figures share is said once: in the header, or in the heading of a chart. */
    bool is_uniform;
    enum cf_figure_mark mark = cf_table_mark(table, column, &is_uniform);
    if (asprintf(&grid->headers[at], "%s%s", cf_format_mark(mark), table->columns[column].name) <
        0) {
        grid->headers[at] = NULL;
        return false;
    }
    grid->widths[at] = grid->headed ? cf_text_width(grid->headers[at]) : 0;
    for (size_t row = 0; row < grid->nr_rows; row++) {
        char *text = cell_text(printer, table, row, column, mark);
        grid->cells[row * grid->nr_columns + at] = text;
        if (text == NULL)
            return false;
        size_t width = cf_text_width(text);
        if (width > grid->widths[at])
            grid->widths[at] = width;
    }
    return true;
}

static bool fill_grid(const struct printer *printer, const struct cf_table *table,
                      struct text_grid *grid) {
    grid->shown = calloc(table->nr_columns, sizeof *grid->shown);
    if (grid->shown == NULL)
        return false;
    grid->nr_rows = cf_table_nr_rows(table);
    grid->nr_columns = cf_table_shown(table, grid->shown);
    grid->headed = !table->is_facts && table->chart == CF_CHART_NONE;
    grid->headers = calloc(grid->nr_columns + 1, sizeof *grid->headers);
    grid->cells = calloc(grid->nr_rows * grid->nr_columns + 1, sizeof *grid->cells);
    grid->widths = calloc(grid->nr_columns + 1, sizeof *grid->widths);
    if (grid->headers == NULL || grid->cells == NULL || grid->widths == NULL)
        return false;
    for (size_t at = 0; at < grid->nr_columns; at++)
        if (!fill_column(printer, table, grid, at))
            return false;
    return true;
}

/* Narrows the widest texts until the row fits; numbers are never cut. */
static void fit_grid(const struct cf_table *table, struct text_grid *grid, size_t available) {
    size_t total = GAP * (grid->nr_columns - 1);
    for (size_t c = 0; c < grid->nr_columns; c++)
        total += grid->widths[c];
    while (total > available) {
        size_t widest = grid->nr_columns;
        for (size_t c = 0; c < grid->nr_columns; c++)
            if (table->columns[grid->shown[c]].unit == CF_UNIT_TEXT &&
                grid->widths[c] > TEXT_LEAST &&
                (widest == grid->nr_columns || grid->widths[c] > grid->widths[widest]))
                widest = c;
        if (widest == grid->nr_columns)
            return;
        grid->widths[widest]--;
        total--;
    }
}

/* `text` with line breaks after at most `width` columns; NULL when memory is out. */
static char *break_lines(const char *text, size_t width) {
    char *broken = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&broken, &len);
    if (stream == NULL)
        return NULL;
    cf_text_wrap(stream, text, width, "", "");
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        free(broken);
        return NULL;
    }
    if (len > 0)
        broken[len - 1] = '\0';
    return broken;
}

static bool add_columns(struct libscols_table *out, const struct cf_table *table,
                        const struct text_grid *grid) {
    for (size_t c = 0; c < grid->nr_columns; c++) {
        const struct cf_column *column = &table->columns[grid->shown[c]];
        bool is_text = column->unit == CF_UNIT_TEXT || column->unit == CF_UNIT_BAR;
        int flags = is_text ? SCOLS_FL_WRAP : SCOLS_FL_RIGHT;
        struct libscols_column *added = scols_table_new_column(out, grid->headers[c], 0, flags);
        if (added == NULL)
            return false;
        if (is_text && (scols_column_set_wrapfunc(added, scols_wrapnl_chunksize,
                                                  scols_wrapnl_nextchunk, NULL) != 0 ||
                        scols_column_set_safechars(added, "\n") != 0))
            return false;
    }
    return true;
}

static bool add_rows(struct libscols_table *out, const struct text_grid *grid) {
    for (size_t row = 0; row < grid->nr_rows; row++) {
        struct libscols_line *line = scols_table_new_line(out, NULL);
        if (line == NULL)
            return false;
        for (size_t c = 0; c < grid->nr_columns; c++) {
            char *text = break_lines(grid->cells[row * grid->nr_columns + c], grid->widths[c]);
            if (text == NULL || scols_line_refer_data(line, c, text) != 0) {
                free(text);
                return false;
            }
        }
    }
    return true;
}

/* The table as libsmartcols lays it out, `width` columns wide at most; the caller frees. */
static char *lay_out(const struct cf_table *table, const struct text_grid *grid, size_t width) {
    CF_CLEANUP(cleanup_table) struct libscols_table *out = scols_new_table();
    if (out == NULL || !add_columns(out, table, grid) || !add_rows(out, grid))
        return NULL;
    char *text = NULL;
    if (scols_table_set_termforce(out, SCOLS_TERMFORCE_ALWAYS) != 0 ||
        scols_table_set_termwidth(out, width) != 0 ||
        scols_table_set_column_separator(out, "  ") != 0 ||
        scols_table_enable_noheadings(out, !grid->headed) != 0 ||
        /* It would escape the backslashes of our own escapes once more. */
        scols_table_enable_noencoding(out, 1) != 0 || scols_print_table_to_string(out, &text) != 0)
        return NULL;
    return text;
}

/* Prints the lines of `text` indented and without spaces at their ends; the first is the header. */
static void print_lines(const struct printer *printer, const char *text, bool has_header) {
    enum cf_tone tone = has_header ? CF_TONE_LEAD : CF_TONE_PLAIN;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        size_t shown = len;
        while (shown > 0 && text[shown - 1] == ' ')
            shown--;
        (void)fprintf(printer->sink, "%s%*s%.*s%s\n", tone_on(printer, tone), INDENT, "",
                      (int)shown, text, tone_off(printer, tone));
        text += len + (text[len] == '\n');
        tone = CF_TONE_PLAIN;
    }
}

static int print_sql(const struct printer *printer, const char *sql, struct cf_err *err) {
    return print_wrapped(printer, CF_TONE_FAINT, cf_escape_code(sql), "  ", "    ", err);
}

static void print_more(const struct printer *printer, const struct cf_table *table) {
    if (table->nr_more == 0)
        return;
    char count[CF_FORMAT_MAX];
    (void)fprintf(printer->sink, "%*s... %s more (--full shows all)\n", INDENT, "",
                  cf_format_count(count, (int64_t)table->nr_more));
}

static int print_rows(const struct printer *printer, const struct cf_table *table,
                      struct cf_err *err) {
    CF_CLEANUP(cleanup_grid) struct text_grid grid = {0};
    if (!fill_grid(printer, table, &grid))
        return no_memory(err);
    if (grid.nr_rows == 0 || grid.nr_columns == 0)
        return CF_OK;
    fit_grid(table, &grid, printer->width - INDENT);
    CF_CLEANUP_FREE char *text = lay_out(table, &grid, printer->width - INDENT);
    if (text == NULL)
        return no_memory(err);
    print_lines(printer, text, grid.headed);
    print_more(printer, table);
    return CF_OK;
}

/*
 * A heading, and at the right end of its line the query behind what follows, where there is one and
 * room for it; `*sql_said` tells whether it stands there.
 */
static int print_heading(const struct printer *printer, enum cf_tone tone, const char *heading,
                         const char *query, bool *sql_said, struct cf_err *err) {
    CF_CLEANUP_FREE char *title = cf_escape_text(heading);
    CF_CLEANUP_FREE char *sql = cf_escape_code(query == NULL ? "" : query);
    if (title == NULL || sql == NULL)
        return no_memory(err);
    size_t used = cf_text_width(title) + cf_text_width(sql);
    *sql_said = *sql != '\0' && used + 2 * (size_t)GAP <= printer->width;
    if (!*sql_said)
        return print_wrapped(printer, tone, cf_take(&title), "", "", err);
    (void)fprintf(printer->sink, "%s%s%s%*s%s%s%s\n", tone_on(printer, tone), title,
                  tone_off(printer, tone), (int)(printer->width - used), "",
                  tone_on(printer, CF_TONE_FAINT), sql, tone_off(printer, CF_TONE_FAINT));
    return CF_OK;
}

/* `sql_said`: the query stands in the section's own heading. */
static int print_table(const struct printer *printer, const struct cf_table *table, bool sql_said,
                       struct cf_err *err) {
    int status = CF_OK;
    if (!cf_table_is_visible(table))
        return CF_OK;
    if (table->title != NULL)
        status = print_heading(printer, CF_TONE_PLAIN, table->title, table->sql, &sql_said, err);
    if (status == CF_OK)
        status = print_rows(printer, table, err);
    if (status == CF_OK && table->sql != NULL && !sql_said)
        status = print_sql(printer, table->sql, err);
    return status;
}

static int print_block(const struct printer *printer, const struct cf_block *block, bool sql_said,
                       struct cf_err *err) {
    switch (block->kind) {
    case CF_BLOCK_TEXT:
        return print_wrapped(printer, block->tone, cf_escape_text(block->text), "", "", err);
    case CF_BLOCK_CODE:
        return print_wrapped(printer, CF_TONE_PLAIN, cf_escape_code(block->text), "  ", "    ",
                             err);
    case CF_BLOCK_MAP:
        return CF_OK;
    case CF_BLOCK_TABLE:
        break;
    }
    return print_table(printer, block->table, sql_said, err);
}

/* The first table of a section, if it has no heading but the section's. */
static const struct cf_table *table_of_heading(const struct cf_section *section) {
    for (size_t i = 0; i < section->blocks.len; i++)
        if (section->blocks.items[i].kind == CF_BLOCK_TABLE)
            return section->blocks.items[i].table->title == NULL ? section->blocks.items[i].table
                                                                 : NULL;
    return NULL;
}

static int print_section(const struct printer *printer, const struct cf_section *section,
                         struct cf_err *err) {
    int status = CF_OK;
    bool sql_said = false;
    const struct cf_table *first = table_of_heading(section);
    (void)fputc('\n', printer->sink);
    if (section->title != NULL)
        status = print_heading(printer, CF_TONE_LEAD, section->title,
                               first == NULL ? NULL : first->sql, &sql_said, err);
    for (size_t i = 0; i < section->blocks.len && status == CF_OK; i++) {
        const struct cf_block *block = &section->blocks.items[i];
        status = print_block(printer, block, sql_said && block->table == first, err);
    }
    return status;
}

/* Widths and libsmartcols go by the thread's locale; ours is UTF-8 whatever the user's is, so that
 * a report is the same everywhere. (locale_t)0 where the system has no such locale: then what is
 * not ASCII may stand out of line. */
static locale_t enter_utf8(locale_t *mine) {
    *mine = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return *mine == (locale_t)0 ? (locale_t)0 : uselocale(*mine);
}

static void leave_utf8(locale_t mine, locale_t before) {
    if (mine == (locale_t)0)
        return;
    (void)uselocale(before);
    freelocale(mine);
}

int cf_emit_text(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                 struct cf_err *err) {
    size_t width = options->width == 0 ? WIDTH_DEFAULT : options->width;
    struct printer printer = {.sink = sink,
                              .width = width < WIDTH_LEAST ? WIDTH_LEAST : width,
                              .exact = options->full,
                              .color = options->color};
    locale_t mine;
    locale_t before = enter_utf8(&mine);
    int status = CF_OK;
    if (doc->title != NULL)
        status = print_wrapped(&printer, CF_TONE_LEAD, cf_escape_text(doc->title), "", "  ", err);
    for (size_t i = 0; i < doc->sections.len && status == CF_OK; i++)
        status = print_section(&printer, doc->sections.items[i], err);
    leave_utf8(mine, before);
    return status;
}
