/*
 * Markdown that GitHub, GitLab, Jira and Confluence all take: headings, paragraphs, pipe tables,
 * lists, code spans; no HTML. A cell is one line. Texts are escaped twice: what would drive a
 * terminal as in the text report, then what Markdown would act upon. Where that is not enough (a
 * mention, an issue's number, a link), the text stands in a code span.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/emit.h"
#include "report/text.h"
#include "report/format.h"

enum { BAR_CELLS = 12 };

struct paper {
    FILE *sink;
    bool exact;
};

/* A code span around `text`, whatever backticks it has; in a table a pipe would end the cell. */
static void write_span(FILE *sink, const char *text) {
    size_t longest = 0, run = 0;
    for (const char *at = text; *at != '\0'; at++) {
        run = *at == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    const char *pad = longest > 0 ? " " : "";
    for (size_t i = 0; i <= longest; i++)
        (void)fputc('`', sink);
    (void)fputs(pad, sink);
    for (const char *at = text; *at != '\0'; at++)
        (void)fprintf(sink, "%s%c", *at == '|' ? "\\" : "", *at);
    (void)fputs(pad, sink);
    for (size_t i = 0; i <= longest; i++)
        (void)fputc('`', sink);
}

/* Sites act on these in plain text, and no escape of Markdown's own keeps them from it. */
static bool acts_on_its_own(const char *text) {
    for (const char *at = text; *at != '\0'; at++)
        if (*at == '@' || (*at == '#' && isdigit((unsigned char)at[1])) ||
            (*at == '!' && isdigit((unsigned char)at[1])) || strncmp(at, "://", 3) == 0 ||
            strncasecmp(at, "www.", 4) == 0)
            return true;
    return false;
}

/* An underscore inside of a word emphasizes nothing. */
static bool needs_backslash(const char *text, size_t i) {
    if (text[i] == '_')
        return i == 0 || !isalnum((unsigned char)text[i - 1]) ||
               !isalnum((unsigned char)text[i + 1]);
    return strchr("\\`*[]~|$", text[i]) != NULL || (i == 0 && strchr("#+-=", text[i]) != NULL);
}

static void write_escaped(FILE *sink, const char *text) {
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == '<')
            (void)fputs("&lt;", sink);
        else if (text[i] == '>')
            (void)fputs("&gt;", sink);
        else if (text[i] == '&')
            (void)fputs("&amp;", sink);
        else
            (void)fprintf(sink, "%s%c", needs_backslash(text, i) ? "\\" : "", text[i]);
    }
}

static int no_memory(struct cf_err *err) {
    return cf_err_set(err, CF_ENOMEM, "out of memory while the report was written");
}

/* `escaped` is harmless to a terminal, and owned; NULL when memory was out. */
static int write_text(const struct paper *page, char *escaped, struct cf_err *err) {
    CF_CLEANUP_FREE char *text = escaped;
    if (text == NULL)
        return no_memory(err);
    if (acts_on_its_own(text))
        write_span(page->sink, text);
    else
        write_escaped(page->sink, text);
    return CF_OK;
}

static int write_code(const struct paper *page, const char *code, struct cf_err *err) {
    CF_CLEANUP_FREE char *text = cf_escape_code(code);
    if (text == NULL)
        return no_memory(err);
    write_span(page->sink, text);
    return CF_OK;
}

static void write_bar(const struct paper *page, double fraction) {
    double clamped = fraction > 1 ? 1 : fraction > 0 ? fraction : 0;
    unsigned cells = (unsigned)(clamped * BAR_CELLS + 0.5);
    for (unsigned i = 0; i < cells; i++)
        (void)fputs("█", page->sink);
}

static int write_cell(const struct paper *page, const struct cf_table *table, size_t row,
                      size_t column, struct cf_err *err) {
    const struct cf_datum *cell = cf_table_cell(table, row, column);
    const struct cf_column *description = &table->columns[column];
    if (description->unit == CF_UNIT_BAR) {
        write_bar(page, cell->kind == CF_CELL_REAL ? cell->real : 0);
        return CF_OK;
    }
    char buffer[CF_FORMAT_MAX];
    const char *text = cf_format_cell(buffer, description, cell, page->exact);
    if (description->unit == CF_UNIT_ADDRESS && *text != '\0')
        return write_code(page, text, err);
    return write_text(page, cf_escape_text(text), err);
}

