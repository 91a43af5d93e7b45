/*
 * The comparison's sections: a table of queries over both databases, and the two waterfalls on one
 * scale, drawn against the larger sum.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/section.h"
#include "rules/rules.h"
#include "store/queries.h"

#define BEFORE_AFTER                                                                              \
    {"before", "before", CF_UNIT_BYTES, 0}, {"after", "after", CF_UNIT_BYTES, 0}, {               \
        "growth", "growth", CF_UNIT_GROWTH, 0                                                     \
    }
#define RESIDENT_BEFORE_AFTER                                                                     \
    {"before", "before", CF_UNIT_BYTES, CF_IS_OLD_RESIDENCY},                                     \
        {"after", "after", CF_UNIT_BYTES, CF_IS_RESIDENCY}, {                                     \
        "growth", "growth", CF_UNIT_GROWTH, CF_IS_BOTH_RESIDENCY                                  \
    }

static const struct cf_column key_columns[] = {{"", "name", CF_UNIT_TEXT, 0}, BEFORE_AFTER};

static const struct cf_column resident_columns[] = {
    {"", "name", CF_UNIT_TEXT, 0},
    RESIDENT_BEFORE_AFTER,
};

static const struct cf_column kind_columns[] = {
    {"type", "type", CF_UNIT_TEXT, 0},
    BEFORE_AFTER,
    {"more chunks", "more_chunks", CF_UNIT_MORE, 0},
};

static const struct cf_column size_columns[] = {
    {"chunk size", "size_bytes", CF_UNIT_BYTES, 0},
    BEFORE_AFTER,
    {"more chunks", "more_chunks", CF_UNIT_MORE, 0},
};

static const struct cf_column hole_columns[] = {
    {"at least", "from_bytes", CF_UNIT_BYTES, 0},
    BEFORE_AFTER,
    {"more holes", "more_holes", CF_UNIT_MORE, 0},
};

static const struct cf_column leak_columns[] = {
    {"size", "size_bytes", CF_UNIT_BYTES, 0},
    {"type", "type", CF_UNIT_TEXT, CF_IS_OPTIONAL},
    BEFORE_AFTER,
    {"more chunks", "more_chunks", CF_UNIT_MORE, 0},
};

static const struct cf_column arena_columns[] = {
    {"arena", "arena_id", CF_UNIT_COUNT, 0},
    {"live before", "live_before", CF_UNIT_BYTES, 0},
    {"live after", "live_after", CF_UNIT_BYTES, 0},
    {"growth", "live_growth", CF_UNIT_GROWTH, 0},
    {"free before", "free_before", CF_UNIT_BYTES, 0},
    {"free after", "free_after", CF_UNIT_BYTES, 0},
    {"growth", "free_growth", CF_UNIT_GROWTH, 0},
};

/* One table of the comparison. */
struct comparison {
    const char *id;
    const char *title;
    struct cf_query query;
};

#define NR(columns) (sizeof columns / sizeof columns[0])

static const struct comparison comparisons[] = {
    {"figures", "Before and after: what is in memory",
     {.sql = cf_sql_diff_figures, .columns = resident_columns,
      .nr_columns = NR(resident_columns), .rows = 10}},
    {"served", "Before and after: what malloc has handed out",
     {.sql = cf_sql_diff_served, .columns = key_columns,
      .nr_columns = NR(key_columns), .rows = 10}},
    {"types", "Live chunks by type, largest growth first",
     {.sql = cf_sql_diff_types, .columns = kind_columns,
      .nr_columns = NR(kind_columns), .rows = 10}},
    {"sizes", "Live chunks by size, largest growth first",
     {.sql = cf_sql_diff_sizes, .columns = size_columns,
      .nr_columns = NR(size_columns), .rows = 8}},
    {"leaks", "Chunks that nothing reaches, largest growth first",
     {.sql = cf_sql_diff_leaks, .columns = leak_columns,
      .nr_columns = NR(leak_columns), .rows = 8}},
    {"waste", "Where the resident heap goes",
     {.sql = cf_sql_diff_waste, .columns = resident_columns,
      .nr_columns = NR(resident_columns), .rows = 10}},
    {"holes", "Holes between live chunks, by size up to the next power of two",
     {.sql = cf_sql_diff_holes, .columns = hole_columns,
      .nr_columns = NR(hole_columns), .rows = 6}},
    {"arenas", "Arenas, largest growth first",
     {.sql = cf_sql_diff_arenas, .columns = arena_columns,
      .nr_columns = NR(arena_columns), .rows = 6}},
    {"budget", "The whole process, resident",
     {.sql = cf_sql_diff_budget, .columns = resident_columns,
      .nr_columns = NR(resident_columns), .rows = 10}},
};

