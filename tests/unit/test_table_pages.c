/* Table pages written without SQLite, held against SQLite: the same rows as INSERT gives, a sound
 * file, and a table that goes on working. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/btree.h"

static char path[64];

static void must(sqlite3 *db, const char *sql) {
    char *text = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

static int64_t number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static void assert_sound(sqlite3 *db) {
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "ok");
    sqlite3_finalize(stmt);
}

/* An empty database with the table t and, beside it, the oracle o. */
static uint32_t make_database(unsigned page_bytes) {
    sqlite3 *db;
    char sql[512];
    (void)unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)snprintf(sql, sizeof sql, "PRAGMA page_size = %u; PRAGMA journal_mode = OFF;"
                                    "CREATE TABLE o (a INTEGER PRIMARY KEY, b, c, d,"
                                    " e DEFAULT 0, f DEFAULT 0);"
                                    "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d,"
                                    " e DEFAULT 0, f DEFAULT 0);"
                                    "CREATE TABLE u (x); INSERT INTO u VALUES (1)",
                   page_bytes);
    must(db, sql);
    uint32_t root = (uint32_t)number(db, "SELECT rootpage FROM sqlite_schema WHERE name = 't'");
    sqlite3_close(db);
    return root;
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return *seed >> 11;
}

/* The same rows for both writers: negative and huge rowids, values of every width. */
struct row_source {
    uint64_t seed;
    int64_t rowid;
    uint64_t step_bits;
    const int64_t *firsts; /* the values of the second column, or NULL: any */
    size_t nr_firsts;
    uint64_t rows; /* so far */
};

/* A row and its home, which is `null` where both ids are CF_ID_NONE. */
struct made_row {
    struct cf_record record;
    int64_t ids[2];
};

/* Homes come in runs, as heaps do. */
static void next_row(struct row_source *source, struct made_row *row) {
    static const int64_t ids[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 3}, {7, 127}, {3, 128},
                                     {127, 32767}, {128, 40000}, {70000, 8388608},
                                     {INT32_MAX, INT32_MAX}, {CF_ID_NONE, CF_ID_NONE}};
    static const uint32_t types[] = {0, 0, 0, 1, 2, 127, 128, 32767, 32768, 65535};
    static const int64_t seconds[] = {0, 1, 2, 3, 8, 127, 128, 255};
    source->rowid += 1 + (int64_t)(next_random(&source->seed) >> (53 - source->step_bits));
    row->record.rowid = source->rowid;
    unsigned bits = (unsigned)(next_random(&source->seed) % 64);
    row->record.first = (int64_t)(next_random(&source->seed) << 11) >> bits;
    if (source->firsts != NULL)
        row->record.first = source->firsts[next_random(&source->seed) % source->nr_firsts];
    row->record.second = seconds[next_random(&source->seed) % (sizeof seconds / sizeof *seconds)];
    row->record.type = types[next_random(&source->seed) % (sizeof types / sizeof *types)];
    memcpy(row->ids, ids[source->rows++ / 50 % (sizeof ids / sizeof *ids)], sizeof row->ids);
}

static int add_row(struct cf_leaves *leaves, int64_t rowid, int64_t first, int64_t second,
                   struct cf_err *err) {
    const struct cf_record row = {.rowid = rowid, .first = first, .second = second};
    const struct cf_home home = cf_home_make(0, 0);
    return cf_leaves_add(leaves, &row, &home, err);
}

/* Appends the leaves' rows to the file and forgets them. */
static int append(struct cf_pages *pages, struct cf_leaves *leaves, struct cf_err *err) {
    struct cf_leaf_runs places;
    int status = cf_leaves_turn(leaves, err);
    if (status == CF_OK)
        status = cf_pages_place(pages, leaves, &places, err);
    if (status == CF_OK)
        status = cf_pages_write(pages, leaves, &places, err);
    cf_leaves_clear(leaves);
    return status;
}

/* The rows come in parts of `part_rows`, each with leaves of its own. */
static void write_pages(uint32_t root, struct row_source source, uint64_t rows,
                        uint64_t part_rows) {
    struct cf_pages *pages;
    struct cf_leaves leaves;
    struct cf_err err;
    if (cf_pages_open(path, root, &pages, &err) != CF_OK)
        fail_msg("%s", err.text);
    assert_int_equal(cf_leaves_init(&leaves, cf_pages_page_bytes(pages), &err), CF_OK);
    for (uint64_t i = 0; i < rows; i++) {
        struct made_row row;
        next_row(&source, &row);
        const struct cf_home home = cf_home_make(row.ids[0], row.ids[1]);
        if (cf_leaves_add(&leaves, &row.record, &home, &err) != CF_OK ||
            (i % part_rows == part_rows - 1 && append(pages, &leaves, &err) != CF_OK))
            fail_msg("%s", err.text);
    }
    if (append(pages, &leaves, &err) != CF_OK || cf_pages_finish(pages, &err) != CF_OK)
        fail_msg("%s", err.text);
    cf_leaves_fini(&leaves);
    cf_pages_free(pages);
}

