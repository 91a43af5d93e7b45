/*
 * What the sections of the report share: the database, the document, `meta`, and the sums over all
 * arenas that more than one of them quotes.
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

struct cf_totals {
    int64_t arenas;
    int64_t heaps;
    int64_t mapped_bytes;
    bool has_resident; /* of at least one arena */
    int64_t resident_bytes;
    enum cf_mark resident_mark;
    int64_t live_chunks, live_bytes;
    int64_t free_chunks, free_bytes; /* in bins */
    int64_t fast_bytes, tcache_bytes;
    int64_t top_bytes;
    int64_t overhead_bytes;
    int64_t holes, hole_bytes, largest_hole_bytes;
    bool has_hole_resident;
    int64_t hole_resident_bytes;
    int64_t mmapped_chunks, mmapped_bytes;
    bool has_anonymous; /* of the whole process, resident */
    int64_t anonymous_bytes;
};

struct cf_report {
    struct cf_db *db;
    const char *db_path;
    const struct cf_report_options *options;
    struct cf_doc *doc;
    CF_ARRAY(struct cf_meta_row) meta;
    struct cf_totals totals;
};

/* The value of `key` in meta, "" where it has none; borrowed from the report. */
const char *cf_report_meta(const struct cf_report *report, const char *key);
/* The same as a number; 0 where it has none. */
int64_t cf_report_meta_i64(const struct cf_report *report, const char *key);

/* What figures that rest on residency are in this core. */
enum cf_mark cf_report_residency_mark(const struct cf_report *report);

/* Bytes as this report shows them. */
const char *cf_report_bytes(const struct cf_report *report, char out[CF_FORMAT_MAX], int64_t bytes);

/* A table that is what a query returns: its columns are those of `sql`, one to one. A last column
 * that is a bar is not in the query: it draws column `bar_of` as a share of `bar_whole`. */
struct cf_query {
    const char *title; /* or NULL */
    const char *sql;   /* without LIMIT and without a semicolon */
    const struct cf_column *columns;
    size_t nr_columns;
    unsigned rows; /* shown where the user does not say how many */
    int bar_of;
    int64_t bar_whole;
};

/* Adds the table; `*nr_rows` (may be NULL) is how many rows the query has in all. A query without
 * rows adds nothing. */
int cf_report_table(struct cf_report *report, struct cf_section *section,
                    const struct cf_query *query, uint64_t *nr_rows, struct cf_err *err);

/* The sections, in the report's order. */
int cf_report_headline(struct cf_report *report, struct cf_err *err);
int cf_report_evidence(struct cf_report *report, struct cf_err *err);
int cf_report_memory(struct cf_report *report, struct cf_err *err);
int cf_report_arenas(struct cf_report *report, struct cf_err *err);
int cf_report_holes(struct cf_report *report, struct cf_err *err);
int cf_report_sizes(struct cf_report *report, struct cf_err *err);
int cf_report_anomalies(struct cf_report *report, struct cf_err *err);
int cf_report_footer(struct cf_report *report, struct cf_err *err);

#endif