enum { NEW_EXE, OLD_EXE, NEW_BUILD_ID, OLD_BUILD_ID, NEW_MACHINE, OLD_MACHINE, NEW_PID, OLD_PID };

/* The same program: the same file by build id, or by path where one has no build id. */
static bool is_same(const struct cf_stmt *row) {
    if (strcmp(cf_stmt_text(row, NEW_MACHINE), cf_stmt_text(row, OLD_MACHINE)) != 0)
        return false;
    if (!cf_stmt_is_null(row, NEW_BUILD_ID) && !cf_stmt_is_null(row, OLD_BUILD_ID))
        return strcmp(cf_stmt_text(row, NEW_BUILD_ID), cf_stmt_text(row, OLD_BUILD_ID)) == 0;
    return strcmp(cf_stmt_text(row, NEW_EXE), cf_stmt_text(row, OLD_EXE)) == 0;
}

static int check_program(struct cf_report *report, const char *old_path, bool any_program,
                         struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *row = NULL;
    bool found;
    int status = cf_db_prepare(report->db, cf_sql_same_program, &row, err);
    if (status == CF_OK)
        status = cf_stmt_step(row, &found, err);
    if (status != CF_OK)
        return status;
    if (!any_program && !is_same(row))
        return cf_err_set(err, CF_EUSAGE,
                          "%s is of %s and %s is of %s, or of another build of it: growth would "
                          "mean nothing; use --any-program to compare all the same",
                          old_path, cf_stmt_text(row, OLD_EXE), report->db_path,
                          cf_stmt_text(row, NEW_EXE));
    cf_doc_title(report->doc, "corefrag %s  %s   %s (pid %s) -> %s (pid %s)", cf_version(),
                 cf_stmt_text(row, NEW_EXE), old_path, cf_stmt_text(row, OLD_PID), report->db_path,
                 cf_stmt_text(row, NEW_PID));
    return CF_OK;
}

static int add_verdict(struct cf_report *report, struct cf_err *err) {
    struct cf_growth growth;
    int status = cf_growth_judge(report->db, &growth, err);
    if (status != CF_OK)
        return status;
    struct cf_section *section = cf_doc_section(report->doc, "verdict", NULL);
    cf_section_text(section, CF_TONE_LEAD, "%s", growth.headline);
    cf_section_text(section, CF_TONE_PLAIN, "%s%s%s", growth.detail,
                    growth.advice[0] != '\0' ? " " : "", growth.advice);
    return CF_OK;
}

/* Of which core the residency is not exact; nothing where it is of both. */
static int add_marks(struct cf_report *report, struct cf_err *err) {
    bool found;
    int64_t is_exact = 1;
    int status = cf_report_load_meta(report, err);
    if (status == CF_OK)
        status = cf_db_query_i64(report->db, cf_sql_old_residency, &found, &is_exact, err);
    if (status != CF_OK)
        return status;
    report->old_residency = is_exact != 0 ? CF_MARK_EXACT : CF_MARK_AT_LEAST;
    bool is_new_exact = cf_report_residency_mark(report) == CF_MARK_EXACT;
    if (is_exact != 0 && is_new_exact)
        return CF_OK;
    cf_section_text(cf_doc_section(report->doc, "marks", NULL), CF_TONE_PLAIN,
                    "What was in memory is not known exactly of %s: \u2265 at least, \u2264 at the "
                    "most, \u2248 about. Figures without a mark are exact.",
                    is_exact != 0  ? "the newer core"
                    : is_new_exact ? "the older core"
                                   : "both cores");
    return CF_OK;
}

/* One of the two databases. */
struct side {
    const char *title;
    const char *sql; /* the waterfall */
    const char *sum_sql;
};

static const struct side sides[] = {
    {"Before:", cf_sql_waterfall_before, cf_sql_waterfall_sum_before},
    {"After, on the same scale:", cf_sql_waterfall_after, cf_sql_waterfall_sum_after},
};
enum { NR_SIDES = sizeof sides / sizeof sides[0] };

struct chart {
    struct cf_table *table;
    enum cf_figure_mark mark;
    double sum;
    double whole; /* the larger of both sums: what bars are drawn against */
};

