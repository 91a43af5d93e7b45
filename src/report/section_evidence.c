/* What core this is, how far its figures can be trusted, and where all of them stand. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "report/text.h"
#include "report/section.h"

static const char *or_unknown(const char *value) {
    return *value == '\0' ? "unknown" : value;
}

/* "SIGABRT", or "none: a snapshot of a running process". */
static const char *describe_signal(const struct cf_report *report, char out[CF_FORMAT_MAX]) {
    int64_t number = cf_report_meta_i64(report, "signal");
    const char *name = number > 0 && number < 65 ? sigabbrev_np((int)number) : NULL;
    if (number == 0 || cf_report_meta_i64(report, "snapshot") != 0)
        return "a snapshot of a running process";
    if (name != NULL)
        (void)snprintf(out, CF_FORMAT_MAX, "ended by SIG%s", name);
    else
        (void)snprintf(out, CF_FORMAT_MAX, "ended by signal %" PRId64, number);
    return out;
}

static void add_process(struct cf_report *report, struct cf_table *table) {
    char signal[CF_FORMAT_MAX];
    cf_table_fact(table, "process", "%s, %s, %s", or_unknown(cf_report_meta(report, "exe")),
                  or_unknown(cf_report_meta(report, "machine")), describe_signal(report, signal));
}

static void add_core(struct cf_report *report, struct cf_table *table) {
    char bytes[CF_FORMAT_MAX], missing[CF_FORMAT_MAX], state[96] = "complete";
    const char *producer = cf_report_meta(report, "core_producer");
    const char *left_out = cf_report_meta(report, "core_left_out");
    int64_t missing_bytes = cf_report_meta_i64(report, "missing_bytes");
    if (cf_report_meta_i64(report, "core_complete") == 0 && missing_bytes > 0)
        (void)snprintf(state, sizeof state, "%s that its headers promise is NOT in the file",
                       cf_report_bytes(report, missing, missing_bytes));
    else if (*left_out != '\0')
        (void)snprintf(state, sizeof state, "%s", left_out);
    else if (cf_report_meta_i64(report, "core_complete") == 0)
        (void)snprintf(state, sizeof state, "its headers or notes are DAMAGED");
    cf_table_fact(table, "core", "%s, %s, written by %s%s, %s",
                  or_unknown(cf_report_meta(report, "core_path")),
                  cf_report_bytes(report, bytes, cf_report_meta_i64(report, "core_bytes")),
                  strcmp(producer, "kernel") == 0 ? "the " : "", or_unknown(producer), state);
}

/* The pattern always leads; a second witness may have confirmed it. */
static const char *confirmation(const char *located_by) {
    if (strcmp(located_by, "dwarf") == 0)
        return ", confirmed by symbols and DWARF";
    return strcmp(located_by, "symbols") == 0 ? ", confirmed by symbols" : "";
}

static void add_malloc(struct cf_report *report, struct cf_table *table) {
    const char *version = cf_report_meta(report, "libc_version");
    if (!cf_report_has_heap(report)) {
        const char *other = cf_report_meta(report, "other_allocator");
        cf_table_fact(table, "malloc", "no heap of glibc's malloc found%s%s%s%s",
                      *other == '\0' ? "" : "; there is ", other, *other == '\0' ? "" : ": ",
                      *other == '\0' ? "" : cf_report_meta(report, "other_allocator_evidence"));
        return;
    }
    cf_table_fact(table, "malloc", "%s%s%s, found by pattern%s",
                  or_unknown(cf_report_meta(report, "libc_path")),
                  *version == '\0' ? "" : ", glibc ", version,
                  confirmation(cf_report_meta(report, "located_by")));
    if (!report->options->full)
        return;
    cf_table_fact(table, "malloc's shapes", "%s",
                  or_unknown(cf_report_meta(report, "malloc_layout")));
    cf_table_fact(table, "libc build id", "%s",
                  or_unknown(cf_report_meta(report, "libc_build_id")));
}

