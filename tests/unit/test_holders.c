/* Who holds a chunk: ways on worlds of a few chunks, on long lists, and on damaged heaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "holders/holders.h"
#include "holders/owners.h"
#include "rootworld.h"

static struct cf_holders holders; /* of the test that runs */

static void ask(uint64_t addr) {
    assert_int_equal(cf_holders_ask(&holders, addr, NULL), CF_OK);
}

static void finish(struct rootworld *w) {
    cf_holders_fini(&holders);
    rootworld_free(w);
}

static void settle(struct rootworld *w) {
    struct cf_err err;
    rw_mark(w);
    assert_int_equal(cf_holders_find(NULL, &holders, w->mem, &w->reach, &err), CF_OK);
}

/* The path to the chunk at `addr`, or NULL when it was not asked for. */
static const struct cf_path *path_to(const struct cf_holders *of, uint64_t addr) {
    for (size_t i = 0; i < of->paths.len; i++)
        if (of->paths.items[i].addr == addr)
            return &of->paths.items[i];
    return NULL;
}

/* The way to `addr` is the root, then the chunks `hops`, ended by 0. */
static void assert_way(uint64_t addr, enum cf_root_kind kind,
                       uint64_t root_addr, const uint64_t *hops) {
    const struct cf_path *path = path_to(&holders, addr);
    assert_non_null(path);
    assert_true(path->length >= 2);
    assert_int_equal(path->hops.len, path->length);
    assert_non_null(path->hops.items[0].root);
    assert_int_equal(path->hops.items[0].root->kind, kind);
    assert_int_equal(path->hops.items[0].addr, root_addr);
    for (size_t i = 1; i < path->hops.len; i++) {
        assert_null(path->hops.items[i].root);
        assert_int_equal(path->hops.items[i].addr, hops[i - 1]);
        assert_int_equal(path->hops.items[i].hop, i);
    }
    assert_int_equal(hops[path->hops.len - 1], 0);
}

static void the_shortest_way_is_told_hop_by_hop(void **state) {
    (void)state;
    static const enum cf_machine machines[] = {CF_MACHINE_X86_64, CF_MACHINE_I386,
                                               CF_MACHINE_AARCH64};
    for (size_t i = 0; i < 3; i++) {
        struct rootworld *w = rootworld_new(machines[i], 8, PAGE);
        uint64_t table = rw_add(w, 4), entry = rw_add(w, 3);
        uint64_t item = rw_add(w, 2), detour = rw_add(w, 2);
        rw_root(w, CF_ROOT_GLOBAL, 5, table);
        rw_point(w, table, 3, entry);
        rw_point(w, table, 1, detour);
        rw_point(w, detour, 0, entry);
        rw_point(w, entry, 2, item);
        ask(item);
        ask(table);
        ask(item); /* twice is once */
        settle(w);
        assert_int_equal(holders.paths.len, 2);
        assert_way(item, CF_ROOT_GLOBAL, rw_root_word(w, CF_ROOT_GLOBAL, 5),
                   (uint64_t[]){table, entry, item, 0});
        assert_way(table, CF_ROOT_GLOBAL, rw_root_word(w, CF_ROOT_GLOBAL, 5),
                   (uint64_t[]){table, 0});
        const struct cf_path *path = path_to(&holders, item);
        assert_int_equal(path->hops.items[1].offset, 3 * w->word);
        assert_int_equal(path->hops.items[2].offset, 2 * w->word);
        assert_int_equal(path->hops.items[3].offset, 0);
        assert_null(path_to(&holders, entry)); /* nobody asked */
        finish(w);
    }
}

static void of_equally_short_ways_the_one_that_says_most_is_told(void **state) {
    (void)state;
    static const enum cf_root_kind best_first[] = {CF_ROOT_GLOBAL, CF_ROOT_TLS, CF_ROOT_MAPPING,
                                                   CF_ROOT_STACK};
    for (size_t best = 0; best < 4; best++) {
        struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
        uint64_t held = rw_add(w, 2);
        for (size_t i = best; i < 4; i++)
            rw_root(w, best_first[i], 7, held);
        ask(held);
        settle(w);
        assert_way(held, best_first[best], rw_root_word(w, best_first[best], 7),
                   (uint64_t[]){held, 0});
        finish(w);
    }
}

