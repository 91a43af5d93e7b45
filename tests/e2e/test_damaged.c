/*
 * Programs that spoil their heap, and such that only look so: what the verdict is, what malloc
 * itself said of it, and what stands in the caches of threads that are gone.
 */
#include "e2e.h"

#include <stdio.h>
#include <string.h>

#include "process.h"

struct damaged {
    const char *how; /* argument of tests/gen/damaged.c */
    int exit_code;
    const char *wanted; /* SQL that must be true */
};

#define CORRUPT "(SELECT code FROM v_verdict) = 'corrupt' AND "
#define SAYS(text) "(SELECT headline FROM v_verdict) LIKE '%" text "%'"
#define SUSPECT "(SELECT suspect_size FROM v_fact) = 2016 AND "                                    \
                "(SELECT suspect_state FROM v_fact) = 'live' AND "
#define NONE_DEAD "NOT EXISTS (SELECT 1 FROM v_finding WHERE code = 'dead-caches')"

static const struct damaged cases[] = {
    {"overrun", 6, CORRUPT SUSPECT SAYS("glibc stopped the program: \"%")},
    {"silent", 6, CORRUPT SUSPECT "(SELECT abort_message FROM v_fact) IS NULL"},
    {"double-free", 6, CORRUPT SAYS("double free or corruption (%")},
    {"tcache-double", 6, CORRUPT SAYS("free(): double free detected in tcache 2")},
    {"assert", 0, "(SELECT code FROM v_verdict) = 'healthy' AND (SELECT value FROM meta WHERE key ="
                  " 'abort_message') = ''"},
    {"nothing", 0, "(SELECT code FROM v_verdict) = 'healthy' AND " NONE_DEAD},
    {"caches", 0, "(SELECT code FROM v_verdict) = 'cached' AND " SAYS("of 40 threads") " AND "
                  NONE_DEAD},
    {"held", 0, "(SELECT confidence FROM v_verdict) = 'low' AND " SAYS("%1.0 MiB of writable%")
                " AND (SELECT bytes FROM v_finding WHERE code = 'unknown-memory'"
                " AND title || detail LIKE '%DONTDUMP%') = 1048576"},
    {"lost", 0, "(SELECT code || confidence FROM v_verdict) = 'leakhigh' AND NOT EXISTS"
                " (SELECT 1 FROM v_finding WHERE code IN ('unknown-memory', 'roots-missing'))"},
    {"left-out", 4, "(SELECT code FROM v_verdict) = 'unknown' AND " SAYS("(MADV_DONTDUMP)")},
    {"left-out-part", 4, "(SELECT confidence FROM v_verdict) = 'low' AND (SELECT bytes FROM"
                         " v_finding WHERE code = 'heap-partly-left-out') = 65536 AND"
                         " (SELECT count(*) FROM v_anomaly WHERE is_corruption) = 0"},
    {"busy", 0, "(SELECT code FROM v_verdict) <> 'corrupt'"},
    {"busy-damaged", 6, CORRUPT "EXISTS (SELECT 1 FROM v_anomaly WHERE is_corruption)"},
    {"taken", 0, "(SELECT code FROM v_verdict) <> 'corrupt' AND (SELECT code FROM v_anomaly) ="
                 " 'free-not-binned'"},
    {"astray", 6, CORRUPT "(SELECT code FROM v_anomaly) = 'free-not-binned'"},
    {"forked", 0, "(SELECT code FROM v_verdict) = 'cached' AND (SELECT bytes FROM v_finding"
                  " WHERE code = 'dead-caches') = (SELECT sum(bytes) FROM v_tcache)"},
};

static void run_case(void **state) {
    const struct damaged *damaged = *state;
    struct e2e_run run = {.scenario = "damaged", .command = damaged->how}; /* no truth beside it */
    char program[PATH_ROOM];
    if (!process_generator("damaged", program) || !process_folder_make(run.folder))
        skip();
    char *argv[] = {program, (char *)damaged->how, NULL};
    if (!process_kernel_core(run.folder, argv, run.core)) {
        e2e_end(&run);
        skip();
    }
    assert_true(e2e_analyze(&run));
    assert_int_equal(run.exit_code, damaged->exit_code);
    assert_true(e2e_open(&run));
    char *sql = sqlite3_mprintf("SELECT %s", damaged->wanted);
    if (e2e_number(run.db, sql, -1) != 1) {
        e2e_print_rows(run.db, "SELECT code, headline FROM v_verdict");
        fail_msg("%s: %s", damaged->how, sql);
    }
    sqlite3_free(sql);
    e2e_end(&run);
}

int main(void) {
    enum { NR_CASES = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[NR_CASES];
    for (size_t i = 0; i < NR_CASES; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].how, .test_func = run_case, .initial_state = (void *)&cases[i]};
    return _cmocka_run_group_tests("damaged", tests, NR_CASES, NULL, NULL);
}
