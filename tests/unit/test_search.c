/* The links between chunks and the search over them, against the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "reach/search.h"
#include "oracle.h"
#include "rootworld.h"

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (*seed >> 33) % limit;
}

/* Chunks of many sizes, in all states, whose words lead anywhere: to users, into middles, past
 * ends, to headers, to nothing. */
static struct rootworld *random_world(uint64_t seed) {
    enum { CHUNKS = 600 };
    static const enum cf_machine machines[] = {CF_MACHINE_X86_64, CF_MACHINE_I386,
                                               CF_MACHINE_AARCH64};
    struct rootworld *w =
        rootworld_new(machines[seed % 3], CHUNKS, (uint64_t)CHUNKS * 40 * 16 + PAGE);
    for (size_t i = 0; i < CHUNKS; i++)
        (void)rw_add_in(w, 2 + random_below(&seed, i % 50 == 0 ? 38 : 6),
                        random_below(&seed, 4) == 0 ? CF_CHUNK_FREE : CF_CHUNK_LIVE);
    w->mmapped = (struct cf_mmapped){.addr = MMAPPED_AT, .bytes = 0x21000, .map_start = MMAPPED_AT,
                                     .map_end = MMAPPED_AT + 0x21000, .usable_bytes = 0x20ff0};
    synth_segment(w->synth, MMAPPED_AT, 0x21000, SYNTH_RW);
    for (size_t i = 0; i < CHUNKS; i++)
        for (uint64_t n = random_below(&seed, 5); n > 0; n--) {
            const struct cf_chunk *from = &w->chunks[i];
            uint64_t words = (from->bytes - w->word) / w->word;
            uint64_t to = HEAP_AT + random_below(&seed, w->next - HEAP_AT);
            if (random_below(&seed, 3) > 0)
                to = rw_user(w, w->chunks[random_below(&seed, CHUNKS)].addr);
            if (random_below(&seed, 60) == 0)
                to = MMAPPED_AT + random_below(&seed, 0x21010);
            synth_put_word(w->synth,
                           rw_user(w, from->addr) + w->word * random_below(&seed, words), to);
        }
    for (unsigned i = 0; i < 3; i++)
        synth_put_word(w->synth, MMAPPED_AT + 0x10000 + 8 * i,
                       rw_user(w, w->chunks[random_below(&seed, CHUNKS)].addr));
    for (int kind = CF_ROOT_STACK; kind < CF_NR_ROOT_KINDS; kind++)
        rw_root(w, (enum cf_root_kind)kind, (unsigned)random_below(&seed, 100),
                w->chunks[random_below(&seed, CHUNKS)].addr);
    w->pointerless = rw_user(w, w->chunks[random_below(&seed, CHUNKS)].addr);
    return w;
}

static void what_the_search_reaches_is_what_the_definition_says(void **state) {
    (void)state;
    size_t nr_reached = 0, all = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rootworld *w = random_world(seed);
        rw_mark(w);
        assert_non_null(w->reach.paths);
        bool *reached = oracle_reached(&w->reach);
        const struct cf_ranks *ranks = &w->reach.ranks;
        for (size_t i = 0; i < ranks->nr; i++, all++) {
            struct cf_rank rank = {i};
            struct cf_chunk_number number = cf_ranks_number(ranks, rank);
            struct cf_position position;
            assert_int_equal(cf_paths_find(NULL, w->reach.paths, &rank, 1, &position, NULL),
                             CF_OK);
            assert_int_equal(cf_is_position(position), reached[i]);
            uint64_t user = cf_resolver_chunk(ranks->resolver,
                                              cf_resolver_extent_of(ranks->resolver, number),
                                              number).addr + 2 * w->word;
            assert_int_equal(cf_mark_reached(w->reach.mark, number),
                             reached[i] || user == w->pointerless);
            nr_reached += reached[i];
        }
        free(reached);
        rootworld_free(w);
    }
    assert_true(nr_reached > all / 3 && nr_reached < all - all / 20);
}

/* Nothing is guessed then: the caller says that it is not known what is reached. */
static void without_room_for_the_links_it_fails(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    rw_root(w, CF_ROOT_GLOBAL, 0, rw_add(w, 2));
    rw_prepare(w);
    struct cf_err err;
    assert_int_equal(setenv("TMPDIR", "/proc/nowhere", 1), 0);
    int status = cf_reach_follow(NULL, &w->reach, NULL, &err);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(status, CF_EOUTPUT);
    assert_non_null(strstr(err.text, "/proc/nowhere"));
    assert_null(w->reach.paths);
    rootworld_free(w);
}

/* Chunks of an earlier round keep what they have. */
static bool go_on(const struct cf_links *links, size_t v, uint32_t *steps, const bool *is_told) {
    struct cf_link_list list = cf_links_of(links, (struct cf_rank){v});
    bool changes = false;
    while (list.at < list.end) {
        size_t next = cf_links_take(&list).index;
        uint32_t *to = &steps[next];
        if (!is_told[next] && (*to == 0 || *to > steps[v] + 1)) {
            *to = steps[v] + 1;
            changes = true;
        }
    }
    return changes;
}

static void step_from_roots(const struct cf_links *links, const struct rootworld *w,
                            enum cf_root_kind kind, uint32_t *steps, const bool *is_told) {
    for (unsigned i = 0; i < PAGE / w->word; i++) {
        uint64_t word;
        assert_true(cf_mem_word(w->mem, rw_root_word(w, kind, i), &word));
        struct cf_chunk_number number = cf_resolver_target(links->ranks->resolver, word);
        struct cf_rank rank = cf_is_chunk(number) ? cf_ranks_of(links->ranks, number) : CF_NO_RANK;
        if (cf_is_ranked(rank) && !is_told[rank.index])
            steps[rank.index] = 1;
    }
}

