/* What the live chunks are, by their content; those that hold the most first. */
#include "report/section.h"

static const char types_sql[] = "SELECT * FROM v_live_type";

static const struct cf_column type_columns[] = {
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"known by", "evidence", CF_UNIT_TEXT, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"of them unreachable", "unreachable_bytes", CF_UNIT_BYTES, CF_IS_OPTIONAL},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"one hangs on", "held_by", CF_UNIT_TEXT, CF_IS_DETAIL | CF_IS_WIDE | CF_IS_OPTIONAL},
    {"way", "holder", CF_UNIT_TEXT, CF_IS_DETAIL | CF_IS_OPTIONAL},
    {"", "fraction", CF_UNIT_BAR, 0},
};

static const struct cf_query type_query = {
    .sql = types_sql,
    .columns = type_columns,
    .nr_columns = sizeof type_columns / sizeof type_columns[0],
    .rows = 20,
    .bar_of = 5,
};

static const struct cf_column brief_columns[] = {
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"known by", "evidence", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"of them unreachable", "unreachable_bytes", CF_UNIT_BYTES, CF_IS_DETAIL | CF_IS_OPTIONAL},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"one hangs on", "held_by", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"way", "holder", CF_UNIT_TEXT, CF_IS_DETAIL | CF_IS_OPTIONAL},
};

static const struct cf_query brief_query = {
    .sql = types_sql,
    .columns = brief_columns,
    .nr_columns = sizeof brief_columns / sizeof brief_columns[0],
    .rows = 5,
};

int cf_report_types(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section =
        cf_doc_section(report->doc, "types", "What the live chunks are (a guess from their bytes)");
    const struct cf_query *query = cf_report_is_brief(report) ? &brief_query : &type_query;
    return cf_report_table(report, section, query, NULL, NULL, err);
}
