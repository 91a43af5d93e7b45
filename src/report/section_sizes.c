/* Size classes: which sizes of chunks the memory is in. */
#include "report/section.h"

static const struct cf_column size_columns[] = {
    {"chunk size", "size_bytes", CF_UNIT_BYTES, false},
    {"chunks", "chunks", CF_UNIT_COUNT, false},
    {"bytes", "bytes", CF_UNIT_BYTES, false},
    {"share of bytes", "fraction", CF_UNIT_BAR, false},
};
enum { NR_SIZE_COLUMNS = sizeof size_columns / sizeof size_columns[0] };

int cf_report_sizes(struct cf_report *report, struct cf_err *err) {
    const struct cf_totals *totals = &report->totals;
    const struct cf_query live = {
        .title = "Live, most bytes first (what the program asked for is 8 to 23 bytes less):",
        .sql = "SELECT size_bytes, sum(chunks) AS chunks, sum(bytes) AS bytes FROM v_size_class "
               "WHERE state IN ('live', 'mmapped') GROUP BY size_bytes ORDER BY bytes DESC, "
               "size_bytes",
        .columns = size_columns,
        .nr_columns = NR_SIZE_COLUMNS,
        .rows = 8,
        .bar_of = 2,
        .bar_whole = totals->live_bytes + totals->mmapped_bytes,
    };
    const struct cf_query freed = {
        .title = "Freed (in bins, tcaches, fastbins), most bytes first:",
        .sql = "SELECT size_bytes, sum(chunks) AS chunks, sum(bytes) AS bytes FROM v_size_class "
               "WHERE state IN ('free', 'fast', 'tcache') GROUP BY size_bytes ORDER BY bytes DESC, "
               "size_bytes",
        .columns = size_columns,
        .nr_columns = NR_SIZE_COLUMNS,
        .rows = 8,
        .bar_of = 2,
        .bar_whole = totals->hole_bytes,
    };
    if (totals->arenas == 0 && totals->mmapped_chunks == 0)
        return CF_OK;
    struct cf_section *section = cf_doc_section(report->doc, "sizes", "Size classes");
    int status = cf_report_table(report, section, &live, NULL, err);
    return status == CF_OK ? cf_report_table(report, section, &freed, NULL, err) : status;
}
