/* Size classes: which sizes of chunks the memory is in. */
#include "report/section.h"

static const struct cf_column size_columns[] = {
    {"chunk size", "size_bytes", CF_UNIT_BYTES, false},
    {"chunks", "chunks", CF_UNIT_COUNT, false},
    {"bytes", "bytes", CF_UNIT_BYTES, false},
    {"share of bytes", "fraction", CF_UNIT_BAR, false},
};
enum { NR_SIZE_COLUMNS = sizeof size_columns / sizeof size_columns[0] };

static const struct cf_query live_query = {
    .title = "Live, most bytes first (a chunk is what was asked for and 8 to 23 bytes more):",
    .sql = "SELECT size_bytes, sum(chunks), sum(bytes), 1.0 * sum(bytes) / (SELECT sum(bytes) FROM "
           "v_size_class WHERE state IN ('live', 'mmapped')) FROM v_size_class WHERE state IN "
           "('live', 'mmapped') GROUP BY size_bytes ORDER BY sum(bytes) DESC, size_bytes",
    .columns = size_columns,
    .nr_columns = NR_SIZE_COLUMNS,
    .rows = 8,
};

static const struct cf_query dead_query = {
    .title = "Freed (in bins, tcaches, fastbins), most bytes first:",
    .sql = "SELECT size_bytes, sum(chunks), sum(bytes), 1.0 * sum(bytes) / (SELECT sum(bytes) FROM "
           "v_size_class WHERE state IN ('free', 'fast', 'tcache')) FROM v_size_class WHERE state "
           "IN ('free', 'fast', 'tcache') GROUP BY size_bytes ORDER BY sum(bytes) DESC, size_bytes",
    .columns = size_columns,
    .nr_columns = NR_SIZE_COLUMNS,
    .rows = 8,
};

int cf_report_sizes(struct cf_report *report, struct cf_err *err) {
    if (report->totals.arenas == 0 && report->totals.mmapped_chunks == 0)
        return CF_OK;
    struct cf_section *section = cf_doc_section(report->doc, "sizes", "Size classes");
    int status = cf_report_table(report, section, &live_query, NULL, err);
    return status == CF_OK ? cf_report_table(report, section, &dead_query, NULL, err) : status;
}