/* A call leaves words that lead into the middle of what a variable holds. */
static void what_a_variable_holds_is_not_said_to_hang_on_a_stack(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t first = rw_add(w, 2), held = rw_add(w, 2), only = rw_add(w, 2), next = rw_add(w, 2);
    rw_root(w, CF_ROOT_GLOBAL, 0, first);
    rw_point(w, first, 0, held);
    rw_root(w, CF_ROOT_STACK, 2, held);
    rw_root(w, CF_ROOT_STACK, 3, only);
    rw_point(w, only, 0, held);
    rw_point(w, only, 1, next);
    ask(held);
    ask(next);
    settle(w);
    assert_way(held, CF_ROOT_GLOBAL, rw_root_word(w, CF_ROOT_GLOBAL, 0),
               (uint64_t[]){first, held, 0});
    assert_way(next, CF_ROOT_STACK, rw_root_word(w, CF_ROOT_STACK, 3),
               (uint64_t[]){only, next, 0});
    finish(w);
}

static void rings_end_and_what_nothing_reaches_has_no_way(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 16, PAGE);
    uint64_t ring[3] = {rw_add(w, 2), rw_add(w, 2), rw_add(w, 2)};
    uint64_t lost[2] = {rw_add(w, 2), rw_add(w, 2)}, freed = rw_add_in(w, 4, CF_CHUNK_FREE);
    uint64_t behind_freed = rw_add(w, 2), tcache = rw_add(w, 8), behind_tcache = rw_add(w, 2);
    for (unsigned i = 0; i < 3; i++)
        rw_point(w, ring[i], 0, ring[(i + 1) % 3]);
    rw_point(w, ring[2], 1, ring[2]);
    rw_point(w, lost[0], 0, lost[1]);
    rw_point(w, lost[1], 0, lost[0]);
    rw_point(w, ring[0], 1, freed);
    rw_point(w, freed, 2, behind_freed);
    rw_point(w, ring[1], 1, tcache);
    rw_point(w, tcache, 2, behind_tcache);
    w->pointerless = rw_user(w, tcache);
    rw_root(w, CF_ROOT_TLS, 0, ring[0]);
    const uint64_t asked[] = {ring[2], lost[0], freed, behind_freed, behind_tcache, tcache,
                              0xdead0000, HEAP_AT + 16};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        ask(asked[i]);
    settle(w);
    assert_way(ring[2], CF_ROOT_TLS, rw_root_word(w, CF_ROOT_TLS, 0),
               (uint64_t[]){ring[0], ring[1], ring[2], 0});
    for (size_t i = 1; i < sizeof asked / sizeof *asked; i++) {
        const struct cf_path *path = path_to(&holders, asked[i]);
        assert_non_null(path);
        if (asked[i] != tcache) {
            assert_int_equal(path->length, 0);
            assert_int_equal(path->hops.len, 0);
        }
    }
    finish(w);
}

static void mmapped_chunks_hold_and_are_held(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t first = rw_add(w, 2), last = rw_add(w, 2);
    w->mmapped = (struct cf_mmapped){.addr = MMAPPED_AT, .bytes = 0x40000, .map_start = MMAPPED_AT,
                                     .map_end = MMAPPED_AT + 0x40000, .usable_bytes = 0x3fff0};
    synth_segment(w->synth, MMAPPED_AT, 0x40000, SYNTH_RW);
    rw_root(w, CF_ROOT_MAPPING, 1, first);
    synth_put_word(w->synth, rw_user(w, first), MMAPPED_AT + 0x1234); /* into its middle */
    synth_put_word(w->synth, MMAPPED_AT + 0x3ff00, rw_user(w, last));
    ask(last);
    ask(MMAPPED_AT);
    settle(w);
    assert_way(last, CF_ROOT_MAPPING, rw_root_word(w, CF_ROOT_MAPPING, 1),
               (uint64_t[]){first, MMAPPED_AT, last, 0});
    assert_int_equal(path_to(&holders, last)->hops.items[2].offset, 0x3fef0);
    finish(w);
}

