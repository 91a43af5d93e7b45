/*
 * A document owns every text that it is given as a copy. Adding never fails: a lack of memory is
 * noted in the document and comes out of cf_doc_status(), so that sections are written in a
 * straight line.
 */
#include "report/doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static const struct cf_column fact_columns[] = {
    {"name", "name", CF_UNIT_TEXT, 0},
    {"value", "value", CF_UNIT_TEXT, 0},
};

const struct cf_column cf_segment_columns[CF_SEGMENT_NR_COLUMNS] = {
    [CF_SEGMENT_CLASS] = {"", "class", CF_UNIT_TEXT, CF_IS_DETAIL},
    [CF_SEGMENT_LABEL] = {"", "label", CF_UNIT_TEXT, 0},
    [CF_SEGMENT_BYTES] = {"bytes", "bytes", CF_UNIT_BYTES, 0},
    [CF_SEGMENT_BAR] = {"", "fraction", CF_UNIT_BAR, 0},
    [CF_SEGMENT_PERCENT] = {"share", "percent", CF_UNIT_PERCENT, 0},
    [CF_SEGMENT_NOTE] = {"", "note", CF_UNIT_TEXT, 0},
};

/* A formatted copy; NULL when memory is out. */
__attribute__((format(printf, 1, 0))) static char *format_text(const char *format, va_list args) {
    char *text;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

static void table_free(struct cf_table *table) {
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->cells.len; i++)
        free(table->cells.items[i].text);
    cf_array_free(&table->cells);
    free(table->title);
    free(table->sql);
    free(table);
}

static void section_free(struct cf_section *section) {
    for (size_t i = 0; i < section->blocks.len; i++) {
        free(section->blocks.items[i].text);
        table_free(section->blocks.items[i].table);
        cf_map_free(section->blocks.items[i].map);
    }
    cf_array_free(&section->blocks);
    free(section->title);
    free(section);
}

struct cf_doc *cf_doc_new(void) {
    return calloc(1, sizeof(struct cf_doc));
}

void cf_doc_free(struct cf_doc *doc) {
    if (doc == NULL)
        return;
    for (size_t i = 0; i < doc->sections.len; i++)
        section_free(doc->sections.items[i]);
    cf_array_free(&doc->sections);
    free(doc->title);
    free(doc);
}

void cf_doc_freep(struct cf_doc **doc) {
    cf_doc_free(*doc);
}

int cf_doc_status(const struct cf_doc *doc, struct cf_err *err) {
    return doc->failed ? cf_err_set(err, CF_ENOMEM, "out of memory while the report was written")
                       : CF_OK;
}

void cf_doc_title(struct cf_doc *doc, const char *format, ...) {
    va_list args;
    va_start(args, format);
    free(doc->title);
    doc->title = format_text(format, args);
    va_end(args);
    if (doc->title == NULL)
        doc->failed = true;
}

/* Copies `text` (NULL stays NULL) and notes a failure. */
static char *copy_text(struct cf_doc *doc, const char *text) {
    if (text == NULL)
        return NULL;
    char *copy = strdup(text);
    if (copy == NULL)
        doc->failed = true;
    return copy;
}

struct cf_section *cf_doc_section(struct cf_doc *doc, const char *id, const char *title) {
    CF_CLEANUP_FREE struct cf_section *section = calloc(1, sizeof *section);
    struct cf_section **slot = section == NULL ? NULL : cf_array_push(&doc->sections);
    if (slot == NULL) {
        doc->failed = true;
        return NULL;
    }
    section->doc = doc;
    section->id = id;
    section->title = copy_text(doc, title);
    return *slot = cf_take(&section);
}

void cf_doc_prune(struct cf_doc *doc) {
    size_t kept = 0;
    for (size_t i = 0; i < doc->sections.len; i++) {
        struct cf_section *section = doc->sections.items[i];
        if (section->blocks.len > 0)
            doc->sections.items[kept++] = section;
        else
            section_free(section);
    }
    doc->sections.len = kept;
}

