/* The schema: it runs, it is documented to the last column, its filters seek. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/db.h"
#include "store/queries.h"

static int open_schema(void **state) {
    struct cf_db *db = NULL;
    struct cf_err err;
    assert_int_equal(cf_db_open_memory(&db, &err), 0);
    assert_int_equal(cf_db_exec(db, cf_schema_sql(), &err), 0);
    assert_int_equal(
        cf_db_exec(db,
                   "INSERT INTO meta VALUES ('word_bits', 64), ('reachability', 0),"
                   " ('mmapped_header_bytes', 16);"
                   "INSERT INTO heap VALUES (0, 0, 4096, 4112, 8192, 8192, NULL,"
                   " 1, 32, 1, 64, 0, 0, 0, 0, 0, 1, 64, 64, NULL),"
                   " (12, 9, 16384, 16400, 32768, 32768, NULL,"
                   " 1, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL);"
                   "INSERT INTO arena_span VALUES (0, 4096, 8192), (9, 16384, 32768);"
                   "INSERT INTO type (type_id, type, evidence, chunks, bytes, unreachable_chunks,"
                   " unreachable_bytes) VALUES (3, 'std::string', 'owner', 1, 32, 0, 0);"
                   "INSERT INTO chunk (address, size_bytes, code, type_id, arena_id, heap_id)"
                   " VALUES (4112, 32, 0, 3, 0, 0), (4144, 64, 1, NULL, 0, 0),"
                   " (16400, 64, 4, NULL, 9, 12), (65536, 8192, 7, NULL, NULL, NULL);",
                   &err),
        0);
    *state = db;
    return 0;
}

static int close_schema(void **state) {
    cf_db_free(*state);
    return 0;
}

/* Fails with the first rows of `sql`, which lists what should not be. */
static void expect_no_rows(struct cf_db *db, const char *sql) {
    struct cf_stmt *stmt = NULL;
    struct cf_err err;
    bool row = false;
    if (cf_db_prepare(db, sql, &stmt, &err) != 0 || cf_stmt_step(stmt, &row, &err) != 0)
        fail_msg("%s", err.text);
    if (row)
        fail_msg("%s: %s.%s", sql, cf_stmt_text(stmt, 0), cf_stmt_text(stmt, 1));
    cf_stmt_free(stmt);
}

static void every_view_and_column_is_documented(void **state) {
    expect_no_rows(*state, "SELECT name, '' FROM sqlite_schema s WHERE type = 'view' AND NOT EXISTS"
                           " (SELECT 1 FROM doc WHERE object = s.name AND \"column\" = '')");
    expect_no_rows(*state, "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c"
                           " WHERE (s.type = 'view' OR s.name IN ('meta', 'doc', 'example_query'))"
                           " AND NOT EXISTS (SELECT 1 FROM doc d WHERE d.object = s.name"
                           " AND d.\"column\" = c.name AND d.text <> '')");
}

static void nothing_is_documented_that_is_not_there(void **state) {
    expect_no_rows(
        *state, "SELECT object, \"column\" FROM doc WHERE object <> 'meta key' AND \"column\" <> ''"
                " AND NOT EXISTS (SELECT 1 FROM pragma_table_info(doc.object) c"
                " WHERE c.name = doc.\"column\")");
}

static void every_address_is_also_hex_text(void **state) {
    expect_no_rows(*state,
                   "SELECT object, \"column\" FROM doc d WHERE unit = 'address' AND NOT EXISTS"
                   " (SELECT 1 FROM doc h WHERE h.object = d.object"
                   " AND h.\"column\" = d.\"column\" || '_hex')");
}

static void every_example_query_runs(void **state) {
    struct cf_stmt *list = NULL;
    struct cf_err err;
    int nr = 0;
    assert_int_equal(cf_db_prepare(*state, "SELECT sql FROM example_query", &list, &err), 0);
    for (bool row; cf_stmt_step(list, &row, &err) == 0 && row; nr++) {
        struct cf_stmt *stmt = NULL;
        if (cf_db_prepare(*state, cf_stmt_text(list, 0), &stmt, &err) != 0 ||
            cf_stmt_run(stmt, &err) != 0)
            fail_msg("%s", err.text);
        cf_stmt_free(stmt);
    }
    cf_stmt_free(list);
    assert_true(nr >= 10);
}

