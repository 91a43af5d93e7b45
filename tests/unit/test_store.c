/* The database while it is made: names, modes, what is left behind; and the rows of chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ptmalloc/chunkmap_build.h"
#include "store/chunk_source.h"
#include "store/insert.h"
#include "store/compat.h"
#include "store/store.h"
#include "toyheap.h"

/* ---- a folder of the test's own ---- */

struct folder {
    char path[64];
    char db[128];
};

static int make_folder(void **state) {
    struct folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL)
        return -1;
    (void)snprintf(folder->path, sizeof folder->path, "/tmp/cf_store_XXXXXX");
    if (mkdtemp(folder->path) == NULL)
        return -1;
    (void)snprintf(folder->db, sizeof folder->db, "%s/out.db", folder->path);
    *state = folder;
    return 0;
}

static int remove_folder(void **state) {
    struct folder *folder = *state;
    (void)unlink(folder->db);
    int result = rmdir(folder->path); /* fails when something was left behind */
    free(folder);
    return result;
}

static size_t nr_files(const struct folder *folder) {
    DIR *dir = opendir(folder->path);
    assert_non_null(dir);
    size_t nr = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        nr += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(dir);
    return nr;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_version(struct cf_db *db, int64_t version) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    struct cf_err err;
    assert_int_equal(cf_insert_begin(&in, db, "meta", "key, value", &err), 0);
    cf_insert_text(&in, "schema_version");
    cf_insert_i64(&in, version);
    assert_int_equal(cf_insert_row(&in, &err), 0);
}

static void make_db(const char *path, bool force, int64_t version) {
    CF_CLEANUP_STORE struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, path, force, &store, &err), 0);
    put_version(cf_store_db(store), version);
    assert_int_equal(cf_store_commit(store, &err), 0);
}

/* ---- names, modes, leftovers ---- */

static void it_appears_only_when_committed(void **state) {
    const struct folder *folder = *state;
    CF_CLEANUP_STORE struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, folder->db, false, &store, &err), 0);
    assert_int_equal(nr_files(folder), 1);
    assert_int_not_equal(access(folder->db, F_OK), 0);
    put_version(cf_store_db(store), CF_SCHEMA_VERSION);
    assert_int_equal(cf_store_commit(store, &err), 0);
    assert_int_equal(nr_files(folder), 1);
    struct stat st;
    assert_int_equal(stat(folder->db, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void nothing_is_left_of_one_that_is_given_up(void **state) {
    const struct folder *folder = *state;
    struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, folder->db, false, &store, &err), 0);
    cf_store_free(store);
    assert_int_equal(nr_files(folder), 0);
}

static void an_existing_file_is_replaced_only_by_force(void **state) {
    const struct folder *folder = *state;
    struct cf_store *store = NULL;
    struct cf_err err;
    write_file(folder->db, "precious");
    assert_int_equal(cf_store_create(NULL, folder->db, false, &store, &err), CF_EOUTPUT);
    assert_non_null(strstr(err.text, "--force"));
    assert_null(store);
    assert_int_equal(nr_files(folder), 1);
    make_db(folder->db, true, CF_SCHEMA_VERSION);
    struct cf_db *db = NULL;
    assert_int_equal(cf_db_open(folder->db, &db, &err), 0);
    cf_db_free(db);
}

static void a_file_that_appears_meanwhile_is_not_replaced(void **state) {
    const struct folder *folder = *state;
    struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, folder->db, false, &store, &err), 0);
    write_file(folder->db, "precious");
    assert_int_equal(cf_store_commit(store, &err), CF_EOUTPUT);
    cf_store_free(store);
    assert_int_equal(nr_files(folder), 1);
    struct stat st;
    assert_int_equal(stat(folder->db, &st), 0);
    assert_int_equal(st.st_size, strlen("precious"));
}

static void what_is_no_plain_file_is_never_replaced(void **state) {
    const struct folder *folder = *state;
    struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, folder->path, true, &store, &err), CF_EOUTPUT);
    assert_int_equal(cf_store_create(NULL, "/dev/null", true, &store, &err), CF_EOUTPUT);
}

static void a_folder_that_is_not_there_is_named(void **state) {
    (void)state;
    struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, "/nonexistent/a.db", false, &store, &err), CF_EOUTPUT);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

