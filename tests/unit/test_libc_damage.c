/* libc: what it finds when the process had overwritten malloc's own data, or the core lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_malloc.h"

enum { GARBAGE = 0x41414141, PREFIX_ARENAS = 3 };

static const char *const releases[] = {"2.17", "2.23", "2.27", "2.36", "2.44"};
enum { NR_RELEASES = sizeof releases / sizeof *releases };

static void build(struct fake *fake, unsigned word, const char *release, unsigned nr_arenas) {
    fake_init(fake, word, release);
    fake->nr_arenas = nr_arenas;
    fake_build(fake);
}

static void smash(struct fake *fake, uint64_t addr, unsigned nr_words) {
    for (unsigned i = 0; i < nr_words; i++)
        synth_put_word(fake->synth, addr + i * fake->word, GARBAGE);
}

static bool has_arena(const struct fake *fake, uint64_t addr) {
    for (size_t i = 0; i < cf_malloc_nr_arenas(fake->m); i++)
        if (cf_malloc_arena(fake->m, i)->addr == addr)
            return true;
    return false;
}

static void assert_all_arenas(const struct fake *fake) {
    assert_int_equal(cf_malloc_nr_namespaces(fake->m), 1);
    assert_int_equal(cf_malloc_namespace(fake->m, 0)->main_arena, fake->main_arena);
    assert_int_equal(cf_malloc_namespace(fake->m, 0)->par.addr, fake->mp);
    assert_int_equal(cf_malloc_nr_arenas(fake->m), fake->nr_arenas + 1);
    for (unsigned i = 0; i < fake->nr_arenas; i++)
        assert_true(has_arena(fake, fake->arenas[i]));
    assert_ptr_equal(cf_malloc_state_layout(fake->m), fake->state);
}

static void overwritten_bins_do_not_hide_an_arena(void **unused) {
    (void)unused;
    static const struct {
        unsigned bin;
        unsigned nr_bins;
    } cases[] = {{1, 1}, {1, 20}, {40, 1}, {60, 30}, {126, 1}, {127, 1}, {126, 2}, {120, 8}};
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            for (unsigned nr_arenas = 0; nr_arenas <= 2; nr_arenas += 2) {
                struct fake fake;
                build(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES], nr_arenas);
                smash(&fake, fake_bin(&fake, fake.main_arena, cases[k].bin),
                      2 * cases[k].nr_bins);
                fake_open(&fake);
                assert_all_arenas(&fake);
                assert_true(cf_malloc_arena(fake.m, 0)->in_ring);
                fake_close(&fake);
            }
        }
    }
}

static void an_arena_without_bins_is_vouched_for_by_its_heap(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        build(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES], PREFIX_ARENAS);
        smash(&fake, fake_bin(&fake, fake.arenas[1], 1), CF_BIN_WORDS);
        fake_open(&fake);
        assert_all_arenas(&fake);
        for (size_t k = 0; k <= PREFIX_ARENAS; k++)
            assert_true(cf_malloc_arena(fake.m, k)->in_ring);
        fake_close(&fake);
    }
}

static void a_broken_ring_leaves_arenas_outside_it(void **unused) {
    (void)unused;
    static const struct {
        unsigned broken; /* 0: main's `next`, else that of thread arena broken - 1 */
        unsigned in_ring;
    } cases[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        build(&fake, i % 2 == 0 ? 8 : 4, "2.36", PREFIX_ARENAS);
        unsigned broken = cases[i / 2].broken;
        uint64_t arena = broken == 0 ? fake.main_arena : fake.arenas[broken - 1];
        smash(&fake, arena + fake.state->next, 1);
        fake_open(&fake);
        assert_all_arenas(&fake);
        unsigned in_ring = 0;
        for (size_t k = 0; k < cf_malloc_nr_arenas(fake.m); k++)
            in_ring += cf_malloc_arena(fake.m, k)->in_ring;
        assert_int_equal(in_ring, cases[i / 2].in_ring);
        fake_close(&fake);
    }
}

