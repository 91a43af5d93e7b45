/* The headline: what the heap is made of, in the numbers that matter. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/section.h"

/* The last part of a path. */
static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static const char *process_name(const struct cf_report *report) {
    const char *exe = base_name(cf_report_meta(report, "exe"));
    const char *command = cf_report_meta(report, "command");
    if (*exe != '\0')
        return exe;
    return *command != '\0' ? command : "unknown program";
}

static void add_title(struct cf_report *report) {
    char bytes[CF_FORMAT_MAX];
    int64_t threads = cf_report_meta_i64(report, "threads");
    const char *residency = cf_report_meta(report, "residency_source");
    bool is_exact = cf_report_residency_mark(report) == CF_MARK_EXACT;
    cf_doc_title(report->doc,
                 "corefrag %s  %s, pid %s, %" PRId64 " thread%s   %s (%s, %s, %s, residency %s)",
                 cf_report_meta(report, "tool_version"), process_name(report),
                 cf_report_meta(report, "pid"), threads, cf_format_plural(threads),
                 base_name(cf_report_meta(report, "core_path")),
                 cf_report_meta(report, "core_producer"),
                 cf_report_meta_i64(report, "core_complete") != 0 ? "complete" : "incomplete",
                 cf_report_bytes(report, bytes, cf_report_meta_i64(report, "core_bytes")),
                 is_exact                         ? "exact"
                 : strcmp(residency, "none") == 0 ? "unknown"
                                                  : "at least");
}

/* Nothing of what only the program writes is in the core: then the heap is not either, whichever it
 * was. */
static int nothing_dumped(struct cf_report *report, bool *out, struct cf_err *err) {
    bool found;
    int64_t bytes = 0;
    int status = cf_db_query_i64(report->db,
                                 "SELECT sum(dumped_bytes) FROM v_segment WHERE kind IN "
                                 "('anonymous', 'unknown') AND flags LIKE '_w%'",
                                 &found, &bytes, err);
    *out = found && bytes == 0;
    return status;
}

static int add_no_heap(struct cf_report *report, struct cf_section *section, struct cf_err *err) {
    bool is_not_dumped = false;
    int status = nothing_dumped(report, &is_not_dumped, err);
    if (status != CF_OK)
        return status;
    if (cf_report_meta_i64(report, "core_complete") == 0)
        cf_section_text(section, CF_TONE_LEAD,
                        "NO HEAP FOUND: the core is incomplete, and glibc malloc's data is not in "
                        "the part that there is.");
    else if (is_not_dumped)
        cf_section_text(section, CF_TONE_LEAD,
                        "NO HEAP IN THIS CORE: the process's own memory was not dumped. "
                        "/proc/PID/coredump_filter needs bit 0x1 for it; 0x33 is the kernel's "
                        "default.");
    else
        cf_section_text(section, CF_TONE_LEAD,
                        "NO GLIBC MALLOC HEAP: no arena that was ever used is in this core. The "
                        "program uses another allocator, or no malloc at all.");
    return CF_OK;
}

static void add_warning(struct cf_report *report, struct cf_section *section) {
    char bytes[CF_FORMAT_MAX];
    int64_t missing = cf_report_meta_i64(report, "missing_bytes");
    if (cf_report_meta_i64(report, "core_complete") == 0 && missing > 0)
        cf_section_text(section, CF_TONE_WARNING,
                        "INCOMPLETE CORE: %s are missing. What follows is only what is there.",
                        cf_report_bytes(report, bytes, missing));
    else if (cf_report_meta_i64(report, "core_complete") == 0)
        cf_section_text(section, CF_TONE_WARNING,
                        "INCOMPLETE CORE: an unknown part is missing. What follows is only what is "
                        "there.");
}

static double percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* "69.3 MiB", "≥ 69.3 MiB" or "unknown". */
static const char *resident_text(const struct cf_report *report, char out[2 * CF_FORMAT_MAX],
                                 bool is_known, int64_t bytes) {
    char number[CF_FORMAT_MAX];
    if (!is_known)
        return "unknown";
    (void)snprintf(out, 2 * CF_FORMAT_MAX, "%s%s", cf_format_mark(report->totals.resident_mark),
                   cf_report_bytes(report, number, bytes));
    return out;
}

static void add_heap(struct cf_report *report, struct cf_section *section) {
    const struct cf_totals *totals = &report->totals;
    char dead[CF_FORMAT_MAX], mapped[CF_FORMAT_MAX], share[CF_FORMAT_MAX];
    int64_t dead_bytes = totals->hole_bytes + totals->top_bytes;
    cf_section_text(section, CF_TONE_LEAD,
                    "HEAP: of the %s in malloc's %" PRId64 " arena%s, %s (%s) is free memory that "
                    "glibc still holds.",
                    cf_report_bytes(report, mapped, totals->mapped_bytes), totals->arenas,
                    cf_format_plural(totals->arenas), cf_report_bytes(report, dead, dead_bytes),
                    cf_format_percent(share, percent(dead_bytes, totals->mapped_bytes)));
}

