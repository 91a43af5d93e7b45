/*
 * Leaks as another tool scores them. valgrind replaces malloc, so blocks are matched by the number
 * that tests/gen/leaky.c gives each: here by its size, there by the function that made it. What
 * valgrind calls possibly lost, only pointed into, is reached by our rule.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 64 };

static struct e2e_run run = {.scenario = "leaky"};
static char program[PATH_ROOM], command[PATH_ROOM + 16];

/* "definitely", "indirectly": lost; "possibly", "still": not. */
static bool line_is_of_lost(const char *line) {
    return strstr(line, "definitely lost") != NULL || strstr(line, "indirectly lost") != NULL;
}

static bool line_is_of_kept(const char *line) {
    return strstr(line, "possibly lost") != NULL || strstr(line, "still reachable") != NULL;
}

/* Fills in 1: lost, 0: kept, -1: not mentioned. */
static void read_records(char *text, int lost[BLOCKS]) {
    bool is_lost = false;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *function = strstr(line, ": block_");
        if (line_is_of_lost(line) || line_is_of_kept(line))
            is_lost = line_is_of_lost(line);
        if (function == NULL)
            continue;
        long n = strtol(function + strlen(": block_"), NULL, 10);
        assert_in_range(n, 0, BLOCKS - 1);
        lost[n] = is_lost;
    }
}

static bool ask_valgrind(int lost[BLOCKS]) {
    char *const argv[] = {"/usr/bin/valgrind", "--leak-check=full", "--show-leak-kinds=all",
                          "--leak-resolution=high", "--num-callers=4", "--undef-value-errors=no",
                          "--log-file=records", program, NULL};
    for (size_t i = 0; i < BLOCKS; i++)
        lost[i] = -1;
    if (access(argv[0], X_OK) != 0 || process_run(run.folder, argv) != 0)
        return false;
    char *text = process_text(run.folder, "records");
    assert_non_null(text);
    read_records(text, lost);
    free(text);
    return true;
}

static bool is_lost_here(size_t block) {
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT sum(chunks) FROM v_leak WHERE size_bytes = %zu",
             (64 + 32 * block + 8 + 15) / 16 * 16);
    return e2e_number(run.db, sql, 0) > 0;
}

static int set_up(void **state) {
    (void)state;
    if (!process_generator("leaky", program))
        return -1;
    snprintf(command, sizeof command, "exec %s wait", program);
    run.command = command;
    return e2e_make_core(&run) && e2e_analyze(&run) && e2e_open(&run) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    e2e_end(&run);
    return 0;
}

static void each_block_is_scored_as_valgrind_does(void **state) {
    (void)state;
    int lost[BLOCKS];
    size_t nr_lost = 0;
    if (!ask_valgrind(lost)) {
        print_message("valgrind is not here, or cannot run\n");
        skip();
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (lost[i] < 0)
            fail_msg("block %zu has no record of valgrind's", i);
        if (is_lost_here(i) != (lost[i] == 1))
            fail_msg("block %zu: lost is %d for valgrind, %d here", i, lost[i], is_lost_here(i));
        nr_lost += lost[i] == 1;
    }
    assert_in_range(nr_lost, 20, BLOCKS - 20);
}

/* What the program itself says, whoever else is there to ask. */
static void the_chain_that_is_held_is_reached_and_its_twin_is_lost(void **state) {
    (void)state;
    for (size_t i = 0; i <= 25; i++)
        assert_int_equal(is_lost_here(i), i % 2);
    for (size_t i = 26; i < 32; i++)
        assert_true(is_lost_here(i));
}

/* All memory that may hold pointers is in this core, so nobody speaks of any that is not. */
static void no_memory_is_called_unknown_where_every_root_is_in_the_core(void **state) {
    (void)state;
    assert_int_equal(e2e_number(run.db, "SELECT count(*) FROM v_unknown_memory", -1), 0);
    assert_int_equal(e2e_number(run.db, "SELECT count(*) FROM v_finding WHERE"
                                        " code = 'unknown-memory'", -1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chain_that_is_held_is_reached_and_its_twin_is_lost),
        cmocka_unit_test(each_block_is_scored_as_valgrind_does),
        cmocka_unit_test(no_memory_is_called_unknown_where_every_root_is_in_the_core),
    };
    return cmocka_run_group_tests_name("leaks", tests, set_up, tear_down);
}