static void every_named_query_runs(void **state) {
    static const char *const queries[] = {
        cf_sql_growth,          cf_sql_same_program,     cf_sql_old_residency,
        cf_sql_diff_figures,    cf_sql_diff_served,      cf_sql_diff_types,
        cf_sql_diff_sizes,      cf_sql_diff_leaks,       cf_sql_diff_waste,
        cf_sql_diff_holes,      cf_sql_diff_arenas,      cf_sql_diff_budget,
        cf_sql_waterfall_before, cf_sql_waterfall_after, cf_sql_waterfall_sum_before,
        cf_sql_waterfall_sum_after,
    };
    struct cf_err err;
    /* The older database of a comparison: here the same schema under the other name. */
    CF_CLEANUP_DB struct cf_db *db = NULL;
    assert_int_equal(cf_db_open_memory(&db, &err), 0);
    assert_int_equal(cf_db_exec(db, cf_schema_sql(), &err), 0);
    assert_int_equal(cf_db_exec(db, "ATTACH ':memory:' AS old", &err), 0);
    (void)state;
    struct cf_stmt *list = NULL;
    assert_int_equal(cf_db_prepare(db,
                                   "SELECT 'CREATE TABLE old.' || name || ' AS SELECT * FROM ' ||"
                                   " name FROM sqlite_schema WHERE type = 'view' OR name = 'meta'",
                                   &list, &err), 0);
    for (bool row; cf_stmt_step(list, &row, &err) == 0 && row;)
        if (cf_db_exec(db, cf_stmt_text(list, 0), &err) != 0)
            fail_msg("%s", err.text);
    cf_stmt_free(list);
    if (cf_db_exec(db, cf_sql_facts, &err) != 0 || cf_db_exec(db, cf_sql_headline, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        if (cf_db_exec(db, queries[i], &err) != 0)
            fail_msg("%s", err.text);
}

static void chunk_view_computes_its_columns(void **state) {
    static const struct {
        const char *where, *row;
    } cases[] = {
        {"address = 4112", "1010|4128|0x1020|32|24|0|0|live|-|std::string"},
        {"address = 4144", "1030|4160|0x1040|64|56|0|0|free|-|-"},
        {"heap_id = 12", "4010|16416|0x4020|64|-|9|12|top|-|-"},
        {"arena_id = 9", "4010|16416|0x4020|64|-|9|12|top|-|-"},
        {"state = 'mmapped'", "10000|65552|0x10010|8192|8176|-|-|mmapped|-|-"},
        {"heap_id IS NULL", "10000|65552|0x10010|8192|8176|-|-|mmapped|-|-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_stmt *stmt = NULL;
        struct cf_err err;
        bool row = false;
        char sql[512];
        (void)snprintf(sql, sizeof sql,
                       "SELECT group_concat(printf('%%x|%%d|%%s|%%d|%%s|%%s|%%s|%%s|%%s|%%s',"
                       " address, user_address, user_address_hex, size_bytes,"
                       " ifnull(usable_bytes, '-'),"
                       " ifnull(arena_id, '-'), ifnull(heap_id, '-'), state,"
                       " ifnull(reachable, '-'), ifnull(type, '-'))) FROM v_chunk WHERE %s",
                       cases[i].where);
        assert_int_equal(cf_db_prepare(*state, sql, &stmt, &err), 0);
        assert_int_equal(cf_stmt_step(stmt, &row, &err), 0);
        assert_true(row);
        assert_string_equal(cf_stmt_text(stmt, 0), cases[i].row);
        cf_stmt_free(stmt);
    }
}

static int64_t number(struct cf_db *db, const char *sql) {
    struct cf_err err;
    bool found = false;
    int64_t value = -1;
    if (cf_db_query_i64(db, sql, &found, &value, &err) != 0 || !found)
        fail_msg("%s", sql);
    return value;
}

static void chunks_of_heaps_are_the_same_in_both_views(void **state) {
    assert_int_equal(number(*state, "SELECT count(*) FROM v_chunk WHERE heap_id IS NOT NULL"), 3);
    assert_int_equal(number(*state, "SELECT count(*) FROM v_heap_chunk"), 3);
    assert_int_equal(number(*state, "SELECT count(*) FROM (SELECT * FROM v_heap_chunk EXCEPT"
                                    " SELECT * FROM v_chunk)"), 0);
}

/* The plan may look at all rows of the few heaps, never of the chunks. */
static bool plan_scans(struct cf_db *db, const char *sql, const char *table) {
    char query[512];
    char scan[64];
    snprintf(query, sizeof query, "EXPLAIN QUERY PLAN %s", sql);
    snprintf(scan, sizeof scan, "SCAN %s", table);
    struct cf_stmt *stmt = NULL;
    struct cf_err err;
    if (cf_db_prepare(db, query, &stmt, &err) != 0)
        fail_msg("%s", err.text);
    bool scans = false;
    for (bool row; cf_stmt_step(stmt, &row, &err) == 0 && row;) {
        const char *step = cf_stmt_text(stmt, 3);
        scans |= strcmp(step, scan) == 0 || strstr(step, "CO-ROUTINE v_") != NULL ||
                 strstr(step, "MATERIALIZE v_") != NULL;
    }
    cf_stmt_free(stmt);
    return scans;
}

/* What cf_rows_statistics() leaves of a database with so many chunks. */
static void tell_planner(struct cf_db *db, const char *nr_chunks) {
    char sql[256];
    struct cf_err err;
    (void)snprintf(sql, sizeof sql,
                   "ANALYZE heap; DELETE FROM sqlite_stat1;"
                   "INSERT INTO sqlite_stat1 (tbl, stat) SELECT 'chunk', '%s' WHERE '%s' <> '';"
                   "ANALYZE sqlite_schema;",
                   nr_chunks, nr_chunks);
    assert_int_equal(cf_db_exec(db, sql, &err), 0);
}

/* How many chunks there are, told to the planner. */
static const char *const counts[] = {"", "40", "5000000", "60000000"};

static void what_chooses_heaps_or_arenas_seeks(void **state) {
    static const char *const queries[] = {
        "SELECT * FROM v_heap_chunk WHERE heap_id = (SELECT max(heap_id) FROM v_heap)",
        "SELECT * FROM v_heap_chunk WHERE arena_id IN (SELECT arena_id FROM v_thread)",
        "SELECT c.state FROM v_heap h JOIN v_heap_chunk c USING (heap_id) WHERE h.holes > 9",
        "SELECT c.state FROM v_heap_chunk c JOIN v_arena a ON a.arena_id = c.arena_id"
         " WHERE a.is_main = 0",
        "SELECT c.state FROM v_tcache t JOIN v_heap_chunk c ON c.arena_id = t.arena_id"
         " WHERE t.thread_id = 3",
        "SELECT * FROM v_heap_chunk WHERE address = 4112",
    };
    for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++) {
        tell_planner(*state, counts[j]);
        for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
            if (plan_scans(*state, queries[i], "c"))
                fail_msg("scans %s chunks: %s", counts[j], queries[i]);
    }
    assert_true(plan_scans(*state, "SELECT c.state FROM v_heap h JOIN v_chunk c USING (heap_id)"
                                   " WHERE h.holes > 9", "c"));
}

static void filters_seek_and_do_not_scan(void **state) {
    static const struct {
        const char *sql;
        const char *table;
    } cases[] = {
        {"SELECT * FROM v_chunk WHERE address = 4112", "c"},
        {"SELECT * FROM v_chunk WHERE address BETWEEN 4112 AND 5000", "c"},
        {"SELECT * FROM v_chunk WHERE address > 4112 ORDER BY address LIMIT 3", "c"},
        {"SELECT * FROM v_chunk WHERE address >= 4112", "c"},
        {"SELECT * FROM v_chunk WHERE state = 'free' AND size_bytes >= 4096"
         " ORDER BY size_bytes DESC LIMIT 20", "c"},
        {"SELECT * FROM v_chunk WHERE size_bytes > 65536 AND state = 'free'", "c"},
        {"SELECT * FROM v_chunk WHERE state = 'free' AND size_bytes BETWEEN 8192 AND 9000", "c"},
        {"SELECT * FROM v_chunk WHERE heap_id = 0", "c"},
        {"SELECT * FROM v_chunk WHERE heap_id = ?1 ORDER BY address LIMIT 50", "c"},
        {"SELECT count(*) FROM v_chunk WHERE heap_id = 99", "c"},
        {"SELECT * FROM v_chunk WHERE heap_id = 0 AND address > 4112 AND address < 5000", "c"},
        {"SELECT * FROM v_chunk WHERE arena_id = 0", "c"},
        {"SELECT state, count(*) FROM v_chunk WHERE arena_id = 12 GROUP BY state", "c"},
        {"SELECT * FROM v_heap h LEFT JOIN v_chunk c ON c.address = h.top_pin_address", "c"},
        {"SELECT h.heap_id, count(*) FROM v_heap h JOIN v_chunk c ON c.address >= h.start AND"
         " c.address < h.end WHERE h.arena_id = 3 GROUP BY h.heap_id", "c"},
        {"SELECT p.rank, c.state FROM v_top_pin p LEFT JOIN v_chunk c ON c.address = p.address",
         "c"},
        {"SELECT c.type, sum(p.hole_below_bytes) FROM v_top_pin p LEFT JOIN v_chunk c"
         " ON c.address = p.address GROUP BY c.type", "c"},
        {"SELECT * FROM v_chunk WHERE address IN (SELECT above_address FROM v_hole)", "c"},
        {"SELECT (SELECT state FROM v_chunk c WHERE c.address = h.above_address) FROM v_hole h",
         "c"},
        {"SELECT c.address FROM (SELECT heap_id AS heap, address AS at, size_bytes AS length"
         " FROM v_hole ORDER BY size_bytes DESC LIMIT 1) JOIN v_chunk c ON c.heap_id = heap AND"
         " c.address BETWEEN at - 256 AND at + length + 256", "c"},
        {"SELECT * FROM v_trim_range WHERE address > 4096", "trim_range"},
        {"SELECT * FROM v_trim_range WHERE arena_id = 1", "trim_range"},
        {"SELECT * FROM v_waste WHERE arena_id = 1", "waste"},
        {"SELECT * FROM v_waste WHERE arena_id IS NULL", "waste"},
        {"SELECT * FROM v_page_run WHERE heap_id = 1", "page_run"},
        {"SELECT * FROM v_page_run WHERE start <= 8192 ORDER BY start DESC LIMIT 1", "page_run"},
        {"SELECT * FROM v_top_pin WHERE arena_id = 1", "top_pin"},
        {"SELECT * FROM v_top_pin WHERE heap_id = 1", "top_pin"},
        {"SELECT * FROM v_top_pin WHERE address = 1", "top_pin"},
        {"SELECT * FROM v_page_pin WHERE arena_id = 1", "page_pin"},
        {"WITH x AS MATERIALIZED (SELECT c.size_bytes FROM (SELECT 4112 AS a) JOIN v_chunk c"
         " ON c.address = a) SELECT size_bytes, count(*) FROM x GROUP BY 1",
         "c"},
        {"SELECT * FROM v_chunk WHERE state = 'mmapped' ORDER BY size_bytes DESC LIMIT 20", "c"},
        {"SELECT * FROM v_heap WHERE heap_id = 1", "heap"},
        {"SELECT * FROM v_heap WHERE arena_id = 1", "heap"},
        {"SELECT * FROM v_heap WHERE start = 4096", "heap"},
        {"SELECT * FROM v_arena WHERE arena_id = 1", "arena"},
        {"SELECT * FROM v_arena WHERE address = 1", "arena"},
        {"SELECT * FROM v_size_class WHERE arena_id = 1", "size_class"},
        {"SELECT * FROM v_bin WHERE arena_id = 1", "bin"},
        {"SELECT * FROM v_tcache WHERE arena_id = 1", "tcache"},
        {"SELECT * FROM v_tcache WHERE address = 1", "tcache"},
        {"SELECT * FROM v_thread WHERE arena_id = 1", "thread"},
        {"SELECT * FROM v_hole WHERE arena_id = 1", "hole"},
        {"SELECT * FROM v_hole WHERE heap_id = 1", "hole"},
        {"SELECT * FROM v_hole WHERE address >= 1 AND address < 9", "hole"},
        {"SELECT * FROM v_hole_histogram WHERE arena_id = 1", "hole_histogram"},
        {"SELECT * FROM v_anomaly WHERE arena_id = 1", "anomaly"},
        {"SELECT * FROM v_anomaly WHERE heap_id = 1", "anomaly"},
        {"SELECT * FROM v_anomaly WHERE address = 1", "anomaly"},
        {"SELECT * FROM v_segment WHERE start = 1", "segment"},
        {"SELECT * FROM v_module WHERE start = 1", "module"},
    };
    for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++) {
        tell_planner(*state, counts[j]);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            if (plan_scans(*state, cases[i].sql, cases[i].table))
                fail_msg("scans %s of %s chunks: %s", cases[i].table, counts[j], cases[i].sql);
    }
    assert_true(
        plan_scans(*state, "SELECT * FROM v_chunk WHERE state = 'live' ORDER BY address", "c"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_view_and_column_is_documented),
        cmocka_unit_test(nothing_is_documented_that_is_not_there),
        cmocka_unit_test(every_address_is_also_hex_text),
        cmocka_unit_test(every_example_query_runs),
        cmocka_unit_test(every_named_query_runs),
        cmocka_unit_test(chunk_view_computes_its_columns),
        cmocka_unit_test(chunks_of_heaps_are_the_same_in_both_views),
        cmocka_unit_test(what_chooses_heaps_or_arenas_seeks),
        cmocka_unit_test(filters_seek_and_do_not_scan),
    };
    return cmocka_run_group_tests_name("schema", tests, open_schema, close_schema);
}
