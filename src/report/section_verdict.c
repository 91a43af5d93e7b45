/* The title and the verdict: what it is, what it is not, and what else a reader must know first. */
#include <inttypes.h>
#include <string.h>

#include "report/section.h"

/* The last part of a path. */
static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static const char *process_name(const struct cf_report *report) {
    const char *exe = base_name(cf_report_meta(report, "exe"));
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
    char bytes[CF_FORMAT_MAX];
    int64_t threads = cf_report_meta_i64(report, "threads");
    cf_doc_title(report->doc,
                 "corefrag %s  %s, pid %s, %" PRId64 " thread%s   %s (%s, %s, %s, residency %s)",
                 cf_report_meta(report, "tool_version"), process_name(report),
                 cf_report_meta(report, "pid"), threads, cf_format_plural(threads),
                 base_name(cf_report_meta(report, "core_path")),
                 cf_report_meta(report, "core_producer"),
                 cf_report_meta_i64(report, "core_complete") != 0 ? "complete" : "INCOMPLETE",
                 cf_report_bytes(report, bytes, cf_report_meta_i64(report, "core_bytes")),
                 residency_word(report));
}

static void add_headline(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_section_text(target, CF_TONE_LEAD, "%s", cf_stmt_text(row, 0));
    if (*cf_stmt_text(row, 1) != '\0')
        cf_section_text(target, CF_TONE_PLAIN, "%s", cf_stmt_text(row, 1));
}

static void add_confidence(struct cf_report *report, struct cf_section *section,
                           const char *confidence) {
    const char *source = cf_report_meta(report, "residency_source");
    const char *why =
        cf_report_fact_i64(report, "corruptions") > 0 ? "the heap is damaged"
        : cf_report_meta_i64(report, "core_complete") == 0 ? "the core is incomplete"
        : cf_report_residency_mark(report) == CF_MARK_EXACT
            ? "the core is complete and tells which pages were in memory"
        : strcmp(source, "zero-pages") == 0
            ? "resident figures are at least: pages full of zeros are taken for absent"
            : "nothing in the core tells which pages were in memory";
    cf_section_text(section, CF_TONE_PLAIN, "Confidence: %s; %s.", confidence, why);
}

struct verdict {
    struct cf_section *section;
    char confidence[16];
};

static void keep_confidence(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    (void)strncpy(target, cf_stmt_text(row, 0), sizeof ((struct verdict *)0)->confidence - 1);
}

static void add_warning(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_section_text(target, CF_TONE_WARNING, "%s. %s", cf_stmt_text(row, 0), cf_stmt_text(row, 1));
}

int cf_report_verdict(struct cf_report *report, struct cf_err *err) {
    add_title(report);
    struct verdict verdict = {.section = cf_doc_section(report->doc, "verdict", NULL)};
    int status = cf_report_each(report,
                                "SELECT v.headline, f.detail FROM v_verdict v LEFT JOIN v_finding "
                                "f ON f.finding_id = 1",
                                add_headline, verdict.section, err);
    if (status == CF_OK)
        status = cf_report_each(report, "SELECT confidence FROM v_verdict", keep_confidence,
                                verdict.confidence, err);
    if (status == CF_OK && *verdict.confidence != '\0')
        add_confidence(report, verdict.section, verdict.confidence);
    if (status == CF_OK)
        status = cf_report_each(report,
                                "SELECT title, detail FROM v_finding WHERE finding_id > 1 AND "
                                "severity IN ('critical', 'warning') ORDER BY finding_id",
                                add_warning, verdict.section, err);
    return status;
}
