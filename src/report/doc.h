/*
 * A report as a document: sections of paragraphs, tables and code. Section functions fill it from
 * views; emitters (text, Markdown, HTML, JSON) know only what stands here. It therefore carries
 * values beside their meaning: a cell holds a number, its column says whether that is bytes or an
 * address, its mark how far it can be trusted. Nothing in it is escaped or rounded; that is the
 * emitter's part, and names from the core are hostile until an emitter has escaped them.
 *
 * Building never fails in the middle: when memory runs out the document notes it, what has no room
 * is left out (a NULL section or table is allowed everywhere), and cf_doc_status() tells at the
 * end. The document owns its sections, they own their blocks; strings are copied, except that
 * column descriptions and ids are borrowed and must outlive the document (they are static data).
 */
#ifndef CF_REPORT_DOC_H
#define CF_REPORT_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "report/map.h"

enum cf_unit {
    CF_UNIT_TEXT,
    CF_UNIT_COUNT,
    CF_UNIT_BYTES,
    CF_UNIT_PERCENT, /* 0 to 100 */
    CF_UNIT_ADDRESS, /* two's complement above 2^63, as the database has it */
    CF_UNIT_BAR,     /* a fraction, 0 to 1, drawn */
    CF_UNIT_GROWTH,  /* bytes, signed: what changed between two cores */
    CF_UNIT_MORE,    /* a count, signed */
};

/* How a figure relates to the truth. */
enum cf_figure_mark {
    CF_MARK_EXACT,
    CF_MARK_AT_LEAST, /* it rests on something that undercounts, as residency by zero pages does */
    CF_MARK_BOUND,    /* it cannot be more */
    CF_MARK_ABOUT,    /* it may be more, or less: a difference of two that are "at least" */
};

/* What else is to be known of a column. */
enum {
    CF_IS_RESIDENCY = 1, /* "at least" where the core's residency is not exact */
    CF_IS_DETAIL = 2,    /* for machines and wide pages: a page of text leaves it out */
    CF_IS_OPTIONAL = 4,  /* a NULL does not apply here; elsewhere it is a thing not known */
    CF_IS_PART = 8,      /* bytes of a class that its key begins with: the parts of a row, drawn */
    CF_IS_WIDE = 16,     /* a detail that a page with room shows all the same */
    CF_IS_OLD_RESIDENCY = 32, /* as the first, of the older core of two */
    CF_IS_BOTH_RESIDENCY = 64, /* the newer core's less the older one's */
};

struct cf_column {
    const char *name; /* for people: "largest hole" */
    const char *key;  /* for machines: "largest_hole_bytes" */
    enum cf_unit unit;
    unsigned flags;
};

enum cf_cell_kind {
    CF_CELL_EMPTY,   /* does not apply here */
    CF_CELL_UNKNOWN, /* applies, but nothing in the core tells; never shown as 0 */
    CF_CELL_INTEGER,
    CF_CELL_REAL,
    CF_CELL_TEXT,
};

struct cf_datum {
    enum cf_cell_kind kind;
    enum cf_figure_mark mark;
    int64_t integer;
    double real;
    char *text;
};

/*
 * A table whose rows are the segments of a drawing. Its columns are cf_segment_columns: whoever
 * cannot draw prints it like any other table. The last row, whose class is empty, is their sum;
 * bars have none.
 */
enum cf_chart {
    CF_CHART_NONE,
    CF_CHART_WATERFALL, /* parts of a whole, each with its meaning */
    CF_CHART_STACK,     /* parts of a whole, side by side in one bar */
    CF_CHART_BARS,      /* amounts to be compared, which are no parts of each other */
};

/* The columns of a segment, by their place. */
enum {
    CF_SEGMENT_CLASS, /* for colours: "live", "releasable" ... */
    CF_SEGMENT_LABEL,
    CF_SEGMENT_BYTES,
    CF_SEGMENT_BAR, /* its share, 0 to 1 */
    CF_SEGMENT_PERCENT,
    CF_SEGMENT_NOTE,
    CF_SEGMENT_NR_COLUMNS,
};
extern const struct cf_column cf_segment_columns[CF_SEGMENT_NR_COLUMNS];

struct cf_table {
    struct cf_doc *doc;
    char *title; /* or NULL */
    char *sql;   /* the query that made it, or NULL */
    const struct cf_column *columns;
    size_t nr_columns;
    enum cf_chart chart;
    bool is_facts;                  /* two columns, a name and what it is: shown without a header */
    uint64_t nr_more;               /* rows that the query had beyond those shown */
    CF_ARRAY(struct cf_datum) cells; /* row by row */
};