struct told {
    char path[256];
    int added, removed;
};

static void note_temporary(void *user, const char *path, bool exists) {
    struct told *told = user;
    if (exists)
        (void)snprintf(told->path, sizeof told->path, "%s", path);
    else
        assert_string_equal(path, told->path);
    told->added += exists;
    told->removed += !exists;
}

static void the_caller_is_told_of_the_temporary_file(void **state) {
    const struct folder *folder = *state;
    struct told told = {0};
    const struct cf_context ctx = {.user = &told, .temporary = note_temporary};
    struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(&ctx, folder->db, false, &store, &err), 0);
    assert_int_equal(access(told.path, F_OK), 0);
    assert_int_equal(told.added - told.removed, 1);
    assert_int_equal(cf_store_commit(store, &err), 0);
    assert_int_equal(told.added - told.removed, 0);
    cf_store_free(store);
    assert_int_equal(told.added - told.removed, 0);
    assert_int_not_equal(access(told.path, F_OK), 0);
}

static void the_same_rows_make_the_same_bytes(void **state) {
    const struct folder *folder = *state;
    char *bytes[2];
    size_t sizes[2];
    for (int i = 0; i < 2; i++) {
        make_db(folder->db, true, CF_SCHEMA_VERSION);
        FILE *file = fopen(folder->db, "r");
        assert_non_null(file);
        bytes[i] = malloc(1 << 20);
        assert_non_null(bytes[i]);
        sizes[i] = fread(bytes[i], 1, 1 << 20, file);
        (void)fclose(file);
    }
    assert_true(sizes[0] > 4096);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* ---- opening ---- */

static void only_our_databases_are_opened(void **state) {
    const struct folder *folder = *state;
    struct cf_db *db = NULL;
    struct cf_err err;
    assert_int_equal(cf_db_open(folder->db, &db, &err), CF_EINPUT);
    write_file(folder->db, "this is not a database, it is a letter to somebody who reads files");
    assert_int_equal(cf_db_open(folder->db, &db, &err), CF_ENOTDB);
    write_file(folder->db, "");
    assert_int_equal(cf_db_open(folder->db, &db, &err), CF_ENOTDB);
    make_db(folder->db, true, CF_SCHEMA_VERSION + 1);
    assert_int_equal(cf_db_open(folder->db, &db, &err), CF_ENOTDB);
    assert_non_null(strstr(err.text, "newer"));
    assert_null(db);
    make_db(folder->db, true, CF_SCHEMA_VERSION);
    assert_int_equal(cf_db_open(folder->db, &db, &err), 0);
    assert_int_not_equal(cf_db_exec(db, "DELETE FROM meta", &err), 0);
    cf_db_free(db);
}

/* A database as another version would have written it: `sql` changes its schema. */
static void make_db_of_another_version(const char *path, const char *sql) {
    CF_CLEANUP_STORE struct cf_store *store = NULL;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, path, true, &store, &err), 0);
    put_version(cf_store_db(store), CF_SCHEMA_VERSION);
    assert_int_equal(cf_db_exec(cf_store_db(store),
                                "INSERT INTO meta VALUES ('schema_revision', '0123456789abcdef'),"
                                " ('core_path', 'core.77')",
                                &err),
                     0);
    assert_int_equal(cf_db_exec(cf_store_db(store), sql, &err), 0);
    assert_int_equal(cf_store_commit(store, &err), 0);
}

