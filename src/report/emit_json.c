/*
 * JSON for machines, as schema/report.schema.json describes it: values unrounded, bytes as bytes.
 * A value that is not known is null, one that does not apply is not there. Everything beyond ASCII
 * is written as \uXXXX, so that the output drives no terminal either; a text whose bytes are no
 * UTF-8 is escaped as in the text report.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/emit.h"
#include "report/text.h"
#include "report/format.h"

enum { FORMAT_VERSION = 1, REAL_DIGITS = 12 };

/* A new value; NULL when memory is out. */
static json_t *json_text(const char *text) {
    if (text == NULL)
        return json_null();
    json_t *value = json_string(text);
    if (value != NULL)
        return value;
    CF_CLEANUP_FREE char *escaped = cf_escape_code(text);
    return escaped == NULL ? NULL : json_string(escaped);
}

static json_t *json_address(int64_t address) {
    char text[CF_FORMAT_MAX];
    return json_string(cf_format_address(text, (uint64_t)address));
}

/* A number that JSON does not have is not known. */
static json_t *json_number(double value) {
    json_t *number = json_real(value);
    return number == NULL ? json_null() : number;
}

static json_t *json_cell(const struct cf_column *column, const struct cf_datum *cell) {
    switch (cell->kind) {
    case CF_CELL_TEXT:
        return json_text(cell->text);
    case CF_CELL_REAL:
        return json_number(cell->real);
    case CF_CELL_INTEGER:
        return column->unit == CF_UNIT_ADDRESS ? json_address(cell->integer)
                                               : json_integer(cell->integer);
    case CF_CELL_EMPTY:
    case CF_CELL_UNKNOWN:
        break;
    }
    return json_null();
}

/* Takes `value` into `object` or `array`; false when memory is out, here or before. */
static bool set(json_t *object, const char *key, json_t *value) {
    return json_object_set_new_nocheck(object, key, value) == 0;
}

static bool append(json_t *array, json_t *value) {
    return json_array_append_new(array, value) == 0;
}

/* `value`, or NULL with all that it holds released where it is not whole. */
static json_t *whole(json_t *value, bool is_whole) {
    if (is_whole)
        return value;
    json_decref(value);
    return NULL;
}

static const char *unit_name(enum cf_unit unit) {
    static const char *const names[] = {
        [CF_UNIT_TEXT] = "text",       [CF_UNIT_COUNT] = "count",     [CF_UNIT_BYTES] = "bytes",
        [CF_UNIT_PERCENT] = "percent", [CF_UNIT_ADDRESS] = "address", [CF_UNIT_BAR] = "fraction",
        [CF_UNIT_GROWTH] = "bytes",    [CF_UNIT_MORE] = "count",
    };
    return names[unit];
}

static const char *mark_name(enum cf_figure_mark mark, bool is_uniform) {
    static const char *const names[] = {"exact", "at-least", "bound", "about"};
    return is_uniform ? names[mark] : "mixed";
}

static json_t *json_column(const struct cf_table *table, size_t column) {
    const struct cf_column *description = &table->columns[column];
    bool is_uniform;
    enum cf_figure_mark mark = cf_table_mark(table, column, &is_uniform);
    json_t *object = json_object();
    return whole(object, set(object, "key", json_text(description->key)) &&
                             set(object, "name", json_text(description->name)) &&
                             set(object, "unit", json_text(unit_name(description->unit))) &&
                             set(object, "exactness", json_text(mark_name(mark, is_uniform))));
}

static json_t *json_columns(const struct cf_table *table) {
    json_t *array = json_array();
    bool is_whole = array != NULL;
    for (size_t i = 0; i < table->nr_columns && is_whole; i++)
        is_whole = append(array, json_column(table, i));
    return whole(array, is_whole);
}

