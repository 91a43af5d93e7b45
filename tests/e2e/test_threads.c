/*
 * The database is the same, byte for byte, whatever the number of threads that made it, and a sound
 * one. The core has heaps enough for several parts of the chunk table and for threads that have to
 * wait for each other.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 400000 };

static char folder[PATH_ROOM];
static char core[PATH_ROOM];

static void need_core(void) {
    if (core[0] != '\0')
        return;
    print_message("the kernel leaves no core here: skipped\n");
    skip();
}

static void analyze(const char *db, const char *option, const char *value) {
    char *const argv[] = {(char *)process_corefrag(), "analyze", core, "-o", (char *)db, "--force",
                          (char *)option, (char *)value, NULL};
    if (process_run(folder, argv) == 0)
        return;
    char *text = process_text(folder, "stderr");
    fail_msg("%s %s: %s", option, value, text ? text : "");
}

static void the_database_does_not_depend_on_threads(void **state) {
    (void)state;
    static const char *const counts[] = {"2", "3", "16"};
    need_core();
    analyze("one.db", "--threads", "1");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        analyze("more.db", "--threads", counts[i]);
        char *const argv[] = {"/usr/bin/cmp", "one.db", "more.db", NULL};
        if (process_run(folder, argv) != 0)
            fail_msg("--threads %s: not the same as --threads 1", counts[i]);
    }
}

static void pages_make_a_sound_database(void **state) {
    (void)state;
    char path[PATH_ROOM + 16];
    sqlite3 *db;
    need_core();
    analyze("one.db", "--threads", "2");
    snprintf(path, sizeof path, "%s/one.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_true(e2e_number(db, "SELECT count(*) FROM chunk", 0) > CHUNKS);
    e2e_no_rows(db, "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'");
    assert_true(e2e_number(db, "SELECT count(DISTINCT heap_id) FROM v_chunk", 0) > 1);
    sqlite3_close(db);
}

static int set_up(void **state) {
    (void)state;
    char program[PATH_ROOM], chunks[16];
    snprintf(chunks, sizeof chunks, "%d", CHUNKS);
    if (!process_corefrag() || !process_folder_make(folder) || !process_generator("big", program))
        return -1;
    char *const argv[] = {program, chunks, "6", NULL};
    if (!process_kernel_core(folder, argv, core))
        core[0] = '\0';
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_database_does_not_depend_on_threads),
        cmocka_unit_test(pages_make_a_sound_database),
    };
    int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    return failed != 0;
}