static void another_versions_database_has_to_have_all_columns(void **state) {
    const struct folder *folder = *state;
    static const struct {
        const char *sql;
        bool lacks;
    } cases[] = {
        {"SELECT 1", false},
        {"CREATE VIEW v_more AS SELECT 1 AS one", false},
        {"DROP VIEW v_heap; CREATE VIEW v_heap AS SELECT heap_id, 1 AS start FROM heap", true},
        {"DROP VIEW v_advice", true},
        {"DROP VIEW v_chunk; CREATE VIEW v_chunk AS SELECT address, printf('0x%x', address) AS"
         " address_hex, address + 16 AS user_address, '' AS user_address_hex, size_bytes,"
         " size_bytes - 8 AS usable_bytes, arena_id, heap_id, state, 1 AS reachable FROM chunk",
         true}, /* before chunks had types */
        {"ALTER TABLE doc RENAME COLUMN unit TO units", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_db *db = NULL;
        struct cf_err err;
        make_db_of_another_version(folder->db, cases[i].sql);
        int expected = cases[i].lacks ? CF_ENOTDB : CF_OK;
        assert_int_equal(cf_db_open(folder->db, &db, &err), expected);
        cf_db_free(db);
        if (!cases[i].lacks)
            continue;
        assert_non_null(strstr(err.text, folder->db));
        assert_non_null(strstr(err.text, " lacks what this one asks for"));
        assert_non_null(strstr(err.text, "corefrag analyze core.77 -o "));
    }
}

static void a_revision_is_sixteen_digits(void **state) {
    (void)state;
    char revision[CF_REVISION_BYTES];
    cf_schema_revision(revision);
    assert_int_equal(strspn(revision, "0123456789abcdef"), 16);
    assert_int_equal(revision[16], '\0');
}

/* ---- chunks ---- */

/* Loads `map` and returns how many rows of `chunk` satisfy `sql`. */
/* The oracle: the same stream by SQLite's own INSERT. */
static void insert_chunks(struct cf_db *db, struct cf_chunk_source *source) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    struct cf_chunk_row row;
    struct cf_err err;
    assert_int_equal(cf_insert_begin(&in, db, "chunk",
                                     "address, size_bytes, code, type_id, arena_id, heap_id", &err),
                     0);
    while (cf_chunk_source_next(source, &row)) {
        cf_insert_i64(&in, row.address);
        cf_insert_i64(&in, row.size_bytes);
        cf_insert_i64(&in, row.code);
        cf_insert_u64_if(&in, row.type != 0, row.type);
        cf_insert_id(&in, row.arena_id);
        cf_insert_id(&in, row.heap_id);
        assert_int_equal(cf_insert_row(&in, &err), 0);
    }
}

static int64_t load_and_count(const struct folder *folder, const struct cf_chunkmap *map,
                              enum cf_chunks kept, const uint64_t *reached, const char *sql) {
    CF_CLEANUP_STORE struct cf_store *store = NULL;
    struct cf_chunk_source source;
    struct cf_err err;
    bool found;
    int64_t count = -1;
    assert_int_equal(cf_store_create(NULL, folder->db, true, &store, &err), 0);
    const struct cf_chunk_facts facts = {.reached = reached};
    cf_chunk_source_init(&source, map, kept, &facts);
    insert_chunks(cf_store_db(store), &source);
    assert_int_equal(cf_db_query_i64(cf_store_db(store), sql, &found, &count, &err), 0);
    assert_true(found);
    return count;
}

static const struct toy_heap toy[] = {
    {0, 0x10000, 0x10010, "L20 F30 f20 t40 L20 #10 #10 ~100 L60 T1000", 0},
    {1, 0xffff800000000000, 0xffff800000000010, "L20 F20 L40 T80", 0},
};

static void rows_equal_the_iterator(void **state) {
    const struct folder *folder = *state;
    CF_CLEANUP_STORE struct cf_store *store = NULL;
    struct cf_chunkmap *map = toy_map(8, toy, 2);
    struct cf_chunk_source source;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, folder->db, false, &store, &err), 0);
    cf_chunk_source_init(&source, map, CF_CHUNKS_ALL, NULL);
    insert_chunks(cf_store_db(store), &source);
    static const int codes[CF_NR_CHUNK_STATES] = {
        [CF_CHUNK_LIVE] = 0, [CF_CHUNK_FREE] = 1, [CF_CHUNK_TCACHE] = 2,
        [CF_CHUNK_FAST] = 3, [CF_CHUNK_TOP] = 4,  [CF_CHUNK_FENCE] = 5,
    };
    uint64_t rows = 0;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++) {
        struct cf_chunk chunk;
        struct cf_planes_walk walk =
            cf_planes_walk(cf_chunkmap_planes(map), cf_chunkmap_heap(map, i));
        while (cf_planes_walk_next(&walk, &chunk)) {
            char sql[200];
            bool found;
            int64_t code = -1;
            (void)snprintf(sql, sizeof sql,
                           "SELECT code FROM chunk WHERE address = %lld AND size_bytes = %lld",
                           (long long)chunk.addr, (long long)chunk.bytes);
            assert_int_equal(cf_db_query_i64(cf_store_db(store), sql, &found, &code, &err), 0);
            assert_int_equal(found, chunk.state != CF_CHUNK_GAP);
            if (!found)
                continue;
            assert_int_equal(code, codes[chunk.state]);
            rows++;
        }
    }
    assert_int_equal(source.rows, rows);
    cf_chunkmap_free(map);
}

