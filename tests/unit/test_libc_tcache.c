/* libc/tcache: bins, and what is one by its content; libc/links: safe-linking by votes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_malloc.h"

static const char *const releases[] = {"2.26", "2.30", "2.36", "2.42", "2.43", "2.44"};
enum { NR_RELEASES = sizeof releases / sizeof *releases };

static void open_release(struct fake *fake, unsigned index) {
    fake_init(fake, index < NR_RELEASES ? 8 : 4, releases[index % NR_RELEASES]);
    fake_build(fake);
}

static void bins_have_heads_counts_and_sizes(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        open_release(&fake, i);
        fake_open(&fake);
        size_t nr = cf_tcache_nr_bins(fake.m);
        assert_int_equal(nr, fake.tcache->nr_large == 0 ? 64 : 76);
        for (size_t k = 0; k < nr; k++) {
            struct cf_tcache_bin bin;
            assert_true(cf_tcache_bin(fake.m, fake.tcaches[1], k, &bin));
            assert_int_equal(bin.count, k == 3 ? 2 : k == 5 ? 1 : 0);
            assert_int_equal(bin.head != 0, k == 3 || k == 5);
            if (k < 64) {
                assert_int_equal(bin.min_bytes, 4 * fake.word + 16 * k);
                assert_int_equal(bin.max_bytes, bin.min_bytes);
            }
        }
        struct cf_tcache_bin beyond = {.head = 1};
        assert_false(cf_tcache_bin(fake.m, fake.tcaches[1], nr, &beyond));
        assert_false(cf_tcache_bin(fake.m, 0x1000, 0, &beyond));
        assert_int_equal(beyond.head, 1);
        fake_close(&fake);
    }
}

static void large_bins_are_powers_of_two_without_a_gap(void **unused) {
    (void)unused;
    for (unsigned word = 4; word <= 8; word += 4) {
        struct fake fake;
        fake_init(&fake, word, "2.43");
        fake_build(&fake);
        fake_open(&fake);
        struct cf_tcache_bin below;
        assert_true(cf_tcache_bin(fake.m, fake.tcaches[0], 63, &below));
        for (size_t k = 64; k < 76; k++) {
            struct cf_tcache_bin bin;
            assert_true(cf_tcache_bin(fake.m, fake.tcaches[0], k, &bin));
            assert_int_equal(bin.min_bytes, k == 64 ? below.max_bytes + 16 : below.max_bytes + 1);
            assert_int_equal(bin.max_bytes, (UINT64_C(2048) << (k - 64)) - 1);
            below = bin;
        }
        assert_int_equal(below.max_bytes, (4 << 20) - 1);
        fake_close(&fake);
    }
}

static void lists_are_followed_by_reveal(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        open_release(&fake, i);
        fake_open(&fake);
        struct cf_tcache_bin bin;
        assert_true(cf_tcache_bin(fake.m, fake.tcaches[2], 3, &bin));
        uint64_t user = bin.head;
        for (unsigned k = 0; k < 2; k++) {
            uint64_t stored;
            assert_int_not_equal(user, 0);
            assert_true(cf_mem_word(fake.mem, user, &stored));
            user = cf_malloc_reveal(fake.m, user, stored);
        }
        assert_int_equal(user, 0);
        fake_close(&fake);
    }
}

static void content_tells_a_tcache(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        open_release(&fake, i);
        fake_open(&fake);
        uint64_t chunk = fake.tcache->chunk_bytes;
        assert_true(cf_tcache_plausible(fake.m, fake.tcaches[1], chunk));
        assert_true(cf_tcache_plausible(fake.m, fake.tcaches[1], chunk + 0x10));
        assert_true(cf_tcache_plausible(fake.m, fake.tcaches[1], chunk + 0x20));
        assert_false(cf_tcache_plausible(fake.m, fake.tcaches[1], chunk + 0x30));
        assert_false(cf_tcache_plausible(fake.m, fake.tcaches[1], chunk - 0x10));
        assert_false(cf_tcache_plausible(fake.m, fake.tcaches[1] + 16, chunk));
        assert_false(cf_tcache_plausible(fake.m, fake.tcaches[1] + fake.word, chunk));
        assert_false(cf_tcache_plausible(fake.m, 0x1000, chunk));
        fake_close(&fake);
    }
}

static void content_that_disagrees_is_no_tcache(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        for (unsigned damage = 0; damage < 4; damage++) {
            struct fake fake;
            open_release(&fake, i);
            uint64_t head3 = fake.tcaches[1] + fake.tcache->entries + 3 * fake.word;
            if (damage == 0) /* one more list than counts say */
                synth_put_word(fake.synth, head3 + 4 * fake.word, fake.tcaches[1]);
            if (damage == 1) /* no list where the count says two */
                synth_put_word(fake.synth, head3, 0);
            if (damage == 2) /* a list of the wrong size */
                synth_put_word(fake.synth, head3, fake.tcaches[1]);
            if (damage == 3) /* out of the core */
                synth_put_word(fake.synth, head3, 0x10);
            fake_open(&fake);
            assert_false(
                cf_tcache_plausible(fake.m, fake.tcaches[1], fake.tcache->chunk_bytes));
            fake_close(&fake);
        }
    }
}

