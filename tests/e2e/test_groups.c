/*
 * What would come back if a group of chunks were gone, held against a process that freed them and
 * called malloc_trim(0).
 */
#include "e2e.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "process.h"

static void what_survivors_keep_comes_back_without_them(void **state) {
    (void)state;
    struct e2e_run run = {.scenario = "survivors", .command = "survivors"};
    char program[PATH_ROOM];
    if (!process_generator("survivors", program) || !process_folder_make(run.folder))
        skip();
    char *argv[] = {program, NULL};
    if (!process_kernel_core(run.folder, argv, run.core)) {
        e2e_end(&run);
        skip();
    }
    int64_t now = 0, then = 0, topmost = 0;
    char *trims = process_text(run.folder, "trims");
    assert_non_null(trims);
    assert_int_equal(sscanf(trims, "%" SCNd64 " %" SCNd64 " %" SCNd64, &now, &then,
                            &topmost), 3);
    free(trims);
    assert_true(then > now + (4 << 20)); /* the program is worth the test */
    assert_true(topmost > 4 << 20);
    assert_true(e2e_analyze(&run));
    assert_int_equal(run.exit_code, 0);
    assert_true(e2e_open(&run));
#define GROUP " FROM v_trim_if WHERE kind = 'owner' AND without LIKE 'survivors%'"
    assert_int_equal(e2e_number(run.db, "SELECT now_bytes" GROUP, -1), now);
    assert_int_equal(e2e_number(run.db, "SELECT then_bytes" GROUP, -1), then);
    assert_int_equal(e2e_number(run.db, "SELECT chunks" GROUP, -1), 4000);
    assert_int_equal(e2e_number(run.db, "SELECT then_bytes FROM v_trim_if WHERE kind = 'size' AND"
                                        " chunks = 4000", -1), then);
    assert_int_equal(e2e_number(run.db, "SELECT bytes = (SELECT more_bytes" GROUP ") FROM v_finding"
                                        " WHERE code = 'what-if-group'", -1), 1);
    assert_int_equal(e2e_number(run.db, "SELECT sum(returned_bytes) FROM v_top_pin WHERE rank = 1",
                                -1), topmost);
    assert_int_equal(e2e_number(run.db, "SELECT count(*) FROM v_verdict WHERE code = 'fragmented'",
                                -1), 1);
    e2e_end(&run);
}

/* Blocks of `bytes` that were freed show in what they left; small ones are not taken for large. */
static void former(const char *bytes, const char *count, int64_t wanted) {
    struct e2e_run run = {.scenario = "former", .command = "former"};
    char program[PATH_ROOM];
    if (!process_generator("former", program) || !process_folder_make(run.folder))
        skip();
    char *argv[] = {program, (char *)bytes, (char *)count, NULL};
    if (!process_kernel_core(run.folder, argv, run.core)) {
        e2e_end(&run);
        skip();
    }
    int64_t blocks = 0, sum = 0;
    char *text = process_text(run.folder, "former");
    assert_non_null(text);
    assert_int_equal(sscanf(text, "%" SCNd64 " %" SCNd64, &blocks, &sum), 2);
    free(text);
    assert_int_equal(blocks, wanted);
    assert_true(e2e_analyze(&run));
    assert_int_equal(run.exit_code, 0);
    assert_true(e2e_open(&run));
    assert_int_equal(e2e_number(run.db, "SELECT total(blocks) FROM v_former_block", -1), blocks);
    assert_int_equal(e2e_number(run.db, "SELECT total(bytes) FROM v_former_block", -1), sum);
    assert_int_equal(e2e_number(run.db, "SELECT count(*) FROM v_finding WHERE code ="
                                        " 'what-if-thresholds'", -1), blocks > 0);
    e2e_end(&run);
}

static void large_blocks_show_where_they_stood(void **state) {
    (void)state;
    former("200000", "40", 40);
}

static void many_small_ones_are_no_large_one(void **state) {
    (void)state;
    former("60000", "200", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_survivors_keep_comes_back_without_them),
        cmocka_unit_test(large_blocks_show_where_they_stood),
        cmocka_unit_test(many_small_ones_are_no_large_one),
    };
    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
