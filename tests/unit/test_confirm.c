/* When a smaps makes residency exact, and all that forbids it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mem/mem.h"
#include "synth.h"
#include "whole_mem.h"

enum { PAGE = 4096, EXE = 0x400000, DATA = 0x401000, ANON = 0x10000000, HIDDEN = 0x20000000 };

struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_smaps smaps;
};

/* Of eight anonymous pages three have content, and so have the two of a file's data. */
static struct space new_space(enum synth_layout layout) {
    struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    struct cf_err err;
    synth_options(space.synth)->layout = layout;
    synth_segment(space.synth, EXE, PAGE, SYNTH_R);
    synth_put(space.synth, EXE, "\x7f" "ELF", 4);
    synth_segment(space.synth, DATA, 2 * PAGE, SYNTH_RW);
    synth_fill(space.synth, DATA, 1, 2 * PAGE);
    synth_segment(space.synth, ANON, 8 * PAGE, SYNTH_RW);
    synth_fill(space.synth, ANON, 1, 3 * PAGE);
    synth_segment(space.synth, HIDDEN, PAGE, SYNTH_RW)->file_bytes = 0;
    synth_file(space.synth, EXE, DATA, 0, "/bin/server");
    synth_file(space.synth, DATA, DATA + 2 * PAGE, PAGE, "/bin/server");
    synth_thread(space.synth, 7, 6, 0, 0);
    assert_int_equal(cf_core_open(NULL, synth_fd(space.synth), "toy", NULL, &space.core, &err), 0);
    assert_int_equal(whole_mem(NULL, space.core, &space.mem, &err), 0);
    assert_string_equal(cf_mem_residency_name(space.mem), "zero-pages");
    return space;
}

static void close_space(struct space *space) {
    cf_smaps_fini(&space->smaps);
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
}

static void add(struct space *space, uint64_t start, uint64_t pages, uint64_t rss_pages) {
    struct cf_smaps_mapping *row = cf_array_push(&space->smaps.rows);
    assert_non_null(row);
    *row = (struct cf_smaps_mapping){
        .start = start, .end = start + pages * PAGE,
        .known = 1u << CF_SMAPS_RSS | 1u << CF_SMAPS_ANONYMOUS | 1u << CF_SMAPS_SWAP,
    };
    row->bytes[CF_SMAPS_RSS] = row->bytes[CF_SMAPS_ANONYMOUS] = rss_pages * PAGE;
}

enum { ROW_EXE, ROW_DATA, ROW_ANON, ROW_HIDDEN };

/* What the kernel would have counted at that moment. */
static struct cf_smaps_mapping *fill(struct space *space) {
    add(space, EXE, 1, 1);
    space->smaps.rows.items[ROW_EXE].bytes[CF_SMAPS_ANONYMOUS] = 0;
    add(space, DATA, 2, 2);
    add(space, ANON, 8, 3);
    add(space, HIDDEN, 1, 0);
    return space->smaps.rows.items;
}

static void the_same_count_in_each_mapping_is_exact(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space(SYNTH_KERNEL);
    (void)fill(&space);
    assert_null(cf_mem_confirm(space.mem, &space.smaps));
    assert_true(cf_mem_residency_exact(space.mem));
    assert_string_equal(cf_mem_residency_name(space.mem), "smaps");
    assert_int_equal(cf_mem_page_state(space.mem, ANON + 2 * PAGE), CF_PAGE_RESIDENT);
    assert_int_equal(cf_mem_page_state(space.mem, ANON + 3 * PAGE), CF_PAGE_NOT_RESIDENT);
}

static void a_file_s_pages_and_what_was_left_out_decide_nothing(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space(SYNTH_KERNEL);
    struct cf_smaps_mapping *rows = fill(&space);
    rows[ROW_DATA].bytes[CF_SMAPS_RSS] = rows[ROW_DATA].bytes[CF_SMAPS_ANONYMOUS] = PAGE;
    rows[ROW_HIDDEN].bytes[CF_SMAPS_RSS] = rows[ROW_HIDDEN].bytes[CF_SMAPS_ANONYMOUS] = PAGE;
    rows[ROW_HIDDEN].is_dontdump = true;
    assert_null(cf_mem_confirm(space.mem, &space.smaps));
}

/* Each turns one thing of a smaps that fits. */
static void one_page_more(struct space *space, struct cf_smaps_mapping *rows) {
    (void)space;
    rows[ROW_ANON].bytes[CF_SMAPS_RSS] += PAGE;
}

static void one_page_less(struct space *space, struct cf_smaps_mapping *rows) {
    (void)space;
    rows[ROW_ANON].bytes[CF_SMAPS_RSS] -= PAGE;
}

static void swapped(struct space *space, struct cf_smaps_mapping *rows) {
    rows[ROW_ANON].bytes[CF_SMAPS_SWAP] = PAGE;
    space->smaps.sum.bytes[CF_SMAPS_SWAP] = PAGE;
}

static void without_swap(struct space *space, struct cf_smaps_mapping *rows) {
    (void)space;
    rows[ROW_EXE].known &= ~(1u << CF_SMAPS_SWAP);
}

static void grown(struct space *space, struct cf_smaps_mapping *rows) {
    (void)space;
    rows[ROW_ANON].end += PAGE;
}

static void split(struct space *space, struct cf_smaps_mapping *rows) {
    rows[ROW_ANON].end -= 4 * PAGE;
    rows[ROW_HIDDEN].start = ANON + 4 * PAGE;
    rows[ROW_HIDDEN].end = ANON + 8 * PAGE;
    (void)space;
}

static void another_mapping(struct space *space, struct cf_smaps_mapping *rows) {
    (void)rows;
    add(space, 2 * (uint64_t)HIDDEN, 1, 1);
}

static void alone(struct space *space, struct cf_smaps_mapping *rows) {
    (void)rows;
    space->smaps.is_rollup = true;
}

static void what_differs_anywhere_keeps_it_at_least(void **state) {
    (void)state;
    static const struct {
        void (*turn)(struct space *space, struct cf_smaps_mapping *rows);
        const char *why;
    } cases[] = {
        {one_page_more, "counts other pages"}, {one_page_less, "counts other pages"},
        {swapped, "swapped out"},              {without_swap, "lacks"},
        {grown, "mappings are not those"},     {split, "mappings are not those"},
        {another_mapping, "mappings are not"}, {alone, "lacks the mappings"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_space) struct space space = new_space(SYNTH_KERNEL);
        cases[i].turn(&space, fill(&space));
        const char *why = cf_mem_confirm(space.mem, &space.smaps);
        if (why == NULL || strstr(why, cases[i].why) == NULL)
            fail_msg("case %zu: %s", i, why == NULL ? "confirmed" : why);
        assert_false(cf_mem_residency_exact(space.mem));
        assert_string_equal(cf_mem_residency_name(space.mem), "zero-pages");
    }
}

static void only_a_core_of_the_kernel_is_raised(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space(SYNTH_GCORE);
    (void)fill(&space);
    assert_non_null(strstr(cf_mem_confirm(space.mem, &space.smaps), "not the kernel's"));
    assert_false(cf_mem_residency_exact(space.mem));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_count_in_each_mapping_is_exact),
        cmocka_unit_test(a_file_s_pages_and_what_was_left_out_decide_nothing),
        cmocka_unit_test(what_differs_anywhere_keeps_it_at_least),
        cmocka_unit_test(only_a_core_of_the_kernel_is_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
