#include "report/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/diff_charts.h"
#include "report/section.h"
#include "rules/growth.h"

#define BEFORE_AFTER                                                                              \
    {"before", "before", CF_UNIT_BYTES, 0}, {"after", "after", CF_UNIT_BYTES, 0}, {               \
        "growth", "growth", CF_UNIT_GROWTH, 0                                                     \
    }
#define RESIDENT_BEFORE_AFTER                                                                     \
    {"before", "before", CF_UNIT_BYTES, CF_IS_OLD_RESIDENCY},                                     \
        {"after", "after", CF_UNIT_BYTES, CF_IS_RESIDENCY}, {                                     \
        "growth", "growth", CF_UNIT_GROWTH, CF_IS_BOTH_RESIDENCY                                  \
    }
#define CHANGED " FROM (" /* both sides as rows, to be summed */

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
     {.sql = "SELECT name, before, after, after - before AS growth FROM ("
             "SELECT 'anonymous memory' AS name, o.resident_bytes AS before,"
             " n.resident_bytes AS after FROM old.v_fact o, main.v_fact n"
             " UNION ALL SELECT 'malloc', o.heap_resident_bytes, n.heap_resident_bytes"
             " FROM old.v_fact o, main.v_fact n"
             " UNION ALL SELECT 'free and kept', o.retained_free_bytes, n.retained_free_bytes"
             " FROM old.v_fact o, main.v_fact n"
             " UNION ALL SELECT 'releasable by malloc_trim(0)', o.releasable_bytes,"
             " n.releasable_bytes FROM old.v_fact o, main.v_fact n"
             " UNION ALL SELECT 'pinned', o.pinned_bytes, n.pinned_bytes"
             " FROM old.v_fact o, main.v_fact n)",
      .columns = resident_columns, .nr_columns = NR(resident_columns), .rows = 10}},
    {"served", "Before and after: what malloc has handed out",
     {.sql = "SELECT name, before, after, after - before AS growth FROM ("
             "SELECT 'live' AS name, o.live_bytes AS before, n.live_bytes AS after"
             " FROM old.v_fact o, main.v_fact n"
             " UNION ALL SELECT 'of it unreached', o.leak_bytes, n.leak_bytes"
             " FROM old.v_fact o, main.v_fact n)",
      .columns = key_columns, .nr_columns = NR(key_columns), .rows = 10}},
    {"types", "Live chunks by type, largest growth first",
     {.sql = "SELECT coalesce(type, '(by size only)') AS type, sum(b) AS before, sum(a) AS after,"
             " sum(a) - sum(b) AS growth, sum(c) AS more_chunks" CHANGED
             "SELECT type, bytes AS a, 0 AS b, chunks AS c FROM main.v_type"
             " UNION ALL SELECT type, 0, bytes, -chunks FROM old.v_type)"
             " GROUP BY type HAVING growth <> 0 ORDER BY growth DESC, type",
      .columns = kind_columns, .nr_columns = NR(kind_columns), .rows = 10}},
    {"sizes", "Live chunks by size, largest growth first",
     {.sql = "SELECT size_bytes, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth,"
             " sum(c) AS more_chunks" CHANGED
             "SELECT size_bytes, bytes AS a, 0 AS b, chunks AS c FROM main.v_size_class"
             " WHERE state IN ('live', 'mmapped')"
             " UNION ALL SELECT size_bytes, 0, bytes, -chunks FROM old.v_size_class"
             " WHERE state IN ('live', 'mmapped'))"
             " GROUP BY size_bytes HAVING growth <> 0 ORDER BY growth DESC, size_bytes",
      .columns = size_columns, .nr_columns = NR(size_columns), .rows = 8}},
    {"leaks", "Chunks that nothing reaches, largest growth first",
     {.sql = "SELECT size_bytes, type, sum(b) AS before, sum(a) AS after,"
             " sum(a) - sum(b) AS growth, sum(c) AS more_chunks" CHANGED
             "SELECT size_bytes, type, bytes AS a, 0 AS b, chunks AS c FROM main.v_leak"
             " UNION ALL SELECT size_bytes, type, 0, bytes, -chunks FROM old.v_leak)"
             " GROUP BY size_bytes, type HAVING growth <> 0 ORDER BY growth DESC, size_bytes",
      .columns = leak_columns, .nr_columns = NR(leak_columns), .rows = 8}},
    {"waste", "Where the resident heap goes",
     {.sql = "SELECT class AS name, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth"
             CHANGED "SELECT class, class_order, bytes AS a, 0 AS b FROM main.v_waste"
             " WHERE arena_id IS NULL UNION ALL SELECT class, class_order, 0, bytes"
             " FROM old.v_waste WHERE arena_id IS NULL) GROUP BY class ORDER BY min(class_order)",
      .columns = resident_columns, .nr_columns = NR(resident_columns), .rows = 10}},
    {"holes", "Holes between live chunks, by size up to the next power of two",
     {.sql = "SELECT from_bytes, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth,"
             " sum(c) AS more_holes" CHANGED
             "SELECT from_bytes, bytes AS a, 0 AS b, holes AS c FROM main.v_hole_size"
             " UNION ALL SELECT from_bytes, 0, bytes, -holes FROM old.v_hole_size)"
             " GROUP BY from_bytes HAVING growth <> 0 OR more_holes <> 0"
             " ORDER BY from_bytes DESC",
      .columns = hole_columns, .nr_columns = NR(hole_columns), .rows = 6}},
    {"arenas", "Arenas, largest growth first",
     {.sql = "SELECT arena_id, sum(lb) AS live_before, sum(la) AS live_after,"
             " sum(la) - sum(lb) AS live_growth, sum(fb) AS free_before, sum(fa) AS free_after,"
             " sum(fa) - sum(fb) AS free_growth" CHANGED
             "SELECT arena_id, live_bytes AS la, 0 AS lb, hole_bytes + top_bytes AS fa, 0 AS fb"
             " FROM main.v_arena UNION ALL SELECT arena_id, 0, live_bytes, 0,"
             " hole_bytes + top_bytes FROM old.v_arena) GROUP BY arena_id"
             " HAVING live_growth <> 0 OR free_growth <> 0"
             " ORDER BY live_growth + free_growth DESC, arena_id",
      .columns = arena_columns, .nr_columns = NR(arena_columns), .rows = 6}},
    {"budget", "The whole process, resident",
     {.sql = "SELECT kind AS name, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth"
             CHANGED "SELECT kind, resident_bytes AS a, 0 AS b FROM main.v_budget"
             " WHERE resident_bytes IS NOT NULL UNION ALL SELECT kind, 0, resident_bytes"
             " FROM old.v_budget WHERE resident_bytes IS NOT NULL)"
             " GROUP BY kind HAVING before <> 0 OR after <> 0 ORDER BY growth DESC, kind",
      .columns = resident_columns, .nr_columns = NR(resident_columns), .rows = 10}},
};

