/*
 * The sample core: each question in samples/README.md has the answer that stands below it. A
 * question is a block of SQL; its answer is the next block, a line of column names first.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[PATH_ROOM];
static sqlite3 *db;

/* The rows of `sql` as the stock shell prints them with -header. The caller frees. */
static char *answer_of(const char *sql) {
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s\n%s", sqlite3_errmsg(db), sql);
    int nr_columns = sqlite3_column_count(stmt);
    for (int i = 0; i < nr_columns; i++)
        sqlite3_str_appendf(text, "%s%s", i ? "|" : "", sqlite3_column_name(stmt, i));
    sqlite3_str_appendall(text, "\n");
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < nr_columns; i++)
            sqlite3_str_appendf(text, "%s%s", i ? "|" : "", sqlite3_column_text(stmt, i));
        sqlite3_str_appendall(text, "\n");
    }
    sqlite3_finalize(stmt);
    return sqlite3_str_finish(text);
}

/* Cuts the block behind `fence` off and returns it; *at then stands behind the block. */
static char *take_block(char **at, const char *fence) {
    char *start = strstr(*at, fence);
    char *end = start ? strstr(start + strlen(fence), "```\n") : NULL;
    if (!end)
        return NULL;
    *end = 0;
    *at = end + 4;
    return start + strlen(fence);
}

static void the_answers_are_those_of_the_readme(void **state) {
    (void)state;
    char *text = process_text("samples", "README.md");
    assert_non_null(text);
    int nr = 0;
    for (char *at = text, *sql; (sql = take_block(&at, "```sql\n")); nr++) {
        char *expected = take_block(&at, "```\n");
        assert_non_null(expected);
        char *answer = answer_of(sql);
        assert_string_equal(answer, expected);
        sqlite3_free(answer);
    }
    free(text);
    assert_true(nr >= 5);
}

static int set_up(void **state) {
    (void)state;
    char sample[PATH_ROOM], path[PATH_ROOM + 16];
    if (!process_corefrag() || !process_folder_make(folder) ||
        !realpath("samples/session_server.tar.zst", sample))
        return -1;
    char *const argv[] = {(char *)process_corefrag(), "analyze", sample, "-o", "s.db", NULL};
    snprintf(path, sizeof path, "%s/s.db", folder);
    if (process_run(folder, argv) != 0)
        return -1;
    return sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    sqlite3_close(db);
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_answers_are_those_of_the_readme)};
    return cmocka_run_group_tests(tests, set_up, tear_down) != 0;
}