static void empty_it(struct fake *fake, uint64_t tcache) {
    uint64_t entries = tcache + fake->tcache->entries;
    synth_put_word(fake->synth, entries + 3 * fake->word, 0);
    synth_put_word(fake->synth, entries + 5 * fake->word, 0);
    unsigned char bytes[4] = {0};
    if (fake->tcache->count_bytes == 1)
        synth_put(fake->synth, tcache + 2, bytes, 4);
    uint16_t count = fake->tcache->counts_are_slots ? (uint16_t)fake->tcache_count : 0;
    for (unsigned bin = 2; fake->tcache->count_bytes == 2 && bin < 6; bin++)
        synth_put_u16(fake->synth, tcache + 2 * bin, count);
}

static void an_empty_tcache_shows_by_its_full_slots(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        open_release(&fake, i);
        empty_it(&fake, fake.tcaches[1]);
        fake_open(&fake);
        assert_int_equal(
            cf_tcache_plausible(fake.m, fake.tcaches[1], fake.tcache->chunk_bytes),
            fake.tcache->counts_are_slots);
        /* The thread's own TLS knows it all the same. */
        assert_int_equal(cf_malloc_thread(fake.m, 1)->tcache, fake.tcaches[1]);
        fake_close(&fake);
    }
}

static void without_lists_the_age_of_the_structs_decides_safe_linking(void **unused) {
    (void)unused;
    static const struct {
        const char *release;
        bool expected;
    } cases[] = {{"2.17", false}, {"2.26", false}, {"2.30", false},
                 {"2.35", true},  {"2.42", true},  {"2.44", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        fake_init(&fake, 8, cases[i].release);
        fake.nr_arenas = 0;
        fake_build(&fake);
        if (fake.tcache != NULL)
            empty_it(&fake, fake.tcaches[0]);
        fake_open(&fake);
        assert_int_equal(cf_malloc_safe_linking(fake.m), cases[i].expected);
        fake_close(&fake);
    }
}

static void without_libcs_data_the_heaps_tell_the_age(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        struct fake fake;
        fake_init(&fake, i % 2 == 0 ? 8 : 4, i < 2 ? "2.31" : "2.36");
        fake.no_libc_data = true;
        fake_build(&fake);
        for (unsigned k = 0; k <= fake.nr_arenas; k++)
            empty_it(&fake, fake.tcaches[k]);
        fake_open(&fake);
        assert_int_equal(cf_malloc_safe_linking(fake.m), i >= 2);
        fake_close(&fake);
    }
}

/* A distribution's 2.28 with safe-linking: nothing else of it looks new. */
static void links_decide_against_the_age(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        struct fake fake;
        fake_init(&fake, i % 2 == 0 ? 8 : 4, i < 2 ? "2.28" : "2.36");
        fake.mangled = i < 2;
        fake_build(&fake);
        fake_open(&fake);
        assert_int_equal(cf_malloc_safe_linking(fake.m), fake.mangled);
        fake_close(&fake);
    }
}

static void fastbins_vote_too(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        struct fake fake;
        fake_init(&fake, i % 2 == 0 ? 8 : 4, "2.24");
        fake.nr_arenas = 0;
        fake_build(&fake);
        /* The three chunks in use behind the heap's start become a list of two of 0x20 bytes. */
        uint64_t first = fake.sbrk_base;
        uint64_t second = first + 0x100;
        synth_put_word(fake.synth, first + fake.word, 0x21);
        synth_put_word(fake.synth, second + fake.word, 0x21);
        uint64_t link = first + 2 * fake.word;
        uint64_t last = second + 2 * fake.word;
        bool mangled = i >= 2;
        synth_put_word(fake.synth, link, mangled ? second ^ link >> 12 : second);
        synth_put_word(fake.synth, last, mangled ? last >> 12 : 0);
        synth_put_word(fake.synth, fake.main_arena + fake.state->fastbins, first);
        fake_open(&fake);
        assert_int_equal(cf_malloc_safe_linking(fake.m), mangled);
        fake_close(&fake);
    }
}

static void a_list_that_never_ends_is_no_vote(void **unused) {
    (void)unused;
    struct fake fake;
    fake_init(&fake, 8, "2.24");
    fake.nr_arenas = 0;
    fake_build(&fake);
    synth_put_word(fake.synth, fake.sbrk_base + 8, 0x21);
    synth_put_word(fake.synth, fake.sbrk_base + 16, fake.sbrk_base);
    synth_put_word(fake.synth, fake.main_arena + fake.state->fastbins, fake.sbrk_base);
    fake_open(&fake);
    assert_false(cf_malloc_safe_linking(fake.m));
    assert_int_equal(cf_malloc_nr_arenas(fake.m), 1);
    fake_close(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_have_heads_counts_and_sizes),
        cmocka_unit_test(large_bins_are_powers_of_two_without_a_gap),
        cmocka_unit_test(lists_are_followed_by_reveal),
        cmocka_unit_test(content_tells_a_tcache),
        cmocka_unit_test(content_that_disagrees_is_no_tcache),
        cmocka_unit_test(an_empty_tcache_shows_by_its_full_slots),
        cmocka_unit_test(without_lists_the_age_of_the_structs_decides_safe_linking),
        cmocka_unit_test(without_libcs_data_the_heaps_tell_the_age),
        cmocka_unit_test(links_decide_against_the_age),
        cmocka_unit_test(fastbins_vote_too),
        cmocka_unit_test(a_list_that_never_ends_is_no_vote),
    };
    return cmocka_run_group_tests_name("libc_tcache", tests, NULL, NULL);
}