static void put_segment(const struct chart *chart, const char *class, const char *label,
                        int64_t bytes, const char *note) {
    cf_table_text(chart->table, class);
    cf_table_text(chart->table, label);
    cf_table_integer(chart->table, bytes, chart->mark);
    cf_table_real(chart->table, (double)bytes / chart->whole, CF_MARK_EXACT);
    cf_table_real(chart->table, 100 * (double)bytes / chart->sum, CF_MARK_EXACT);
    cf_table_text(chart->table, note);
}

static void add_segment(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    put_segment(target, cf_stmt_text(row, 0), cf_stmt_text(row, 1), cf_stmt_i64(row, 2),
                cf_stmt_text(row, 3));
}

static int add_side(struct cf_report *report, struct cf_section *section, const struct side *side,
                    int64_t sum, double whole, struct cf_err *err) {
    struct chart chart = {
        .table = cf_section_chart(section, CF_CHART_WATERFALL, side->title, side->sql),
        .mark = side == &sides[0] ? report->old_residency : cf_report_residency_mark(report),
        .sum = sum > 0 ? (double)sum : 1,
        .whole = whole,
    };
    int status = cf_report_each(report, side->sql, add_segment, &chart, err);
    if (status == CF_OK)
        put_segment(&chart, "", "sum", sum, "all that malloc has in memory");
    return status;
}

/* None where nothing says what was resident. */
static int add_waterfalls(struct cf_report *report, struct cf_section *section,
                          struct cf_err *err) {
    int64_t sums[NR_SIDES] = {0};
    int64_t whole = 0;
    for (size_t i = 0; i < NR_SIDES; i++) {
        bool found;
        int status = cf_db_query_i64(report->db, sides[i].sum_sql, &found, &sums[i], err);
        if (status != CF_OK || !found)
            return status;
        whole = sums[i] > whole ? sums[i] : whole;
    }
    for (size_t i = 0; i < NR_SIDES && whole > 0; i++) {
        int status = add_side(report, section, &sides[i], sums[i], (double)whole, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static int add_comparisons(struct cf_report *report, struct cf_err *err) {
    for (size_t i = 0; i < NR(comparisons); i++) {
        const struct comparison *comparison = &comparisons[i];
        struct cf_section *section =
            cf_doc_section(report->doc, comparison->id, comparison->title);
        struct cf_table *table = NULL;
        uint64_t nr_rows = 0;
        int status = CF_OK;
        if (report->is_page && strcmp(comparison->id, "waste") == 0)
            status = add_waterfalls(report, section, err);
        if (status == CF_OK)
            status = cf_report_table(report, section, &comparison->query, &table, &nr_rows, err);
        if (status != CF_OK)
            return status;
        /* Queries over two databases are long: a reader of the text asks for them. */
        if (report->options->format == CF_FORMAT_TEXT && !report->options->full)
            cf_table_sql(table, NULL);
        if (nr_rows == 0)
            cf_section_text(section, CF_TONE_PLAIN, "No change.");
    }
    return CF_OK;
}

static void add_footer(struct cf_report *report, const char *old_path) {
    struct cf_section *section = cf_doc_section(report->doc, "database", NULL);
    cf_section_text(section, CF_TONE_PLAIN,
                    "The queries behind these tables (--full shows them) run in the newer "
                    "database, with the older one attached as old:");
    cf_section_code(section, "sqlite3 %s", report->db_path);
    cf_section_code(section, "ATTACH '%s' AS old;", old_path);
}

static void free_doc(struct cf_doc **doc) {
    cf_doc_free(*doc);
}

/* The document is the caller's. */
static void fini_report(struct cf_report *report) {
    report->doc = NULL;
    cf_report_fini(report);
}

int cf_diff_build(struct cf_db *db, const char *old_path, const char *new_path,
                  const struct cf_report_options *options, bool any_program, struct cf_doc **out,
                  struct cf_err *err) {
    CF_CLEANUP(free_doc) struct cf_doc *doc = cf_doc_new();
    if (doc == NULL)
        return cf_err_nomem(err, sizeof *doc, "the report");
    CF_CLEANUP(fini_report)
    struct cf_report report = {.db = db,
                               .db_path = new_path,
                               .options = options,
                               .doc = doc,
                               .is_page = options->format == CF_FORMAT_HTML};
    int status = check_program(&report, old_path, any_program, err);
    if (status == CF_OK)
        status = add_verdict(&report, err);
    if (status == CF_OK)
        status = add_marks(&report, err);
    if (status == CF_OK)
        status = add_comparisons(&report, err);
    if (status == CF_OK) {
        add_footer(&report, old_path);
        status = cf_doc_status(doc, err);
    }
    if (status == CF_OK)
        *out = cf_take(&doc);
    return status;
}
