/* Live chunks that nothing reaches. */
#include "report/section.h"

static const struct cf_column leak_columns[] = {
    {"size", "size_bytes", CF_UNIT_BYTES, 0},
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"lost first", "root_chunks", CF_UNIT_COUNT, 0},
};

static const struct cf_query leak_query = {
    .sql = "SELECT * FROM v_leak ORDER BY bytes DESC",
    .columns = leak_columns,
    .nr_columns = sizeof leak_columns / sizeof leak_columns[0],
    .rows = 4,
};

int cf_report_leaks(struct cf_report *report, struct cf_err *err) {
    if (cf_report_fact_i64(report, "leak_chunks") == 0)
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "leaks", "Leaks (at least): live, and nothing points to it");
    return cf_report_table(report, section, &leak_query, NULL, NULL, err);
}