static void rows_come_in_the_order_of_their_keys(void **state) {
    (void)state;
    struct cf_chunkmap *map = toy_map(8, toy, 2);
    struct cf_chunk_source source;
    struct cf_chunk_row row;
    int64_t last = INT64_MIN;
    cf_chunk_source_init(&source, map, CF_CHUNKS_ALL, NULL);
    while (cf_chunk_source_next(&source, &row)) {
        assert_true(row.address > last);
        last = row.address;
    }
    assert_int_equal(source.rows, 13);
    cf_chunkmap_free(map);
}

/* ---- mmapped chunks ---- */

/* Below, between and above the heaps, in the place of a heap's chunk and within one. */
static struct cf_chunkmap *map_with_mmapped(void) {
    static const uint64_t places[] = {0x1000, 0x10090, 0x100c0, 0x10148, 0x800000, 0x900000,
                                      0xffff700000000000, 0xffff900000000000};
    struct cf_chunkmap *map = toy_map(8, toy, 2);
    struct cf_err err;
    for (size_t i = sizeof places / sizeof *places; i-- > 0;) {
        const struct cf_mmapped mmapped = {.addr = places[i], .bytes = 0x2000,
                                           .usable_bytes = 0x1ff0, .in_tcache = i == 5};
        assert_int_equal(cf_chunkmap_add_mmapped(map, &mmapped, &err), 0);
    }
    assert_int_equal(cf_chunkmap_seal(map, &err), 0);
    return map;
}

static void mmapped_chunks_stand_among_the_others(void **state) {
    (void)state;
    struct cf_chunkmap *map = map_with_mmapped();
    struct cf_chunk_source source;
    struct cf_chunk_row row;
    int64_t last = INT64_MIN;
    size_t mmapped = 0, cached = 0, of_heaps = 0;
    cf_chunk_source_init(&source, map, CF_CHUNKS_ALL, NULL);
    while (cf_chunk_source_next(&source, &row)) {
        assert_true(row.address > last);
        last = row.address;
        of_heaps += row.heap_id != UINT32_MAX;
        mmapped += row.code == CF_CODE_MMAPPED;
        cached += row.heap_id == UINT32_MAX && row.code == CF_CODE_TCACHE;
    }
    assert_int_equal(of_heaps, 13);
    assert_int_equal(mmapped, 6); /* 0x10090 is a heap's chunk */
    assert_int_equal(cached, 1);
    cf_chunkmap_free(map);
}

static void mmapped_chunks_are_unreached_by_their_number(void **state) {
    struct cf_chunkmap *map = map_with_mmapped();
    size_t first = cf_chunkmap_nr_units(map);
    uint64_t *reached = calloc(first / 64 + 2, sizeof *reached);
    assert_non_null(reached);
    reached[(first + 2 * 3) / 64] |= 1ull << (first + 2 * 3) % 64;
    assert_int_equal(load_and_count(*state, map, CF_CHUNKS_ALL, reached,
                                    "SELECT group_concat(address) FROM chunk WHERE code = 7"),
                     0x10148);
    assert_int_equal(load_and_count(*state, map, CF_CHUNKS_ALL, reached,
                                    "SELECT count(*) FROM chunk WHERE code = 8"), 5);
    assert_int_equal(load_and_count(*state, map, CF_CHUNKS_FREE, reached,
                                    "SELECT count(*) FROM chunk WHERE heap_id IS NULL"), 1);
    assert_int_equal(load_and_count(*state, map, CF_CHUNKS_NONE, reached,
                                    "SELECT count(*) FROM chunk"), 0);
    free(reached);
    cf_chunkmap_free(map);
}