/* What of it is in memory, and what part of the whole process that is. */
static void add_resident(struct cf_report *report, struct cf_section *section) {
    const struct cf_totals *totals = &report->totals;
    char heap[2 * CF_FORMAT_MAX], process[2 * CF_FORMAT_MAX];
    cf_section_text(section, CF_TONE_PLAIN,
                    "Resident (in memory when the core was written): %s of the arenas; all "
                    "anonymous memory of the process: %s.",
                    resident_text(report, heap, totals->has_resident, totals->resident_bytes),
                    resident_text(report, process, totals->has_anonymous, totals->anonymous_bytes));
}

static void add_mmapped(struct cf_report *report, struct cf_section *section) {
    const struct cf_totals *totals = &report->totals;
    char bytes[CF_FORMAT_MAX], count[CF_FORMAT_MAX];
    if (totals->mmapped_chunks == 0)
        return;
    cf_section_text(section, CF_TONE_PLAIN,
                    "Outside the arenas, %s live chunk%s in mappings of their own (mmapped): %s.",
                    cf_format_count(count, totals->mmapped_chunks),
                    cf_format_plural(totals->mmapped_chunks),
                    cf_report_bytes(report, bytes, totals->mmapped_bytes));
}

static void add_holes(struct cf_report *report, struct cf_section *section) {
    const struct cf_totals *totals = &report->totals;
    char count[CF_FORMAT_MAX], bytes[CF_FORMAT_MAX], largest[CF_FORMAT_MAX];
    char resident[2 * CF_FORMAT_MAX];
    if (totals->holes == 0)
        return;
    cf_section_text(
        section, CF_TONE_PLAIN,
        "Below the tops, %s of it lies in %s hole%s, the largest %s; resident: %s.",
        cf_report_bytes(report, bytes, totals->hole_bytes), cf_format_count(count, totals->holes),
        cf_format_plural(totals->holes),
        cf_report_bytes(report, largest, totals->largest_hole_bytes),
        resident_text(report, resident, totals->has_hole_resident, totals->hole_resident_bytes));
}

static const struct cf_column part_columns[] = {
    {"part", "part", CF_UNIT_TEXT, false},        {"bytes", "bytes", CF_UNIT_BYTES, false},
    {"share", "percent", CF_UNIT_PERCENT, false}, {"", "fraction", CF_UNIT_BAR, false},
    {"", "meaning", CF_UNIT_TEXT, false},
};

static void add_part(struct cf_table *table, const char *part, int64_t bytes, int64_t whole,
                     const char *meaning) {
    cf_table_text(table, part);
    cf_table_integer(table, bytes, CF_MARK_EXACT);
    cf_table_real(table, percent(bytes, whole), CF_MARK_EXACT);
    cf_table_real(table, percent(bytes, whole) / 100, CF_MARK_EXACT);
    cf_table_text(table, meaning);
}

/* Every accessible byte of the arenas' heaps; the rows sum to the last. */
static void add_parts(struct cf_report *report, struct cf_section *section) {
    const struct cf_totals *totals = &report->totals;
    int64_t whole = totals->mapped_bytes;
    struct cf_table *table =
        cf_section_table(section, NULL,
                         "SELECT sum(live_bytes), sum(free_bytes), sum(tcache_bytes + fast_bytes), "
                         "sum(top_bytes), sum(overhead_bytes), sum(mapped_bytes) FROM v_arena",
                         part_columns, sizeof part_columns / sizeof part_columns[0]);
    add_part(table, "live", totals->live_bytes, whole, "held by the program or libc");
    add_part(table, "free", totals->free_bytes, whole, "in bins, between live chunks");
    add_part(table, "cached", totals->tcache_bytes + totals->fast_bytes, whole,
             "freed, in tcaches and fastbins");
    add_part(table, "top", totals->top_bytes, whole, "unused upper ends of arenas");
    add_part(table, "overhead", totals->overhead_bytes, whole, "malloc's own");
    cf_table_text(table, "all arenas");
    cf_table_integer(table, whole, CF_MARK_EXACT);
    cf_table_empty(table);
    cf_table_empty(table);
    cf_table_empty(table);
}

int cf_report_headline(struct cf_report *report, struct cf_err *err) {
    add_title(report);
    struct cf_section *section = cf_doc_section(report->doc, "headline", NULL);
    if (report->totals.arenas == 0)
        return add_no_heap(report, section, err);
    add_warning(report, section);
    add_heap(report, section);
    add_holes(report, section);
    add_resident(report, section);
    add_mmapped(report, section);
    add_parts(report, section);
    return CF_OK;
}
