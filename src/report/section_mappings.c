/* Without a heap: where the memory stands instead. */
#include "report/section.h"

static const struct cf_column mapping_columns[] = {
    {"id", "segment_id", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"start", "start", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"mapping", "start_hex", CF_UNIT_ADDRESS, 0},
    {"end", "end", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"end", "end_hex", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"rights", "flags", CF_UNIT_TEXT, 0},
    {"kind", "kind", CF_UNIT_TEXT, 0},
    {"file", "file", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"build id", "build_id", CF_UNIT_TEXT, CF_IS_DETAIL | CF_IS_OPTIONAL},
    {"mapped", "mapped_bytes", CF_UNIT_BYTES, 0},
    {"in the core", "dumped_bytes", CF_UNIT_BYTES, 0},
    {"missing", "missing_bytes", CF_UNIT_BYTES, CF_IS_DETAIL},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
};

static const struct cf_query mapping_query = {
    .sql = "SELECT * FROM v_segment ORDER BY resident_bytes DESC, mapped_bytes DESC",
    .columns = mapping_columns,
    .nr_columns = sizeof mapping_columns / sizeof mapping_columns[0],
    .rows = 6,
};

int cf_report_mappings(struct cf_report *report, struct cf_err *err) {
    if (cf_report_has_heap(report))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "mappings", "The largest mappings");
    return cf_report_table(report, section, &mapping_query, NULL, NULL, err);
}
