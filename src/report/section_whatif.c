/* What the resident heap would be after each change, against what it is today. */
#include <string.h>

#include "report/section.h"

static const char whatif_sql[] =
    "SELECT title, bytes, exactness FROM v_finding WHERE severity = 'what-if' AND bytes > 0 ORDER "
    "BY finding_id";

struct today {
    struct cf_table *table;
    int64_t bytes;
};

static enum cf_mark mark_named(const char *exactness) {
    if (strcmp(exactness, "bound") == 0)
        return CF_MARK_BOUND;
    return strcmp(exactness, "at-least") == 0 ? CF_MARK_AT_LEAST : CF_MARK_EXACT;
}

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
