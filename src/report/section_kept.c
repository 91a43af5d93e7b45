/*
 * What keeps free memory from going back: live chunks on its pages, live chunks at the tops, and
 * the holes between live chunks.
 */
#include <inttypes.h>

#include "report/section.h"

static const struct cf_column pinner_columns[] = {
    {"size", "size_bytes", CF_UNIT_BYTES, 0},
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"arenas", "arenas", CF_UNIT_COUNT, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"live", "live_bytes", CF_UNIT_BYTES, CF_IS_DETAIL},
    {"pins", "pinned_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"per live byte", "bytes_per_live_byte", CF_UNIT_COUNT, 0},
    {"one hangs on", "held_by", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"way", "holder", CF_UNIT_TEXT, CF_IS_OPTIONAL | CF_IS_DETAIL | CF_IS_WIDE},
};

static const struct cf_query pinner_query = {
    .sql = "SELECT * FROM v_pinner",
    .columns = pinner_columns,
    .nr_columns = sizeof pinner_columns / sizeof pinner_columns[0],
    .rows = 4,
};

static const struct cf_column top_columns[] = {
    {"arena", "arena_id", CF_UNIT_COUNT, 0},
    {"heap", "heap_id", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"rank", "rank", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"header", "address", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"header", "address_hex", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"user address", "user_address", CF_UNIT_ADDRESS, CF_IS_DETAIL},
    {"malloc returned", "user_address_hex", CF_UNIT_ADDRESS, 0},
    {"size", "size_bytes", CF_UNIT_BYTES, 0},
    {"hole below", "hole_below_bytes", CF_UNIT_BYTES, CF_IS_DETAIL},
    {"holds down", "unlocked_bytes", CF_UNIT_BYTES, 0},
    {"resident", "unlocked_resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"free() returns", "returned_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"hangs on", "held_by", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"way", "holder", CF_UNIT_TEXT, CF_IS_OPTIONAL | CF_IS_DETAIL | CF_IS_WIDE},
};

static const struct cf_query top_query = {
    .title = "Below each arena's top:",
    .sql = "SELECT * FROM v_top_pin WHERE rank = 1 ORDER BY unlocked_bytes DESC",
    .columns = top_columns,
    .nr_columns = sizeof top_columns / sizeof top_columns[0],
    .rows = 3,
};

/* Worth telling where free() would have trimmed, had the chunk not been there. */
static int add_tops(struct cf_report *report, struct cf_section *section, struct cf_err *err) {
    bool found;
    int64_t large = 0;
    int status = cf_db_query_i64(report->db,
                                 "SELECT count(*) FROM v_top_pin WHERE rank = 1 AND "
                                 "unlocked_bytes >= 131072", &found, &large, err);
    if (status != CF_OK || (large == 0 && !report->options->full))
        return status;
    char bytes[CF_FORMAT_MAX];
    if (large > 1)
        cf_section_text(section, CF_TONE_PLAIN,
                        "In %" PRId64 " of %" PRId64 " arenas one live chunk holds down more than "
                        "128 KiB; without it free() would give back %s by itself (bound).",
                        large, cf_report_fact_i64(report, "used_arenas"),
                        cf_report_bytes(report, bytes,
                                        cf_report_fact_i64(report, "unlock_1_bytes")));
    return cf_report_table(report, section, &top_query, NULL, NULL, err);
}

/* A twentieth of the heap: less than that nobody asks why it stays. */
static bool is_worth_telling(const struct cf_report *report) {
    int64_t pinned = cf_report_fact_i64(report, "pinned_bytes");
    int64_t unlocked = cf_report_fact_i64(report, "unlock_1_bytes");
    return (pinned > unlocked ? pinned : unlocked) >=
           cf_report_fact_i64(report, "heap_resident_bytes") / 20;
}

int cf_report_pins(struct cf_report *report, struct cf_err *err) {
    if (cf_report_fact_i64(report, "pinning_chunks") == 0 &&
        cf_report_fact_i64(report, "pinned_tops") == 0)
        return CF_OK;
    if (cf_report_is_brief(report) && !is_worth_telling(report))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "pins", "What pins it: live chunks that keep a page");
    int status = cf_report_table(report, section, &pinner_query, NULL, NULL, err);
    return status == CF_OK ? add_tops(report, section, err) : status;
}

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
