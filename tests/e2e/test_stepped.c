/*
 * A program that is stopped in the midst of malloc, at one instruction after the other, is not
 * damaged: what each operation leaves until it is done is told from damage by what it is.
 */
#include "e2e.h"

#include <stdio.h>

#include "process.h"

enum { FIRST = 2, STRIDE = 97, STOPS_MIN = 3, STOPS_MAX = 1000 };

/* Analyzes the program stopped so many instructions into the operation. False: no core was left;
 * the operation took fewer. */
static bool judge_stop(const char *operation, unsigned steps) {
    struct e2e_run run = {.scenario = "stepped", .command = operation};
    char program[PATH_ROOM], number[16];
    (void)snprintf(number, sizeof number, "%u", steps);
    assert_true(process_generator("stepped", program) && process_folder_make(run.folder));
    char *argv[] = {program, (char *)operation, number, NULL};
    bool is_stopped = process_kernel_core(run.folder, argv, run.core);
    if (is_stopped && (!e2e_analyze(&run) || run.exit_code != 0))
        fail_msg("%s, %u instructions on: exit %d", operation, steps, run.exit_code);
    e2e_end(&run);
    return is_stopped;
}

/* Where nobody may trace a child, or the kernel leaves no core, there is nothing to judge. */
static void no_stop_is_taken_for_damage(void **state) {
    const char *operation = *state;
    unsigned nr = 0;
    while (nr < STOPS_MAX && judge_stop(operation, FIRST + nr * STRIDE))
        nr++;
    if (nr == 0)
        skip();
    assert_in_range(nr, STOPS_MIN, STOPS_MAX - 1);
}

int main(void) {
    static char *const operations[] = {
        "merge", "split", "sort", "top", "trim", "cache", "fast", "consolidate", "grow", "aligned",
    };
    enum { NR = sizeof operations / sizeof *operations };
    struct CMUnitTest tests[NR];
    for (size_t i = 0; i < NR; i++)
        tests[i] = (struct CMUnitTest){
            .name = operations[i], .test_func = no_stop_is_taken_for_damage,
            .initial_state = operations[i],
        };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
