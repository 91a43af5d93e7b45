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
    .title = "The largest (where no live chunk is above, the top, an end marker or the heap's end "
             "is):",
    .sql = "SELECT address_hex, arena_id, size_bytes, resident_bytes, chunks, "
           "coalesce(below_address_hex, '-') AS below, coalesce(above_address_hex, '-') AS above "
           "FROM v_hole ORDER BY size_bytes DESC, address",
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

static int add_histogram(struct cf_report *report, struct cf_section *section, struct cf_err *err) {
    const struct cf_query query = {
        .title = "By size, up to the next power of two:",
        .sql = "SELECT from_bytes, sum(holes) AS holes, sum(bytes) AS bytes, sum(resident_bytes) "
               "AS resident_bytes FROM v_hole_histogram GROUP BY from_bytes ORDER BY from_bytes "
               "DESC",
        .columns = histogram_columns,
        .nr_columns = sizeof histogram_columns / sizeof histogram_columns[0],
        .rows = 24,
        .bar_of = 2,
        .bar_whole = report->totals.hole_bytes,
    };
    return cf_report_table(report, section, &query, NULL, err);
}

int cf_report_holes(struct cf_report *report, struct cf_err *err) {
    if (report->totals.arenas == 0)
        return CF_OK;
    struct cf_section *section = cf_doc_section(report->doc, "holes", "Holes");
    if (report->totals.holes == 0) {
        cf_section_text(section, CF_TONE_PLAIN, "None: nothing is free below the tops.");
        return CF_OK;
    }
    int status = add_histogram(report, section, err);
    return status == CF_OK ? cf_report_table(report, section, &hole_query, NULL, err) : status;
}
