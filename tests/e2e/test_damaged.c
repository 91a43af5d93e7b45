/*
 * Programs that spoil their heap, and such that only look so: what the verdict is, what malloc
 * itself said of it, and what stands in the caches of threads that are gone.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

struct damaged {
    const char *how; /* argument of tests/gen/damaged.c */
    int exit_code;
    const char *wanted; /* SQL that must be true */
};

#define CORRUPT "(SELECT code FROM v_verdict) = 'corrupt' AND "
#define SAYS(text) "(SELECT headline FROM v_verdict) LIKE '%" text "%'"
#define SUSPECT "(SELECT suspect_size FROM v_fact) = 2016 AND "                                    \
                "(SELECT suspect_state FROM v_fact) = 'live' AND "                                 \
                "(SELECT detail FROM v_finding LIMIT 1) LIKE '%overrun by at least 32 B%' AND "
/* What an operation leaves has a thread that is at it. */
#define NOT_CORRUPT "(SELECT code FROM v_verdict) <> 'corrupt' AND NOT EXISTS (SELECT 1 FROM"      \
                    " v_anomaly WHERE source = 'heap' AND code <> 'mmapped-count' AND"             \
                    " (is_corruption OR NOT in_flux OR thread_id IS NULL OR arena_id IS NULL))"
#define NONE_DEAD "NOT EXISTS (SELECT 1 FROM v_finding WHERE code = 'dead-caches')"