/* The same program: the same file by build id, or by path where one has no build id. */
static const char same_sql[] =
    "SELECT (SELECT value FROM main.meta WHERE key = 'exe') AS new_exe,"
    " (SELECT value FROM old.meta WHERE key = 'exe') AS old_exe,"
    " (SELECT build_id FROM main.v_module WHERE file = (SELECT value FROM main.meta"
    "  WHERE key = 'exe') LIMIT 1) AS new_id,"
    " (SELECT build_id FROM old.v_module WHERE file = (SELECT value FROM old.meta"
    "  WHERE key = 'exe') LIMIT 1) AS old_id,"
    " (SELECT value FROM main.meta WHERE key = 'machine') AS new_machine,"
    " (SELECT value FROM old.meta WHERE key = 'machine') AS old_machine,"
    " (SELECT value FROM main.meta WHERE key = 'pid') AS new_pid,"
    " (SELECT value FROM old.meta WHERE key = 'pid') AS old_pid";

static bool is_same(const struct cf_stmt *row) {
    if (strcmp(cf_stmt_text(row, 4), cf_stmt_text(row, 5)) != 0)
        return false;
    if (!cf_stmt_is_null(row, 2) && !cf_stmt_is_null(row, 3))
        return strcmp(cf_stmt_text(row, 2), cf_stmt_text(row, 3)) == 0;
    return strcmp(cf_stmt_text(row, 0), cf_stmt_text(row, 1)) == 0;
}

static int check_program(struct cf_report *report, const char *old_path, bool any_program,
                         struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *row = NULL;
    bool found;
    int status = cf_db_prepare(report->db, same_sql, &row, err);
    if (status == CF_OK)
        status = cf_stmt_step(row, &found, err);
    if (status != CF_OK)
        return status;
    if (!any_program && !is_same(row))
        return cf_err_set(err, CF_EUSAGE,
                          "%s is of %s and %s is of %s, or of another build of it: growth would "
                          "mean nothing; use --any-program to compare all the same",
                          old_path, cf_stmt_text(row, 1), report->db_path, cf_stmt_text(row, 0));
    cf_doc_title(report->doc, "corefrag %s  %s   %s (pid %s) -> %s (pid %s)", cf_version(),
                 cf_stmt_text(row, 0), old_path, cf_stmt_text(row, 7), report->db_path,
                 cf_stmt_text(row, 6));
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
        status = cf_db_query_i64(report->db,
                                 "SELECT value FROM old.meta WHERE key = 'residency_exact'",
                                 &found, &is_exact, err);
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

static int add_comparisons(struct cf_report *report, struct cf_err *err) {
    for (size_t i = 0; i < NR(comparisons); i++) {
        const struct comparison *comparison = &comparisons[i];
        struct cf_section *section =
            cf_doc_section(report->doc, comparison->id, comparison->title);
        struct cf_table *table = NULL;
        uint64_t nr_rows = 0;
        int status = CF_OK;
        if (report->is_page && strcmp(comparison->id, "waste") == 0)
            status = cf_diff_waterfalls(report, section, err);
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
