/* What this evidence cannot show. */
#include "report/section.h"

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
