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
    struct cf_section *section = cf_doc_section(report->doc, "anomalies", "Anomalies");
    uint64_t kinds;
    int status = cf_report_table(report, section, &anomaly_query, NULL, &kinds, err);
    if (status == CF_OK && kinds == 0 && cf_report_has_heap(report))
        cf_section_text(section, CF_TONE_PLAIN,
                        "None: sizes, flags, bins and caches agree with each other in every heap.");
    else if (status == CF_OK && kinds == 0)
        cf_section_text(section, CF_TONE_PLAIN,
                        "None in the core file; there was no heap to check.");
    return status;
}