static struct cf_block *push_block(struct cf_section *section, enum cf_block_kind kind) {
    if (section == NULL)
        return NULL;
    struct cf_block *block = cf_array_push(&section->blocks);
    if (block == NULL)
        section->doc->failed = true;
    else
        block->kind = kind;
    return block;
}

static void push_text(struct cf_section *section, enum cf_block_kind kind, enum cf_tone tone,
                      const char *format, va_list args) {
    struct cf_block *block = push_block(section, kind);
    if (block == NULL)
        return;
    block->tone = tone;
    block->text = format_text(format, args);
    if (block->text == NULL) {
        section->doc->failed = true;
        section->blocks.len--;
    }
}

void cf_section_text(struct cf_section *section, enum cf_tone tone, const char *format, ...) {
    va_list args;
    va_start(args, format);
    push_text(section, CF_BLOCK_TEXT, tone, format, args);
    va_end(args);
}

void cf_section_code(struct cf_section *section, const char *format, ...) {
    va_list args;
    va_start(args, format);
    push_text(section, CF_BLOCK_CODE, CF_TONE_PLAIN, format, args);
    va_end(args);
}

struct cf_table *cf_section_table(struct cf_section *section, const char *title, const char *sql,
                                  const struct cf_column *columns, size_t nr_columns) {
    struct cf_block *block = push_block(section, CF_BLOCK_TABLE);
    if (block == NULL)
        return NULL;
    block->table = calloc(1, sizeof *block->table);
    if (block->table == NULL) {
        section->doc->failed = true;
        section->blocks.len--;
        return NULL;
    }
    block->table->doc = section->doc;
    block->table->title = copy_text(section->doc, title);
    block->table->sql = copy_text(section->doc, sql);
    block->table->columns = columns;
    block->table->nr_columns = nr_columns;
    return block->table;
}

struct cf_table *cf_section_chart(struct cf_section *section, enum cf_chart chart,
                                  const char *title, const char *sql) {
    struct cf_table *table =
        cf_section_table(section, title, sql, cf_segment_columns, CF_SEGMENT_NR_COLUMNS);
    if (table != NULL)
        table->chart = chart;
    return table;
}

struct cf_map *cf_section_map(struct cf_section *section, const char *sql, uint64_t page_bytes,
                              size_t max_cells) {
    struct cf_block *block = push_block(section, CF_BLOCK_MAP);
    if (block == NULL)
        return NULL;
    block->text = copy_text(section->doc, sql);
    block->map = cf_map_new(page_bytes, max_cells);
    if (block->map == NULL)
        section->doc->failed = true;
    return block->map;
}

struct cf_table *cf_section_facts(struct cf_section *section) {
    struct cf_table *table = cf_section_table(section, NULL, NULL, fact_columns, 2);
    if (table != NULL)
        table->is_facts = true;
    return table;
}

void cf_table_sql(struct cf_table *table, const char *sql) {
    if (table == NULL)
        return;
    free(table->sql);
    table->sql = copy_text(table->doc, sql);
}

static struct cf_datum *push_cell(struct cf_table *table, enum cf_cell_kind kind) {
    if (table == NULL)
        return NULL;
    struct cf_datum *cell = cf_array_push(&table->cells);
    if (cell == NULL)
        table->doc->failed = true;
    else
        cell->kind = kind;
    return cell;
}

void cf_table_empty(struct cf_table *table) {
    (void)push_cell(table, CF_CELL_EMPTY);
}

void cf_table_unknown(struct cf_table *table) {
    (void)push_cell(table, CF_CELL_UNKNOWN);
}

void cf_table_integer(struct cf_table *table, int64_t value, enum cf_figure_mark mark) {
    struct cf_datum *cell = push_cell(table, CF_CELL_INTEGER);
    if (cell == NULL)
        return;
    cell->integer = value;
    cell->mark = mark;
}