static void add_residency(struct cf_report *report, struct cf_table *table) {
    const char *source = cf_report_meta(report, "residency_source");
    bool is_exact = cf_report_residency_mark(report) == CF_MARK_EXACT;
    if (is_exact && strcmp(source, "holes") == 0)
        cf_table_fact(table, "residency",
                      "exact: the kernel left holes in the file for pages not in memory");
    else if (is_exact && strcmp(source, "smaps") == 0)
        cf_table_fact(table, "residency",
                      "exact: smaps counts as many pages as the core shows, mapping by mapping");
    else if (is_exact)
        cf_table_fact(table, "residency",
                      "exact: the core leaves out pages that were not in memory");
    else if (strcmp(source, "none") == 0)
        cf_table_fact(table, "residency",
                      "unknown: nothing in this core says which pages were in memory");
    else
        cf_table_fact(table, "residency",
                      "at least: only pages full of zeros can be missing");
}

static void add_reach(struct cf_report *report, struct cf_table *table) {
    int64_t missing = cf_report_fact_i64(report, "missing_roots");
    const struct cf_fact *unseen = cf_report_fact(report, "unknown_memory_bytes");
    char bytes[CF_FORMAT_MAX];
    if (cf_report_fact_i64(report, "examined") == 0)
        cf_table_fact(table, "leaks", "not examined");
    else if (missing > 0)
        cf_table_fact(table, "leaks",
                      "may be overstated: %" PRId64 " place%s where pointers stand %s missing",
                      missing, cf_format_plural(missing), missing == 1 ? "is" : "are");
    else if (unseen->is_known && unseen->integer > 0)
        cf_table_fact(table, "leaks",
                      "every word that may be a pointer counts as one; none was seen in %s of "
                      "writable address space that is not in the core",
                      cf_report_bytes(report, bytes, unseen->integer));
    else
        cf_table_fact(table, "leaks",
                      "at least: every word that may be a pointer counts as one; no root is "
                      "missing");
}

static void add_checks(struct cf_report *report, struct cf_table *table) {
    int64_t anomalies = cf_report_meta_i64(report, "anomalies");
    char count[CF_FORMAT_MAX];
    if (anomalies > 0)
        cf_table_fact(table, "checks", "%s thing%s that do%s not add up, see Anomalies",
                      cf_format_count(count, anomalies), cf_format_plural(anomalies),
                      anomalies == 1 ? "es" : "");
    else if (cf_report_has_heap(report))
        cf_table_fact(table, "checks", "sizes, flags, bins and caches agree in every heap");
}

/* The kernel's own count, as far as it is at hand. */
static void add_side_file(struct cf_report *report, void *target, const struct cf_stmt *row) {
    const char *place = cf_stmt_text(row, 2);
    (void)report;
    if (cf_stmt_i64(row, 3) == 0)
        cf_table_fact(target, cf_stmt_text(row, 0), "%s, %s, is NOT used: %s",
                      cf_stmt_text(row, 1), place, cf_stmt_text(row, 4));
    else
        cf_table_fact(target, cf_stmt_text(row, 0), "%s, %s%s", cf_stmt_text(row, 1),
                      strcmp(place, "named") == 0 ? "" : "found ", place);
}

int cf_report_evidence(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section =
        cf_doc_section(report->doc, "evidence", "What this core is, and how far to trust it");
    struct cf_table *table = cf_section_facts(section);
    add_core(report, table);
    add_process(report, table);
    add_malloc(report, table);
    add_residency(report, table);
    if (cf_report_has_heap(report))
        add_reach(report, table);
    add_checks(report, table);
    int status = cf_report_each(report,
                                "SELECT kind, name, place, is_used, reason FROM v_side_file",
                                add_side_file, table, err);
    if (status != CF_OK)
        return status;
    cf_table_fact(table, "marks", "\u2265 at least, \u2264 a bound: not more than this; figures "
                                  "without a mark are exact");
    cf_table_sql(table, "SELECT * FROM meta");
    return CF_OK;
}

/* ---- Where to go on from here. ---- */

int cf_report_footer(struct cf_report *report, struct cf_err *err) {
    (void)err;
    struct cf_section *section = cf_doc_section(report->doc, "database", NULL);
    CF_CLEANUP_FREE char *word = cf_escape_shell(report->db_path);
    if (word == NULL) {
        report->doc->failed = true;
        return CF_OK;
    }
    struct stat there;
    char bytes[CF_FORMAT_MAX] = "";
    if (stat(report->db_path, &there) == 0)
        (void)cf_report_bytes(report, bytes, there.st_size);
    cf_section_code(section, "sqlite3 %s   # all of it in SQL%s%s; corefrag schema describes it",
                    word, *bytes == '\0' ? "" : ", ", bytes);
    return CF_OK;
}