static void write_header(const struct paper *page, const struct cf_table *table,
                         const size_t *shown, size_t nr) {
    for (size_t i = 0; i < nr; i++)
        (void)fprintf(page->sink, "| %s ", table->columns[shown[i]].name);
    (void)fputs("|\n", page->sink);
    for (size_t i = 0; i < nr; i++) {
        enum cf_unit unit = table->columns[shown[i]].unit;
        bool is_text = unit == CF_UNIT_TEXT || unit == CF_UNIT_BAR;
        (void)fprintf(page->sink, "| %s ", is_text ? "---" : "---:");
    }
    (void)fputs("|\n", page->sink);
}

static int write_rows(const struct paper *page, const struct cf_table *table, const size_t *shown,
                      size_t nr, struct cf_err *err) {
    int status = CF_OK;
    write_header(page, table, shown, nr);
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        for (size_t i = 0; i < nr && status == CF_OK; i++) {
            (void)fputs("| ", page->sink);
            status = write_cell(page, table, row, shown[i], err);
            (void)fputc(' ', page->sink);
        }
        (void)fputs("|\n", page->sink);
    }
    return status;
}

static int write_facts(const struct paper *page, const struct cf_table *table, struct cf_err *err) {
    int status = CF_OK;
    for (size_t row = 0; row < cf_table_nr_rows(table) && status == CF_OK; row++) {
        (void)fputs("- **", page->sink);
        status = write_cell(page, table, row, 0, err);
        (void)fputs(":** ", page->sink);
        if (status == CF_OK)
            status = write_cell(page, table, row, 1, err);
        (void)fputc('\n', page->sink);
    }
    return status;
}

/* The table's title and its query, in one line. */
static int write_caption(const struct paper *page, const struct cf_table *table,
                         struct cf_err *err) {
    int status = CF_OK;
    if (table->title != NULL) {
        (void)fputs("**", page->sink);
        status = write_text(page, cf_escape_text(table->title), err);
        (void)fputs("** ", page->sink);
    }
    if (status == CF_OK && table->sql != NULL)
        status = write_code(page, table->sql, err);
    if (table->title != NULL || table->sql != NULL)
        (void)fputs("\n\n", page->sink);
    return status;
}

static int write_table(const struct paper *page, const struct cf_table *table, struct cf_err *err) {
    CF_CLEANUP_FREE size_t *shown = calloc(table->nr_columns, sizeof *shown);
    if (shown == NULL)
        return no_memory(err);
    size_t nr = cf_table_shown(table, shown);
    if (nr == 0 || cf_table_nr_rows(table) == 0)
        return CF_OK;
    int status = write_caption(page, table, err);
    if (status == CF_OK)
        status = table->is_facts ? write_facts(page, table, err)
                                 : write_rows(page, table, shown, nr, err);
    char count[CF_FORMAT_MAX];
    if (table->nr_more > 0)
        (void)fprintf(page->sink, "\n%s more; `--full` shows all.\n",
                      cf_format_count(count, (int64_t)table->nr_more));
    (void)fputc('\n', page->sink);
    return status;
}

static int write_paragraph(const struct paper *page, const struct cf_block *block,
                           struct cf_err *err) {
    const char *around = block->tone == CF_TONE_LEAD || block->tone == CF_TONE_WARNING ? "**" : "";
    (void)fputs(around, page->sink);
    int status = write_text(page, cf_escape_text(block->text), err);
    (void)fprintf(page->sink, "%s\n\n", around);
    return status;
}

static int write_block(const struct paper *page, const struct cf_block *block,
                       struct cf_err *err) {
    int status;
    switch (block->kind) {
    case CF_BLOCK_TEXT:
        return write_paragraph(page, block, err);
    case CF_BLOCK_CODE:
        status = write_code(page, block->text, err);
        (void)fputs("\n\n", page->sink);
        return status;
    case CF_BLOCK_MAP:
        return CF_OK;
    case CF_BLOCK_TABLE:
        break;
    }
    return write_table(page, block->table, err);
}

static int write_heading(const struct paper *page, const char *marks, const char *title,
                         struct cf_err *err) {
    if (title == NULL)
        return CF_OK;
    (void)fprintf(page->sink, "%s ", marks);
    int status = write_text(page, cf_escape_text(title), err);
    (void)fputs("\n\n", page->sink);
    return status;
}

int cf_emit_markdown(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                     struct cf_err *err) {
    const struct paper page = {.sink = sink, .exact = options->full};
    int status = write_heading(&page, "#", doc->title, err);
    for (size_t i = 0; i < doc->sections.len && status == CF_OK; i++) {
        const struct cf_section *section = doc->sections.items[i];
        status = write_heading(&page, "##", section->title, err);
        for (size_t j = 0; j < section->blocks.len && status == CF_OK; j++)
            status = write_block(&page, &section->blocks.items[j], err);
    }
    return status;
}
