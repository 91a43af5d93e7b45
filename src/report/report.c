#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/section.h"

static const char totals_sql[] =
    "SELECT count(*), sum(heaps), sum(mapped_bytes), count(resident_bytes), sum(resident_bytes), "
    "sum(live_chunks), sum(live_bytes), sum(free_chunks), sum(free_bytes), sum(fast_bytes), "
    "sum(tcache_bytes), sum(top_bytes), sum(overhead_bytes), sum(holes), sum(hole_bytes), "
    "max(largest_hole_bytes) FROM v_arena";

static const char others_sql[] =
    "SELECT (SELECT sum(chunks) FROM v_size_class WHERE state = 'mmapped'), "
    "(SELECT sum(bytes) FROM v_size_class WHERE state = 'mmapped'), "
    "(SELECT sum(resident_bytes) FROM v_hole_histogram), "
    "(SELECT sum(resident_bytes) FROM v_segment WHERE kind IN ('anonymous', 'unknown'))";

const char *cf_report_meta(const struct cf_report *report, const char *key) {
    for (size_t i = 0; i < report->meta.len; i++)
        if (strcmp(report->meta.items[i].key, key) == 0)
            return report->meta.items[i].value;
    return "";
}

int64_t cf_report_meta_i64(const struct cf_report *report, const char *key) {
    return strtoll(cf_report_meta(report, key), NULL, 10);
}

enum cf_mark cf_report_residency_mark(const struct cf_report *report) {
    return cf_report_meta_i64(report, "residency_exact") != 0 ? CF_MARK_EXACT : CF_MARK_AT_LEAST;
}

const char *cf_report_bytes(const struct cf_report *report, char out[CF_FORMAT_MAX],
                            int64_t bytes) {
    return cf_format_bytes(out, (uint64_t)bytes, report->options->full);
}

static int load_meta_row(struct cf_report *report, const struct cf_stmt *stmt, struct cf_err *err) {
    struct cf_meta_row *row = cf_array_push(&report->meta);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "the facts of the report");
    row->key = strdup(cf_stmt_text(stmt, 0));
    row->value = strdup(cf_stmt_text(stmt, 1));
    if (row->key != NULL && row->value != NULL)
        return CF_OK;
    free(row->key);
    free(row->value);
    report->meta.len--;
    return cf_err_nomem(err, sizeof *row, "the facts of the report");
}

static int load_meta(struct cf_report *report, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(report->db, "SELECT key, value FROM meta", &stmt, err);
    bool row = true;
    while (status == CF_OK && row) {
        status = cf_stmt_step(stmt, &row, err);
        if (status == CF_OK && row)
            status = load_meta_row(report, stmt, err);
    }
    return status;
}

static void read_totals(struct cf_report *report, const struct cf_stmt *stmt) {
    struct cf_totals *totals = &report->totals;
    int64_t *const fields[] = {
        &totals->live_chunks, &totals->live_bytes,         &totals->free_chunks,
        &totals->free_bytes,  &totals->fast_bytes,         &totals->tcache_bytes,
        &totals->top_bytes,   &totals->overhead_bytes,     &totals->holes,
        &totals->hole_bytes,  &totals->largest_hole_bytes,
    };
    totals->arenas = cf_stmt_i64(stmt, 0);
    totals->heaps = cf_stmt_i64(stmt, 1);
    totals->mapped_bytes = cf_stmt_i64(stmt, 2);
    int64_t known = cf_stmt_i64(stmt, 3);
    totals->has_resident = known > 0;
    totals->resident_bytes = cf_stmt_i64(stmt, 4);
    totals->resident_mark =
        known < totals->arenas ? CF_MARK_AT_LEAST : cf_report_residency_mark(report);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        *fields[i] = cf_stmt_i64(stmt, (int)i + 5);
}

static void read_others(struct cf_report *report, const struct cf_stmt *stmt) {
    struct cf_totals *totals = &report->totals;
    totals->mmapped_chunks = cf_stmt_i64(stmt, 0);
    totals->mmapped_bytes = cf_stmt_i64(stmt, 1);
    totals->has_hole_resident = !cf_stmt_is_null(stmt, 2);
    totals->hole_resident_bytes = cf_stmt_i64(stmt, 2);
    totals->has_anonymous = !cf_stmt_is_null(stmt, 3);
    totals->anonymous_bytes = cf_stmt_i64(stmt, 3);
}

/* Runs a query of one row. */
static int load_row(struct cf_report *report, const char *sql,
                    void (*read)(struct cf_report *, const struct cf_stmt *), struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    bool row = false;
    int status = cf_db_prepare(report->db, sql, &stmt, err);
    if (status == CF_OK)
        status = cf_stmt_step(stmt, &row, err);
    if (status == CF_OK && row)
        read(report, stmt);
    return status;
}

static void report_fini(struct cf_report *report) {
    for (size_t i = 0; i < report->meta.len; i++) {
        free(report->meta.items[i].key);
        free(report->meta.items[i].value);
    }
    cf_array_free(&report->meta);
    cf_doc_free(report->doc);
}

static int add_sections(struct cf_report *report, struct cf_err *err) {
    static int (*const sections[])(struct cf_report *, struct cf_err *) = {
        cf_report_headline, cf_report_evidence, cf_report_memory,    cf_report_arenas,
        cf_report_holes,    cf_report_sizes,    cf_report_anomalies, cf_report_footer,
    };
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        int status = sections[i](report, err);
        if (status != CF_OK)
            return status;
    }
    return cf_doc_status(report->doc, err);
}

int cf_report_build(struct cf_db *db, const char *db_path, const struct cf_report_options *options,
                    struct cf_doc **out, struct cf_err *err) {
    CF_CLEANUP(report_fini)
    struct cf_report report = {.db = db, .db_path = db_path, .options = options};
    report.doc = cf_doc_new();
    if (report.doc == NULL)
        return cf_err_nomem(err, sizeof *report.doc, "the report");
    int status = load_meta(&report, err);
    if (status == CF_OK)
        status = load_row(&report, totals_sql, read_totals, err);
    if (status == CF_OK)
        status = load_row(&report, others_sql, read_others, err);
    if (status == CF_OK)
        status = add_sections(&report, err);
    if (status == CF_OK)
        *out = cf_take(&report.doc);
    return status;
}
