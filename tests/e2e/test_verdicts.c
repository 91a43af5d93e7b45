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

/* Where memory that may hold roots is not in the core; the program's own table of claims, a file
 * that is mapped shared, is such memory too. */
static const struct unseen {
    const char *scenario;
    const char *sql; /* 1 */
} unseen[] = {
    {"unseen-roots", "SELECT code = 'unknown' AND confidence = 'low' AND headline LIKE"
                     " '%MiB of writable address space%' FROM v_verdict"},
    {"unseen-roots", "SELECT count(*) FROM v_finding WHERE code = 'unknown-memory' AND"
                     " bytes >= 1048576 AND detail LIKE '%DONTDUMP%'"},
    {"unseen-roots", "SELECT count(*) = 1 AND max(resident_bytes) IS NULL FROM v_segment"
                     " WHERE flags LIKE '_w_' AND dumped_bytes = 0 AND mapped_bytes = 1048576"},
    {"leak-beside-unseen", "SELECT code = 'leak' AND confidence <> 'high' FROM v_verdict"},
    {"leak-beside-unseen", "SELECT count(*) FROM v_finding WHERE code = 'leak' AND"
                           " detail LIKE '%MiB of writable address space is not in the core%'"},
};

static void run_unseen(void **state) {
    const struct unseen *row = *state;
    struct e2e_run run = {.scenario = row->scenario};
    assert_true(e2e_make_core(&run) && e2e_analyze(&run) && e2e_open(&run));
    assert_int_equal(run.exit_code, 0);
    assert_int_equal(e2e_number(run.db, row->sql, -1), 1);
    e2e_end(&run);
}

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
    enum { NR_CUTS = sizeof cuts / sizeof *cuts, NR_UNSEEN = sizeof unseen / sizeof *unseen };
    struct CMUnitTest tests[NR_CUTS], unseen_tests[NR_UNSEEN];
    for (size_t i = 0; i < NR_CUTS; i++) {
        tests[i] = (struct CMUnitTest){
            .name = cuts[i].name, .test_func = run_cut, .initial_state = (void *)&cuts[i]};
    }
    for (size_t i = 0; i < NR_UNSEEN; i++) {
        unseen_tests[i] = (struct CMUnitTest){
            .name = unseen[i].sql, .test_func = run_unseen, .initial_state = (void *)&unseen[i]};
    }
    int failed = _cmocka_run_group_tests("cut", tests, NR_CUTS, NULL, NULL);
    failed += _cmocka_run_group_tests("unseen", unseen_tests, NR_UNSEEN, NULL, NULL);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failed += e2e_scenario(scenarios[i], E2E_ANY);
    for (size_t i = 0; i < sizeof without_heap / sizeof *without_heap; i++)
        failed += e2e_scenario_without_heap(without_heap[i]);
    return failed != 0;
}
