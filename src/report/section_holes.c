/* Holes: how large the pieces of free memory are, where the largest lie, what bounds them. */
#include "report/section.h"

static const struct cf_column histogram_columns[] = {
    {"at least", "from_bytes", CF_UNIT_BYTES, 0},
    {"holes", "holes", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"releasable", "releasable_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY | CF_IS_PART},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"kept", "kept_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY | CF_IS_DETAIL | CF_IS_PART},
    {"not in memory", "absent_bytes", CF_UNIT_BYTES, CF_IS_DETAIL | CF_IS_PART},
    {"", "fraction", CF_UNIT_BAR, 0},
};

static const struct cf_query histogram_query = {
    .sql = "SELECT * FROM v_hole_size",
    .columns = histogram_columns,
    .nr_columns = sizeof histogram_columns / sizeof histogram_columns[0],
    .rows = 4,
    .bar_of = 5,
};

static const struct cf_column hole_columns[] = {
    {"id", "hole_id", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"arena", "arena_id", CF_UNIT_COUNT, 0},
    {"heap", "heap_id", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"address", "address", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"hole at", "address_hex", CF_UNIT_ADDRESS, 0},
    {"size", "size_bytes", CF_UNIT_BYTES, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"releasable", "releasable_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"below", "below_address", CF_UNIT_ADDRESS, CF_IS_DETAIL | CF_IS_OPTIONAL},
    {"live below", "below_address_hex", CF_UNIT_ADDRESS, CF_IS_OPTIONAL},
    {"above", "above_address", CF_UNIT_ADDRESS, CF_IS_DETAIL | CF_IS_OPTIONAL},
    {"live above", "above_address_hex", CF_UNIT_ADDRESS, CF_IS_OPTIONAL},
};

static const struct cf_query hole_query = {
    .title = "The largest:",
    .sql = "SELECT * FROM v_hole ORDER BY size_bytes DESC",
    .columns = hole_columns,
    .nr_columns = sizeof hole_columns / sizeof hole_columns[0],
    .rows = 2,
};

int cf_report_holes(struct cf_report *report, struct cf_err *err) {
    if (!cf_report_has_heap(report) ||
        (cf_report_is_brief(report) && !cf_report_is_dead_much(report)))
        return CF_OK;
    struct cf_section *section = cf_doc_section(
        report->doc, "holes", "Holes between live chunks, by size up to the next power of two");
    uint64_t sizes;
    int status = cf_report_table(report, section, &histogram_query, NULL, &sizes, err);
    if (status == CF_OK && sizes == 0)
        cf_section_text(section, CF_TONE_PLAIN, "None: nothing is free below the tops.");
    if (status != CF_OK || cf_report_is_brief(report))
        return status;
    return cf_report_table(report, section, &hole_query, NULL, NULL, err);
}
