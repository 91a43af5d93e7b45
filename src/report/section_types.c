/* What the live chunks are: by their content, and by their size. */
#include "report/section.h"

/* ---- By type, those that hold the most first. ---- */

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

/* On a page types have their place; where there is little room they stand first, if they explain
 * what is in memory. */
int cf_report_types(struct cf_report *report, struct cf_err *err) {
    if (!report->is_page && (!cf_report_has_heap(report) || (cf_report_is_brief(report) &&
                                                             !cf_report_is_live_much(report))))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "types", "What the live chunks are (a guess from their bytes)");
    const struct cf_query *query = cf_report_is_brief(report) ? &brief_query : &type_query;
    return cf_report_table(report, section, query, NULL, NULL, err);
}

/* ---- By whose they are. ---- */

static const struct cf_column owner_columns[] = {
    {"kind", "kind", CF_UNIT_TEXT, 0},
    {"whose", "name", CF_UNIT_TEXT, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_DETAIL | CF_IS_RESIDENCY},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"one of them", "example_address_hex", CF_UNIT_TEXT, CF_IS_DETAIL},
};

/* All bytes are of live chunks, and each is in one row. */
static const struct cf_query owner_query = {
    .sql = "SELECT * FROM v_live_owner",
    .columns = owner_columns,
    .nr_columns = sizeof owner_columns / sizeof owner_columns[0],
    .rows = 5,
};

/* Where it is not live chunks that explain what is in memory, a page has room for it. */
int cf_report_owners(struct cf_report *report, struct cf_err *err) {
    if (!report->is_page && (!cf_report_has_heap(report) || (cf_report_is_brief(report) &&
                                                             !cf_report_is_live_much(report))))
        return CF_OK;
    struct cf_section *section =
        cf_doc_section(report->doc, "owners", "Whose memory it is: what each keeps alive alone");
    return cf_report_table(report, section, &owner_query, NULL, NULL, err);
}

/* ---- What the holes once were. ---- */

static const struct cf_column ghost_columns[] = {
    {"type", "type", CF_UNIT_TEXT, 0},
    {"dead, and still show", "ghosts", CF_UNIT_COUNT, 0},
    {"bytes", "ghost_bytes", CF_UNIT_BYTES, 0},
    {"alive", "alive", CF_UNIT_COUNT, 0},
    {"arenas", "arenas", CF_UNIT_COUNT, 0},
};

static const struct cf_query ghost_query = {
    .sql = "SELECT * FROM v_ghost ORDER BY ghosts DESC",
    .columns = ghost_columns,
    .nr_columns = sizeof ghost_columns / sizeof ghost_columns[0],
    .rows = 4,
};

int cf_report_ghosts(struct cf_report *report, struct cf_err *err) {
    struct cf_section *section = cf_doc_section(
        report->doc, "ghosts", "What the holes once were: dead objects that still show");
    return cf_report_table(report, section, &ghost_query, NULL, NULL, err);
}

/* ---- By size. ---- */

static const struct cf_column size_columns[] = {
    {"chunk size", "size_bytes", CF_UNIT_BYTES, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"", "fraction", CF_UNIT_BAR, 0},
};
enum { NR_SIZE_COLUMNS = sizeof size_columns / sizeof size_columns[0] };

static const struct cf_column live_size_columns[] = {
    {"chunk size", "size_bytes", CF_UNIT_BYTES, 0},
    {"chunks", "chunks", CF_UNIT_COUNT, 0},
    {"bytes", "bytes", CF_UNIT_BYTES, 0},
    {"share", "percent", CF_UNIT_PERCENT, 0},
    {"most are", "most_are", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    {"", "fraction", CF_UNIT_BAR, 0},
};

static const struct cf_query live_query = {
    .sql = "SELECT * FROM v_live_size",
    .columns = live_size_columns,
    .nr_columns = sizeof live_size_columns / sizeof live_size_columns[0],
    .rows = 4,
    .bar_of = 3,
};

static const struct cf_query dead_query = {
    .title = "Freed, in bins and caches:",
    .sql = "SELECT * FROM v_dead_size",
    .columns = size_columns,
    .nr_columns = NR_SIZE_COLUMNS,
    .rows = 20,
    .bar_of = 3,
};

/* Sizes tell something where types do not. */
static int types_tell(struct cf_report *report, bool *out, struct cf_err *err) {
    bool found;
    int64_t tell = 0;
    int status = cf_db_query_i64(report->db,
                                 "SELECT total(bytes) FILTER (WHERE type IS NULL) * 4 < "
                                 "total(bytes) FROM v_type", &found, &tell, err);
    *out = tell != 0;
    return status;
}

int cf_report_sizes(struct cf_report *report, struct cf_err *err) {
    bool is_told = false;
    int status = CF_OK;
    if (!cf_report_has_heap(report))
        return CF_OK;
    if (cf_report_is_brief(report))
        status = types_tell(report, &is_told, err);
    if (status != CF_OK || is_told ||
        (cf_report_is_brief(report) && !cf_report_is_live_much(report)))
        return status;
    struct cf_section *section = cf_doc_section(
        report->doc, "sizes", "Live chunks by size (malloc was asked for 8 to 23 bytes less)");
    status = cf_report_table(report, section, &live_query, NULL, NULL, err);
    /* Free chunks merge with their neighbours: their sizes say little, and are for --full. */
    if (status == CF_OK && report->options->full)
        status = cf_report_table(report, section, &dead_query, NULL, NULL, err);
    return status;
}
