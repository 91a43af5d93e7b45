/* Without a heap: where the memory stands instead. */
#include "report/section.h"

static const struct cf_column mapping_columns[] = {
    {"mapping", "start", CF_UNIT_ADDRESS, 0},
    {"rights", "flags", CF_UNIT_TEXT, 0},
    {"mapped", "mapped_bytes", CF_UNIT_BYTES, 0},
    {"in the core", "dumped_bytes", CF_UNIT_BYTES, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"kind", "kind", CF_UNIT_TEXT, 0},
    {"file", "file", CF_UNIT_TEXT, CF_IS_OPTIONAL},
};

static const struct cf_query mapping_query = {
    .sql = "SELECT start_hex, flags, mapped_bytes, dumped_bytes, resident_bytes, kind, file FROM "
           "v_segment WHERE flags <> '---' ORDER BY resident_bytes DESC, mapped_bytes DESC, start",
    .columns = mapping_columns,
    .nr_columns = sizeof mapping_columns / sizeof mapping_columns[0],
    .rows = 8,
};

static const struct cf_column allocator_columns[] = {
    {"library", "file", CF_UNIT_TEXT, 0},
    {"loaded at", "start", CF_UNIT_ADDRESS, 0},
};

static const struct cf_query allocator_query = {
    .title = "Libraries that bring an allocator of their own:",
    .sql = "SELECT file, start_hex FROM v_module WHERE file LIKE '%jemalloc%' OR file LIKE "
           "'%tcmalloc%' OR file LIKE '%mimalloc%' ORDER BY start",
    .columns = allocator_columns,
    .nr_columns = sizeof allocator_columns / sizeof allocator_columns[0],
    .rows = 8,
};

int cf_report_mappings(struct cf_report *report, struct cf_err *err) {
    if (cf_report_has_heap(report))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "mappings", "The largest mappings");
    int status = cf_report_table(report, section, &mapping_query, NULL, NULL, err);
    return status == CF_OK ? cf_report_table(report, section, &allocator_query, NULL, NULL, err)
                           : status;
}
