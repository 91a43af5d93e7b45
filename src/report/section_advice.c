/*
 * What the rules found beside the verdict: what would help and what that gives back, what the heap
 * would be after each change, and what this evidence cannot show.
 */
#include <string.h>

#include "report/section.h"

static const char advice_sql[] = "SELECT * FROM v_advice";

static const struct cf_column advice_columns[] = {
    {"", "rank", CF_UNIT_COUNT, 0},
    {"what", "advice", CF_UNIT_TEXT, 0},
    {"gives back", "gives_back_bytes", CF_UNIT_BYTES, CF_IS_OPTIONAL},
    {"how sure", "exactness", CF_UNIT_TEXT, 0},
    {"rule", "code", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"why", "detail", CF_UNIT_TEXT, CF_IS_DETAIL | CF_IS_WIDE},
    {"sql", "sql", CF_UNIT_TEXT, CF_IS_DETAIL},
};

static enum cf_figure_mark mark_named(const char *exactness) {
    if (strcmp(exactness, "bound") == 0)
        return CF_MARK_BOUND;
    if (strcmp(exactness, "estimate") == 0)
        return CF_MARK_ABOUT;
    return strcmp(exactness, "at-least") == 0 ? CF_MARK_AT_LEAST : CF_MARK_EXACT;
}

static void add_advice(struct cf_report *report, void *target, const struct cf_stmt *row) {
    struct cf_table *table = target;
    (void)report;
    if (table == NULL)
        return;
    bool has_bytes = !cf_stmt_is_null(row, 1);
    enum cf_figure_mark mark = mark_named(cf_stmt_text(row, 2));
    cf_table_integer(table, (int64_t)cf_table_nr_rows(table) + 1, CF_MARK_EXACT);
    cf_table_text(table, cf_stmt_text(row, 0));
    if (has_bytes)
        cf_table_integer(table, cf_stmt_i64(row, 1), mark);
    else
        cf_table_empty(table);
    cf_table_text(table, !has_bytes                 ? ""
                         : mark == CF_MARK_AT_LEAST ? "at least"
                                                    : cf_stmt_text(row, 2));
    for (int column = 3; column < 6; column++)
        cf_table_text(table, cf_stmt_text(row, column));
}

int cf_report_advice(struct cf_report *report, struct cf_err *err) {
    bool found;
    int64_t rows = 0;
    int status =
        cf_db_query_i64(report->db, "SELECT count(*) FROM v_advice", &found, &rows, err);
    if (status != CF_OK || rows == 0)
        return status;
    struct cf_section *section = cf_doc_section(report->doc, "advice", "What would help");
    struct cf_table *table =
        cf_section_table(section, NULL, advice_sql, advice_columns,
                         sizeof advice_columns / sizeof advice_columns[0]);
    return cf_report_each(report, advice_sql, add_advice, table, err);
}

/* ---- What the resident heap would be after each change, against what it is today. ---- */

static const char whatif_sql[] =
    "SELECT title, bytes, exactness FROM v_finding WHERE severity = 'what-if' AND bytes > 0 ORDER "
    "BY finding_id";

struct today {
    struct cf_table *table;
    int64_t bytes;
};

static void add_change(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    const struct today *today = target;
    int64_t bytes = cf_stmt_i64(row, 1);
    cf_table_segment(today->table, "saved", cf_stmt_text(row, 0), &bytes,
                     (double)bytes / (double)today->bytes, mark_named(cf_stmt_text(row, 2)),
                     cf_stmt_text(row, 2));
}

int cf_report_whatif(struct cf_report *report, struct cf_err *err) {
    const struct cf_fact *heap = cf_report_fact(report, "heap_resident_bytes");
    bool found;
    int64_t changes = 0;
    int status = cf_db_query_i64(report->db,
                                 "SELECT count(*) FROM v_finding WHERE severity = 'what-if' AND "
                                 "bytes > 0",
                                 &found, &changes, err);
    if (status != CF_OK || changes == 0 || !heap->is_known || heap->integer <= 0)
        return status;
    struct cf_section *section =
        cf_doc_section(report->doc, "whatif", "What each change alone would give back");
    struct today today = {
        .table = cf_section_chart(section, CF_CHART_BARS, NULL, whatif_sql),
        .bytes = heap->integer,
    };
    cf_table_segment(today.table, "live", "the resident heap today", &heap->integer, 1,
                     cf_report_residency_mark(report), "");
    return cf_report_each(report, whatif_sql, add_change, &today, err);
}

/* ---- What this evidence cannot show. ---- */

static void add_limit(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_table_fact(target, cf_stmt_text(row, 0), "%s", cf_stmt_text(row, 1));
}

int cf_report_limits(struct cf_report *report, struct cf_err *err) {
    bool found;
    int64_t limits = 0;
    int status = cf_db_query_i64(report->db,
                                 "SELECT count(*) FROM v_finding WHERE severity = 'limit'", &found,
                                 &limits, err);
    if (status != CF_OK || limits == 0)
        return status;
    struct cf_section *section =
        cf_doc_section(report->doc, "limits", "What this core cannot show");
    struct cf_table *table = cf_section_facts(section);
    cf_table_sql(table, "SELECT * FROM v_finding WHERE severity = 'limit'");
    return cf_report_each(report,
                          "SELECT title, detail FROM v_finding WHERE severity = 'limit' ORDER BY "
                          "finding_id",
                          add_limit, table, err);
}