/* Steps by the definition: what roots lead to is one away, and each link is one step more; from
 * stacks and registers only where nothing that lasts leads. */
static uint32_t *distances(const struct cf_links *links, const struct rootworld *w) {
    size_t nr = links->ranks->nr;
    uint32_t *steps = calloc(nr, sizeof *steps); /* 0: not reached */
    bool *is_told = calloc(nr, sizeof *is_told);
    assert_non_null(steps);
    assert_non_null(is_told);
    for (int round = 0; round < 2; round++) {
        for (size_t kind = CF_ROOT_STACK; kind < CF_NR_ROOT_KINDS; kind++)
            if ((kind == CF_ROOT_STACK || kind == CF_ROOT_REGISTER) == (round == 1))
                step_from_roots(links, w, (enum cf_root_kind)kind, steps, is_told);
        for (bool changes = true; changes;) {
            changes = false;
            for (size_t v = 0; v < nr; v++)
                changes |= steps[v] != 0 && !is_told[v] && go_on(links, v, steps, is_told);
        }
        for (size_t v = 0; v < nr; v++)
            is_told[v] = steps[v] != 0;
    }
    free(is_told);
    return steps;
}

static void ways_are_the_shortest(void **state) {
    (void)state;
    for (uint64_t seed = 100; seed < 130; seed++) {
        struct rootworld *w = random_world(seed);
        rw_mark(w);
        uint32_t *steps = distances(&w->reach.links, w);
        for (size_t i = 0; i < w->reach.ranks.nr; i++) {
            struct cf_rank rank = {i};
            struct cf_position position;
            assert_int_equal(cf_paths_find(NULL, w->reach.paths, &rank, 1, &position, NULL),
                             CF_OK);
            assert_int_equal(cf_is_position(position), steps[i] != 0);
            if (steps[i] == 0)
                continue;
            struct cf_path_end end;
            assert_int_equal(cf_paths_end(NULL, w->reach.paths, position, &end, NULL), CF_OK);
            assert_int_equal(end.nr_chunks, steps[i]);
        }
        free(steps);
        rootworld_free(w);
    }
}

static void assert_links(const struct cf_links *links, size_t rank, const uint32_t *wanted,
                         size_t nr) {
    struct cf_link_list list = cf_links_of(links, (struct cf_rank){rank});
    for (size_t i = 0; i < nr; i++) {
        assert_true(list.at < list.end);
        assert_int_equal(cf_links_take(&list).index, wanted[i]);
    }
    assert_ptr_equal(list.at, list.end);
}

static void links_stand_in_the_order_of_words_without_selves_and_repetitions(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t a = rw_add(w, 8), freed = rw_add_in(w, 4, CF_CHUNK_FREE), b = rw_add(w, 4);
    uint64_t c = rw_add(w, 4), quiet = rw_add(w, 4);
    const uint64_t to[] = {c, c, b, a, freed, b, c};
    for (unsigned i = 0; i < sizeof to / sizeof *to; i++)
        rw_point(w, a, i, to[i]);
    rw_point(w, quiet, 0, a);
    rw_point(w, c, 5, a);
    w->pointerless = rw_user(w, quiet);
    rw_mark(w);
    const struct cf_links *links = &w->reach.links;
    assert_int_equal(w->reach.ranks.nr, 4);
    assert_links(links, 0, (uint32_t[]){2, 1, 2}, 3);
    assert_links(links, 1, NULL, 0);
    assert_links(links, 2, (uint32_t[]){0}, 1);
    assert_links(links, 3, NULL, 0);
    rootworld_free(w);
}

/* Chunks of many pointers between such of few; all of them lead to chunks near and far. */
static void long_lists_stand_among_short_ones(void **state) {
    (void)state;
    enum { CHUNKS = 3000, MANY = 400, ARRAYS = 30 };
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, CHUNKS, CHUNKS * 64 + ARRAYS * 4096);
    uint64_t seed = 7;
    for (size_t i = 0; i < CHUNKS; i++)
        (void)rw_add(w, i % (CHUNKS / ARRAYS) == 5 ? MANY / 2 + 2 : 2);
    uint32_t *wanted = calloc((size_t)CHUNKS * MANY, sizeof *wanted);
    assert_non_null(wanted);
    for (size_t i = 0; i < CHUNKS; i++)
        for (unsigned n = 0; n < (i % (CHUNKS / ARRAYS) == 5 ? MANY : 2); n++) {
            uint32_t to = (uint32_t)random_below(&seed, CHUNKS);
            while (to == i || (n > 0 && to == wanted[i * MANY + n - 1]))
                to = (uint32_t)random_below(&seed, CHUNKS);
            wanted[i * MANY + n] = to;
            rw_point(w, w->chunks[i].addr, n, w->chunks[to].addr);
        }
    rw_mark(w);
    for (size_t i = 0; i < CHUNKS; i++)
        assert_links(&w->reach.links, i, wanted + i * MANY,
                     i % (CHUNKS / ARRAYS) == 5 ? MANY : 2);
    free(wanted);
    rootworld_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_search_reaches_is_what_the_definition_says),
        cmocka_unit_test(without_room_for_the_links_it_fails),
        cmocka_unit_test(ways_are_the_shortest),
        cmocka_unit_test(links_stand_in_the_order_of_words_without_selves_and_repetitions),
        cmocka_unit_test(long_lists_stand_among_short_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
