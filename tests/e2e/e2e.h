/*
 * The end-to-end harness: a scenario's core, our database of it, and the truth beside it.
 *
 * A check is a query that must return no row; the rows that it does return are what is wrong, and
 * are printed. e2e_scenario() makes one group of cmocka tests of a scenario and its checks. Where
 * the kernel does not leave a core in the folder, gdb writes one, which the output says.
 */
#ifndef E2E_H
#define E2E_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "checks.h"
#include "process.h"

/* Before a scenario's name: the static program, stripped, runs it. */
#define E2E_STATIC "static "

enum e2e_producer {
    E2E_ANY, /* the kernel if it can be had, else gdb */
    E2E_GDB, /* gdb; skipped where there is none */
};

struct e2e_run {
    const char *scenario; /* or the name of another program, if there is a command */
    const char *command;  /* for the shell: prints "ready" and goes on; then there is no truth */
    const char *archive;  /* a core with its truth beside it, packed: nothing is run */
    enum e2e_producer producer;
    bool by_gdb;            /* who wrote the core */
    char folder[PATH_ROOM]; /* holds everything below; empty if there is none */
    char core[PATH_ROOM];
    char db_path[PATH_ROOM];
    int exit_code; /* of analyze */
    int expected_exit_code;
    sqlite3 *db; /* read-only, with the truth in temp tables; NULL until e2e_open() */
};

/* Makes the core of run->scenario. False, with a message, if it cannot. */
bool e2e_make_core(struct e2e_run *run);

/* Runs `corefrag analyze CORE -o DB`; its exit code stands in run->exit_code. */
bool e2e_analyze(struct e2e_run *run);

/* Opens the database and loads the truth. */
bool e2e_open(struct e2e_run *run);

/* Closes and removes everything. */
void e2e_end(struct e2e_run *run);

/* Prints the first rows that `sql` returns; their number, or -1 with a message: it does not run. */
int e2e_print_rows(sqlite3 *db, const char *sql);

/* Fails the running test if `sql` returns a row or does not run. */
void e2e_no_rows(sqlite3 *db, const char *sql);

/* Whether this core and its truth can show what a check needs. */
bool e2e_is_met(sqlite3 *db, enum checks_need need);

/* The first column of the first row of `sql`, or `otherwise`. */
long long e2e_number(sqlite3 *db, const char *sql, long long otherwise);

/*
 * Runs a scenario, analyzes its core, and applies every file of checks; every example query must
 * run, too. Returns the number of failed tests, as cmocka does.
 */
int e2e_scenario(const char *scenario, enum e2e_producer producer);

/* The same for one whose malloc is not glibc's: analyze ends with 5, and is only judged. */
int e2e_scenario_without_heap(const char *scenario);

/*
 * Runs another program by its `command` until it is ready, aborts it (or lets gdb write a core),
 * and applies those checks that need no truth.
 */
int e2e_program(const char *name, const char *command, enum e2e_producer producer);

#endif
