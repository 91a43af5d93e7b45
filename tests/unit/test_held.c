/* What a root alone keeps alive, and what it shares with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holders/held.h"
#include "rootworld.h"

/* Three words of globals and one of a stack:
 *
 *     global 0 -> table -> a -> b        global 1 -> c -> shared      stack 0 -> d -> shared
 *                       -> freed -> c                 -> mmapped                             */
static struct rootworld *some_world(enum cf_machine machine) {
    struct rootworld *w = rootworld_new(machine, 16, PAGE);
    uint64_t table = rw_add(w, 4), a = rw_add(w, 2), b = rw_add(w, 3), c = rw_add(w, 2);
    uint64_t shared = rw_add(w, 5), d = rw_add(w, 2), freed = rw_add_in(w, 6, CF_CHUNK_FREE);
    uint64_t lost = rw_add(w, 2);
    w->mmapped = (struct cf_mmapped){.addr = MMAPPED_AT, .bytes = 0x21000, .map_start = MMAPPED_AT,
                                     .map_end = MMAPPED_AT + 0x21000, .usable_bytes = 0x20ff0};
    synth_segment(w->synth, MMAPPED_AT, 0x21000, SYNTH_RW);
    rw_root(w, CF_ROOT_GLOBAL, 0, table);
    rw_root(w, CF_ROOT_GLOBAL, 1, c);
    rw_root(w, CF_ROOT_STACK, 0, d);
    rw_point(w, table, 0, a);
    rw_point(w, table, 1, freed);
    rw_point(w, freed, 3, c);
    rw_point(w, a, 0, b);
    rw_point(w, c, 0, shared);
    synth_put_word(w->synth, rw_user(w, c) + w->word, rw_user(w, MMAPPED_AT));
    rw_point(w, d, 0, shared);
    rw_point(w, lost, 0, shared);
    rw_mark(w);
    return w;
}

static void what_nothing_else_leads_to_is_counted(void **state) {
    (void)state;
    static const enum cf_machine machines[] = {CF_MACHINE_X86_64, CF_MACHINE_I386};
    static const struct {
        enum cf_root_kind kind;
        unsigned first, end; /* words of its page */
        uint64_t chunks;
        uint64_t units;
        uint64_t mmapped_bytes;
    } cases[] = {
        {CF_ROOT_GLOBAL, 0, 1, 3, 9, 0},       /* table, a, b; the freed chunk is not alive */
        {CF_ROOT_GLOBAL, 1, 2, 3, 7, 0x21000}, /* c, the mmapped one, `shared`: d's stack passes */
        {CF_ROOT_GLOBAL, 0, 2, 6, 16, 0x21000},
        {CF_ROOT_GLOBAL, 2, 9, 0, 0, 0},
        {CF_ROOT_STACK, 0, 1, 1, 2, 0}, /* d; `shared` has c too */
        {CF_ROOT_MAPPING, 0, 1, 0, 0, 0},
    };
    for (size_t m = 0; m < 2; m++) {
        struct rootworld *w = some_world(machines[m]);
        struct cf_held_marks marks = {.mem = w->mem, .reach = &w->reach};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct cf_held held = {
                .kind = cases[i].kind, .thread = -1,
                .start = rw_root_word(w, cases[i].kind, cases[i].first),
                .end = rw_root_word(w, cases[i].kind, cases[i].end),
            };
            assert_int_equal(cf_held_count(NULL, &marks, &held, NULL), CF_OK);
            assert_int_equal(held.chunks, cases[i].chunks);
            assert_int_equal(held.bytes, cases[i].units * 2 * w->word + cases[i].mmapped_bytes);
        }
        cf_held_marks_fini(&marks);
        rootworld_free(w);
    }
}

static void all_roots_that_last_hold_all_that_they_reach(void **state) {
    (void)state;
    struct rootworld *w = some_world(CF_MACHINE_X86_64);
    struct cf_held held = {.kind = CF_ROOT_GLOBAL, .thread = -1, .start = 0, .end = UINT64_MAX};
    struct cf_held_marks marks = {.mem = w->mem, .reach = &w->reach};
    assert_int_equal(cf_held_count(NULL, &marks, &held, NULL), CF_OK);
    assert_int_equal(held.chunks, 6); /* but d, which only the stack has */
    assert_int_equal(held.bytes, 16 * 16 + 0x21000);
    cf_held_marks_fini(&marks);
    rootworld_free(w);
}

/* Two parts of a page of mappings are the runtime's, one between them is not. */
static void a_runtimes_heap_counts_as_one_holder(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t page = rw_root_word(w, CF_ROOT_MAPPING, 0);
    uint64_t a = rw_add(w, 2), b = rw_add(w, 3), c = rw_add(w, 4), d = rw_add(w, 5);
    rw_root(w, CF_ROOT_MAPPING, 0, a);
    rw_root(w, CF_ROOT_MAPPING, 64, b);
    rw_root(w, CF_ROOT_MAPPING, 128, c);
    rw_root(w, CF_ROOT_MAPPING, 200, a);
    rw_root(w, CF_ROOT_GLOBAL, 0, d);
    rw_mark(w);
    struct cf_claims claims = {.rows = {0}};
    static const struct cf_claimant who[] = {
        {CF_CLAIM_MANAGED, "one", 1, CF_AREA_OBJECTS},
        {CF_CLAIM_MANAGED, "another", 1, CF_AREA_CODE},
        {CF_CLAIM_MANAGED, "one", 1, CF_AREA_OBJECTS},
    };
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cf_claims_add_for(&claims, &who[i], page + i * 512, page + (i + 1) * 512,
                                           NULL),
                         CF_OK);
    assert_int_equal(cf_claims_seal(&claims, NULL), CF_OK);
    struct cf_held held = {.kind = CF_ROOT_MAPPING, .thread = -1, .heap = claims.rows.items,
                           .claims = &claims};
    struct cf_held_marks marks = {.mem = w->mem, .reach = &w->reach};
    assert_int_equal(cf_held_count(NULL, &marks, &held, NULL), CF_OK);
    assert_int_equal(held.chunks, 1); /* c: b is the other's, and a is held from behind both */
    assert_int_equal(held.bytes, 4 * 16);
    cf_held_marks_fini(&marks);
    cf_claims_fini(&claims);
    rootworld_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_else_leads_to_is_counted),
        cmocka_unit_test(all_roots_that_last_hold_all_that_they_reach),
        cmocka_unit_test(a_runtimes_heap_counts_as_one_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
