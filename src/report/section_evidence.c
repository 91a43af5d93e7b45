/* What core this is, and how far its figures can be trusted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/section.h"

static const char *or_unknown(const char *value) {
    return *value == '\0' ? "unknown" : value;
}

static void add_core(struct cf_report *report, struct cf_table *table) {
    char bytes[CF_FORMAT_MAX];
    cf_table_fact(table, "core", "%s (%s)", cf_report_meta(report, "core_path"),
                  cf_report_bytes(report, bytes, cf_report_meta_i64(report, "core_bytes")));
    const char *producer = cf_report_meta(report, "core_producer");
    cf_table_fact(table, "written by", "%s%s", strcmp(producer, "kernel") == 0 ? "the " : "",
                  or_unknown(producer));
}

static void add_completeness(struct cf_report *report, struct cf_table *table) {
    char bytes[CF_FORMAT_MAX];
    int64_t missing = cf_report_meta_i64(report, "missing_bytes");
    if (cf_report_meta_i64(report, "core_complete") != 0)
        cf_table_fact(table, "complete", "yes: all that its headers promise is in the file");
    else if (missing > 0)
        cf_table_fact(table, "complete",
                      "NO: %s that its headers promise are not in the file; every figure is for "
                      "what is there",
                      cf_report_bytes(report, bytes, missing));
    else
        cf_table_fact(table, "complete",
                      "NO: its headers or notes are damaged; every figure is for what can be read");
}

static void add_process(struct cf_report *report, struct cf_table *table) {
    int64_t number = cf_report_meta_i64(report, "signal");
    const char *name = number > 0 && number < 65 ? sigabbrev_np((int)number) : NULL;
    cf_table_fact(
        table, "process", "%s, pid %s, %s thread%s", or_unknown(cf_report_meta(report, "exe")),
        or_unknown(cf_report_meta(report, "pid")), or_unknown(cf_report_meta(report, "threads")),
        cf_format_plural(cf_report_meta_i64(report, "threads")));
    if (number == 0 || strcmp(cf_report_meta(report, "core_producer"), "gcore") == 0)
        cf_table_fact(table, "signal", "none: a snapshot of a running process");
    else if (name != NULL)
        cf_table_fact(table, "signal", "SIG%s (%" PRId64 ")", name, number);
    else
        cf_table_fact(table, "signal", "%" PRId64, number);
    cf_table_fact(table, "machine", "%s, %s-bit, pages of %s bytes",
                  or_unknown(cf_report_meta(report, "machine")),
                  cf_report_meta(report, "word_bits"), cf_report_meta(report, "page_bytes"));
}

static void add_malloc(struct cf_report *report, struct cf_table *table) {
    const char *version = cf_report_meta(report, "libc_version");
    const char *build_id = cf_report_meta(report, "libc_build_id");
    if (report->totals.arenas == 0) {
        cf_table_fact(table, "malloc", "no heap of glibc's malloc found");
        return;
    }
    cf_table_fact(table, "libc", "%s%s%s", or_unknown(cf_report_meta(report, "libc_path")),
                  *version == '\0' ? "" : ", glibc ", version);
    if (*build_id != '\0')
        cf_table_fact(table, "libc build id", "%s", build_id);
    cf_table_fact(table, "malloc", "found by %s; its structures fit %s",
                  or_unknown(cf_report_meta(report, "located_by")),
                  or_unknown(cf_report_meta(report, "malloc_layout")));
}

static void add_residency(struct cf_report *report, struct cf_table *table) {
    const char *source = cf_report_meta(report, "residency_source");
    bool is_exact = cf_report_residency_mark(report) == CF_MARK_EXACT;
    if (is_exact && strcmp(source, "holes") == 0)
        cf_table_fact(table, "in memory",
                      "exact: the kernel left holes in the file for pages that "
                      "were not in memory");
    else if (is_exact)
        cf_table_fact(table, "in memory",
                      "exact: the core leaves out pages that were not in memory");
    else if (strcmp(source, "none") == 0)
        cf_table_fact(table, "in memory",
                      "unknown: nothing in this core says which pages were in memory");
    else
        cf_table_fact(table, "in memory",
                      "at least: nothing proves that holes in this file are the kernel's, so pages "
                      "full of zeros are taken for pages that were not in memory");
}

static void add_checks(struct cf_report *report, struct cf_table *table) {
    int64_t anomalies = cf_report_meta_i64(report, "anomalies");
    char count[CF_FORMAT_MAX];
    if (anomalies == 0)
        cf_table_fact(table, "checks", "nothing found that does not add up");
    else
        cf_table_fact(table, "checks", "%s thing%s that do%s not add up, listed below",
                      cf_format_count(count, anomalies), cf_format_plural(anomalies),
                      anomalies == 1 ? "es" : "");
}

int cf_report_evidence(struct cf_report *report, struct cf_err *err) {
    (void)err;
    struct cf_section *section =
        cf_doc_section(report->doc, "evidence", "What this core is, and how far to trust it");
    struct cf_table *table = cf_section_facts(section);
    add_core(report, table);
    add_completeness(report, table);
    add_process(report, table);
    add_malloc(report, table);
    add_residency(report, table);
    add_checks(report, table);
    cf_table_sql(table, "SELECT * FROM meta");
    return CF_OK;
}