static const struct damaged cases[] = {
    {"overrun", 6, CORRUPT SUSPECT SAYS("glibc stopped the program: \"%")},
    {"silent", 6, CORRUPT SUSPECT "(SELECT abort_message FROM v_fact) IS NULL"},
    {"double-free", 6, CORRUPT SAYS("double free or corruption (%")},
    {"tcache-double", 6, CORRUPT SAYS("free(): double free detected in tcache 2")},
    {"assert", 0, "(SELECT code FROM v_verdict) = 'healthy' AND (SELECT value FROM meta WHERE key ="
                  " 'abort_message') = ''"},
    {"poisoned", 6, CORRUPT "(SELECT code FROM v_anomaly) = 'tcache-not-met' AND "
                    "(SELECT abort_message FROM v_fact) IS NULL"},
    {"wild", 6, CORRUPT SAYS("inside malloc") " AND (SELECT confidence FROM v_verdict) = 'medium'"},
    {"fault", 0, NOT_CORRUPT},
    {"end-of-stack", 0, NOT_CORRUPT},
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
    {"busy", 0, NOT_CORRUPT},
    {"alone", 0, NOT_CORRUPT},
    {"alone-damaged", 6, CORRUPT "(SELECT suspect_size FROM v_fact) = 3008"},
    {"busy-damaged", 6, CORRUPT "EXISTS (SELECT 1 FROM v_anomaly WHERE is_corruption)"},
    {"taken", 0, "(SELECT code FROM v_verdict) <> 'corrupt' AND (SELECT code FROM v_anomaly) ="
                 " 'free-not-binned'"},
    {"beside", 0, "(SELECT code FROM v_verdict) <> 'corrupt' AND (SELECT code FROM v_anomaly) ="
                  " 'free-not-binned'"},
    {"astray", 6, CORRUPT "(SELECT code FROM v_anomaly) = 'free-not-binned'"},
    {"forked", 0, "(SELECT code FROM v_verdict) = 'cached' AND (SELECT bytes FROM v_finding"
                  " WHERE code = 'dead-caches') = (SELECT sum(bytes) FROM v_tcache) AND"
                  " (SELECT count(*) FROM v_tcache WHERE thread_id IS NULL) = 40 AND"
                  " (SELECT count(*) FROM v_tcache WHERE thread_id = 0) = 1"},
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
    /* How many cores malloc saw shows where threads share arenas, as 40 do on up to 4 cores, and
     * where symbols name its own limit. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long told = e2e_number(run.db, "SELECT coalesce(cpus, -1) FROM v_fact", 0);
    assert_true(told == cores || told == -1);
    if (strcmp(damaged->how, "caches") == 0 && cores > 1 && cores <= 4)
        assert_int_equal(told, cores);
    char *sql = sqlite3_mprintf("SELECT %s", damaged->wanted);
    if (e2e_number(run.db, sql, -1) != 1) {
        e2e_print_rows(run.db, "SELECT code, headline FROM v_verdict");
        fail_msg("%s: %s", damaged->how, sql);
    }
    sqlite3_free(sql);
    e2e_end(&run);
}

/* ---- tests/gen/spoiled.c: which chunk was hit, and which one was overrun ---- */

struct spoiled {
    const char *name;
    char *arguments[4]; /* how, size, bytes, "on" */
    bool has_place;     /* the chunk is there to be named: malloc had not handed it out again */
};

static const struct spoiled spoils[] = {
    {"a zero beyond 2000 bytes", {"live", "2000", "0"}, true},
    {"a zero beyond 24 bytes", {"live", "24", "0"}, true},
    {"a zero beyond 248 bytes", {"live", "248", "0"}, true},
    {"a byte beyond 2000 bytes", {"live", "2000", "1"}, true},
    {"a byte beyond 40 bytes", {"live", "40", "1"}, true},
    {"8 beyond 40 bytes", {"live", "40", "8"}, true},
    {"24 beyond 24 bytes", {"live", "24", "24"}, true},
    {"24 beyond 2000 bytes", {"live", "2000", "24"}, true},
    {"8 beyond, and it is freed", {"live", "2000", "8", "on"}, true},
    {"a zero into a cached chunk", {"cached", "40", "0"}, true},
    {"a byte into a cached chunk", {"cached", "24", "1"}, true},
    {"8 into a cached chunk", {"cached", "40", "8"}, true},
    {"24 into a cached chunk", {"cached", "40", "24"}, true},
    {"a byte into a fast chunk", {"fast", "40", "1"}, true},
    {"8 into a fast chunk", {"fast", "40", "8"}, true},
    {"24 into a fast chunk", {"fast", "40", "24"}, true},
    {"a zero into an unsorted chunk", {"unsorted", "2000", "0"}, true},
    {"a byte into an unsorted chunk", {"unsorted", "2000", "1"}, true},
    {"8 into an unsorted chunk", {"unsorted", "2000", "8"}, true},
    {"24 into an unsorted chunk, and on", {"unsorted", "2000", "24", "on"}, true},
    {"8 into a small chunk", {"small", "200", "8"}, true},
    {"24 into a small chunk", {"small", "200", "24"}, true},
    {"8 into a large chunk", {"large", "3000", "8"}, true},
    {"24 into a large chunk", {"large", "3000", "24"}, true},
    {"a zero into the top", {"top", "200", "0"}, true},
    {"a byte into the top", {"top", "200", "1"}, true},
    {"8 into the top", {"top", "200", "8"}, true},
    {"8 into the top, and on", {"top", "200", "8", "on"}, true},
    {"the link of a cached chunk", {"link-cached", "40", "0"}, true},
    {"the link of a fast chunk", {"link-fast", "40", "0"}, true},
    {"the links of an unsorted chunk", {"link-unsorted", "2000", "0"}, true},
    {"the links of a large chunk", {"link-large", "3000", "0"}, true},
    {"a cached chunk freed twice", {"twice-cached", "40", "0"}, true},
    {"a fast chunk freed twice", {"twice-fast", "40", "0"}, true},
    {"a chunk freed twice", {"twice-chunk", "2000", "0"}, true},
    {"freed twice, and handed out again", {"twice-fast", "40", "0", "on"}, false},
    {"nothing", {"nothing", "2000", "0"}, false},
    {"nothing, and on", {"nothing", "40", "0", "on"}, false},
};

static const char *wanted_damage(const struct spoiled *spoiled) {
    const char *how = spoiled->arguments[0], *bytes = spoiled->arguments[2];
    if (strncmp(how, "link", 4) == 0)
        return "kind = 'dead-chunk' AND suspect_address IS NULL AND overrun_bytes IS NULL";
    if (strncmp(how, "twice", 5) == 0)
        return "kind = 'freed-twice' AND suspect_address IS NULL AND overrun_bytes IS NULL";
    if (strcmp(bytes, "0") == 0)
        return "kind = 'zero-byte' AND overrun_bytes = 1";
    if (strcmp(bytes, "1") == 0)
        return "kind = 'byte' AND overrun_bytes = 1";
    return strcmp(bytes, "8") == 0 ? "kind = 'header' AND overrun_bytes = 8"
                                   : "kind = 'header' AND overrun_bytes = 24";
}

/* The places that the program told, header of the one and of the other. */
static void assert_places(const struct e2e_run *run, const char *text,
                          const struct spoiled *spoiled) {
    unsigned long long hit, overrun;
    assert_int_equal(sscanf(text, "%llx %llx", &hit, &overrun), 2);
    char *sql = sqlite3_mprintf("SELECT address = %lld AND coalesce(suspect_address, %lld) = %lld"
                                " AND coalesce(suspect_state, 'live') = 'live' AND %s AND"
                                " address_hex = (SELECT damaged_address FROM v_fact) FROM v_damage",
                                hit, overrun, overrun, wanted_damage(spoiled));
    if (e2e_number(run->db, sql, -1) != 1) {
        e2e_print_rows(run->db, "SELECT code, address, detail FROM v_anomaly");
        e2e_print_rows(run->db, "SELECT * FROM v_damage");
        fail_msg("%s: %s", spoiled->name, sql);
    }
    sqlite3_free(sql);
}

static void run_spoiled(void **state) {
    const struct spoiled *spoiled = *state;
    struct e2e_run run = {.scenario = "spoiled", .command = spoiled->name};
    char program[PATH_ROOM];
    bool is_sound = strcmp(spoiled->arguments[0], "nothing") == 0;
    if (!process_generator("spoiled", program) || !process_folder_make(run.folder))
        skip();
    char *argv[] = {program, spoiled->arguments[0], spoiled->arguments[1], spoiled->arguments[2],
                    spoiled->arguments[3], NULL};
    if (!process_kernel_core(run.folder, argv, run.core)) {
        e2e_end(&run);
        skip();
    }
    char *told = process_text(run.folder, "stdout");
    assert_non_null(told);
    assert_true(e2e_analyze(&run));
    assert_int_equal(run.exit_code, is_sound ? 0 : 6);
    assert_true(e2e_open(&run));
    assert_int_equal(e2e_number(run.db, "SELECT code = 'corrupt' FROM v_verdict", -1), !is_sound);
    if (spoiled->has_place)
        assert_places(&run, told, spoiled);
    free(told);
    e2e_end(&run);
}

int main(void) {
    enum { NR_CASES = sizeof cases / sizeof *cases, NR_SPOILS = sizeof spoils / sizeof *spoils };
    struct CMUnitTest tests[NR_CASES + NR_SPOILS];
    for (size_t i = 0; i < NR_CASES; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].how, .test_func = run_case, .initial_state = (void *)&cases[i]};
    for (size_t i = 0; i < NR_SPOILS; i++)
        tests[NR_CASES + i] = (struct CMUnitTest){.name = spoils[i].name,
                                                  .test_func = run_spoiled,
                                                  .initial_state = (void *)&spoils[i]};
    return _cmocka_run_group_tests("damaged", tests, NR_CASES + NR_SPOILS, NULL, NULL);
}
