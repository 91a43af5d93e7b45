/*
 * Cores that are not whole. One core of the matrix is damaged in every way that limits, full disks,
 * filters and dumpers do it; what is said of the rest must be right, and what is missing must be
 * named. Cores under filters and limits are made by the kernel itself.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "damage.h"

#define CORPUS "tests/corpus/"

enum wanted {
    EXACT = 1,      /* mallinfo is as the process said */
    NO_MALLINFO = 2, /* it is not told */
    NO_HEAP = 4,
    INCOMPLETE = 8, /* a finding says what is missing */
    BY_MAPPING = 16,
};

struct damage {
    const char *name;
    const char *archive;
    bool (*apply)(const char *core, sqlite3 *whole); /* `whole`: our database of the whole core */
    int exit_code;
    unsigned wanted;
    unsigned found_percent; /* of the live pointers, at least */
};

/* ---- the ways ---- */

static uint64_t address(sqlite3 *whole, const char *sql) {
    return (uint64_t)e2e_number(whole, sql, 0);
}

#define CUT(percent)                                                                               \
    static bool cut_##percent(const char *core, sqlite3 *whole) {                                  \
        (void)whole;                                                                               \
        return damage_cut(core, percent);                                                          \
    }
CUT(1)
CUT(5)
CUT(10)
CUT(20)
CUT(30)
CUT(50)
CUT(70)
CUT(90)
CUT(99)

static bool cut_notes(const char *core, sqlite3 *whole) {
    (void)whole;
    return damage_cut_notes(core);
}

static bool cut_headers(const char *core, sqlite3 *whole) {
    (void)whole;
    return damage_cut_headers(core);
}

static bool zero_tail(const char *core, sqlite3 *whole) {
    (void)whole;
    return damage_zero_tail(core, 50);
}

static bool no_libc_data(const char *core, sqlite3 *whole) {
    return damage_leave_out(core, address(whole, "SELECT address FROM v_arena WHERE arena_id = 0"));
}

static bool no_main_heap(const char *core, sqlite3 *whole) {
    return damage_leave_out(core, address(whole, "SELECT start FROM v_heap WHERE arena_id = 0"));
}

static bool no_files(const char *core, sqlite3 *whole) {
    (void)whole;
    return damage_hide_files(core);
}

static bool no_count(const char *core, sqlite3 *whole) {
    (void)whole;
    return damage_lose_count(core);
}

static bool overlap(const char *core, sqlite3 *whole) {
    return damage_overlap(core, address(whole, "SELECT start FROM v_heap WHERE arena_id = 0"));
}

/* As gdb writes merged stacks that it cannot read: not the first thread's. */
static bool zero_stacks(const char *core, sqlite3 *whole) {
    static const char sql[] = "SELECT stack_start, stack_end FROM v_thread WHERE thread_id > 0"
                              " AND stack_end > stack_start";
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(whole, sql, -1, &stmt, NULL) != SQLITE_OK)
        return false;
    bool fine = true;
    int nr = 0;
    for (; fine && sqlite3_step(stmt) == SQLITE_ROW; nr++)
        fine = damage_zero_memory(core, (uint64_t)sqlite3_column_int64(stmt, 0),
                                  (uint64_t)sqlite3_column_int64(stmt, 1));
    sqlite3_finalize(stmt);
    return fine && nr > 0;
}

#define BASIC CORPUS "2.36-amd64-basic.tar.zst"
#define THREADS CORPUS "2.43-amd64-threads.tar.zst"

static const struct damage damages[] = {
    {"cut at 1 percent", BASIC, cut_1, 4, INCOMPLETE, 0},
    {"cut at 5 percent", BASIC, cut_5, 4, INCOMPLETE, 0},
    {"cut at 10 percent", BASIC, cut_10, 4, INCOMPLETE, 0},
    {"cut at 20 percent", BASIC, cut_20, 4, INCOMPLETE, 0},
    {"cut at 30 percent", BASIC, cut_30, 4, INCOMPLETE, 0},
    {"cut at 50 percent", BASIC, cut_50, 4, INCOMPLETE, 0},
    {"cut at 70 percent", BASIC, cut_70, 4, INCOMPLETE, 0},
    {"cut at 90 percent", BASIC, cut_90, 4, INCOMPLETE, 0},
    {"cut at 99 percent", BASIC, cut_99, 4, INCOMPLETE, 0},
    {"threads, cut at 30 percent", THREADS, cut_30, 4, INCOMPLETE, 0},
    {"threads, cut at 70 percent", THREADS, cut_70, 4, INCOMPLETE, 0},
    {"threads, cut at 99 percent", THREADS, cut_99, 4, INCOMPLETE, 0},
    {"cut in the notes", BASIC, cut_notes, 4, INCOMPLETE | NO_HEAP, 0},
    {"cut in the program headers", BASIC, cut_headers, 4, INCOMPLETE | NO_HEAP, 0},
    {"the second half is zeros", BASIC, zero_tail, 4, INCOMPLETE, 0},
    {"libc's data is left out", BASIC, no_libc_data, 0, NO_MALLINFO | BY_MAPPING, 99},
    {"threads, libc's data is left out", THREADS, no_libc_data, 0, NO_MALLINFO | BY_MAPPING, 99},
    {"the main heap is left out", THREADS, no_main_heap, 4, 0, 50},
    {"no list of files", BASIC, no_files, 0, EXACT, 100},
    {"threads, no list of files", THREADS, no_files, 0, EXACT, 100},
    {"the count of segments is lost", BASIC, no_count, 4, EXACT | INCOMPLETE, 100},
    {"segments overlap", BASIC, overlap, 0, EXACT, 100},
    {"stacks are zeros", THREADS, zero_stacks, 0, EXACT, 100},
};

