/* What the live chunks are, by their content; those that hold the most first. */
#include "report/section.h"

static const struct cf_column type_columns[] = {
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"known by", "evidence", CF_UNIT_TEXT, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"of them unreachable", "unreachable_bytes", CF_UNIT_BYTES, CF_IS_OPTIONAL},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"", "fraction", CF_UNIT_BAR, 0},
};

static const struct cf_query type_query = {
    .sql = "SELECT coalesce(type, '(only its size is known)') AS type, evidence, chunks, bytes, "
           "unreachable_bytes, 100.0 * bytes / sum(bytes) OVER () AS percent FROM v_type "
           "ORDER BY bytes DESC, type",
    .columns = type_columns,
    .nr_columns = sizeof type_columns / sizeof type_columns[0],
    .rows = 20,
    .bar_of = 5,
};

int cf_report_types(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section =
        cf_doc_section(report->doc, "types", "What the live chunks are (a guess from their bytes)");
    return cf_report_table(report, section, &type_query, NULL, NULL, err);
}