/* Cut after every so many words of the planes, the parts have the rows of the whole, in order. */
static void parts_make_up_the_stream(void **state) {
    (void)state;
    struct cf_chunkmap *map = map_with_mmapped();
    for (size_t words = 1; words < 9; words++) {
        struct cf_chunk_source whole, part;
        struct cf_chunk_place *places;
        struct cf_chunk_row row, expected;
        size_t nr;
        cf_chunk_source_init(&whole, map, CF_CHUNKS_ALL, NULL);
        assert_int_equal(cf_chunk_source_cut(&whole, words, &places, &nr, NULL), CF_OK);
        for (size_t i = 0; i + 1 < nr; i++) {
            part = cf_chunk_source_part(&whole, &places[i]);
            while (cf_chunk_source_next(&part, &row)) {
                assert_true(cf_chunk_source_next(&whole, &expected));
                assert_int_equal(row.address, expected.address);
                assert_int_equal(row.size_bytes, expected.size_bytes);
                assert_int_equal(row.code, expected.code);
                assert_int_equal(row.heap_id, expected.heap_id);
            }
        }
        assert_false(cf_chunk_source_next(&whole, &expected));
        assert_int_equal(whole.rows, 20);
        free(places);
    }
    cf_chunkmap_free(map);
}

static void only_the_chunks_asked_for_are_kept(void **state) {
    const struct folder *folder = *state;
    struct cf_chunkmap *map = toy_map(8, toy, 2);
    const char *all = "SELECT count(*) FROM chunk";
    assert_int_equal(load_and_count(folder, map, CF_CHUNKS_ALL, NULL, all), 13);
    assert_int_equal(load_and_count(folder, map, CF_CHUNKS_NONE, NULL, all), 0);
    assert_int_equal(load_and_count(folder, map, CF_CHUNKS_FREE, NULL, all), 6);
    assert_int_equal(load_and_count(folder, map, CF_CHUNKS_FREE, NULL,
                                    "SELECT count(*) FROM chunk WHERE code IN (0, 5, 6)"),
                     0);
    cf_chunkmap_free(map);
}

static void live_chunks_that_were_not_reached_have_a_code_of_their_own(void **state) {
    const struct folder *folder = *state;
    struct cf_chunkmap *map = toy_map(8, toy, 1);
    uint64_t *reached = calloc(cf_chunkmap_nr_units(map) / 64 + 1, sizeof *reached);
    assert_non_null(reached);
    size_t bit = cf_chunkmap_heap(map, 0)->plane_word * 64 + (0x10010 - 0x10000) / 16;
    reached[bit / 64] |= 1ull << bit % 64;
    assert_int_equal(load_and_count(folder, map, CF_CHUNKS_ALL, reached,
                                    "SELECT sum(code = 6) * 100 + sum(code = 0) FROM chunk"),
                     201);
    free(reached);
    cf_chunkmap_free(map);
}

/* ---- the index of large free chunks ---- */

/* Makes a database of `map` and leaves it open in `out`. */
static void make_chunks(const struct folder *folder, const struct cf_chunkmap *map,
                        enum cf_chunks kept, bool by_insert, struct cf_db **out) {
    CF_CLEANUP_STORE struct cf_store *store = NULL;
    struct cf_chunk_source source;
    struct cf_err err;
    assert_int_equal(cf_store_create(NULL, folder->db, true, &store, &err), 0);
    put_version(cf_store_db(store), CF_SCHEMA_VERSION);
    cf_chunk_source_init(&source, map, kept, NULL);
    if (by_insert)
        insert_chunks(cf_store_db(store), &source);
    else
        assert_int_equal(cf_store_chunks(store, &source, 0, 0, &err), 0);
    assert_int_equal(cf_store_commit(store, &err), 0);
    assert_int_equal(cf_db_open(folder->db, out, &err), 0);
}

