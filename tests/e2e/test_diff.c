/* What grew between two cores of one program: verdict, sums, and what is refused. */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The same program twice: before and after something happened. */
struct pair {
    const char *before, *after;
    const char *says;     /* in the first line of the comparison */
    const char *names;    /* the culprit, or another thing that has to be there; NULL: nothing */
    const char *holder;   /* who holds it, or the like */
    struct e2e_run runs[2];
};

static char folder[PATH_ROOM];

static void prepare(struct pair *pair) {
    const char *names[] = {pair->before, pair->after};
    for (int i = 0; i < 2; i++) {
        pair->runs[i] = (struct e2e_run){.scenario = names[i]};
        assert_true(e2e_make_core(&pair->runs[i]));
        assert_true(e2e_analyze(&pair->runs[i]));
    }
}

static void release(struct pair *pair) {
    e2e_end(&pair->runs[0]);
    e2e_end(&pair->runs[1]);
}

static int compare(const char *old_db, const char *new_db, const char *option) {
    char *argv[] = {(char *)process_corefrag(), "diff", (char *)old_db, (char *)new_db,
                    (char *)option, NULL};
    return process_run(folder, argv);
}

/* Where its lines are wrapped is no matter. */
static void assert_says(const char *file, const char *text) {
    char *all = process_text(folder, file);
    assert_non_null(all);
    for (char *at = all; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    if (strstr(all, text) == NULL)
        fail_msg("\"%s\" is not in:\n%s", text, all);
    free(all);
}

static void growth_is_named_by_its_kind(void **state) {
    (void)state;
    struct pair pairs[] = {
        {.before = "idle", .after = "working-set", .says = "RETENTION"},
        {.before = "contexts", .after = "contexts-later", .says = "RETENTION",
         .names = " MiB of it hangs on global log_registry (truth) alone, with 80,000 more",
         .holder = "One of them is held by global log_registry (truth)"},
        {.before = "empty", .after = "leak-large", .says = "LEAK"},
        {.before = "server-trimmed", .after = "server-few", .says = "FREED BUT NOT RETURNED",
         .names = "Holes between live chunks, by size", .holder = "more holes"},
        {.before = "bins", .after = "bins", .says = "STEADY"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        prepare(&pairs[i]);
        assert_int_equal(compare(pairs[i].runs[0].db_path, pairs[i].runs[1].db_path, NULL), 0);
        assert_says("stdout", pairs[i].says);
        if (pairs[i].names != NULL)
            assert_says("stdout", pairs[i].names);
        if (pairs[i].holder != NULL)
            assert_says("stdout", pairs[i].holder);
        release(&pairs[i]);
    }
}

/* What make_shared() wraps around an object is in no program's text. */
static void a_shared_object_has_the_name_of_the_object(void **state) {
    (void)state;
    struct pair pair = {.before = "contexts", .after = "contexts-later"};
    prepare(&pair);
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(pair.runs[i].db_path, &db), SQLITE_OK);
        assert_int_equal(
            sqlite3_exec(db, "UPDATE type SET type = 'std::_Sp_counted_ptr_inplace<Context<int>,"
                             " (__gnu_cxx::_Lock_policy)2>' WHERE type = 'file_log_ops';"
                             "UPDATE retained SET type = 'std::_Sp_counted_ptr_inplace<Context<int>"
                             ", (__gnu_cxx::_Lock_policy)2>' WHERE type = 'file_log_ops'",
                         NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
    }
    assert_int_equal(compare(pair.runs[0].db_path, pair.runs[1].db_path, NULL), 0);
    assert_says("stdout", " alone, with 80,000 more Context<int>, and the program still");
    release(&pair);
}

static void another_program_is_refused_unless_told(void **state) {
    (void)state;
    struct pair pair = {.before = "empty", .after = E2E_STATIC "empty"};
    prepare(&pair);
    assert_int_equal(compare(pair.runs[0].db_path, pair.runs[1].db_path, NULL), 2);
    assert_says("stderr", "--any-program");
    assert_int_equal(compare(pair.runs[0].db_path, pair.runs[1].db_path, "--any-program"), 0);
    release(&pair);
}

static void what_is_no_database_of_ours_is_refused(void **state) {
    (void)state;
    char path[PATH_ROOM + 16];
    (void)snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("no database", file);
    (void)fclose(file);
    assert_int_equal(compare(path, path, NULL), 3);
    assert_int_equal(compare("/nowhere/a.db", "/nowhere/b.db", NULL), 3);
    assert_int_equal(compare(path, NULL, NULL), 2);
}

/* The queries that the comparison shows are its own: run with both databases, they add up. */
static void the_shown_queries_run(void **state) {
    (void)state;
    struct pair pair = {.before = "idle", .after = "leak"};
    prepare(&pair);
    assert_int_equal(compare(pair.runs[0].db_path, pair.runs[1].db_path, "--full"), 0);
    assert_says("stdout", "main.v_size_class");
    assert_true(e2e_open(&pair.runs[1]));
    char sql[PATH_ROOM + 64];
    (void)snprintf(sql, sizeof sql, "ATTACH '%s' AS old", pair.runs[0].db_path);
    assert_int_equal(sqlite3_exec(pair.runs[1].db, sql, NULL, NULL, NULL), SQLITE_OK);
    e2e_no_rows(pair.runs[1].db,
                "SELECT * FROM (SELECT (SELECT sum(bytes) FROM main.v_size_class WHERE state IN"
                " ('live', 'mmapped')) AS a, (SELECT live_bytes FROM main.v_fact) AS b)"
                " WHERE a <> b");
    release(&pair);
}

static void set_residency(const char *path, int is_exact) {
    sqlite3 *db;
    char sql[96];
    (void)snprintf(sql, sizeof sql, "UPDATE meta SET value = %d WHERE key = 'residency_exact'",
                   is_exact);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* What rests on residency is marked by side; a difference is at least, at the most or about. */
static void inexact_residency_is_marked_on_either_side(void **state) {
    (void)state;
    static const struct {
        int old_exact, new_exact;
        const char *note, *before, *after, *growth;
    } cases[] = {
        {1, 0, "exactly of the newer core:", "  before", "≥ after", "≥ growth"},
        {0, 1, "exactly of the older core:", "≥ before", "  after", "≤ growth"},
        {0, 0, "exactly of both cores:", "≥ before", "≥ after", "≈ growth"},
    };
    struct pair pair = {.before = "idle", .after = "leak"};
    prepare(&pair);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_residency(pair.runs[0].db_path, cases[i].old_exact);
        set_residency(pair.runs[1].db_path, cases[i].new_exact);
        assert_int_equal(compare(pair.runs[0].db_path, pair.runs[1].db_path, NULL), 0);
        assert_says("stdout", cases[i].note);
        assert_says("stdout", cases[i].before);
        assert_says("stdout", cases[i].after);
        assert_says("stdout", cases[i].growth);
        assert_says("stdout", "  before  "); /* live chunks are counted, not judged */
    }
    assert_int_equal(compare(pair.runs[0].db_path, pair.runs[1].db_path, "--format=json"), 0);
    assert_says("stdout", "\"about\"");
    release(&pair);
}

static int set_up(void **state) {
    (void)state;
    return process_corefrag() != NULL && process_folder_make(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_is_named_by_its_kind),
        cmocka_unit_test(a_shared_object_has_the_name_of_the_object),
        cmocka_unit_test(another_program_is_refused_unless_told),
        cmocka_unit_test(what_is_no_database_of_ours_is_refused),
        cmocka_unit_test(the_shown_queries_run),
        cmocka_unit_test(inexact_residency_is_marked_on_either_side),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
