/* Where memory is: every resident byte of the heap, then the whole process. */
#include <stdio.h>

#include "report/section.h"

/* ---- The waterfall: where every resident byte of the heap goes. ---- */

static const char waterfall_sql[] = "SELECT * FROM v_waterfall";

static void add_class(struct cf_report *report, void *target, const struct cf_stmt *row) {
    int64_t bytes = cf_stmt_i64(row, 3);
    if (bytes == 0 && !cf_stmt_is_null(row, 3))
        return; /* nothing to see, and the sum is the same */
    cf_table_segment(target, cf_stmt_text(row, 1), cf_stmt_text(row, 2),
                     cf_stmt_is_null(row, 3) ? NULL : &bytes, cf_stmt_double(row, 4) / 100,
                     cf_report_residency_mark(report), cf_stmt_text(row, 5));
}

static void add_sentence(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_section_text(target, CF_TONE_PLAIN, "%s.", cf_stmt_text(row, 0));
}

/* What is free and costs nothing, and whether one size or many make it up. */
static const char beside_sql[] =
    "SELECT upper(substr(title, 1, 1)) || substr(title, 2) FROM v_finding"
    " WHERE code IN ('given-back', 'live-sizes', 'dead-sizes') ORDER BY finding_id";

int cf_report_waste(struct cf_report *report, struct cf_err *err) {
    const struct cf_fact *heap = cf_report_fact(report, "heap_resident_bytes");
    if (!cf_report_has_heap(report))
        return CF_OK;
    char title[64];
    (void)snprintf(title, sizeof title, "Where the resident heap goes%s",
                   !heap->is_known                                     ? ": unknown"
                   : cf_report_residency_mark(report) == CF_MARK_EXACT ? " (exact)"
                                                                        : " (at least)");
    struct cf_section *section = cf_doc_section(report->doc, "waste", title);
    struct cf_table *table = cf_section_chart(section, CF_CHART_WATERFALL, NULL, waterfall_sql);
    int status = cf_report_each(report, waterfall_sql, add_class, table, err);
    if (status == CF_OK)
        cf_table_segment(table, "", "sum", heap->is_known ? &heap->integer : NULL, 1,
                         cf_report_residency_mark(report), "all that malloc has in memory");
    return status == CF_OK ? cf_report_each(report, beside_sql, add_sentence, section, err)
                           : status;
}

/* ---- The whole process: malloc's part of it, and what else there is. ---- */

static const struct cf_column memory_columns[] = {
    {"part", "part", CF_UNIT_TEXT, 0},
    {"kind", "kind", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"anonymous", "is_anonymous", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"mappings", "mappings", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"mapped", "mapped_bytes", CF_UNIT_BYTES, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"", "note", CF_UNIT_TEXT, 0},
};

static const struct cf_query memory_query = {
    .sql = "SELECT * FROM v_memory",
    .columns = memory_columns,
    .nr_columns = sizeof memory_columns / sizeof memory_columns[0],
    .rows = 20,
};

static const struct cf_column kernel_columns[] = {
    {"the kernel counts", "name", CF_UNIT_TEXT, 0},
    {"kernel", "bytes", CF_UNIT_BYTES, 0},
    {"this report", "ours_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY | CF_IS_OPTIONAL},
    {"difference", "difference_bytes", CF_UNIT_BYTES, CF_IS_DETAIL | CF_IS_OPTIONAL},
    {"", "explanation", CF_UNIT_TEXT, 0},
};

static const struct cf_query kernel_query = {
    .title = "What the kernel counted:",
    .sql = "SELECT * FROM v_kernel_figure",
    .columns = kernel_columns,
    .nr_columns = sizeof kernel_columns / sizeof kernel_columns[0],
    .rows = 12,
};

/* The whole address space piece by piece; too long for a page. */
static const struct cf_column budget_columns[] = {
    {"kind", "kind", CF_UNIT_TEXT, 0},
    {"label", "label", CF_UNIT_TEXT, 0},
    {"anonymous", "is_anonymous", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"mappings", "mappings", CF_UNIT_COUNT, 0},
    {"mapped", "mapped_bytes", CF_UNIT_BYTES, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
};

static const struct cf_query budget_query = {
    .title = "The same, piece by piece:",
    .sql = "SELECT kind, label, is_anonymous, mappings, mapped_bytes, resident_bytes "
           "FROM v_budget",
    .columns = budget_columns,
    .nr_columns = sizeof budget_columns / sizeof budget_columns[0],
};

/* Memory of which the core has nothing may have been resident too. */
static enum cf_figure_mark sum_mark(const struct cf_report *report) {
    const char *least = cf_report_fact(report, "least")->text;
    return *least != '\0' ? CF_MARK_AT_LEAST : cf_report_residency_mark(report);
}

static void add_sum(struct cf_report *report, struct cf_table *table) {
    const struct cf_fact *sum = cf_report_fact(report, "resident_bytes");
    if (table == NULL)
        return;
    cf_table_text(table, "sum of anonymous");
    for (int i = 0; i < 4; i++)
        cf_table_empty(table);
    if (sum->is_known)
        cf_table_integer(table, sum->integer, sum_mark(report));
    else
        cf_table_unknown(table);
    cf_table_text(table, "the kernel's Anonymous, less module data");
}

/* The same, drawn: what is resident and anonymous, whose it is. */
static const char stack_sql[] =
    "SELECT iif(kind IN ('managed heap', 'other allocator'), label, kind) AS part, "
    "sum(resident_bytes) AS resident_bytes FROM v_budget "
    "WHERE is_anonymous AND resident_bytes > 0 GROUP BY part ORDER BY resident_bytes DESC, part";

static void add_segment(struct cf_report *report, void *target, const struct cf_stmt *row) {
    int64_t bytes = cf_stmt_i64(row, 1);
    int64_t whole = cf_report_fact_i64(report, "resident_bytes");
    cf_table_segment(target, cf_stmt_text(row, 0), cf_stmt_text(row, 0), &bytes,
                     whole > 0 ? (double)bytes / (double)whole : 0,
                     cf_report_residency_mark(report), "");
}

static int add_stack(struct cf_report *report, struct cf_section *section, struct cf_err *err) {
    const struct cf_fact *sum = cf_report_fact(report, "resident_bytes");
    if (!sum->is_known || sum->integer <= 0)
        return CF_OK;
    struct cf_table *table =
        cf_section_chart(section, CF_CHART_STACK, "Anonymous memory of the process:", stack_sql);
    int status = cf_report_each(report, stack_sql, add_segment, table, err);
    cf_table_segment(table, "", "sum", &sum->integer, 1, sum_mark(report),
                     "the kernel's Anonymous, less module data");
    return status;
}

int cf_report_budget(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section = cf_doc_section(report->doc, "budget", "The whole process");
    struct cf_table *table;
    int status = report->is_page ? add_stack(report, section, err) : CF_OK;
    if (status == CF_OK)
        status = cf_report_table(report, section, &memory_query, &table, NULL, err);
    if (status != CF_OK)
        return status;
    add_sum(report, table);
    status = cf_report_table(report, section, &kernel_query, NULL, NULL, err);
    if (status == CF_OK && report->options->full)
        status = cf_report_table(report, section, &budget_query, NULL, NULL, err);
    return status;
}
