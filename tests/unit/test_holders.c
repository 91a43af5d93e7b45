/* Who holds a chunk: ways on worlds of a few chunks, on long lists, and on damaged heaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holders.h"
#include "core/core.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap_build.h"
#include "synth.h"

enum {
    PAGE = 0x1000,
    ROOTS_AT = 0x10000, /* a page for each kind of root, in the order of enum cf_root_kind */
    HEAP_AT = 0x1000000,
    MMAPPED_AT = 0x70000000,
};

/* A heap of chunks side by side, perhaps one mmapped chunk, and a page of words for each kind of
 * root; the page of CF_ROOT_REGISTER is not read as memory and stays unused. */
struct world {
    unsigned word;
    struct synth *synth;
    struct cf_chunk *chunks;
    size_t nr_chunks;
    size_t cap;
    struct cf_mmapped mmapped;
    uint64_t next;
    uint64_t silent;
    size_t queue_cap;
    struct cf_roots roots;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_chunkmap *map;
    struct cf_mark *mark;
    struct cf_holders holders;
};

static struct world *world_new(enum cf_machine machine, size_t cap, uint64_t heap_bytes) {
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->word = machine == CF_MACHINE_I386 ? 4 : 8;
    w->cap = cap;
    w->chunks = calloc(cap, sizeof *w->chunks);
    assert_non_null(w->chunks);
    w->synth = synth_new(machine);
    synth_segment(w->synth, ROOTS_AT, CF_NR_ROOT_KINDS * PAGE, SYNTH_RW);
    synth_segment(w->synth, HEAP_AT, heap_bytes, SYNTH_RW);
    w->next = HEAP_AT;
    return w;
}

static void world_free(struct world *w) {
    cf_holders_fini(&w->holders);
    cf_array_free(&w->roots.rows);
    cf_mark_free(w->mark);
    cf_chunkmap_free(w->map);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
    free(w->chunks);
    free(w);
}

static uint64_t add_in(struct world *w, uint64_t units, enum cf_chunk_state state) {
    assert_true(w->nr_chunks < w->cap);
    struct cf_chunk *chunk = &w->chunks[w->nr_chunks++];
    *chunk = (struct cf_chunk){.addr = w->next, .bytes = units * 2 * w->word, .state = state};
    w->next += chunk->bytes;
    return chunk->addr;
}

static uint64_t add(struct world *w, uint64_t units) {
    return add_in(w, units, CF_CHUNK_LIVE);
}

static uint64_t user(const struct world *w, uint64_t header) {
    return header + 2 * w->word;
}

/* Word `index` of `from` leads to `to`. */
static void point(struct world *w, uint64_t from, unsigned index, uint64_t to) {
    synth_put_word(w->synth, user(w, from) + w->word * index, user(w, to));
}

static uint64_t root_word(const struct world *w, enum cf_root_kind kind, unsigned index) {
    return ROOTS_AT + (uint64_t)kind * PAGE + w->word * index;
}

static void root(struct world *w, enum cf_root_kind kind, unsigned index, uint64_t to) {
    synth_put_word(w->synth, root_word(w, kind, index), user(w, to));
}

