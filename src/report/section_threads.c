/* The threads: which arena each allocates from, and what its stack holds. */
#include "report/section.h"

static const struct cf_column thread_columns[] = {
    {"thread", "thread_id", CF_UNIT_COUNT, 0},
    {"tid", "tid", CF_UNIT_TEXT, 0},
    {"arena", "arena_id", CF_UNIT_COUNT, 0},
    {"stack", "stack_bytes", CF_UNIT_BYTES, 0},
    {"stack in memory", "stack_resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"in its cache", "cached_bytes", CF_UNIT_BYTES, CF_IS_OPTIONAL},
    {"signal", "is_crashing", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"in", "top_frame", CF_UNIT_TEXT, CF_IS_OPTIONAL},
};

static const struct cf_query thread_query = {
    .sql = "SELECT thread_id, CAST(tid AS TEXT) AS tid, arena_id, stack_end - stack_start AS "
           "stack_bytes, stack_resident_bytes, (SELECT sum(bytes) FROM v_tcache c WHERE "
           "c.thread_id = v_thread.thread_id) AS cached_bytes, iif(is_crashing, 'here', NULL) AS "
           "is_crashing, top_frame FROM v_thread ORDER BY thread_id",
    .columns = thread_columns,
    .nr_columns = sizeof thread_columns / sizeof thread_columns[0],
    .rows = 20,
};

int cf_report_threads(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section = cf_doc_section(report->doc, "threads", "Threads");
    return cf_report_table(report, section, &thread_query, NULL, NULL, err);
}