/* ---- what must hold of each ---- */

static void check(struct e2e_run *run, int *failed, const char *what, const char *sql) {
    if (e2e_print_rows(run->db, sql) == 0)
        return;
    print_error("%s: contradicted: %s\n", run->scenario, what);
    ++*failed;
}

/* What is said is right, however little it is. */
static void check_what_is_said(struct e2e_run *run, int *failed) {
    check(run, failed, "a live pointer that we have is live, with its usable size",
          "SELECT printf('0x%x', t.address), c.state, c.usable_bytes, t.usable FROM truth_live t"
          " JOIN v_chunk c ON c.address = t.address - 16"
          " WHERE c.state NOT IN ('live', 'mmapped') OR c.usable_bytes <> t.usable");
    check(run, failed, "no heap is more than its chunks",
          "SELECT * FROM v_heap WHERE live_bytes + free_bytes + fast_bytes + tcache_bytes +"
          " top_bytes + overhead_bytes <> end - start");
    check(run, failed, "nothing is called corrupt", "SELECT * FROM v_anomaly WHERE is_corruption");
    check(run, failed, "meta, finding and exit code agree",
          "SELECT * FROM (SELECT"
          " (SELECT value = 0 FROM meta WHERE key = 'core_complete') cut,"
          " (SELECT count(*) FROM v_finding WHERE code = 'core-incomplete') said,"
          " (SELECT count(*) > 0 FROM v_finding WHERE code IN"
          "  ('heap-left-out', 'heap-partly-left-out')) left_out,"
          " (SELECT value FROM meta WHERE key = 'outcome') outcome)"
          " WHERE cut <> said OR (cut OR left_out) <> (outcome = 4)");
}