static void build_map(struct world *w) {
    struct cf_heap heap = {
        .start = HEAP_AT, .first_chunk = HEAP_AT, .end = w->next, .chunks_end = w->next,
        .reserved_end = w->next,
    };
    assert_int_equal(cf_chunkmap_new(w->word, &w->map, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_add_heap(w->map, &heap, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(w->map, NULL), CF_OK);
    for (size_t i = 0; i < w->nr_chunks; i++) {
        cf_chunkmap_set_start(w->map, cf_chunkmap_heap(w->map, 0), w->chunks[i].addr);
        cf_chunkmap_set_state(w->map, cf_chunkmap_heap(w->map, 0), w->chunks[i].addr,
                              w->chunks[i].state);
    }
    if (w->mmapped.bytes > 0)
        assert_int_equal(cf_chunkmap_add_mmapped(w->map, &w->mmapped, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal(w->map, NULL), CF_OK);
}

static void mark(struct world *w) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", &w->core, &err), CF_OK);
    assert_int_equal(cf_mem_new(NULL, w->core, &w->mem, &err), CF_OK);
    build_map(w);
    w->roots.mem = w->mem;
    for (int kind = CF_ROOT_STACK; kind < CF_NR_ROOT_KINDS; kind++) {
        struct cf_root *row = cf_array_push(&w->roots.rows);
        assert_non_null(row);
        *row = (struct cf_root){.kind = (enum cf_root_kind)kind, .thread = -1, .file = -1,
                                .start = ROOTS_AT + (uint64_t)kind * PAGE,
                                .end = ROOTS_AT + (uint64_t)(kind + 1) * PAGE};
    }
    struct cf_mark_input input = {
        .mem = w->mem, .map = w->map, .roots = w->roots.rows.items,
        .nr_roots = w->roots.rows.len, .silent = &w->silent, .nr_silent = w->silent != 0,
    };
    assert_int_equal(cf_mark_run(NULL, &input, &w->mark, &err), CF_OK);
}

static int find(struct world *w, struct cf_err *err) {
    const struct cf_holders_input input = {
        .mem = w->mem, .mark = w->mark, .roots = &w->roots, .silent = &w->silent,
        .nr_silent = w->silent != 0, .queue_cap = w->queue_cap,
    };
    return cf_holders_find(NULL, &input, &w->holders, err);
}

static void ask(struct world *w, uint64_t addr) {
    assert_int_equal(cf_holders_ask(&w->holders, addr, NULL), CF_OK);
}

static void settle(struct world *w) {
    struct cf_err err;
    mark(w);
    assert_int_equal(find(w, &err), CF_OK);
}

/* The way to `addr` is the root, then the chunks `hops`, ended by 0. */
static void assert_way(const struct world *w, uint64_t addr, enum cf_root_kind kind,
                       uint64_t root_addr, const uint64_t *hops) {
    const struct cf_way *way = cf_holders_way(&w->holders, addr);
    assert_non_null(way);
    assert_true(way->length >= 2);
    assert_int_equal(way->hops.len, way->length);
    assert_non_null(way->hops.items[0].root);
    assert_int_equal(way->hops.items[0].root->kind, kind);
    assert_int_equal(way->hops.items[0].addr, root_addr);
    for (size_t i = 1; i < way->hops.len; i++) {
        assert_null(way->hops.items[i].root);
        assert_int_equal(way->hops.items[i].addr, hops[i - 1]);
        assert_int_equal(way->hops.items[i].hop, i);
    }
    assert_int_equal(hops[way->hops.len - 1], 0);
}

static void the_shortest_way_is_told_hop_by_hop(void **state) {
    (void)state;
    static const enum cf_machine machines[] = {CF_MACHINE_X86_64, CF_MACHINE_I386,
                                               CF_MACHINE_AARCH64};
    for (size_t i = 0; i < 3; i++) {
        struct world *w = world_new(machines[i], 8, PAGE);
        uint64_t table = add(w, 4), entry = add(w, 3), item = add(w, 2), detour = add(w, 2);
        root(w, CF_ROOT_GLOBAL, 5, table);
        point(w, table, 3, entry);
        point(w, table, 1, detour);
        point(w, detour, 0, entry);
        point(w, entry, 2, item);
        ask(w, item);
        ask(w, table);
        ask(w, item); /* twice is once */
        settle(w);
        assert_int_equal(w->holders.ways.len, 2);
        assert_way(w, item, CF_ROOT_GLOBAL, root_word(w, CF_ROOT_GLOBAL, 5),
                   (uint64_t[]){table, entry, item, 0});
        assert_way(w, table, CF_ROOT_GLOBAL, root_word(w, CF_ROOT_GLOBAL, 5),
                   (uint64_t[]){table, 0});
        const struct cf_way *way = cf_holders_way(&w->holders, item);
        assert_int_equal(way->hops.items[1].offset, 3 * w->word);
        assert_int_equal(way->hops.items[2].offset, 2 * w->word);
        assert_int_equal(way->hops.items[3].offset, 0);
        assert_null(cf_holders_way(&w->holders, entry)); /* nobody asked */
        world_free(w);
    }
}

static void of_equally_short_ways_the_one_that_says_most_is_told(void **state) {
    (void)state;
    static const enum cf_root_kind best_first[] = {CF_ROOT_GLOBAL, CF_ROOT_TLS, CF_ROOT_STACK,
                                                   CF_ROOT_MAPPING};
    for (size_t best = 0; best < 4; best++) {
        struct world *w = world_new(CF_MACHINE_X86_64, 8, PAGE);
        uint64_t held = add(w, 2);
        for (size_t i = best; i < 4; i++)
            root(w, best_first[i], 7, held);
        ask(w, held);
        settle(w);
        assert_way(w, held, best_first[best], root_word(w, best_first[best], 7),
                   (uint64_t[]){held, 0});
        world_free(w);
    }
}

static void a_shorter_way_from_a_stack_beats_a_longer_one_from_a_global(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t first = add(w, 2), held = add(w, 2);
    root(w, CF_ROOT_GLOBAL, 0, first);
    point(w, first, 0, held);
    root(w, CF_ROOT_STACK, 2, held);
    ask(w, held);
    settle(w);
    assert_way(w, held, CF_ROOT_STACK, root_word(w, CF_ROOT_STACK, 2), (uint64_t[]){held, 0});
    world_free(w);
}

static void rings_end_and_what_nothing_reaches_has_no_way(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 16, PAGE);
    uint64_t ring[3] = {add(w, 2), add(w, 2), add(w, 2)};
    uint64_t lost[2] = {add(w, 2), add(w, 2)}, freed = add_in(w, 4, CF_CHUNK_FREE);
    uint64_t behind_freed = add(w, 2), tcache = add(w, 8), behind_tcache = add(w, 2);
    for (unsigned i = 0; i < 3; i++)
        point(w, ring[i], 0, ring[(i + 1) % 3]);
    point(w, ring[2], 1, ring[2]);
    point(w, lost[0], 0, lost[1]);
    point(w, lost[1], 0, lost[0]);
    point(w, ring[0], 1, freed);
    point(w, freed, 2, behind_freed);
    point(w, ring[1], 1, tcache);
    point(w, tcache, 2, behind_tcache);
    w->silent = user(w, tcache);
    root(w, CF_ROOT_TLS, 0, ring[0]);
    const uint64_t asked[] = {ring[2], lost[0], freed, behind_freed, behind_tcache, tcache,
                              0xdead0000, HEAP_AT + 16};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        ask(w, asked[i]);
    settle(w);
    assert_way(w, ring[2], CF_ROOT_TLS, root_word(w, CF_ROOT_TLS, 0),
               (uint64_t[]){ring[0], ring[1], ring[2], 0});
    for (size_t i = 1; i < sizeof asked / sizeof *asked; i++) {
        const struct cf_way *way = cf_holders_way(&w->holders, asked[i]);
        assert_non_null(way);
        if (asked[i] != tcache) {
            assert_int_equal(way->length, 0);
            assert_int_equal(way->hops.len, 0);
        }
    }
    world_free(w);
}

static void mmapped_chunks_hold_and_are_held(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t first = add(w, 2), last = add(w, 2);
    w->mmapped = (struct cf_mmapped){.addr = MMAPPED_AT, .bytes = 0x40000, .map_start = MMAPPED_AT,
                                     .map_end = MMAPPED_AT + 0x40000, .usable_bytes = 0x3fff0};
    synth_segment(w->synth, MMAPPED_AT, 0x40000, SYNTH_RW);
    root(w, CF_ROOT_MAPPING, 1, first);
    synth_put_word(w->synth, user(w, first), MMAPPED_AT + 0x1234); /* into its middle */
    synth_put_word(w->synth, MMAPPED_AT + 0x3ff00, user(w, last));
    ask(w, last);
    ask(w, MMAPPED_AT);
    settle(w);
    assert_way(w, last, CF_ROOT_MAPPING, root_word(w, CF_ROOT_MAPPING, 1),
               (uint64_t[]){first, MMAPPED_AT, last, 0});
    assert_int_equal(cf_holders_way(&w->holders, last)->hops.items[2].offset, 0x3fef0);
    world_free(w);
}

/* A tree of four children to a node, whose steps do not fit the list: the rest are bits of a
 * plane, and the answers stay the same. */
static void steps_that_overflow_the_list_lose_nothing(void **state) {
    (void)state;
    enum { NODES = 1000, CHILDREN = 4 };
    struct cf_way *ways[2] = {NULL, NULL};
    struct world *worlds[2];
    for (size_t run = 0; run < 2; run++) {
        struct world *w = worlds[run] = world_new(CF_MACHINE_X86_64, NODES, 16 * PAGE);
        uint64_t nodes[NODES];
        for (size_t i = 0; i < NODES; i++)
            nodes[i] = add(w, 4);
        for (size_t i = 0; i < NODES; i++)
            for (unsigned c = 0; c < CHILDREN && i * CHILDREN + c + 1 < NODES; c++)
                point(w, nodes[i], c, nodes[i * CHILDREN + c + 1]);
        root(w, CF_ROOT_GLOBAL, 0, nodes[0]);
        for (size_t i = 0; i < NODES; i += 7)
            ask(w, nodes[i]);
        w->queue_cap = run == 0 ? 0 : 3;
        settle(w);
        ways[run] = w->holders.ways.items;
    }
    assert_int_equal(worlds[0]->holders.ways.len, worlds[1]->holders.ways.len);
    for (size_t i = 0; i < worlds[0]->holders.ways.len; i++) {
        assert_int_equal(ways[0][i].length, ways[1][i].length);
        assert_true(ways[0][i].length >= 2);
        for (size_t hop = 0; hop < ways[0][i].hops.len; hop++)
            assert_int_equal(ways[0][i].hops.items[hop].addr, ways[1][i].hops.items[hop].addr);
    }
    world_free(worlds[0]);
    world_free(worlds[1]);
}

enum { LONG = 1000000, ASKED_OF_LONG = 300 };

/* Each asked chunk's way is as long as its place; walking all of them anew would take minutes. */
static void a_list_of_a_million_is_told_by_its_ends(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, LONG, (uint64_t)LONG * 32);
    for (size_t i = 0; i < LONG; i++)
        (void)add(w, 2);
    for (size_t i = 0; i + 1 < LONG; i++)
        point(w, w->chunks[i].addr, 0, w->chunks[i + 1].addr);
    root(w, CF_ROOT_GLOBAL, 3, w->chunks[0].addr);
    for (size_t i = 0; i < ASKED_OF_LONG; i++)
        ask(w, w->chunks[LONG - 1 - i * 37].addr);
    settle(w);
    for (size_t i = 0; i < ASKED_OF_LONG; i++) {
        size_t place = LONG - 1 - i * 37;
        const struct cf_way *way = cf_holders_way(&w->holders, w->chunks[place].addr);
        assert_int_equal(way->length, place + 2);
        assert_int_equal(way->hops.len, CF_HOPS_MAX);
        assert_int_equal(way->hops.items[0].addr, root_word(w, CF_ROOT_GLOBAL, 3));
        assert_int_equal(way->hops.items[1].hop, way->length - (CF_HOPS_MAX - 1));
        assert_int_equal(way->hops.items[CF_HOPS_MAX - 1].addr, w->chunks[place].addr);
        assert_int_equal(way->hops.items[CF_HOPS_MAX - 2].addr, w->chunks[place - 1].addr);
    }
    world_free(w);
}

