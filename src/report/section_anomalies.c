/* What does not add up, by kind. */
#include "report/section.h"

static const struct cf_column anomaly_columns[] = {
    {"where", "source", CF_UNIT_TEXT, 0},
    {"what", "code", CF_UNIT_TEXT, 0},
    {"times", "times", CF_UNIT_COUNT, 0},
    {"corruption", "is_corruption", CF_UNIT_COUNT, 0},
    {"for example", "example", CF_UNIT_TEXT, 0},
};

static const struct cf_query anomaly_query = {
    .sql = "SELECT * FROM v_anomaly_kind",
    .columns = anomaly_columns,
    .nr_columns = sizeof anomaly_columns / sizeof anomaly_columns[0],
    .rows = 8,
};

int cf_report_anomalies(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section =
        cf_doc_section(report->doc, "anomalies", "Anomalies: what does not add up");
    return cf_report_table(report, section, &anomaly_query, NULL, NULL, err);
}