enum cf_tone { CF_TONE_PLAIN, CF_TONE_LEAD, CF_TONE_WARNING, CF_TONE_FAINT };

/* A map is a drawing that has no words: emitters that cannot draw leave it out. */
enum cf_block_kind { CF_BLOCK_TEXT, CF_BLOCK_CODE, CF_BLOCK_TABLE, CF_BLOCK_MAP };

struct cf_block {
    enum cf_block_kind kind;
    enum cf_tone tone;
    char *text;             /* of a paragraph or a line of code; of a map, its query */
    struct cf_table *table; /* of a table */
    struct cf_map *map;     /* of a map */
};

struct cf_section {
    struct cf_doc *doc;
    const char *id; /* anchor and JSON key: "arenas"; no two sections have the same */
    char *title;    /* or NULL: the section opens without a heading */
    CF_ARRAY(struct cf_block) blocks;
};

struct cf_doc {
    char *title;
    bool failed; /* memory ran out while it was built */
    CF_ARRAY(struct cf_section *) sections;
};

/* NULL: out of memory. The caller frees with cf_doc_free(). */
struct cf_doc *cf_doc_new(void);
void cf_doc_free(struct cf_doc *doc);
void cf_doc_freep(struct cf_doc **doc);
/* CF_OK, or CF_ENOMEM where a part of the document is missing. */
int cf_doc_status(const struct cf_doc *doc, struct cf_err *err);

void cf_doc_title(struct cf_doc *doc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Borrowed until the document ends. `title` may be NULL. */
struct cf_section *cf_doc_section(struct cf_doc *doc, const char *id, const char *title);

/* Takes out the sections in which nothing stands. */
void cf_doc_prune(struct cf_doc *doc);

void cf_section_text(struct cf_section *section, enum cf_tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line that a person copies: SQL or a command. */
void cf_section_code(struct cf_section *section, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Borrowed until the document ends. `columns` is borrowed; `title` and `sql` may be NULL. */
struct cf_table *cf_section_table(struct cf_section *section, const char *title, const char *sql,
                                  const struct cf_column *columns, size_t nr_columns);
/* The query behind a table, where it was not known when the table was made. */
void cf_table_sql(struct cf_table *table, const char *sql);
/* A drawing; `title` and `sql` as above. */
struct cf_table *cf_section_chart(struct cf_section *section, enum cf_chart chart,
                                  const char *title, const char *sql);
/* A table of names and texts without a header. */
struct cf_table *cf_section_facts(struct cf_section *section);

/* A map of heaps, empty; borrowed until the document ends. */
struct cf_map *cf_section_map(struct cf_section *section, const char *sql, uint64_t page_bytes,
                              size_t max_cells);

/* Cells are added row by row, from the left. */
void cf_table_empty(struct cf_table *table);
void cf_table_unknown(struct cf_table *table);
void cf_table_integer(struct cf_table *table, int64_t value, enum cf_figure_mark mark);
void cf_table_real(struct cf_table *table, double value, enum cf_figure_mark mark);
void cf_table_text(struct cf_table *table, const char *text);
/* A whole row of a chart: `share` is 0 to 1. `bytes` NULL: not known. */
void cf_table_segment(struct cf_table *table, const char *class, const char *label,
                      const int64_t *bytes, double share, enum cf_figure_mark mark,
                      const char *note);
/* A whole row of a table of facts. */
void cf_table_fact(struct cf_table *table, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

size_t cf_table_nr_rows(const struct cf_table *table);
/* The mark that all figures of a column share; where they differ, `*is_uniform` is false and the
 * mark is CF_MARK_EXACT. */
enum cf_figure_mark cf_table_mark(const struct cf_table *table, size_t column, bool *is_uniform);
/*
 * The columns that a page of text shows, into `out`, which has room for nr_columns; returns how
 * many. Details are left out, and texts of which not one is there.
 */
size_t cf_table_shown(const struct cf_table *table, size_t *out);
/* The same for a page with room. */
size_t cf_table_shown_wide(const struct cf_table *table, size_t *out);
/* False: a page of text leaves the whole table out, since all its columns are details. */
bool cf_table_is_visible(const struct cf_table *table);
/* `row` and `column` must exist. */
const struct cf_datum *cf_table_cell(const struct cf_table *table, size_t row, size_t column);

#endif
