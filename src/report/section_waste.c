/* The waterfall: where every resident byte of the heap goes. */
#include <stdio.h>

#include "report/section.h"

static const char waterfall_sql[] = "SELECT * FROM v_waterfall";

static void add_segment(struct cf_report *report, void *target, const struct cf_stmt *row) {
    int64_t bytes = cf_stmt_i64(row, 3);
    if (bytes == 0 && !cf_stmt_is_null(row, 3))
        return; /* nothing to see, and the sum is the same */
    cf_table_segment(target, cf_stmt_text(row, 1), cf_stmt_text(row, 2),
                     cf_stmt_is_null(row, 3) ? NULL : &bytes, cf_stmt_double(row, 4) / 100,
                     cf_report_residency_mark(report), cf_stmt_text(row, 5));
}

int cf_report_waste(struct cf_report *report, struct cf_err *err) {
    const struct cf_fact *heap = cf_report_fact(report, "heap_resident_bytes");
    if (!cf_report_has_heap(report))
        return CF_OK;
    char title[64];
    (void)snprintf(title, sizeof title, "Where the resident heap goes%s",
                   !heap->is_known                                     ? ": unknown"
                   : cf_report_residency_mark(report) == CF_MARK_EXACT ? " (exact)"
                                                                        : " (at least)");
    struct cf_section *section = cf_doc_section(report->doc, "waste", title);
    struct cf_table *table = cf_section_chart(section, CF_CHART_WATERFALL, NULL, waterfall_sql);
    int status = cf_report_each(report, waterfall_sql, add_segment, table, err);
    if (status == CF_OK)
        cf_table_segment(table, "", "sum", heap->is_known ? &heap->integer : NULL, 1,
                         cf_report_residency_mark(report), "all that malloc has in memory");
    return status;
}