/* A damaged heap has chunks of one unit; such a chunk has no second bit to be remembered by. */
static void chunks_of_one_unit_that_name_themselves_end_the_search(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 16, PAGE);
    uint64_t small[4], held;
    for (size_t i = 0; i < 4; i++)
        small[i] = add(w, 1);
    held = add(w, 2);
    for (size_t i = 0; i < 4; i++)
        root(w, CF_ROOT_GLOBAL, (unsigned)i, small[i]);
    point(w, small[0], 0, small[0]);
    point(w, small[3], 0, held);
    ask(w, small[0]);
    ask(w, small[3]);
    ask(w, held);
    settle(w);
    assert_int_equal(w->holders.ways.len, 3);
    world_free(w);
}

static void a_way_needs_no_folder_of_its_own_and_says_when_it_has_none(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, PAGE);
    struct cf_err err = {.status = CF_OK};
    uint64_t held = add(w, 2);
    root(w, CF_ROOT_GLOBAL, 0, held);
    ask(w, held);
    mark(w);
    assert_int_equal(setenv("TMPDIR", "/proc/nowhere", 1), 0);
    assert_int_equal(find(w, &err), CF_EOUTPUT);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_non_null(strstr(err.text, "/proc/nowhere"));
    world_free(w);
}

static void nothing_asked_costs_nothing(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, PAGE);
    (void)add(w, 2);
    settle(w);
    assert_int_equal(w->holders.ways.len, 0);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_way_is_told_hop_by_hop),
        cmocka_unit_test(of_equally_short_ways_the_one_that_says_most_is_told),
        cmocka_unit_test(a_shorter_way_from_a_stack_beats_a_longer_one_from_a_global),
        cmocka_unit_test(rings_end_and_what_nothing_reaches_has_no_way),
        cmocka_unit_test(mmapped_chunks_hold_and_are_held),
        cmocka_unit_test(steps_that_overflow_the_list_lose_nothing),
        cmocka_unit_test(a_list_of_a_million_is_told_by_its_ends),
        cmocka_unit_test(chunks_of_one_unit_that_name_themselves_end_the_search),
        cmocka_unit_test(a_way_needs_no_folder_of_its_own_and_says_when_it_has_none),
        cmocka_unit_test(nothing_asked_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
