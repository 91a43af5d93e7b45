#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth_tables.h"

enum { MAX_ROWS_SHOWN = 8 };

static bool gdb_core(struct e2e_run *run, char *const argv[]) {
    run->by_gdb = true;
    if (run->producer != E2E_GDB)
        print_message("%s: the kernel left no core here, gdb writes one\n", run->scenario);
    return process_gdb_core(run->folder, argv, run->core);
}

static bool make_program_core(struct e2e_run *run) {
    char *const argv[] = {"sh", "-c", (char *)run->command, NULL};
    if (run->producer != E2E_GDB && process_killed_core(run->folder, argv, run->core))
        return true;
    return gdb_core(run, argv);
}

/* The archive itself is the core that is analyzed; only the truth is unpacked here. */
static bool unpack_truth(struct e2e_run *run) {
    if (!realpath(run->archive, run->core))
        return false;
    char *const argv[] = {"tar", "-xf", run->core, "truth", "truth.xml", NULL};
    return process_run(run->folder, argv) == 0;
}

bool e2e_make_core(struct e2e_run *run) {
    char program[PATH_ROOM];
    if (!process_folder_make(run->folder))
        return false;
    if (run->archive)
        return unpack_truth(run);
    if (run->command)
        return make_program_core(run);
    bool is_static = strncmp(run->scenario, E2E_STATIC, strlen(E2E_STATIC)) == 0;
    if (!process_generator(is_static ? "truth-static" : "truth", program))
        return false;
    const char *scenario = run->scenario + (is_static ? strlen(E2E_STATIC) : 0);
    char *argv[] = {program, (char *)scenario, "truth", NULL, NULL};
    if (run->producer != E2E_GDB && process_kernel_core(run->folder, argv, run->core))
        return true;
    argv[3] = "wait";
    return gdb_core(run, argv);
}

bool e2e_analyze(struct e2e_run *run) {
    const char *corefrag = process_corefrag();
    if (!corefrag) {
        print_error("no corefrag to test: run make, or set COREFRAG\n");
        return false;
    }
    snprintf(run->db_path, PATH_ROOM, "%.4000s/out.db", run->folder);
    char *const argv[] = {(char *)corefrag, "analyze", run->core, "-o", run->db_path, NULL};
    run->exit_code = process_run(run->folder, argv);
    char *talk = run->exit_code ? process_text(run->folder, "stderr") : NULL;
    if (talk)
        print_error("analyze ended with %d: %s\n", run->exit_code, talk);
    free(talk);
    return run->exit_code >= 0 && run->exit_code < 128;
}

bool e2e_open(struct e2e_run *run) {
    if (sqlite3_open_v2(run->db_path, &run->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        print_error("%s: %s\n", run->db_path, sqlite3_errmsg(run->db));
        return false;
    }
    return run->command || truth_tables_load(run->db, run->folder, !run->archive);
}

void e2e_end(struct e2e_run *run) {
    sqlite3_close(run->db);
    run->db = NULL;
    if (!getenv("E2E_KEEP"))
        process_folder_remove(run->folder);
    run->folder[0] = 0;
}

static void print_row(sqlite3_stmt *stmt) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const unsigned char *text = sqlite3_column_text(stmt, i);
        print_error("%s%s=%s", i ? "  " : "    ", sqlite3_column_name(stmt, i),
                    text ? (const char *)text : "NULL");
    }
    print_error("\n");
}

int e2e_print_rows(sqlite3 *db, const char *sql) {
    sqlite3_stmt *stmt;
    int rows = 0, status = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    while (status == SQLITE_OK || status == SQLITE_ROW) {
        status = sqlite3_step(stmt);
        if (status == SQLITE_ROW && rows++ < MAX_ROWS_SHOWN)
            print_row(stmt);
    }
    sqlite3_finalize(stmt);
    if (status == SQLITE_DONE)
        return rows;
    print_error("%s\n%s\n", sqlite3_errmsg(db), sql);
    return -1;
}

void e2e_no_rows(sqlite3 *db, const char *sql) {
    int rows = e2e_print_rows(db, sql);
    if (rows < 0)
        fail_msg("the query does not run");
    if (rows > 0)
        fail_msg("%d rows contradict it", rows);
}

long long e2e_number(sqlite3 *db, const char *sql, long long otherwise) {
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s\n%s", sqlite3_errmsg(db), sql);
    long long value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : otherwise;
    sqlite3_finalize(stmt);
    return value;
}

