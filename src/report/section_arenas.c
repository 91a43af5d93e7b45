/* The arenas, those that hold the most freed memory first. */
#include <inttypes.h>
#include <stdio.h>

#include "report/section.h"

static const struct cf_column arena_columns[] = {
    {"arena", "arena", CF_UNIT_TEXT, false},
    {"threads", "threads", CF_UNIT_COUNT, false},
    {"heaps", "heaps", CF_UNIT_COUNT, false},
    {"mapped", "mapped_bytes", CF_UNIT_BYTES, false},
    {"resident", "resident_bytes", CF_UNIT_BYTES, true},
    {"live", "live_bytes", CF_UNIT_BYTES, false},
    {"freed", "hole_bytes", CF_UNIT_BYTES, false},
    {"top", "top_bytes", CF_UNIT_BYTES, false},
    {"largest hole", "largest_hole_bytes", CF_UNIT_BYTES, false},
};

static const struct cf_query arena_query = {
    .sql = "SELECT iif(is_main, arena_id || ' main', arena_id) AS arena, coalesce(threads, "
           "attached_threads) AS threads, heaps, mapped_bytes, resident_bytes, live_bytes, "
           "hole_bytes, "
           "top_bytes, largest_hole_bytes FROM v_arena ORDER BY hole_bytes + top_bytes DESC, "
           "arena_id",
    .columns = arena_columns,
    .nr_columns = sizeof arena_columns / sizeof arena_columns[0],
    .rows = 10,
};

static int add_summary(struct cf_report *report, struct cf_section *section, struct cf_err *err) {
    bool found;
    int64_t idle = 0;
    /* Where threads may be missing, an arena without one says nothing. */
    int status = cf_db_query_i64(report->db,
                                 "SELECT count(*) FROM v_arena WHERE NOT is_main AND "
                                 "coalesce(threads, attached_threads) = 0 AND "
                                 "(SELECT value FROM meta WHERE key = 'core_complete')",
                                 &found, &idle, err);
    if (status != CF_OK)
        return status;
    const struct cf_totals *totals = &report->totals;
    int64_t threads = cf_report_meta_i64(report, "threads");
    char none[64] = "";
    if (idle > 0)
        (void)snprintf(none, sizeof none, "; %" PRId64 " arena%s no thread", idle,
                       idle == 1 ? " serves" : "s serve");
    cf_section_text(section, CF_TONE_PLAIN,
                    "%" PRId64 " arena%s in %" PRId64 " heap%s for %" PRId64
                    " thread%s%s. Freed: in bins, tcaches, fastbins.",
                    totals->arenas, cf_format_plural(totals->arenas), totals->heaps,
                    cf_format_plural(totals->heaps), threads, cf_format_plural(threads), none);
    return CF_OK;
}

int cf_report_arenas(struct cf_report *report, struct cf_err *err) {
    if (report->totals.arenas == 0)
        return CF_OK;
    struct cf_section *section = cf_doc_section(report->doc, "arenas", "Arenas, most freed first");
    int status = add_summary(report, section, err);
    return status == CF_OK ? cf_report_table(report, section, &arena_query, NULL, err) : status;
}
