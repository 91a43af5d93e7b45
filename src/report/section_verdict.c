/* The title and the verdict: what it is, what it is not, and what else a reader must know first. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "report/section.h"

static const char *process_name(const struct cf_report *report) {
    const char *exe = cf_base_name(cf_report_meta(report, "exe"));
    const char *command = cf_report_meta(report, "command");
    if (*exe != '\0')
        return exe;
    return *command != '\0' ? command : "unknown program";
}

static const char *residency_word(const struct cf_report *report) {
    if (cf_report_residency_mark(report) == CF_MARK_EXACT)
        return "exact";
    return strcmp(cf_report_meta(report, "residency_source"), "none") == 0 ? "unknown" : "at least";
}

static void add_title(struct cf_report *report) {
    int64_t threads = cf_report_meta_i64(report, "threads");
    cf_doc_title(report->doc,
                 "corefrag %s  %s, pid %s, %" PRId64 " thread%s   %s (%s, %s, residency %s)",
                 cf_report_meta(report, "tool_version"), process_name(report),
                 cf_report_meta(report, "pid"), threads, cf_format_plural(threads),
                 cf_base_name(cf_report_meta(report, "core_path")),
                 cf_report_meta(report, "core_producer"),
                 cf_report_meta_i64(report, "core_complete") != 0 ? "complete" : "INCOMPLETE",
                 residency_word(report));
}

static void add_verdict(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_section_text(target, CF_TONE_LEAD, "%s", cf_stmt_text(row, 0));
    if (*cf_stmt_text(row, 1) != '\0')
        cf_section_text(target, CF_TONE_PLAIN, "%s", cf_stmt_text(row, 1));
    cf_section_text(target, CF_TONE_PLAIN, "Confidence: %s; %s", cf_stmt_text(row, 2),
                    cf_stmt_text(row, 3));
}

static void add_warning(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_section_text(target, CF_TONE_WARNING, "%s. %s", cf_stmt_text(row, 0), cf_stmt_text(row, 1));
}

/* For machines and pages with room; the sentences above say it for people. */
enum { FIGURE = CF_IS_DETAIL | CF_IS_WIDE };

static const struct cf_column verdict_columns[] = {
    {"code", "code", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"headline", "headline", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"confidence", "confidence", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"resident", "resident_bytes", CF_UNIT_BYTES, FIGURE | CF_IS_RESIDENCY},
    {"heap", "heap_resident_bytes", CF_UNIT_BYTES, FIGURE | CF_IS_RESIDENCY},
    {"live", "live_bytes", CF_UNIT_BYTES, FIGURE},
    {"retained free", "retained_free_bytes", CF_UNIT_BYTES, FIGURE | CF_IS_RESIDENCY},
    {"releasable", "releasable_bytes", CF_UNIT_BYTES, FIGURE | CF_IS_RESIDENCY},
    {"evidence", "evidence", CF_UNIT_TEXT, CF_IS_DETAIL},
};

static const struct cf_query verdict_query = {
    .sql = "SELECT * FROM v_verdict",
    .columns = verdict_columns,
    .nr_columns = sizeof verdict_columns / sizeof verdict_columns[0],
};

int cf_report_verdict(struct cf_report *report, struct cf_err *err) {
    add_title(report);
    struct cf_section *section = cf_doc_section(report->doc, "verdict", NULL);
    int status = cf_report_each(report,
                                "SELECT v.headline, f.detail, v.confidence, v.evidence "
                                "FROM v_verdict v LEFT JOIN v_finding f ON f.finding_id = 1",
                                add_verdict, section, err);
    if (status == CF_OK)
        status = cf_report_each(report,
                                "SELECT title, detail FROM v_finding WHERE finding_id > 1 AND "
                                "severity IN ('critical', 'warning') ORDER BY finding_id",
                                add_warning, section, err);
    return status == CF_OK ? cf_report_table(report, section, &verdict_query, NULL, NULL, err)
                           : status;
}
