/* Holes: where the freed memory lies, and which live chunks bound it. */
#include "report/section.h"

static const struct cf_column hole_columns[] = {
    {"hole", "address", CF_UNIT_ADDRESS, false},
    {"arena", "arena_id", CF_UNIT_COUNT, false},
    {"size", "size_bytes", CF_UNIT_BYTES, false},
    {"resident", "resident_bytes", CF_UNIT_BYTES, true},
    {"chunks", "chunks", CF_UNIT_COUNT, false},
    {"live chunk below", "below_address", CF_UNIT_ADDRESS, false},
    {"live chunk above", "above_address", CF_UNIT_ADDRESS, false},
};

static const struct cf_query hole_query = {
    .title = "The largest. No chunk above: the arena's top, an end marker or the heap's end is "
             "there.",
    .sql = "SELECT address_hex, arena_id, size_bytes, resident_bytes, chunks, "
           "coalesce(below_address_hex, '-'), coalesce(above_address_hex, '-') FROM v_hole "
           "ORDER BY size_bytes DESC, address",
    .columns = hole_columns,
    .nr_columns = sizeof hole_columns / sizeof hole_columns[0],
    .rows = 8,
};

static const struct cf_column histogram_columns[] = {
    {"from", "from_bytes", CF_UNIT_BYTES, false},
    {"holes", "holes", CF_UNIT_COUNT, false},
    {"bytes", "bytes", CF_UNIT_BYTES, false},
    {"resident", "resident_bytes", CF_UNIT_BYTES, true},
    {"share of bytes", "fraction", CF_UNIT_BAR, false},
};

static const struct cf_query histogram_query = {
    .title = "By size, up to the next power of two:",
    .sql = "SELECT from_bytes, sum(holes), sum(bytes), sum(resident_bytes), 1.0 * sum(bytes) / "
           "(SELECT sum(bytes) FROM v_hole_histogram) FROM v_hole_histogram GROUP BY from_bytes "
           "ORDER BY from_bytes DESC",
    .columns = histogram_columns,
    .nr_columns = sizeof histogram_columns / sizeof histogram_columns[0],
    .rows = 24,
};

int cf_report_holes(struct cf_report *report, struct cf_err *err) {
    if (report->totals.arenas == 0)
        return CF_OK;
    struct cf_section *section = cf_doc_section(report->doc, "holes", "Holes");
    if (report->totals.holes == 0) {
        cf_section_text(section, CF_TONE_PLAIN, "None: nothing is free below the tops.");
        return CF_OK;
    }
    int status = cf_report_table(report, section, &histogram_query, NULL, err);
    return status == CF_OK ? cf_report_table(report, section, &hole_query, NULL, err) : status;
}
