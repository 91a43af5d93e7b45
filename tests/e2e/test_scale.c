/*
 * Much of one thing: all of it is found, and what is resident meanwhile does not grow with it. A
 * page of the core that is looked at has neighbours that the kernel maps along, so that many small
 * places are soon the whole core.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESIDENT_KIB_MAX = 96 << 10 };

static char folder[PATH_ROOM];
static char program[PATH_ROOM];

struct scale_case {
    const char *name;
    const char *what, *nr; /* for gen/scale */
    bool split;            /* its core is cut into so many segments */
    const char *sql;       /* must say at least `rows` */
    long long rows;
};

static const struct scale_case cases[] = {
    {"every thread and its cache", "threads", "3000", false,
     "SELECT count(*) FROM v_thread t JOIN v_tcache USING (thread_id)", 3000},
    {"every arena and its free chunks", "arenas", "300", false,
     "SELECT count(*) FROM v_arena WHERE free_chunks + tcache_chunks > 0", 300},
    {"every piece of a scattered heap", "heaps", "1000", false,
     "SELECT count(*) FROM v_heap WHERE arena_id = 0 AND live_bytes > 900000", 999},
    {"every segment", "pages", "70000", true, "SELECT count(*) FROM v_segment", 70000},
    {"a hole of 100 MB", "hole", "104857600", false, "SELECT max(size_bytes) FROM v_hole",
     90000000},
    {"a chunk of 4 GiB", "chunk", "4294967296", false, "SELECT max(size_bytes) FROM v_chunk",
     4294967296},
};

/* Runs corefrag in the folder and returns what was resident at most, in KiB. */
static long run_measured(char *const argv[]) {
    struct rusage usage;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(folder) == 0 && freopen("stdout", "w", stdout) && freopen("stderr", "w", stderr))
            execv(argv[0], argv);
        _exit(127);
    }
    assert_true(pid > 0 && wait4(pid, &status, 0, &usage) == pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0)
        fail_msg("%s: %s", argv[1], process_text(folder, "stderr"));
    return usage.ru_maxrss;
}

static void expect_small_resident_set(char *const argv[]) {
    long kib = run_measured(argv);
#ifndef __SANITIZE_ADDRESS__
    if (kib > RESIDENT_KIB_MAX)
        fail_msg("%s: %ld KiB resident", argv[1], kib);
#endif
    (void)kib;
}

static bool make_core(const struct scale_case *c, char core[PATH_ROOM]) {
    char *const argv[] = {program, (char *)c->what, (char *)c->nr, NULL};
    if (!process_kernel_core(folder, argv, core))
        return false;
    char *const split[] = {program, "split", core, (char *)c->nr, NULL};
    return !c->split || process_run(folder, split) == 0;
}

static void run_case(void **state) {
    const struct scale_case *c = *state;
    char core[PATH_ROOM], path[PATH_ROOM + 16];
    if (!make_core(c, core)) {
        print_message("the kernel leaves no core here: skipped\n");
        skip();
    }
    char *const check[] = {(char *)process_corefrag(), "check", core, NULL};
    char *const analyze[] = {(char *)process_corefrag(), "analyze", core, "-o", "x.db",
                             "--force", NULL};
    bool is_large = strcmp(c->what, "chunk") == 0; /* its planes are 3 % of it */
    if (is_large)
        (void)run_measured(analyze);
    else
        expect_small_resident_set(analyze);
    expect_small_resident_set(check);
    snprintf(path, sizeof path, "%s/x.db", folder);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_true(e2e_number(db, c->sql, 0) >= c->rows);
    e2e_no_rows(db, "SELECT * FROM v_anomaly");
    sqlite3_close(db);
    assert_int_equal(unlink(core), 0);
}

static int set_up(void **state) {
    (void)state;
    return process_corefrag() && process_folder_make(folder) && process_generator("scale", program)
               ? 0
               : -1;
}

static int tear_down(void **state) {
    (void)state;
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    enum { NR = sizeof cases / sizeof cases[0] };
    struct CMUnitTest tests[NR];
    for (size_t i = 0; i < NR; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name, .test_func = run_case,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return _cmocka_run_group_tests("scale", tests, NR, set_up, tear_down) != 0;
}
