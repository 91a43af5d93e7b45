/* The kernel's figures beside ours: what is compared, and what of a difference is explained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "space/kernel.h"
#include "base/cleanup.h"
#include "synth.h"
#include "whole_mem.h"

enum { PAGE = 4096, KIB = 1024, ANON = 0x10000000, EXE = 0x400000 };

/* A program with three resident anonymous pages and two written pages of its file, at the most. */
struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_claims claims;
    struct cf_budget budget;
    struct cf_smaps smaps;
    struct cf_kernel kernel;
};

static struct space new_space(void) {
    struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    struct cf_err err;
    synth_segment(space.synth, EXE, PAGE, SYNTH_R);
    synth_put(space.synth, EXE, "\x7f" "ELF", 4);
    synth_segment(space.synth, EXE + PAGE, 2 * PAGE, SYNTH_RW);
    synth_fill(space.synth, EXE + PAGE, 1, 2 * PAGE);
    synth_segment(space.synth, ANON, 8 * PAGE, SYNTH_RW);
    synth_fill(space.synth, ANON, 1, 3 * PAGE);
    synth_file(space.synth, EXE, EXE + PAGE, 0, "/bin/server");
    synth_file(space.synth, EXE + PAGE, EXE + 3 * PAGE, PAGE, "/bin/server");
    assert_int_equal(cf_core_open(NULL, synth_fd(space.synth), "toy", NULL, &space.core, &err), 0);
    assert_int_equal(whole_mem(NULL, space.core, &space.mem, &err), 0);
    assert_int_equal(cf_budget_make(&space.budget, space.mem, &space.claims, NULL, &err), 0);
    assert_int_equal(space.budget.anonymous_resident_bytes, 3 * PAGE);
    return space;
}

static void close_space(struct space *space) {
    cf_kernel_fini(&space->kernel);
    cf_smaps_fini(&space->smaps);
    cf_budget_fini(&space->budget);
    cf_claims_fini(&space->claims);
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
}

static void add_mapping(struct space *space, uint64_t start, uint64_t end, uint64_t anonymous) {
    struct cf_smaps_mapping *row = cf_array_push(&space->smaps.rows);
    assert_non_null(row);
    row->start = start;
    row->end = end;
    row->known = 1u << CF_SMAPS_RSS | 1u << CF_SMAPS_ANONYMOUS;
    row->bytes[CF_SMAPS_RSS] = row->bytes[CF_SMAPS_ANONYMOUS] = anonymous;
    space->smaps.sum.known = row->known;
    space->smaps.sum.bytes[CF_SMAPS_RSS] += anonymous;
    space->smaps.sum.bytes[CF_SMAPS_ANONYMOUS] += anonymous;
}

static int compare(struct space *space, struct cf_err *err) {
    return cf_kernel_add_smaps(&space->kernel, &space->smaps, space->mem, &space->claims,
                               &space->budget, err);
}

