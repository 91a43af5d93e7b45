/* The arenas against their limit, those that waste the most first. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/section.h"

/* Drawn on a page, and for machines. */
enum { DRAWN = CF_IS_RESIDENCY | CF_IS_DETAIL | CF_IS_PART, WIDE = CF_IS_DETAIL | CF_IS_WIDE };

static const struct cf_column arena_columns[] = {
    {"arena", "arena_id", CF_UNIT_COUNT, 0},
    {"main", "is_main", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"heaps", "heaps", CF_UNIT_COUNT, WIDE},
    {"threads", "threads", CF_UNIT_COUNT, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"live", "live_percent", CF_UNIT_PERCENT, 0},
    {"releasable", "releasable_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY | CF_IS_PART},
    {"pinned", "pinned_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY | CF_IS_PART},
    {"max hole", "largest_hole_bytes", CF_UNIT_BYTES, 0},
    {"top pin", "top_pin", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"live, resident", "live_resident_bytes", CF_UNIT_BYTES, DRAWN},
    {"top, resident", "top_resident_bytes", CF_UNIT_BYTES, DRAWN},
    {"cached, resident", "cached_resident_bytes", CF_UNIT_BYTES, DRAWN},
    {"cache-pinned, resident", "cache_pinned_resident_bytes", CF_UNIT_BYTES, DRAWN},
    {"edge, resident", "edge_resident_bytes", CF_UNIT_BYTES, DRAWN},
    {"overhead", "overhead_resident_bytes", CF_UNIT_BYTES, DRAWN},
    {"mapped", "mapped_bytes", CF_UNIT_BYTES, CF_IS_DETAIL},
    {"holes", "holes", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"in holes", "hole_bytes", CF_UNIT_BYTES, CF_IS_DETAIL},
    {"that chunk unlocks", "top_pin_unlocks_bytes", CF_UNIT_BYTES, WIDE | CF_IS_OPTIONAL},
    {"its holder", "top_pin_holder", CF_UNIT_TEXT, WIDE | CF_IS_OPTIONAL},
    {"dead, resident", "dead_resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY | CF_IS_DETAIL},
};

static const struct cf_query arena_query = {
    .sql = "SELECT * FROM v_arena_waste",
    .columns = arena_columns,
    .nr_columns = sizeof arena_columns / sizeof arena_columns[0],
    .rows = 4,
};

/* "limit 64, set" or what is known of it. */
static void describe_limit(const struct cf_report *report, char *out, size_t bytes) {
    const struct cf_fact *limit = cf_report_fact(report, "arena_limit");
    const struct cf_fact *formula = cf_report_fact(report, "arena_limit_formula");
    const struct cf_fact *cpus = cf_report_fact(report, "cpus");
    bool is_set = strcmp(formula->text, "arena_max") == 0;
    const char *reached = cf_report_fact_i64(report, "limit_reached") != 0 ? ", reached" : "";
    if (limit->is_known && is_set)
        (void)snprintf(out, bytes, " (limit %" PRId64 ", set)",
                       limit->integer);
    else if (limit->is_known && cpus->is_known)
        (void)snprintf(out, bytes, " (limit %" PRId64 " = %s, %" PRId64 " of them%s)",
                       limit->integer, formula->text, cpus->integer, reached);
    else if (formula->is_known && *formula->text != '\0')
        (void)snprintf(out, bytes, " (limit %s: --cpus has their number)", formula->text);
}

/* Where threads may be missing, an arena without one says nothing. */
static void describe_idle(const struct cf_report *report, char *out, size_t bytes) {
    int64_t idle = cf_report_fact_i64(report, "idle_arenas");
    const struct cf_fact *held = cf_report_fact(report, "idle_resident_bytes");
    char amount[CF_FORMAT_MAX];
    if (idle == 0 || cf_report_meta_i64(report, "core_complete") == 0)
        return;
    (void)snprintf(out, bytes, ", %" PRId64 " arena%s no thread", idle,
                   idle == 1 ? " serves" : "s serve");
    size_t used = strlen(out);
    if (held->is_known)
        (void)snprintf(out + used, bytes - used, " and hold%s %s", idle == 1 ? "s" : "",
                       cf_report_bytes(report, amount, held->integer));
}

/* An arena has one heap, unless it grew out of it. */
static void describe_heaps(const struct cf_report *report, char *out, size_t bytes) {
    int64_t heaps = cf_report_fact_i64(report, "heaps");
    if (heaps != cf_report_fact_i64(report, "arenas"))
        (void)snprintf(out, bytes, " in %" PRId64 " heaps", heaps);
}

int cf_report_arenas(struct cf_report *report, struct cf_err *err) {
    if (!cf_report_has_heap(report))
        return CF_OK;
    char title[384], limit[128] = "", heaps[64] = "", idle[128] = "";
    int64_t threads = cf_report_meta_i64(report, "threads");
    describe_limit(report, limit, sizeof limit);
    describe_idle(report, idle, sizeof idle);
    describe_heaps(report, heaps, sizeof heaps);
    (void)snprintf(title, sizeof title, "Arenas: %" PRId64 "%s%s, %" PRId64 " thread%s%s",
                   cf_report_fact_i64(report, "arenas"), limit, heaps, threads,
                   cf_format_plural(threads), idle);
    struct cf_section *section = cf_doc_section(report->doc, "arenas", title);
    return cf_report_table(report, section, &arena_query, NULL, NULL, err);
}
