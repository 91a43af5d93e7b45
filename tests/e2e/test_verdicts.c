/*
 * Each verdict has two programs that must get it and two that must not; those of whole incidents
 * and of leaks are in test_incidents.c. A core that is cut off before its heap gets none.
 */
#include "e2e.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const scenarios[] = {
    "pool",    "pool-busy",    "pile",        "queue",        "large-pile", "arrays",
    "thinned", "own-mappings", "deep-stacks", "mapping-heap", "small",
};

static const char *const without_heap[] = {"tcmalloc", "mimalloc"};

/* What is left of the core, in percent, and the verdict on it. */
struct cut {
    const char *name;
    int percent;
    const char *verdict;
};

/* The heap of `bins` stands in front, so most of a core of it has the heap. */
static const struct cut cuts[] = {
    {"a core cut behind its notes says nothing of the heap", 1, "unknown"},
    {"a core cut at half its size is not judged", 50, "unknown"},
};

static void run_cut(void **state) {
    const struct cut *cut = *state;
    struct e2e_run run = {.scenario = "bins"};
    struct stat st;
    assert_true(e2e_make_core(&run));
    assert_int_equal(stat(run.core, &st), 0);
    assert_int_equal(truncate(run.core, st.st_size / 100 * cut->percent), 0);
    assert_true(e2e_analyze(&run));
    assert_int_equal(run.exit_code, 4);
    assert_true(e2e_open(&run));
    char *sql = sqlite3_mprintf("SELECT code = %Q FROM v_verdict", cut->verdict);
    assert_int_equal(e2e_number(run.db, sql, -1), 1);
    sqlite3_free(sql);
    e2e_end(&run);
}

int main(void) {
    enum { NR_CUTS = sizeof cuts / sizeof *cuts };
    struct CMUnitTest tests[NR_CUTS];
    for (size_t i = 0; i < NR_CUTS; i++) {
        tests[i] = (struct CMUnitTest){
            .name = cuts[i].name, .test_func = run_cut, .initial_state = (void *)&cuts[i]};
    }
    int failed = _cmocka_run_group_tests("cut", tests, NR_CUTS, NULL, NULL);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failed += e2e_scenario(scenarios[i], E2E_ANY);
    for (size_t i = 0; i < sizeof without_heap / sizeof *without_heap; i++)
        failed += e2e_scenario_without_heap(without_heap[i]);
    return failed != 0;
}