static const struct cf_kernel_row *row_of(const struct space *space, const char *name) {
    for (size_t i = 0; i < space->kernel.rows.len; i++)
        if (strcmp(space->kernel.rows.items[i].name, name) == 0)
            return &space->kernel.rows.items[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void assert_bytes(struct cf_resident_bytes figure, uint64_t bytes) {
    assert_true(figure.known);
    assert_int_equal(figure.bytes, bytes);
}

static void a_rollup_is_explained_by_what_may_have_been_written(void **state) {
    (void)state;
    static const struct {
        unsigned pages, more, less;
    } cases[] = {
        {3, 0, 1}, /* one page at least was written */
        {4, 0, 0}, {5, 0, 0}, {6, 1, 0}, {0, 0, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_space) struct space space = new_space();
        struct cf_err err;
        add_mapping(&space, EXE, ANON + 8 * PAGE, (uint64_t)cases[i].pages * PAGE);
        space.smaps.is_rollup = true;
        assert_int_equal(compare(&space, &err), CF_OK);
        const struct cf_kernel_row *row = row_of(&space, "Anonymous");
        assert_string_equal(row->source, "smaps_rollup");
        assert_int_equal(row->bytes, cases[i].pages * PAGE);
        assert_true(row->has_ours);
        assert_int_equal(row->ours_bytes, 3 * PAGE);
        assert_bytes(row->copied_least, PAGE);
        assert_bytes(row->copied_most, 2 * PAGE);
        assert_bytes(row->more, cases[i].more * PAGE);
        assert_bytes(row->less, cases[i].less * PAGE);
        assert_false(row->copied.known);
        assert_int_equal(space.kernel.mappings.len, 0);
    }
}

static void a_whole_smaps_says_it_mapping_by_mapping(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space();
    struct cf_err err;
    add_mapping(&space, EXE, EXE + PAGE, 0);
    add_mapping(&space, EXE + PAGE, EXE + 3 * PAGE, PAGE);
    add_mapping(&space, ANON, ANON + 8 * PAGE, 3 * PAGE);
    add_mapping(&space, 2 * ANON, 2 * ANON + PAGE, 0); /* gone when the core was written */
    assert_int_equal(compare(&space, &err), CF_OK);
    assert_bytes(row_of(&space, "Anonymous")->copied, PAGE);
    assert_bytes(row_of(&space, "Anonymous")->more, 0);
    assert_bytes(row_of(&space, "Anonymous")->less, 0);
    assert_false(row_of(&space, "Anonymous")->copied_most.known);
    assert_int_equal(space.kernel.mappings.len, 4);
    const struct cf_kernel_mapping *mapping = space.kernel.mappings.items;
    assert_int_equal(mapping[1].kind, CF_CLAIM_MODULE_DATA);
    assert_int_equal(mapping[1].anonymous_bytes, PAGE);
    assert_false(mapping[1].ours.known);
    assert_int_equal(mapping[2].kind, CF_CLAIM_ANONYMOUS);
    assert_int_equal(mapping[2].ours.bytes, 3 * PAGE);
    assert_true(mapping[2].is_anonymous);
    assert_false(mapping[1].is_anonymous);
    assert_true(mapping[2].in_core);
    assert_false(mapping[3].in_core);
}

static void what_differs_beyond_that_is_said(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space();
    struct cf_err err;
    add_mapping(&space, ANON, ANON + 8 * PAGE, 8 * PAGE);
    assert_int_equal(compare(&space, &err), CF_OK);
    assert_bytes(row_of(&space, "Anonymous")->more, 5 * PAGE);
    assert_bytes(row_of(&space, "Anonymous")->less, 0);
}

static void the_smaps_of_another_process_is_refused(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space();
    add_mapping(&space, EXE + 2 * PAGE, EXE + 3 * PAGE, 0);
    add_mapping(&space, ANON + PAGE, ANON + 8 * PAGE, 3 * PAGE);
    add_mapping(&space, 0xffffffffff600000u, 0xffffffffff601000u, 0);
    assert_false(cf_kernel_fits(&space.smaps, space.mem));
    add_mapping(&space, ANON, ANON + PAGE, 0);
    assert_true(cf_kernel_fits(&space.smaps, space.mem));
}

static uint64_t resident_of(const struct cf_budget *budget, enum cf_claim_kind kind) {
    for (size_t i = 0; i < budget->rows.len; i++)
        if (budget->rows.items[i].kind == kind && budget->rows.items[i].resident.known)
            return budget->rows.items[i].resident.bytes;
    return UINT64_MAX;
}

/* Two pages of ANON beyond those that the core shows, and a mapping that it lacks. */
static void with_smaps_the_budget_sums_to_rss(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space();
    assert_int_equal(resident_of(&space.budget, CF_CLAIM_MODULE), UINT64_MAX);
    assert_int_equal(resident_of(&space.budget, CF_CLAIM_UNPLACED), UINT64_MAX);
    add_mapping(&space, EXE, EXE + PAGE, PAGE);
    add_mapping(&space, EXE + PAGE, EXE + 3 * PAGE, PAGE);
    add_mapping(&space, ANON, ANON + 8 * PAGE, 5 * PAGE);
    add_mapping(&space, 2 * ANON, 2 * ANON + 4 * PAGE, 3 * PAGE);
    cf_budget_fini(&space.budget);
    space.budget = (struct cf_budget){.mapped_bytes = 0};
    assert_int_equal(
        cf_budget_make(&space.budget, space.mem, &space.claims, &space.smaps, NULL), CF_OK);
    assert_int_equal(resident_of(&space.budget, CF_CLAIM_MODULE), PAGE);
    assert_int_equal(resident_of(&space.budget, CF_CLAIM_MODULE_DATA), PAGE);
    assert_int_equal(resident_of(&space.budget, CF_CLAIM_ANONYMOUS), 3 * PAGE);
    assert_int_equal(resident_of(&space.budget, CF_CLAIM_UNPLACED), 5 * PAGE);
    assert_int_equal(space.budget.rss_bytes, space.smaps.sum.bytes[CF_SMAPS_RSS]);
    assert_int_equal(space.budget.anonymous_resident_bytes, 3 * PAGE);
    assert_int_equal(space.budget.mapped_bytes, 11 * PAGE);
}

static void add_figure(struct cf_cgroup *cgroup, const char *name, uint64_t bytes, bool unset) {
    struct cf_cgroup_figure *figure = cf_array_push(&cgroup->figures);
    assert_non_null(figure);
    *figure = (struct cf_cgroup_figure){
        .name = name, .bytes = bytes, .is_limit = unset, .is_unlimited = unset};
}

static void a_cgroup_is_compared_where_it_can_be(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = new_space();
    CF_CLEANUP(cf_cgroup_fini) struct cf_cgroup cgroup = {.version = 1};
    struct cf_err err;
    add_figure(&cgroup, "anon", 10 * PAGE, false);
    add_figure(&cgroup, "sock", PAGE, false);
    add_figure(&cgroup, "memory.current", 100 * KIB, false);
    add_figure(&cgroup, "memory.max", 164 * KIB, false);
    add_figure(&cgroup, "memory.high", 0, true);
    assert_int_equal(cf_kernel_add_cgroup(&space.kernel, &cgroup, &space.budget, &err), CF_OK);
    assert_int_equal(row_of(&space, "anon")->ours_bytes, 3 * PAGE);
    assert_string_equal(row_of(&space, "anon")->source, "cgroup v1");
    assert_bytes(row_of(&space, "anon")->copied_most, 2 * PAGE);
    assert_false(row_of(&space, "sock")->has_ours);
    assert_bytes(row_of(&space, "memory.max")->room, 64 * KIB);
    assert_false(row_of(&space, "memory.high")->room.known);
    assert_false(row_of(&space, "memory.high")->has_bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rollup_is_explained_by_what_may_have_been_written),
        cmocka_unit_test(a_whole_smaps_says_it_mapping_by_mapping),
        cmocka_unit_test(what_differs_beyond_that_is_said),
        cmocka_unit_test(the_smaps_of_another_process_is_refused),
        cmocka_unit_test(with_smaps_the_budget_sums_to_rss),
        cmocka_unit_test(a_cgroup_is_compared_where_it_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