static void a_ring_that_leaves_main_out_ends(void **unused) {
    (void)unused;
    static const struct {
        unsigned from;
        unsigned to;
    } cases[] = {{2, 1}, {2, 0}, {1, 1}, {0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        build(&fake, 8, "2.36", PREFIX_ARENAS);
        synth_put_word(fake.synth, fake.arenas[cases[i].from] + fake.state->next,
                       fake.arenas[cases[i].to]);
        fake_open(&fake);
        assert_int_equal(cf_malloc_namespace(fake.m, 0)->main_arena, fake.main_arena);
        for (unsigned k = 0; k < PREFIX_ARENAS; k++)
            assert_true(has_arena(&fake, fake.arenas[k]));
        for (size_t a = 0; a < cf_malloc_nr_arenas(fake.m); a++)
            for (size_t b = a + 1; b < cf_malloc_nr_arenas(fake.m); b++)
                assert_int_not_equal(cf_malloc_arena(fake.m, a)->addr,
                                     cf_malloc_arena(fake.m, b)->addr);
        fake_close(&fake);
    }
}

static void an_overwritten_heap_info_is_no_heap(void **unused) {
    (void)unused;
    struct {
        unsigned word_index;
        uint64_t value;
    } cases[] = {{0, GARBAGE},  {0, 0},       {1, GARBAGE},        {2, 0},
                 {2, GARBAGE},  {2, 1 << 30}, {3, GARBAGE},        {3, 0x1000},
                 {3, UINT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        build(&fake, 8, "2.36", PREFIX_ARENAS);
        synth_put_word(fake.synth, fake.arenas[1] - 48 + cases[i].word_index * 8, cases[i].value);
        fake_open(&fake);
        assert_all_arenas(&fake);
        assert_int_equal(cf_malloc_nr_heaps(fake.m), PREFIX_ARENAS - 1);
        fake_close(&fake);
    }
}

static void an_overwritten_top_does_not_lose_mp(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        build(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES], 1);
        smash(&fake, fake.main_arena + fake.state->top, 2);
        fake_open(&fake);
        assert_all_arenas(&fake);
        assert_ptr_equal(cf_malloc_namespace(fake.m, 0)->par.layout, fake.par);
        assert_false(cf_malloc_namespace(fake.m, 0)->break_at_top);
        fake_close(&fake);
    }
}

static void an_overwritten_mp_is_not_found(void **unused) {
    (void)unused;
    struct fake fake;
    build(&fake, 8, "2.36", 1);
    smash(&fake, fake.mp, fake.par->bytes / 8);
    fake_open(&fake);
    assert_int_equal(cf_malloc_nr_arenas(fake.m), 2);
    assert_int_equal(cf_malloc_namespace(fake.m, 0)->par.addr, 0);
    assert_null(cf_malloc_namespace(fake.m, 0)->par.layout);
    assert_non_null(strstr(cf_malloc_layout_text(fake.m), "mp none"));
    fake_close(&fake);
}

static void a_poisoned_list_does_not_hide_a_threads_tcache(void **unused) {
    (void)unused;
    static const char *const with_tcache[] = {"2.26", "2.30", "2.36", "2.44"};
    for (unsigned i = 0; i < 8; i++) {
        struct fake fake;
        build(&fake, i < 4 ? 8 : 4, with_tcache[i % 4], PREFIX_ARENAS);
        uint64_t entries = fake.tcaches[2] + fake.tcache->entries;
        smash(&fake, entries + 5 * fake.word, 1);
        fake_open(&fake);
        assert_int_equal(cf_malloc_thread(fake.m, 2)->tcache, fake.tcaches[2]);
        assert_int_equal(cf_malloc_safe_linking(fake.m), fake.mangled);
        fake_close(&fake);
    }
}

/* The first chunk of the heap, with nothing else in it, of the only thread. */
static void a_cache_with_nothing_but_poisoned_lists_is_found(void **unused) {
    (void)unused;
    static const char *const with_tcache[] = {"2.26", "2.30", "2.36", "2.42"};
    for (unsigned i = 0; i < 16; i++) {
        struct fake fake;
        bool is_rubbish = i >= 8; /* more than an overrun of one chunk or two leaves */
        build(&fake, i % 2 == 0 ? 8 : 4, with_tcache[i / 2 % 4], 0);
        uint64_t entries = fake.tcaches[0] + fake.tcache->entries;
        smash(&fake, entries + 3 * fake.word, 1);
        smash(&fake, entries + 5 * fake.word, is_rubbish ? 30 : 1);
        fake_open(&fake);
        assert_int_equal(cf_malloc_thread(fake.m, 0)->tcache, is_rubbish ? 0 : fake.tcaches[0]);
        fake_close(&fake);
    }
}

