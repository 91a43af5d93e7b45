/*
 * What the sections of the report share: the database, the document, `meta`, and the facts of the
 * whole process (v_fact) that more than one of them quotes.
 */
#ifndef CF_REPORT_SECTION_H
#define CF_REPORT_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "report/doc.h"
#include "report/format.h"
#include "store/db.h"

struct cf_meta_row {
    char *key;
    char *value;
};

/* A column of v_fact. */
struct cf_fact {
    char *name;
    bool is_known; /* it is not NULL */
    int64_t integer;
    double real;
    char *text;
};

struct cf_report {
    struct cf_db *db;
    const char *db_path;
    const struct cf_report_options *options;
    struct cf_doc *doc;
    bool is_page; /* it will be a page that scrolls and draws: there is room for more rows */
    enum cf_figure_mark old_residency; /* of the older core, where two are compared */
    CF_ARRAY(struct cf_meta_row) meta;
    CF_ARRAY(struct cf_fact) facts;
};

/* Reads the newer core's meta; the report owns it. */
int cf_report_load_meta(struct cf_report *report, struct cf_err *err);
void cf_report_fini(struct cf_report *report);

/* The value of `key` in meta, "" where it has none; borrowed from the report. */
const char *cf_report_meta(const struct cf_report *report, const char *key);
/* The same as a number; 0 where it has none. */
int64_t cf_report_meta_i64(const struct cf_report *report, const char *key);

/* A fact of v_fact by its name; borrowed. One that is not there is not known. */
const struct cf_fact *cf_report_fact(const struct cf_report *report, const char *name);
/* The same as a number; 0 where it is not known. */
int64_t cf_report_fact_i64(const struct cf_report *report, const char *name);
/* True: there is a heap of glibc's malloc in this core. */
bool cf_report_has_heap(const struct cf_report *report);

/* A page of text for somebody who reads all of it: what explains nothing here is left out. Whoever
 * asks for more rows gets all of it. */
bool cf_report_is_brief(const struct cf_report *report);
/* Whether live chunks, or free ones, are a tenth of the resident heap at least; where residency is
 * not known both are. */
bool cf_report_is_live_much(const struct cf_report *report);
bool cf_report_is_dead_much(const struct cf_report *report);

/* What figures that rest on residency are in this core. */
enum cf_figure_mark cf_report_residency_mark(const struct cf_report *report);

/* Bytes as this report shows them. */
const char *cf_report_bytes(const struct cf_report *report, char out[CF_FORMAT_MAX], int64_t bytes);

/* A table that is what a query returns: its columns are those of `sql`, one to one. A last column
 * that is a bar is not in the query: it draws column `bar_of`, which is a percentage. */
struct cf_query {
    const char *title; /* or NULL */
    const char *sql;   /* without LIMIT and without a semicolon */
    const struct cf_column *columns;
    size_t nr_columns;
    unsigned rows; /* shown where the user does not say how many */
    int bar_of;
};

/* Adds the table; `*out` (may be NULL) borrows it, NULL for a query without rows, which adds
 * nothing; `*nr_rows` (may be NULL) is how many rows the query has in all. */
int cf_report_table(struct cf_report *report, struct cf_section *section,
                    const struct cf_query *query, struct cf_table **out, uint64_t *nr_rows,
                    struct cf_err *err);

/* For sections that do more with a row than show it: runs `sql` and hands each row to `add`, with
 * `target`, which is theirs. */
int cf_report_each(struct cf_report *report, const char *sql,
                   void (*add)(struct cf_report *report, void *target, const struct cf_stmt *row),
                   void *target, struct cf_err *err);

/* Where a section stands: a page has room, and draws what text cannot. */
enum cf_report_place { CF_ANYWHERE, CF_ON_A_PAGE, CF_IN_TEXT };

/*
 * The sections, in the report's order: a new one is a row here and a function
 * cf_report_NAME(report, err), which adds nothing where it has nothing to say.
 */
#define CF_SECTIONS(SECTION)                                                                       \
    SECTION(verdict, CF_ANYWHERE)                                                                  \
    SECTION(rss, CF_ANYWHERE)                                                                      \
    SECTION(waste, CF_ANYWHERE)                                                                    \
    SECTION(leaks, CF_ANYWHERE)                                                                    \
    SECTION(owners, CF_ANYWHERE)                                                                   \
    SECTION(types, CF_IN_TEXT)                                                                     \
    SECTION(evidence, CF_ANYWHERE)                                                                 \
    SECTION(budget, CF_ANYWHERE)                                                                   \
    SECTION(mappings, CF_ANYWHERE)                                                                 \
    SECTION(arenas, CF_ANYWHERE)                                                                   \
    SECTION(map, CF_ON_A_PAGE)                                                                     \
    SECTION(pins, CF_ANYWHERE)                                                                     \
    SECTION(ghosts, CF_ANYWHERE)                                                                   \
    SECTION(holes, CF_ANYWHERE)                                                                    \
    SECTION(tunables, CF_ANYWHERE)                                                                 \
    SECTION(types, CF_ON_A_PAGE)                                                                   \
    SECTION(threads, CF_ON_A_PAGE)                                                                 \
    SECTION(whatif, CF_ON_A_PAGE)                                                                  \
    SECTION(advice, CF_ANYWHERE)                                                                   \
    SECTION(limits, CF_ANYWHERE)                                                                   \
    SECTION(anomalies, CF_ANYWHERE)                                                                \
    SECTION(sizes, CF_ANYWHERE)                                                                    \
    SECTION(footer, CF_ANYWHERE)

#define CF_DECLARE(name, place) int cf_report_##name(struct cf_report *report, struct cf_err *err);
CF_SECTIONS(CF_DECLARE)
#undef CF_DECLARE

#endif