static void insert_rows(sqlite3 *db, struct row_source source, uint64_t rows) {
    sqlite3_stmt *stmt;
    must(db, "BEGIN");
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO o VALUES (?, ?, ?, nullif(?, 0),"
                                            " nullif(?, -1), nullif(?, -1))", -1, &stmt, NULL),
                     SQLITE_OK);
    for (uint64_t i = 0; i < rows; i++) {
        struct made_row row;
        next_row(&source, &row);
        const int64_t values[] = {row.record.rowid, row.record.first, row.record.second,
                                  row.record.type, row.ids[0], row.ids[1]};
        for (int k = 0; k < 6; k++)
            sqlite3_bind_int64(stmt, k + 1, values[k]);
        assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    must(db, "COMMIT");
}

static void assert_goes_on_working(sqlite3 *db, uint64_t rows) {
    assert_int_equal(number(db, "SELECT count(*) FROM t"), rows);
    must(db, "INSERT INTO t (b, c) SELECT b, c FROM t ORDER BY a LIMIT 1000");
    must(db, "INSERT INTO t (a, b, c) VALUES (-9223372036854775807, 5, 6)");
    must(db, "DELETE FROM t WHERE a % 3 = 0");
    must(db, "CREATE INDEX t_b ON t (b)");
    assert_sound(db);
    must(db, "VACUUM");
    assert_sound(db);
}

static void compare(unsigned page_bytes, struct row_source source, uint64_t rows,
                    uint64_t part_rows) {
    sqlite3 *db;
    uint32_t root = make_database(page_bytes);
    write_pages(root, source, rows, part_rows);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_sound(db);
    insert_rows(db, source, rows);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), rows);
    assert_int_equal(number(db, "SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM o)"),
                     0);
    assert_int_equal(number(db, "SELECT count(*) FROM (SELECT * FROM o EXCEPT SELECT * FROM t)"),
                     0);
    must(db, "DROP TABLE o");
    assert_goes_on_working(db, rows);
    sqlite3_close(db);
}

static void rows_are_those_of_insert(void **state) {
    (void)state;
    static const unsigned sizes[] = {512, 1024, 4096, 65536};
    static const uint64_t counts[] = {0, 1, 2, 40, 1000, 30000};
    for (size_t s = 0; s < 4; s++)
        for (size_t c = 0; c < 6; c++) {
            struct row_source source = {.seed = s * 100 + c, .rowid = -(1ll << 40),
                                        .step_bits = 34};
            compare(sizes[s], source, counts[c], c % 2 == 0 ? UINT64_MAX : counts[c] / 3 + 1);
        }
}

/* Addresses and sizes of chunks take a short way of their own: its limits on every side. */
static void cells_of_chunks_are_those_of_insert(void **state) {
    (void)state;
    static const int64_t around[] = {1ll << 42, 1ll << 47, 1ll << 49};
    static const int64_t firsts[] = {0, 1, 2, 3, 126, 127, 128, 129, 255, 256, 32767, 32768, -1};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        struct row_source source = {.seed = i, .rowid = around[i] - 20000, .step_bits = 5,
                                    .firsts = firsts,
                                    .nr_firsts = sizeof firsts / sizeof *firsts};
        compare(4096, source, 3000, UINT64_MAX);
        compare(512, source, 3000, 100);
    }
}

/* Every count around which a new leaf, a new interior page, a new level begins. */
static void boundaries_of_pages_are_sound(void **state) {
    (void)state;
    for (uint64_t rows = 0; rows < 2600; rows += rows < 120 ? 1 : 61) {
        sqlite3 *db;
        struct row_source source = {.seed = rows, .step_bits = 20};
        write_pages(make_database(512), source, rows, 1 + rows % 7 * rows % 300);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_sound(db);
        assert_int_equal(number(db, "SELECT count(*) FROM t"), rows);
        sqlite3_close(db);
    }
}

/* With 512 bytes a page an interior page has some 30 children: all counts that leave its
 * successor with a single one are among these. */
static void no_interior_page_is_empty(void **state) {
    (void)state;
    for (uint64_t rows = 20000; rows < 20800; rows += 29) {
        sqlite3 *db;
        struct row_source source = {.seed = 1, .step_bits = 4};
        write_pages(make_database(512), source, rows, UINT64_MAX);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_sound(db);
        assert_int_equal(number(db, "SELECT max(a) = (SELECT a FROM t ORDER BY a DESC LIMIT 1)"
                                    " FROM t"), 1);
        sqlite3_close(db);
    }
}