static void a_thread_that_never_allocated_has_neither(void **unused) {
    (void)unused;
    struct fake fake;
    build(&fake, 8, "2.36", PREFIX_ARENAS);
    synth_put_word(fake.synth, fake.tps[1] - 64, 0);
    synth_put_word(fake.synth, fake.tps[1] - 80, 0);
    fake_open(&fake);
    assert_int_equal(cf_malloc_thread(fake.m, 1)->thread_arena, 0);
    assert_int_equal(cf_malloc_thread(fake.m, 1)->tcache, 0);
    assert_int_equal(cf_malloc_thread(fake.m, 2)->thread_arena, fake.arenas[1]);
    assert_int_equal(cf_malloc_nr_tcaches(fake.m), PREFIX_ARENAS);
    fake_close(&fake);
}

static void a_word_that_is_an_arena_in_one_thread_only_is_not_thread_arena(void **unused) {
    (void)unused;
    struct fake fake;
    build(&fake, 8, "2.36", PREFIX_ARENAS);
    /* Nearer to the thread pointer than the real one, and wrong in the other threads. */
    for (unsigned i = 0; i <= PREFIX_ARENAS; i++)
        synth_put_word(fake.synth, fake.tps[i] - 16, i == 0 ? fake.main_arena : GARBAGE);
    fake_open(&fake);
    for (unsigned i = 1; i <= PREFIX_ARENAS; i++)
        assert_int_equal(cf_malloc_thread(fake.m, i)->thread_arena, fake.arenas[i - 1]);
    fake_close(&fake);
}

static void one_pointer_in_all_threads_is_not_their_tcache(void **unused) {
    (void)unused;
    struct fake fake;
    build(&fake, 8, "2.36", PREFIX_ARENAS);
    for (unsigned i = 0; i <= PREFIX_ARENAS; i++)
        synth_put_word(fake.synth, fake.tps[i] - 56, fake.tcaches[0]);
    fake_open(&fake);
    for (unsigned i = 0; i <= PREFIX_ARENAS; i++)
        assert_int_equal(cf_malloc_thread(fake.m, i)->tcache, fake.tcaches[i]);
    fake_close(&fake);
}

static void pairs_that_refer_to_themselves_are_not_an_arena(void **unused) {
    (void)unused;
    for (unsigned nr_pairs = 1; nr_pairs < 96; nr_pairs += 19) {
        struct fake fake;
        build(&fake, 8, "2.36", 0);
        uint64_t data = fake.mp - 0x200 + 0x2000;
        for (unsigned i = 0; i < nr_pairs; i++) {
            synth_put_word(fake.synth, data + 16 * i, data + 16 * i - 16);
            synth_put_word(fake.synth, data + 16 * i + 8, data + 16 * i - 16);
        }
        fake_open(&fake);
        assert_all_arenas(&fake);
        fake_close(&fake);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overwritten_bins_do_not_hide_an_arena),
        cmocka_unit_test(an_arena_without_bins_is_vouched_for_by_its_heap),
        cmocka_unit_test(a_broken_ring_leaves_arenas_outside_it),
        cmocka_unit_test(a_ring_that_leaves_main_out_ends),
        cmocka_unit_test(an_overwritten_heap_info_is_no_heap),
        cmocka_unit_test(an_overwritten_top_does_not_lose_mp),
        cmocka_unit_test(an_overwritten_mp_is_not_found),
        cmocka_unit_test(a_poisoned_list_does_not_hide_a_threads_tcache),
        cmocka_unit_test(a_cache_with_nothing_but_poisoned_lists_is_found),
        cmocka_unit_test(a_thread_that_never_allocated_has_neither),
        cmocka_unit_test(a_word_that_is_an_arena_in_one_thread_only_is_not_thread_arena),
        cmocka_unit_test(one_pointer_in_all_threads_is_not_their_tcache),
        cmocka_unit_test(pairs_that_refer_to_themselves_are_not_an_arena),
    };
    return cmocka_run_group_tests_name("libc_damage", tests, NULL, NULL);
}
