/* What does not add up, by kind. */
#include "report/section.h"

static const struct cf_column anomaly_columns[] = {
    {"where", "source", CF_UNIT_TEXT, false},       {"what", "code", CF_UNIT_TEXT, false},
    {"times", "times", CF_UNIT_COUNT, false},       {"means", "means", CF_UNIT_TEXT, false},
    {"for example", "detail", CF_UNIT_TEXT, false},
};

static const struct cf_query anomaly_query = {
    .sql = "SELECT source, code, count(*), iif(is_corruption, 'corruption', 'damage of the file'), "
           "min(detail) FROM v_anomaly GROUP BY source, code, is_corruption ORDER BY is_corruption "
           "DESC, count(*) DESC, code",
    .columns = anomaly_columns,
    .nr_columns = sizeof anomaly_columns / sizeof anomaly_columns[0],
    .rows = 12,
};

int cf_report_anomalies(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section = cf_doc_section(report->doc, "anomalies", "Anomalies");
    uint64_t kinds;
    int status = cf_report_table(report, section, &anomaly_query, &kinds, err);
    if (status == CF_OK && kinds == 0 && report->totals.arenas > 0)
        cf_section_text(section, CF_TONE_PLAIN,
                        "None: chunk sizes, flags, bins and caches agree with each other in every "
                        "heap.");
    else if (status == CF_OK && kinds == 0)
        cf_section_text(section, CF_TONE_PLAIN,
                        "None in the core file; there was no heap to check.");
    return status;
}