/* Two arrays lead to the same hundred thousand chunks, one of a global's and one of a stack's, in
 * other orders; and from each of them it is one step more. */
static void in_wide_steps_what_says_most_still_goes_first(void **state) {
    (void)state;
    enum { WIDE = 100000 };
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 2 * WIDE + 2, (uint64_t)WIDE * 96);
    uint64_t of_stack = rw_add(w, WIDE / 2 + 2), of_global = rw_add(w, WIDE / 2 + 2);
    for (size_t i = 0; i < 2 * WIDE; i++)
        (void)rw_add(w, 2);
    const struct cf_chunk *items = w->chunks + 2, *ends = items + WIDE;
    for (unsigned i = 0; i < WIDE; i++) {
        rw_point(w, of_stack, i, items[i].addr);
        if (i % 10 != 0)
            rw_point(w, of_global, i, items[(i * 7919ull + 1) % WIDE / 10 * 10 + i % 10].addr);
        rw_point(w, items[i].addr, 0, ends[i].addr);
    }
    rw_root(w, CF_ROOT_GLOBAL, 0, of_global);
    rw_root(w, CF_ROOT_STACK, 0, of_stack);
    for (size_t i = 0; i < WIDE; i += 997)
        ask(ends[i].addr);
    settle(w);
    for (size_t i = 0; i < WIDE; i += 997) {
        bool has_global = false;
        const struct cf_path *path = path_to(&holders, ends[i].addr);
        assert_int_equal(path->length, 4);
        for (unsigned k = 0; k < WIDE && !has_global; k++)
            has_global = k % 10 != 0 && (k * 7919ull + 1) % WIDE / 10 * 10 + k % 10 == i;
        assert_int_equal(path->hops.items[0].root->kind,
                         has_global ? CF_ROOT_GLOBAL : CF_ROOT_STACK);
    }
    finish(w);
}

enum { LONG = 1000000, ASKED_OF_LONG = 300 };

/* Each asked chunk's way is as long as its place; walking all of them anew would take minutes. */
static void a_list_of_a_million_is_told_by_its_ends(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, LONG, (uint64_t)LONG * 32);
    for (size_t i = 0; i < LONG; i++)
        (void)rw_add(w, 2);
    for (size_t i = 0; i + 1 < LONG; i++)
        rw_point(w, w->chunks[i].addr, 0, w->chunks[i + 1].addr);
    rw_root(w, CF_ROOT_GLOBAL, 3, w->chunks[0].addr);
    for (size_t i = 0; i < ASKED_OF_LONG; i++)
        ask(w->chunks[LONG - 1 - i * 37].addr);
    settle(w);
    for (size_t i = 0; i < ASKED_OF_LONG; i++) {
        size_t place = LONG - 1 - i * 37;
        const struct cf_path *path = path_to(&holders, w->chunks[place].addr);
        assert_int_equal(path->length, place + 2);
        assert_int_equal(path->hops.len, CF_HOPS_MAX);
        assert_int_equal(path->hops.items[0].addr, rw_root_word(w, CF_ROOT_GLOBAL, 3));
        assert_int_equal(path->hops.items[1].hop, path->length - (CF_HOPS_MAX - 1));
        assert_int_equal(path->hops.items[CF_HOPS_MAX - 1].addr, w->chunks[place].addr);
        assert_int_equal(path->hops.items[CF_HOPS_MAX - 2].addr, w->chunks[place - 1].addr);
    }
    finish(w);
}

/* A damaged heap has chunks of one unit; such a chunk has no second bit to be remembered by. */
static void chunks_of_one_unit_that_name_themselves_end_the_search(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 16, PAGE);
    uint64_t small[4], held;
    for (size_t i = 0; i < 4; i++)
        small[i] = rw_add(w, 1);
    held = rw_add(w, 2);
    for (size_t i = 0; i < 4; i++)
        rw_root(w, CF_ROOT_GLOBAL, (unsigned)i, small[i]);
    rw_point(w, small[0], 0, small[0]);
    rw_point(w, small[3], 0, held);
    ask(small[0]);
    ask(small[3]);
    ask(held);
    settle(w);
    assert_int_equal(holders.paths.len, 3);
    finish(w);
}