void cf_table_real(struct cf_table *table, double value, enum cf_figure_mark mark) {
    struct cf_datum *cell = push_cell(table, CF_CELL_REAL);
    if (cell == NULL)
        return;
    cell->real = value;
    cell->mark = mark;
}

/* Takes `text`, which is NULL when memory ran out on the way here. */
static void push_owned_text(struct cf_table *table, char *text) {
    struct cf_datum *cell = push_cell(table, text == NULL ? CF_CELL_EMPTY : CF_CELL_TEXT);
    if (cell == NULL) {
        free(text);
        return;
    }
    cell->text = text;
    if (text == NULL)
        table->doc->failed = true;
}

void cf_table_text(struct cf_table *table, const char *text) {
    push_owned_text(table, strdup(text));
}

void cf_table_segment(struct cf_table *table, const char *class, const char *label,
                      const int64_t *bytes, double share, enum cf_figure_mark mark,
                      const char *note) {
    cf_table_text(table, class);
    cf_table_text(table, label);
    if (bytes != NULL) {
        cf_table_integer(table, *bytes, mark);
        if (*class != '\0')
            cf_table_real(table, share, CF_MARK_EXACT);
        else
            cf_table_empty(table);
        cf_table_real(table, 100 * share, CF_MARK_EXACT);
    } else {
        cf_table_unknown(table);
        cf_table_empty(table);
        cf_table_empty(table);
    }
    cf_table_text(table, note);
}

void cf_table_fact(struct cf_table *table, const char *name, const char *format, ...) {
    cf_table_text(table, name);
    va_list args;
    va_start(args, format);
    push_owned_text(table, format_text(format, args));
    va_end(args);
}

size_t cf_table_nr_rows(const struct cf_table *table) {
    return table->cells.len / table->nr_columns;
}

const struct cf_datum *cf_table_cell(const struct cf_table *table, size_t row, size_t column) {
    return &table->cells.items[row * table->nr_columns + column];
}

enum cf_figure_mark cf_table_mark(const struct cf_table *table, size_t column, bool *is_uniform) {
    enum cf_figure_mark mark = CF_MARK_EXACT;
    bool is_first = true;
    *is_uniform = true;
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        const struct cf_datum *cell = cf_table_cell(table, row, column);
        if (cell->kind != CF_CELL_INTEGER && cell->kind != CF_CELL_REAL)
            continue;
        *is_uniform = is_first || cell->mark == mark;
        if (!*is_uniform)
            return CF_MARK_EXACT;
        mark = cell->mark;
        is_first = false;
    }
    return mark;
}

/* Texts that are nowhere told take no room on a page. */
static bool is_blank(const struct cf_table *table, size_t column) {
    if (table->columns[column].unit != CF_UNIT_TEXT || table->is_facts)
        return false;
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        const struct cf_datum *cell = cf_table_cell(table, row, column);
        bool is_told = cell->kind == CF_CELL_TEXT
                           ? *cell->text != '\0'
                           : cell->kind != CF_CELL_EMPTY && cell->kind != CF_CELL_UNKNOWN;
        if (is_told)
            return false;
    }
    return true;
}

static size_t shown_columns(const struct cf_table *table, bool is_wide, size_t *out) {
    size_t nr = 0;
    for (size_t column = 0; column < table->nr_columns; column++) {
        unsigned flags = table->columns[column].flags;
        bool is_left_out = (flags & CF_IS_DETAIL) != 0 && !(is_wide && (flags & CF_IS_WIDE) != 0);
        if (!is_left_out && !is_blank(table, column))
            out[nr++] = column;
    }
    return nr;
}

size_t cf_table_shown(const struct cf_table *table, size_t *out) {
    return shown_columns(table, false, out);
}

size_t cf_table_shown_wide(const struct cf_table *table, size_t *out) {
    return shown_columns(table, true, out);
}

bool cf_table_is_visible(const struct cf_table *table) {
    for (size_t column = 0; column < table->nr_columns; column++)
        if ((table->columns[column].flags & CF_IS_DETAIL) == 0)
            return true;
    return false;
}
