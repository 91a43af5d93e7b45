/*
 * Sections that are one table: a title, and what one view has. Each says when it has nothing to
 * say; a table without rows is left out anyway.
 */
#include "report/section.h"

/* ---- Without a heap: where the memory stands instead. ---- */

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

/* ---- Live chunks that nothing reaches. ---- */

static const struct cf_column leak_columns[] = {
    {"size", "size_bytes", CF_UNIT_BYTES, 0},
    {"what was lost", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"points to", "points_to", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"how often", "leaders", CF_UNIT_COUNT, 0},
    {"chunks with it", "chunks", CF_UNIT_COUNT, 0},
    {"bytes with it", "bytes", CF_UNIT_BYTES, 0},
    {"one of them", "example_address_hex", CF_UNIT_TEXT, CF_IS_DETAIL},
};

static const struct cf_query leak_query = {
    .sql = "SELECT * FROM v_lost",
    .columns = leak_columns,
    .nr_columns = sizeof leak_columns / sizeof leak_columns[0],
    .rows = 4,
};

int cf_report_leaks(struct cf_report *report, struct cf_err *err) {
    if (cf_report_fact_i64(report, "leak_chunks") == 0)
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "leaks", "Leaks (at least): live, and nothing leads to it");
    return cf_report_table(report, section, &leak_query, NULL, NULL, err);
}

/* ---- The settings of malloc that are not the defaults. ---- */

static const struct cf_column tunable_columns[] = {
    {"setting", "name", CF_UNIT_TEXT, 0},
    {"value", "value", CF_UNIT_TEXT, 0},
    {"from", "source", CF_UNIT_TEXT, 0},
    {"", "note", CF_UNIT_TEXT, 0},
};

static const struct cf_query tunable_query = {
    .sql = "SELECT * FROM v_tunable WHERE source <> 'default'",
    .columns = tunable_columns,
    .nr_columns = sizeof tunable_columns / sizeof tunable_columns[0],
    .rows = 10,
};

int cf_report_tunables(struct cf_report *report, struct cf_err *err) {
    if (!cf_report_has_heap(report))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "tunables", "Settings of malloc that are not the default");
    return cf_report_table(report, section, &tunable_query, NULL, NULL, err);
}

/* ---- The threads: which arena each allocates from, and what its stack holds. ---- */

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

/* ---- What does not add up, by kind. ---- */

static const struct cf_column anomaly_columns[] = {
    {"where", "source", CF_UNIT_TEXT, 0},
    {"what", "code", CF_UNIT_TEXT, 0},
    {"times", "times", CF_UNIT_COUNT, 0},
    {"corruption", "is_corruption", CF_UNIT_COUNT, 0},
    {"for example", "example", CF_UNIT_TEXT, 0},
};

static const struct cf_query anomaly_query = {
    .sql = "SELECT * FROM v_anomaly_kind",
    .columns = anomaly_columns,
    .nr_columns = sizeof anomaly_columns / sizeof anomaly_columns[0],
    .rows = 8,
};

int cf_report_anomalies(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section =
        cf_doc_section(report->doc, "anomalies", "Anomalies: what does not add up");
    return cf_report_table(report, section, &anomaly_query, NULL, NULL, err);
}