static void assert_sql_is(struct cf_db *db, const char *sql, const char *expected) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    struct cf_err err;
    bool row = false;
    if (cf_db_prepare(db, sql, &stmt, &err) != 0 || cf_stmt_step(stmt, &row, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(row);
    assert_string_equal(cf_stmt_text(stmt, 0), expected);
}

static void large_free_chunks_are_indexed_by_either_way(void **state) {
    static const struct toy_heap heaps[] = {
        {0, 0x10000, 0x10010, "L20 F1000 L2000 F3000 f2000 t2000 L20 Fff0 L20 F1000 T1000", 0},
        {1, 0xffff800000000000, 0xffff800000000010, "L20 F9000 L40 T80", 0},
    };
    struct cf_chunkmap *map = toy_map(8, heaps, 2);
    for (int by_insert = 0; by_insert < 2; by_insert++) {
        CF_CLEANUP_DB struct cf_db *db = NULL;
        make_chunks(*state, map, CF_CHUNKS_ALL, by_insert != 0, &db);
        assert_sql_is(db, "PRAGMA integrity_check", "ok");
        assert_sql_is(db,
                      "SELECT group_concat(printf('%x:%x', address, size_bytes), ' ') FROM"
                      " (SELECT address, size_bytes FROM chunk INDEXED BY chunk_large_free"
                      " WHERE state = 'free' AND size_bytes >= 4096 ORDER BY size_bytes, address)",
                      "10030:1000 1b060:1000 13030:3000 ffff800000000030:9000");
        assert_sql_is(db, "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema"
                          " WHERE name LIKE '%large%' ORDER BY name)",
                      "chunk_large_free");
    }
    cf_chunkmap_free(map);
}

static char *rows_of(struct cf_db *db) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    struct cf_err err;
    bool row = false;
    assert_int_equal(cf_db_prepare(db,
                                   "SELECT group_concat(printf('%d %d %d %s %s %s', address,"
                                   " size_bytes, code, type_id, arena_id, heap_id)) FROM chunk",
                                   &stmt, &err),
                     0);
    assert_int_equal(cf_stmt_step(stmt, &row, &err), 0);
    assert_true(row);
    return strdup(cf_stmt_text(stmt, 0));
}

static void pages_have_the_rows_of_insert(void **state) {
    struct cf_chunkmap *map = map_with_mmapped();
    CF_CLEANUP_FREE char *by_pages = NULL;
    CF_CLEANUP_FREE char *by_insert = NULL;
    for (int i = 0; i < 2; i++) {
        CF_CLEANUP_DB struct cf_db *db = NULL;
        make_chunks(*state, map, CF_CHUNKS_ALL, i == 1, &db);
        assert_sql_is(db, "PRAGMA integrity_check", "ok");
        assert_sql_is(db, "SELECT count(*) FROM chunk INDEXED BY chunk_mmapped"
                          " WHERE state = 'mmapped'", "6");
        *(i == 0 ? &by_pages : &by_insert) = rows_of(db);
    }
    assert_non_null(by_pages);
    assert_string_equal(by_pages, by_insert);
    assert_non_null(strstr(by_pages, "-140737488355312 32 0  1 1"));
    cf_chunkmap_free(map);
}

static void an_index_of_nothing_stays_empty(void **state) {
    struct cf_chunkmap *map = toy_map(8, toy, 2);
    CF_CLEANUP_DB struct cf_db *db = NULL;
    make_chunks(*state, map, CF_CHUNKS_ALL, false, &db);
    assert_sql_is(db, "PRAGMA integrity_check", "ok");
    assert_sql_is(db, "SELECT count(*) FROM chunk INDEXED BY chunk_large_free"
                      " WHERE state = 'free' AND size_bytes >= 4096", "0");
    cf_chunkmap_free(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_appears_only_when_committed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(nothing_is_left_of_one_that_is_given_up, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(an_existing_file_is_replaced_only_by_force, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_appears_meanwhile_is_not_replaced, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_plain_file_is_never_replaced, make_folder,
                                        remove_folder),
        cmocka_unit_test(a_folder_that_is_not_there_is_named),
        cmocka_unit_test_setup_teardown(the_caller_is_told_of_the_temporary_file, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(the_same_rows_make_the_same_bytes, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(only_our_databases_are_opened, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(another_versions_database_has_to_have_all_columns,
                                        make_folder, remove_folder),
        cmocka_unit_test(a_revision_is_sixteen_digits),
        cmocka_unit_test_setup_teardown(rows_equal_the_iterator, make_folder, remove_folder),
        cmocka_unit_test(rows_come_in_the_order_of_their_keys),
        cmocka_unit_test(parts_make_up_the_stream),
        cmocka_unit_test(mmapped_chunks_stand_among_the_others),
        cmocka_unit_test_setup_teardown(mmapped_chunks_are_unreached_by_their_number, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(pages_have_the_rows_of_insert, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(only_the_chunks_asked_for_are_kept, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(large_free_chunks_are_indexed_by_either_way, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(an_index_of_nothing_stays_empty, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(live_chunks_that_were_not_reached_have_a_code_of_their_own,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
