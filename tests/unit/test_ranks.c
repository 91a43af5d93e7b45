/* Ranks: live chunks are numbered without gaps in the order of addresses, mmapped ones behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reach/ranks.h"
#include "rootworld.h"

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Chunks of two to some hundred units, in every state, so that words of the planes hold many starts
 * or none, and states that reach over a word's end. */
static struct rootworld *some_world(enum cf_machine machine, uint32_t seed) {
    enum { CHUNKS = 4000 };
    static const enum cf_chunk_state states[] = {CF_CHUNK_LIVE, CF_CHUNK_LIVE, CF_CHUNK_LIVE,
                                                 CF_CHUNK_FREE, CF_CHUNK_FAST, CF_CHUNK_TCACHE};
    struct rootworld *w = rootworld_new(machine, CHUNKS, (uint64_t)CHUNKS * 200 * 16);
    for (size_t i = 0; i < CHUNKS; i++) {
        uint32_t r = next_random(&seed);
        (void)rw_add_in(w, 2 + (r % 9 == 0 ? r / 16 % 190 : r / 16 % 5), states[r / 4096 % 6]);
    }
    w->mmapped = (struct cf_mmapped){.addr = MMAPPED_AT, .bytes = 0x21000, .map_start = MMAPPED_AT,
                                     .map_end = MMAPPED_AT + 0x21000, .usable_bytes = 0x20ff0};
    synth_segment(w->synth, MMAPPED_AT, 0x21000, SYNTH_RW);
    rw_mark(w);
    return w;
}

static void a_rank_is_the_number_of_live_chunks_before(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 5; seed++) {
        struct rootworld *w =
            some_world(seed % 2 ? CF_MACHINE_X86_64 : CF_MACHINE_I386, seed);
        const struct cf_resolver *resolver = cf_mark_resolver(w->reach.mark);
        struct cf_ranks ranks = {0};
        size_t live = 0;
        assert_int_equal(cf_ranks_init(NULL, &ranks, resolver, NULL), CF_OK);
        for (size_t i = 0; i < w->nr_chunks; i++) {
            struct cf_chunk_number number = cf_resolver_number_at(resolver, w->chunks[i].addr);
            if (w->chunks[i].state != CF_CHUNK_LIVE) {
                assert_false(cf_is_ranked(cf_ranks_of(&ranks, number)));
                continue;
            }
            assert_int_equal(cf_ranks_of(&ranks, number).index, live);
            assert_int_equal(cf_ranks_number(&ranks, (struct cf_rank){live}).index, number.index);
            live++;
        }
        struct cf_chunk_number mmapped = cf_resolver_number_at(resolver, MMAPPED_AT);
        assert_int_equal(cf_ranks_of(&ranks, mmapped).index, live);
        assert_int_equal(cf_ranks_number(&ranks, (struct cf_rank){live}).index, mmapped.index);
        assert_int_equal(ranks.nr, live + 1);
        assert_int_equal(cf_ranks_of_word(&ranks, 0).index, 0);
        cf_ranks_fini(&ranks);
        rootworld_free(w);
    }
}

static void an_mmapped_chunk_in_a_tcache_is_not_live(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 4, PAGE);
    (void)rw_add(w, 2);
    w->mmapped = (struct cf_mmapped){.addr = MMAPPED_AT, .bytes = 0x21000, .map_start = MMAPPED_AT,
                                     .map_end = MMAPPED_AT + 0x21000, .usable_bytes = 0x20ff0,
                                     .in_tcache = true};
    rw_mark(w);
    struct cf_ranks ranks = {0};
    const struct cf_resolver *resolver = cf_mark_resolver(w->reach.mark);
    assert_int_equal(cf_ranks_init(NULL, &ranks, resolver, NULL), CF_OK);
    struct cf_chunk_number mmapped = cf_resolver_number_at(resolver, MMAPPED_AT);
    assert_true(cf_is_chunk(mmapped));
    assert_false(cf_is_ranked(cf_ranks_of(&ranks, mmapped)));
    const struct cf_chunk_number beyond = {resolver->nr_numbers};
    assert_false(cf_is_ranked(cf_ranks_of(&ranks, beyond)));
    cf_ranks_fini(&ranks);
    rootworld_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_the_number_of_live_chunks_before),
        cmocka_unit_test(an_mmapped_chunk_in_a_tcache_is_not_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