static json_t *json_row(const struct cf_table *table, size_t row) {
    json_t *object = json_object();
    bool is_whole = object != NULL;
    for (size_t i = 0; i < table->nr_columns && is_whole; i++) {
        const struct cf_datum *cell = cf_table_cell(table, row, i);
        if (cell->kind != CF_CELL_EMPTY)
            is_whole = set(object, table->columns[i].key, json_cell(&table->columns[i], cell));
    }
    return whole(object, is_whole);
}

static json_t *json_rows(const struct cf_table *table) {
    json_t *array = json_array();
    bool is_whole = array != NULL;
    for (size_t row = 0; row < cf_table_nr_rows(table) && is_whole; row++)
        is_whole = append(array, json_row(table, row));
    return whole(array, is_whole);
}

static const char *chart_name(enum cf_chart chart) {
    static const char *const names[] = {[CF_CHART_NONE] = "none",
                                        [CF_CHART_WATERFALL] = "waterfall",
                                        [CF_CHART_STACK] = "stack",
                                        [CF_CHART_BARS] = "bars"};
    return names[chart];
}

static json_t *json_table(const struct cf_table *table) {
    json_t *object = json_object();
    return whole(object, set(object, "kind", json_text("table")) &&
                             set(object, "title", json_text(table->title)) &&
                             set(object, "sql", json_text(table->sql)) &&
                             set(object, "chart", json_text(chart_name(table->chart))) &&
                             set(object, "columns", json_columns(table)) &&
                             set(object, "rows", json_rows(table)) &&
                             set(object, "more_rows", json_integer((json_int_t)table->nr_more)));
}

static json_t *json_block(const struct cf_block *block) {
    static const char *const tones[] = {[CF_TONE_PLAIN] = "plain",
                                        [CF_TONE_LEAD] = "lead",
                                        [CF_TONE_WARNING] = "warning",
                                        [CF_TONE_FAINT] = "faint"};
    if (block->kind == CF_BLOCK_TABLE)
        return json_table(block->table);
    json_t *object = json_object();
    bool is_code = block->kind == CF_BLOCK_CODE;
    return whole(object, set(object, "kind", json_text(is_code ? "code" : "text")) &&
                             set(object, "text", json_text(block->text)) &&
                             (is_code || set(object, "tone", json_text(tones[block->tone]))));
}

static json_t *json_section(const struct cf_section *section) {
    json_t *blocks = json_array();
    bool is_whole = blocks != NULL;
    for (size_t i = 0; i < section->blocks.len && is_whole; i++)
        is_whole = append(blocks, json_block(&section->blocks.items[i]));
    json_t *object = json_object();
    is_whole = is_whole && set(object, "id", json_text(section->id)) &&
               set(object, "title", json_text(section->title)) &&
               set(object, "blocks", json_incref(blocks));
    json_decref(blocks);
    return whole(object, is_whole);
}

static json_t *json_doc(const struct cf_doc *doc) {
    json_t *sections = json_array();
    bool is_whole = sections != NULL;
    for (size_t i = 0; i < doc->sections.len && is_whole; i++)
        is_whole = append(sections, json_section(doc->sections.items[i]));
    json_t *object = json_object();
    is_whole = is_whole && set(object, "format", json_text("corefrag report")) &&
               set(object, "version", json_integer(FORMAT_VERSION)) &&
               set(object, "title", json_text(doc->title)) &&
               set(object, "sections", json_incref(sections));
    json_decref(sections);
    return whole(object, is_whole);
}

int cf_emit_json(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                 struct cf_err *err) {
    (void)options;
    json_t *object = json_doc(doc);
    CF_CLEANUP_FREE char *text =
        object == NULL ? NULL
                       : json_dumps(object, JSON_INDENT(1) | JSON_ENSURE_ASCII |
                                                JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(object);
    if (text == NULL)
        return cf_err_set(err, CF_ENOMEM, "out of memory while the report was written");
    (void)fprintf(sink, "%s\n", text);
    return CF_OK;
}