static void nothing_asked_costs_nothing(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    (void)rw_add(w, 2);
    settle(w);
    assert_int_equal(holders.paths.len, 0);
    finish(w);
}

/* ---- places: what a person takes for one holder ---- */

enum { HEAP_A = 0x100000, HEAP_B = 0x300000, CODE = 0x500000, OTHER = 0x700000, FREE = 0x900000 };

struct placed {
    struct rootworld *w;
    struct cf_claims claims;
    struct cf_objects objects;
    struct cf_labels labels;
    struct cf_places places;
};

static void claim(struct placed *placed, uint64_t start, uint8_t runtime,
                  enum cf_claim_area area) {
    const struct cf_claimant who = {CF_CLAIM_MANAGED, "heap", runtime, area};
    assert_int_equal(cf_claims_add_for(&placed->claims, &who, start, start + PAGE, NULL), CF_OK);
}

static void place_begin(struct placed *placed, struct rootworld *w) {
    *placed = (struct placed){.w = w, .labels = {.reach = &w->reach, .objects = &placed->objects}};
    claim(placed, HEAP_A, 1, CF_AREA_OBJECTS);
    claim(placed, HEAP_B, 1, CF_AREA_OBJECTS);
    claim(placed, CODE, 1, CF_AREA_CODE);
    claim(placed, OTHER, 2, CF_AREA_OBJECTS);
    assert_int_equal(cf_claims_seal(&placed->claims, NULL), CF_OK);
    placed->objects.input.claims = &placed->claims;
}

static void place_end(struct placed *placed) {
    cf_places_fini(&placed->places);
    cf_claims_fini(&placed->claims);
}

/* The place of a word that leads to the chunk of this rank, in a page that is a root of its own. */
static uint32_t place_to(struct placed *placed, struct cf_root root, uint64_t addr, uint32_t rank) {
    struct cf_roots *roots = &placed->w->reach.roots;
    uint32_t row = 0;
    while (row < roots->rows.len &&
           (roots->rows.items[row].kind != root.kind ||
            roots->rows.items[row].start != root.start ||
            roots->rows.items[row].thread != root.thread))
        row++;
    if (row == roots->rows.len) {
        struct cf_root *added = cf_array_push(&roots->rows);
        assert_non_null(added);
        *added = root;
    }
    const struct cf_root_word word = {addr, row, rank};
    return cf_places_of(&placed->places, &placed->labels, &word);
}

static uint32_t place(struct placed *placed, enum cf_root_kind kind, int32_t thread, uint64_t page,
                      uint64_t addr) {
    const struct cf_root root = {
        .kind = kind, .start = page, .end = page + PAGE, .thread = thread, .file = -1,
    };
    return place_to(placed, root, addr, 0);
}

static void a_runtimes_heap_counts_as_one_holder(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    struct placed placed;
    rw_mark(w);
    place_begin(&placed, w);
    uint32_t heap = place(&placed, CF_ROOT_MAPPING, -1, HEAP_A, HEAP_A + 8);
    uint32_t code = place(&placed, CF_ROOT_MAPPING, -1, CODE, CODE + 8);
    uint32_t other = place(&placed, CF_ROOT_MAPPING, -1, OTHER, OTHER + 8);
    assert_true(heap != code && heap != other && code != other);
    assert_int_equal(place(&placed, CF_ROOT_MAPPING, -1, HEAP_B, HEAP_B + 64), heap);
    assert_int_equal(place(&placed, CF_ROOT_MAPPING, -1, HEAP_A, HEAP_A + 512), heap);
    assert_int_equal(place(&placed, CF_ROOT_MAPPING, -1, CODE, CODE + 16), code);
    assert_int_equal(placed.places.rows.len, 3);
    assert_int_equal(placed.places.rows.items[other].heap->runtime, 2);
    place_end(&placed);
    rootworld_free(w);
}

