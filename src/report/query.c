/* A table that is what a query returns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/section.h"

/* Rows of a table where the report is a page: it stays small however large the heap is. */
enum { PAGE_ROWS = 200, PAGE_ROWS_FULL = 2000 };

/* What is taken off counts the other way round: less of it is more. */
static enum cf_figure_mark mark_of(const struct cf_report *report, unsigned flags) {
    enum cf_figure_mark now = cf_report_residency_mark(report), before = report->old_residency;
    if ((flags & CF_IS_RESIDENCY) != 0)
        return now;
    if ((flags & CF_IS_OLD_RESIDENCY) != 0)
        return before;
    if ((flags & CF_IS_BOTH_RESIDENCY) == 0 || before == CF_MARK_EXACT)
        return (flags & CF_IS_BOTH_RESIDENCY) != 0 ? now : CF_MARK_EXACT;
    return now == CF_MARK_EXACT ? CF_MARK_BOUND : CF_MARK_ABOUT;
}

static void add_cell(struct cf_table *table, const struct cf_stmt *stmt, int column,
                     enum cf_figure_mark mark) {
    unsigned flags = table->columns[column].flags;
    switch (cf_stmt_column_type(stmt, column)) {
    case CF_COLUMN_NULL:
        if ((flags & CF_IS_OPTIONAL) != 0)
            cf_table_empty(table);
        else
            cf_table_unknown(table);
        return;
    case CF_COLUMN_INTEGER:
        cf_table_integer(table, cf_stmt_i64(stmt, column), mark);
        return;
    case CF_COLUMN_REAL:
        cf_table_real(table, cf_stmt_double(stmt, column), mark);
        return;
    case CF_COLUMN_TEXT:
        cf_table_text(table, cf_stmt_text(stmt, column));
        return;
    }
}

static bool has_bar(const struct cf_query *query) {
    return query->columns[query->nr_columns - 1].unit == CF_UNIT_BAR;
}

/* Columns that the query itself returns. */
static int nr_selected(const struct cf_query *query) {
    return (int)query->nr_columns - (has_bar(query) ? 1 : 0);
}

static int check_columns(const struct cf_query *query, const struct cf_stmt *stmt,
                         struct cf_err *err) {
    if (cf_stmt_nr_columns(stmt) == nr_selected(query))
        return CF_OK;
    return cf_err_set(err, CF_EINTERNAL, "a section has %d columns, its query %d: %s",
                      nr_selected(query), cf_stmt_nr_columns(stmt), query->sql);
}

static void add_row(struct cf_report *report, struct cf_table *table, const struct cf_query *query,
                    const struct cf_stmt *stmt) {
    for (int c = 0; c < nr_selected(query); c++)
        add_cell(table, stmt, c, mark_of(report, query->columns[c].flags));
    if (!has_bar(query))
        return;
    cf_table_real(table, cf_stmt_double(stmt, query->bar_of) / 100, CF_MARK_EXACT);
}

/* Adds the rows of `sql` to a table that is made with the first of them. */
static int add_rows(struct cf_report *report, struct cf_section *section,
                    const struct cf_query *query, const char *sql, struct cf_table **table,
                    struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(report->db, sql, &stmt, err);
    if (status == CF_OK)
        status = check_columns(query, stmt, err);
    bool row = true;
    while (status == CF_OK) {
        status = cf_stmt_step(stmt, &row, err);
        if (status != CF_OK || !row)
            break;
        if (*table == NULL)
            *table = cf_section_table(section, query->title, query->sql, query->columns,
                                      query->nr_columns);
        if (*table == NULL)
            return cf_doc_status(report->doc, err);
        add_row(report, *table, query, stmt);
    }
    return status;
}

static int count_rows(struct cf_report *report, const struct cf_query *query, uint64_t *out,
                      struct cf_err *err) {
    CF_CLEANUP_FREE char *sql = NULL;
    if (asprintf(&sql, "SELECT count(*) FROM (%s)", query->sql) < 0) {
        sql = NULL;
        return cf_err_nomem(err, 0, "a query");
    }
    bool found;
    int64_t count = 0;
    int status = cf_db_query_i64(report->db, sql, &found, &count, err);
    if (status == CF_OK)
        *out = (uint64_t)count;
    return status;
}

/* How many rows to show; 0: all. */
static unsigned row_limit(const struct cf_report *report, const struct cf_query *query) {
    if (report->options->top > 0)
        return report->options->top;
    if (report->options->full)
        return report->is_page ? PAGE_ROWS_FULL : 0;
    return report->is_page && query->rows < PAGE_ROWS ? PAGE_ROWS : query->rows;
}

int cf_report_table(struct cf_report *report, struct cf_section *section,
                    const struct cf_query *query, struct cf_table **out, uint64_t *nr_rows,
                    struct cf_err *err) {
    unsigned limit = row_limit(report, query);
    CF_CLEANUP_FREE char *sql = NULL;
    int length = limit == 0 ? asprintf(&sql, "%s", query->sql)
                            : asprintf(&sql, "%s LIMIT %u", query->sql, limit);
    if (length < 0) {
        sql = NULL;
        return cf_err_nomem(err, 0, "a query");
    }
    struct cf_table *table = NULL;
    int status = add_rows(report, section, query, sql, &table, err);
    uint64_t shown = table == NULL ? 0 : cf_table_nr_rows(table);
    uint64_t total = shown;
    if (status == CF_OK && limit != 0 && shown == limit)
        status = count_rows(report, query, &total, err);
    if (status != CF_OK)
        return status;
    if (table != NULL && total > shown)
        table->nr_more = total - shown;
    if (out != NULL)
        *out = table;
    if (nr_rows != NULL)
        *nr_rows = total;
    return CF_OK;
}
