/*
 * Every core of tests/corpus: one program under each libc and on each machine. What the program
 * said of itself, and what a real malloc_trim(0) did in its child, is what we say of its core.
 */
#include "e2e.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS "tests/corpus"

/* A core that is missing must not look like one that is right. */
enum { CORES_MAX = 256, CORES_MIN = 142 };

static struct checks exact, empty;

/* "2.31-amd64-basic.tar.zst" ends with the scenario and this. */
static const char suffix[] = ".tar.zst";

static int is_core(const struct dirent *entry) {
    const char *end = strstr(entry->d_name, suffix);
    return end && !end[sizeof suffix - 1];
}

static bool is_unused(const char *name) {
    return strstr(name, "-unused.") != NULL;
}

static int failing_checks(struct e2e_run *run, const struct checks *checks) {
    int failed = 0;
    for (size_t i = 0; i < checks->nr; i++) {
        const struct check *check = &checks->row[i];
        if (!e2e_is_met(run->db, check->need) || e2e_print_rows(run->db, check->sql) == 0)
            continue;
        print_error("%s: contradicted: %s\n", run->scenario, check->name);
        failed++;
    }
    return failed;
}

/* Malloc that was never called is refused, with the reason; all other cores are exact. */
static void core_is_exact(void **state) {
    const char *name = *state;
    char path[512];
    snprintf(path, sizeof path, CORPUS "/%.400s", name);
    struct e2e_run run = {.scenario = name, .archive = path};
    int failed = 1;
    if (e2e_make_core(&run) && e2e_analyze(&run) && e2e_open(&run)) {
        failed = run.exit_code != (is_unused(name) ? 5 : 0);
        failed += failing_checks(&run, is_unused(name) ? &empty : &exact);
    }
    e2e_end(&run);
    assert_int_equal(failed, 0);
}

static void all_cores_are_there(void **state) {
    assert_in_range(*(int *)*state, CORES_MIN, CORES_MAX);
}

int main(void) {
    static struct CMUnitTest tests[CORES_MAX + 1];
    struct dirent **names;
    int nr = scandir(CORPUS, &names, is_core, alphasort);
    checks_read(&exact, "matrix");
    checks_read(&exact, "trim");
    checks_read(&exact, "sums");
    checks_read(&exact, "waste");
    checks_read(&empty, "judged");
    tests[0] = (struct CMUnitTest){
        .name = "all cores are there", .test_func = all_cores_are_there, .initial_state = &nr};
    for (int i = 0; i < nr && i < CORES_MAX; i++) {
        tests[i + 1] = (struct CMUnitTest){.name = names[i]->d_name,
                                           .test_func = core_is_exact,
                                           .initial_state = names[i]->d_name};
    }
    int used = nr < 0 ? 0 : nr < CORES_MAX ? nr : CORES_MAX;
    return _cmocka_run_group_tests("the matrix", tests, (size_t)used + 1, NULL, NULL);
}