static void mappings_threads_and_their_storage_are_places(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    struct placed placed;
    rw_mark(w);
    place_begin(&placed, w);
    uint32_t mapping = place(&placed, CF_ROOT_MAPPING, -1, FREE, FREE + 8);
    assert_int_equal(place(&placed, CF_ROOT_MAPPING, -1, FREE, FREE + 2048), mapping);
    assert_int_equal(placed.places.rows.items[mapping].start, FREE);
    assert_int_equal(placed.places.rows.items[mapping].end, FREE + PAGE);
    assert_null(placed.places.rows.items[mapping].heap);
    uint32_t thread = place(&placed, CF_ROOT_STACK, 3, FREE, FREE + 8);
    assert_int_equal(place(&placed, CF_ROOT_REGISTER, 3, 0, 0), thread);
    assert_int_not_equal(place(&placed, CF_ROOT_STACK, 4, FREE, FREE + 8), thread);
    assert_int_equal(place(&placed, CF_ROOT_STACK, 3, FREE, FREE + 24), thread);
    uint32_t storage = place(&placed, CF_ROOT_TLS, 3, FREE, FREE + 8);
    assert_int_not_equal(storage, thread);
    assert_int_equal(place(&placed, CF_ROOT_TLS, 3, FREE, FREE + 16), storage);
    assert_int_not_equal(place(&placed, CF_ROOT_TLS, 4, FREE, FREE + 8), storage);
    assert_int_equal(placed.places.rows.len, 5);
    place_end(&placed);
    rootworld_free(w);
}

/* A vector's ends, a list's, and what stands beside them. */
static void words_without_a_symbol_are_variables_by_where_they_lead(void **state) {
    (void)state;
    static const struct {
        unsigned word;
        uint32_t chunk;
        unsigned place; /* the word that its place begins with */
    } words[] = {
        {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, /* begin, end and end of storage */
        {4, 1, 4}, {5, 2, 4},            /* first and last node, of one size */
        {7, 3, 7},                       /* of another size, two words further */
        {8, 1, 4},                       /* where the list's first word leads: its own again */
        {9, 4, 9},
        {20, 3, 20},                     /* too far from the other one that leads there */
    };
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    static const uint64_t units[] = {20, 7, 7, 5, 2};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        (void)rw_add(w, units[i]);
    struct placed placed;
    rw_mark(w);
    place_begin(&placed, w);
    const struct cf_root root = {
        .kind = CF_ROOT_GLOBAL, .start = FREE, .end = FREE + PAGE, .thread = -1, .file = -1,
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t row = place_to(&placed, root, FREE + 8 * words[i].word, words[i].chunk);
        assert_int_equal(placed.places.rows.items[row].start, FREE + 8 * words[i].place);
        assert_int_equal(placed.places.rows.items[row].end, FREE + 8 * (words[i].word + 1));
    }
    assert_int_equal(placed.places.rows.len, 5);
    place_end(&placed);
    rootworld_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_way_is_told_hop_by_hop),
        cmocka_unit_test(of_equally_short_ways_the_one_that_says_most_is_told),
        cmocka_unit_test(what_a_variable_holds_is_not_said_to_hang_on_a_stack),
        cmocka_unit_test(rings_end_and_what_nothing_reaches_has_no_way),
        cmocka_unit_test(mmapped_chunks_hold_and_are_held),
        cmocka_unit_test(in_wide_steps_what_says_most_still_goes_first),
        cmocka_unit_test(a_list_of_a_million_is_told_by_its_ends),
        cmocka_unit_test(chunks_of_one_unit_that_name_themselves_end_the_search),
        cmocka_unit_test(nothing_asked_costs_nothing),
        cmocka_unit_test(a_runtimes_heap_counts_as_one_holder),
        cmocka_unit_test(mappings_threads_and_their_storage_are_places),
        cmocka_unit_test(words_without_a_symbol_are_variables_by_where_they_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
