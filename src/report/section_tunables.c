/* The settings of malloc that are not the defaults. */
#include "report/section.h"

static const struct cf_column tunable_columns[] = {
    {"setting", "name", CF_UNIT_TEXT, 0},
    {"value", "value", CF_UNIT_TEXT, 0},
    {"from", "source", CF_UNIT_TEXT, 0},
    {"", "note", CF_UNIT_TEXT, 0},
};

static const struct cf_query tunable_query = {
    .sql = "SELECT * FROM v_tunable WHERE source <> 'default'",
    .columns = tunable_columns,
    .nr_columns = sizeof tunable_columns / sizeof tunable_columns[0],
    .rows = 10,
};

int cf_report_tunables(struct cf_report *report, struct cf_err *err) {
    if (!cf_report_has_heap(report))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "tunables", "Settings of malloc that are not the default");
    return cf_report_table(report, section, &tunable_query, NULL, NULL, err);
}