/* Pages that nobody uses bring the file to `nr_pages`, as a hole. */
static void grow_file(uint32_t nr_pages) {
    unsigned char word[4] = {(unsigned char)(nr_pages >> 24), (unsigned char)(nr_pages >> 16),
                             (unsigned char)(nr_pages >> 8), (unsigned char)nr_pages};
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)nr_pages * 4096), 0);
    assert_int_equal(pwrite(fd, word, sizeof word, 28), sizeof word);
    close(fd);
}

static void leave_the_lock_byte_page_out(uint32_t nr_pages, int64_t rows, int64_t part_rows) {
    sqlite3 *db;
    struct cf_err err;
    struct cf_pages *pages;
    struct cf_leaves leaves;
    uint32_t root = make_database(4096);
    grow_file(nr_pages);
    assert_int_equal(cf_pages_open(path, root, &pages, &err), CF_OK);
    assert_int_equal(cf_leaves_init(&leaves, 4096, &err), CF_OK);
    for (int64_t i = 0; i < rows; i++) {
        assert_int_equal(add_row(&leaves, i * 16 + (1ll << 46), 91, i & 1, &err), CF_OK);
        if (i % part_rows == part_rows - 1)
            assert_int_equal(append(pages, &leaves, &err), CF_OK);
    }
    assert_int_equal(append(pages, &leaves, &err), CF_OK);
    assert_int_equal(cf_pages_finish(pages, &err), CF_OK);
    cf_leaves_fini(&leaves);
    cf_pages_free(pages);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_true(number(db, "PRAGMA page_count") > 262145);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), rows);
    assert_int_equal(number(db, "SELECT count(*) FROM pragma_integrity_check(1000000)"
                                " WHERE integrity_check NOT LIKE '%never used%'"), 0);
    sqlite3_close(db);
}

/* It is page 262145: in the middle of a part, between two parts, as the first page of one. */
static void the_lock_byte_page_is_left_out(void **state) {
    (void)state;
    leave_the_lock_byte_page_out(262000, 400000, INT64_MAX);
    leave_the_lock_byte_page_out(262000, 400000, 50000);
    leave_the_lock_byte_page_out(262140, 12, 1);
    leave_the_lock_byte_page_out(262144, 12, 1);
}

static void what_is_no_empty_table_is_refused(void **state) {
    (void)state;
    sqlite3 *db;
    struct cf_err err;
    struct cf_pages *pages;
    uint32_t root = make_database(4096);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    must(db, "INSERT INTO t (a, b, c) VALUES (1, 2, 3)");
    sqlite3_close(db);
    assert_int_equal(cf_pages_open(path, root, &pages, &err), CF_EINTERNAL);
    assert_int_equal(cf_pages_open(path, 1000, &pages, &err), CF_EINTERNAL);
    assert_int_equal(cf_pages_open(path, 1, &pages, &err), CF_EINTERNAL);
    assert_int_equal(cf_pages_open("/nowhere/at/all", root, &pages, &err), CF_EOUTPUT);
}

static void rowids_must_grow(void **state) {
    (void)state;
    struct cf_err err;
    struct cf_pages *pages;
    struct cf_leaves leaves;
    uint32_t root = make_database(4096);
    assert_int_equal(cf_pages_open(path, root, &pages, &err), CF_OK);
    assert_int_equal(cf_leaves_init(&leaves, 4096, &err), CF_OK);
    assert_int_equal(add_row(&leaves, -5, 1, 2, &err), CF_OK);
    assert_int_equal(add_row(&leaves, -5, 1, 2, &err), CF_EINTERNAL);
    assert_int_equal(add_row(&leaves, 7, 1, 2, &err), CF_OK);
    assert_int_equal(append(pages, &leaves, &err), CF_OK);
    assert_int_equal(add_row(&leaves, 7, 1, 2, &err), CF_OK);
    assert_int_equal(append(pages, &leaves, &err), CF_EINTERNAL);
    cf_leaves_fini(&leaves);
    cf_pages_free(pages);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_insert),
        cmocka_unit_test(cells_of_chunks_are_those_of_insert),
        cmocka_unit_test(boundaries_of_pages_are_sound),
        cmocka_unit_test(no_interior_page_is_empty),
        cmocka_unit_test(the_lock_byte_page_is_left_out),
        cmocka_unit_test(what_is_no_empty_table_is_refused),
        cmocka_unit_test(rowids_must_grow),
    };
    (void)snprintf(path, sizeof path, "/tmp/corefrag-pages-%d.db", (int)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
