/*
 * The report's frame: meta and the facts are loaded once, then the sections of CF_SECTIONS run in
 * their order.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/section.h"

const char *cf_report_meta(const struct cf_report *report, const char *key) {
    for (size_t i = 0; i < report->meta.len; i++)
        if (strcmp(report->meta.items[i].key, key) == 0)
            return report->meta.items[i].value;
    return "";
}

int64_t cf_report_meta_i64(const struct cf_report *report, const char *key) {
    return strtoll(cf_report_meta(report, key), NULL, 10);
}

enum cf_figure_mark cf_report_residency_mark(const struct cf_report *report) {
    return cf_report_meta_i64(report, "residency_exact") != 0 ? CF_MARK_EXACT : CF_MARK_AT_LEAST;
}

const struct cf_fact *cf_report_fact(const struct cf_report *report, const char *name) {
    static const struct cf_fact nothing = {.text = ""};
    for (size_t i = 0; i < report->facts.len; i++)
        if (strcmp(report->facts.items[i].name, name) == 0)
            return &report->facts.items[i];
    return &nothing;
}

int64_t cf_report_fact_i64(const struct cf_report *report, const char *name) {
    return cf_report_fact(report, name)->integer;
}

bool cf_report_has_heap(const struct cf_report *report) {
    return cf_report_fact_i64(report, "used_arenas") > 0;
}

bool cf_report_is_brief(const struct cf_report *report) {
    enum cf_format format = report->options->format;
    return (format == CF_FORMAT_TEXT || format == CF_FORMAT_MARKDOWN) && !report->options->full &&
           report->options->top == 0;
}

static bool is_a_tenth(const struct cf_report *report, const char *fact) {
    const struct cf_fact *part = cf_report_fact(report, fact);
    return !part->is_known ||
           part->integer >= cf_report_fact_i64(report, "heap_resident_bytes") / 10;
}

bool cf_report_is_live_much(const struct cf_report *report) {
    return is_a_tenth(report, "live_resident_bytes");
}

bool cf_report_is_dead_much(const struct cf_report *report) {
    return is_a_tenth(report, "retained_free_bytes");
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

int cf_report_each(struct cf_report *report, const char *sql,
                   void (*add)(struct cf_report *report, void *target, const struct cf_stmt *row),
                   void *target, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(report->db, sql, &stmt, err);
    bool row = true;
    while (status == CF_OK && row) {
        status = cf_stmt_step(stmt, &row, err);
        if (status == CF_OK && row)
            add(report, target, stmt);
    }
    return status;
}

int cf_report_load_meta(struct cf_report *report, struct cf_err *err) {
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

static bool set_fact(struct cf_fact *fact, const struct cf_stmt *row, int column) {
    fact->name = strdup(cf_stmt_column_name(row, column));
    fact->text = strdup(cf_stmt_text(row, column));
    fact->is_known = !cf_stmt_is_null(row, column);
    fact->integer = cf_stmt_i64(row, column);
    fact->real = cf_stmt_double(row, column);
    return fact->name != NULL && fact->text != NULL;
}

static int load_facts(struct cf_report *report, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *row = NULL;
    bool found = false;
    int status = cf_db_prepare(report->db, "SELECT * FROM v_fact", &row, err);
    if (status == CF_OK)
        status = cf_stmt_step(row, &found, err);
    for (int i = 0; status == CF_OK && found && i < cf_stmt_nr_columns(row); i++) {
        struct cf_fact *fact = cf_array_push(&report->facts);
        if (fact == NULL || !set_fact(fact, row, i))
            status = cf_err_nomem(err, sizeof *fact, "the facts of the report");
    }
    return status;
}

void cf_report_fini(struct cf_report *report) {
    for (size_t i = 0; i < report->facts.len; i++) {
        free(report->facts.items[i].name);
        free(report->facts.items[i].text);
    }
    cf_array_free(&report->facts);
    for (size_t i = 0; i < report->meta.len; i++) {
        free(report->meta.items[i].key);
        free(report->meta.items[i].value);
    }
    cf_array_free(&report->meta);
    cf_doc_free(report->doc);
}

static int add_sections(struct cf_report *report, struct cf_err *err) {
#define CF_ROW(name, place) {cf_report_##name, place},
    static const struct {
        int (*add)(struct cf_report *, struct cf_err *);
        enum cf_report_place place;
    } sections[] = {CF_SECTIONS(CF_ROW)};
#undef CF_ROW
    enum cf_report_place other = report->is_page ? CF_IN_TEXT : CF_ON_A_PAGE;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        int status = sections[i].place == other ? CF_OK : sections[i].add(report, err);
        if (status != CF_OK)
            return status;
    }
    cf_doc_prune(report->doc);
    return cf_doc_status(report->doc, err);
}

int cf_report_build(struct cf_db *db, const char *db_path, const struct cf_report_options *options,
                    struct cf_doc **out, struct cf_err *err) {
    CF_CLEANUP(cf_report_fini)
    struct cf_report report = {.db = db,
                               .db_path = db_path,
                               .options = options,
                               .is_page = options->format == CF_FORMAT_HTML};
    report.doc = cf_doc_new();
    if (report.doc == NULL)
        return cf_err_nomem(err, sizeof *report.doc, "the report");
    int status = cf_report_load_meta(&report, err);
    if (status == CF_OK)
        status = load_facts(&report, err);
    if (status == CF_OK)
        status = add_sections(&report, err);
    if (status == CF_OK)
        *out = cf_take(&report.doc);
    return status;
}