/* ---- one group of tests a scenario; cmocka hands no state to a group, so it stands here ---- */

static struct e2e_run current;

static int set_up(void **state) {
    (void)state;
    bool has_core = e2e_make_core(&current);
    if (!has_core)
        print_error("%s: no core could be made\n", current.scenario);
    if (has_core && e2e_analyze(&current) && e2e_open(&current))
        return 0;
    e2e_end(&current); /* cmocka does not tear down what was not set up */
    return -1;
}

static int tear_down(void **state) {
    (void)state;
    e2e_end(&current);
    return 0;
}

bool e2e_is_met(sqlite3 *db, enum checks_need need) {
    const char *sql[] = {
        [CHECKS_ALWAYS] = "SELECT 1",
        [CHECKS_RESIDENCY] = "SELECT value = 1 FROM meta WHERE key = 'residency_exact'",
        [CHECKS_PAGEMAP] = "SELECT value = 1 AND EXISTS (SELECT 1 FROM truth_page) FROM meta"
                           " WHERE key = 'residency_exact'",
        [CHECKS_TRACED] = "SELECT value = 1 FROM truth_figure WHERE kind = 'trim_traced'",
    };
    return e2e_number(db, sql[need], 0) == 1;
}

static void apply_check(void **state) {
    const struct check *check = *state;
    if (e2e_is_met(current.db, check->need)) {
        e2e_no_rows(current.db, check->sql);
    } else {
        print_message("%s: this core cannot show it\n", check->name);
        skip();
    }
}

/* The kernel's core of a truth program shows its residency, so there no check may be skipped. */
static void the_exit_code_is_right(void **state) {
    (void)state;
    assert_int_equal(current.exit_code, current.expected_exit_code);
    if (!current.by_gdb && !current.command && current.exit_code == 0)
        assert_true(e2e_is_met(current.db, CHECKS_RESIDENCY));
}

/* Runs to its end without an error; what it returns is the example's business. */
static void every_example_query_runs(void **state) {
    (void)state;
    sqlite3_stmt *examples;
    int status =
        sqlite3_prepare_v2(current.db, "SELECT sql FROM example_query", -1, &examples, NULL);
    assert_int_equal(status, SQLITE_OK);
    int nr = 0;
    for (; sqlite3_step(examples) == SQLITE_ROW; nr++) {
        const char *sql = (const char *)sqlite3_column_text(examples, 0);
        char *why = NULL;
        if (sqlite3_exec(current.db, sql, NULL, NULL, &why))
            fail_msg("%s: %s", why, sql);
    }
    sqlite3_finalize(examples);
    assert_true(nr > 0);
}

static int run_group(const struct checks *checks) {
    struct CMUnitTest tests[CHECKS_MAX + 2] = {cmocka_unit_test(the_exit_code_is_right),
                                               cmocka_unit_test(every_example_query_runs)};
    for (size_t i = 0; i < checks->nr; i++) {
        tests[i + 2] = (struct CMUnitTest){.name = checks->row[i].name,
                                           .test_func = apply_check,
                                           .initial_state = (void *)&checks->row[i]};
    }
    char name[80];
    snprintf(name, sizeof name, "%s%s", current.scenario,
             current.producer == E2E_GDB ? " (gdb)" : "");
    print_message("[ SCENARIO ] %s\n", name);
    return _cmocka_run_group_tests(name, tests, checks->nr + 2, set_up, tear_down);
}

int e2e_scenario(const char *scenario, enum e2e_producer producer) {
    static const char *const files[] = {"truth", "sums",   "trim",   "waste",
                                        "reach", "budget", "judged", "verdict"};
    static struct checks checks;
    for (size_t i = 0; i < sizeof files / sizeof *files && checks.nr_files <= i; i++)
        checks_read(&checks, files[i]);
    current = (struct e2e_run){.scenario = scenario, .producer = producer};
    return run_group(&checks);
}

int e2e_scenario_without_heap(const char *scenario) {
    static struct checks checks;
    if (!checks.nr)
        checks_read(&checks, "judged");
    current = (struct e2e_run){.scenario = scenario, .expected_exit_code = 5};
    return run_group(&checks);
}

int e2e_program(const char *name, const char *command, enum e2e_producer producer) {
    static struct checks checks;
    if (!checks.nr) {
        checks_read(&checks, "sums");
        checks_read(&checks, "waste");
    }
    current = (struct e2e_run){.scenario = name, .command = command, .producer = producer};
    return run_group(&checks);
}