static void check_wanted(struct e2e_run *run, const struct damage *damage, int *failed) {
    static const struct {
        unsigned wanted;
        const char *what;
        const char *sql;
    } rows[] = {
        {EXACT, "mallinfo is exact",
         "SELECT * FROM truth_mallinfo t LEFT JOIN v_mallinfo v ON v.arena_id IS NULL"
         " WHERE t.kind = 'mallinfo2' AND (t.arena, t.ordblks, t.smblks, t.hblks, t.hblkhd,"
         " t.fsmblks, t.uordblks, t.fordblks, t.keepcost) IS NOT (v.arena, v.ordblks, v.smblks,"
         " v.hblks, v.hblkhd, v.fsmblks, v.uordblks, v.fordblks, v.keepcost)"},
        {NO_MALLINFO, "mallinfo is not told", "SELECT * FROM v_mallinfo WHERE arena IS NOT NULL"},
        {NO_HEAP, "no heap is told", "SELECT * FROM v_heap"},
        {INCOMPLETE, "the core is called incomplete",
         "SELECT value FROM meta WHERE key = 'core_complete' AND value <> 0"},
        {BY_MAPPING, "the main heap is known by its mapping",
         "SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM v_anomaly"
         " WHERE code = 'main-arena-by-mapping') OR NOT EXISTS (SELECT 1 FROM v_arena"
         " WHERE is_main AND address IS NULL AND system_bytes IS NULL AND top_bytes > 0)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (damage->wanted & rows[i].wanted)
            check(run, failed, rows[i].what, rows[i].sql);
    long long percent = e2e_number(run->db,
                                   "SELECT 100 * count(c.address) / count(*) FROM truth_live t"
                                   " LEFT JOIN v_chunk c ON c.address = t.address - 16", 0);
    if (percent < (long long)damage->found_percent) {
        print_error("%s: only %lld %% of the pointers are there\n", run->scenario, percent);
        ++*failed;
    }
}

/* Analyzes the whole core first, for its addresses; then damages a copy of it. */
static bool make_damaged(struct e2e_run *run, const struct damage *damage) {
    char path[2 * PATH_ROOM];
    if (!e2e_make_core(run))
        return false;
    char *const unpack[] = {"tar", "-xf", run->core, "core", NULL};
    if (process_run(run->folder, unpack))
        return false;
    snprintf(path, sizeof path, "%s/core", run->folder);
    snprintf(run->core, PATH_ROOM, "%.4000s", path);
    if (!e2e_analyze(run) || !e2e_open(run))
        return false;
    bool done = damage->apply(run->core, run->db);
    sqlite3_close(run->db);
    run->db = NULL;
    return done && unlink(run->db_path) == 0;
}

static void damaged_core_is_read_as_far_as_it_goes(void **state) {
    const struct damage *damage = *state;
    struct e2e_run run = {.scenario = damage->name, .archive = damage->archive};
    int failed = 1;
    if (make_damaged(&run, damage) && e2e_analyze(&run) && e2e_open(&run)) {
        failed = run.exit_code != damage->exit_code;
        check_what_is_said(&run, &failed);
        check_wanted(&run, damage, &failed);
    }
    e2e_end(&run);
    assert_int_equal(failed, 0);
}

/* ---- filters and limits: the kernel itself ---- */

static bool kernel_core(struct e2e_run *run, const char *before) {
    char program[PATH_ROOM], command[2 * PATH_ROOM];
    if (!process_folder_make(run->folder) || !process_generator("truth", program))
        return false;
    snprintf(command, sizeof command, "%s; exec %.4000s bins truth", before, program);
    char *const argv[] = {"sh", "-c", command, NULL};
    return process_kernel_core(run->folder, argv, run->core);
}

/* Every filter with bit 0 dumps the heap and libc's data, none without does. */
static void any_filter_is_exact_or_refused(void **state) {
    static const unsigned filters[] = {0,    1,    2,    3,    0x4,  0x8,  0x10, 0x11, 0x20, 0x21,
                                       0x23, 0x33, 0x3b, 0x3f, 0x40, 0x41, 0x7e, 0x7f};
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        struct e2e_run run = {.scenario = "filter"};
        char before[80];
        snprintf(before, sizeof before, "echo %#x >/proc/self/coredump_filter", filters[i]);
        if (!kernel_core(&run, before)) {
            e2e_end(&run);
            print_message("the kernel leaves no core here\n");
            skip();
        }
        const struct damage wanted = {
            .name = before,
            .exit_code = filters[i] & 1 ? 0 : 5,
            .wanted = filters[i] & 1 ? EXACT : NO_HEAP,
            .found_percent = filters[i] & 1 ? 100 : 0,
        };
        run.scenario = before;
        failed += !e2e_analyze(&run) || !e2e_open(&run) || run.exit_code != wanted.exit_code;
        check_wanted(&run, &wanted, &failed);
        if (!(filters[i] & 1))
            check(&run, &failed, "the filter is given as the reason",
                  "SELECT code FROM v_finding WHERE severity = 'critical'"
                  " AND code <> 'heap-not-dumped'");
        char *talk = process_text(run.folder, "stderr");
        bool is_said = talk != NULL && strstr(talk, "coredump_filter left anonymous memory out");
        if (is_said == (filters[i] & 1)) {
            print_error("%s: on stderr: %s\n", before, talk);
            failed++;
        }
        free(talk);
        e2e_end(&run);
    }
    assert_int_equal(failed, 0);
}

static void a_small_limit_cuts_the_core(void **state) {
    (void)state;
    struct e2e_run run = {.scenario = "ulimit -c 64k"};
    if (!kernel_core(&run, "ulimit -c 128")) {
        e2e_end(&run);
        print_message("the kernel leaves no core here\n");
        skip();
    }
    int failed = !e2e_analyze(&run) || !e2e_open(&run) || run.exit_code != 4;
    check_what_is_said(&run, &failed);
    e2e_end(&run);
    assert_int_equal(failed, 0);
}

int main(void) {
    enum { NR = sizeof damages / sizeof *damages };
    struct CMUnitTest tests[NR + 2] = {cmocka_unit_test(any_filter_is_exact_or_refused),
                                       cmocka_unit_test(a_small_limit_cuts_the_core)};
    for (size_t i = 0; i < NR; i++)
        tests[i + 2] = (struct CMUnitTest){.name = damages[i].name,
                                           .test_func = damaged_core_is_read_as_far_as_it_goes,
                                           .initial_state = (void *)&damages[i]};
    return _cmocka_run_group_tests("incomplete cores", tests, NR + 2, NULL, NULL);
}
