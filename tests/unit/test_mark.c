/* The mark: what is reached and what is a leak, on worlds of a few chunks and on random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "reach/guards.h"
#include "reach/leaks.h"
#include "reach/reach.h"
#include "core/core.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap_build.h"
#include "synth.h"
#include "whole_mem.h"

enum { ROOTS_AT = 0x10000, ROOTS_BYTES = 0x4000, HEAP_AT = 0x1000000, MMAPPED_AT = 0x70000000 };

/* A heap of chunks laid side by side from HEAP_AT, mmapped chunks, and one page of root words. */
struct world {
    unsigned word;
    struct synth *synth;
    struct cf_chunk *chunks;
    size_t nr_chunks;
    size_t cap;
    struct cf_mmapped mmapped[8];
    size_t nr_mmapped;
    uint64_t next;       /* where the next chunk of the heap goes */
    uint64_t nr_roots;
    uint64_t pointerless[4];
    size_t nr_pointerless;
    struct synth_segment *heap; /* of the core; a test may leave bytes of it out */
    /* after settle() */
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_chunkmap *map;
    struct cf_reach reach;
    struct cf_leaks leaks;
};

static struct world *world_new(enum cf_machine machine, size_t cap, uint64_t heap_bytes) {
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->word = machine == CF_MACHINE_I386 ? 4 : 8;
    w->cap = cap;
    w->chunks = calloc(cap, sizeof *w->chunks);
    assert_non_null(w->chunks);
    w->synth = synth_new(machine);
    synth_segment(w->synth, ROOTS_AT, ROOTS_BYTES, SYNTH_RW);
    w->heap = synth_segment(w->synth, HEAP_AT, heap_bytes, SYNTH_RW);
    w->next = HEAP_AT;
    return w;
}

static void world_free(struct world *w) {
    cf_leaks_fini(&w->leaks);
    cf_reach_fini_mark(&w->reach);
    cf_array_free(&w->reach.roots.rows);
    cf_chunkmap_free(w->map);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
    free(w->chunks);
    free(w);
}

/* A chunk of `units` units; returns its header. */
static uint64_t add(struct world *w, uint64_t units, enum cf_chunk_state state) {
    assert_true(w->nr_chunks < w->cap);
    struct cf_chunk *chunk = &w->chunks[w->nr_chunks++];
    *chunk = (struct cf_chunk){.addr = w->next, .bytes = units * 2 * w->word, .state = state};
    w->next += chunk->bytes;
    return chunk->addr;
}

static uint64_t add_mmapped(struct world *w, uint64_t bytes, bool in_tcache) {
    uint64_t addr = MMAPPED_AT + 0x1000000 * w->nr_mmapped;
    synth_segment(w->synth, addr, bytes, SYNTH_RW);
    w->mmapped[w->nr_mmapped++] = (struct cf_mmapped){
        .addr = addr, .bytes = bytes, .map_start = addr, .map_end = addr + bytes,
        .usable_bytes = bytes - 2 * w->word, .in_tcache = in_tcache,
    };
    return addr;
}

static uint64_t user(const struct world *w, uint64_t header) {
    return header + 2 * w->word;
}

static void put(struct world *w, uint64_t at, uint64_t value) {
    synth_put_word(w->synth, at, value);
}

static void root(struct world *w, uint64_t value) {
    put(w, ROOTS_AT + w->word * w->nr_roots++, value);
}

/* Word `index` of the chunk's payload becomes `value`. */
static void point(struct world *w, uint64_t from, unsigned index, uint64_t value) {
    put(w, user(w, from) + w->word * index, value);
}

static void build_map(struct world *w) {
    assert_int_equal(cf_chunkmap_new(w->word, &w->map, NULL), CF_OK);
    struct cf_heap heap = {
        .start = HEAP_AT, .first_chunk = HEAP_AT, .end = w->next, .chunks_end = w->next,
        .reserved_end = w->next,
    };
    assert_int_equal(cf_chunkmap_add_heap(w->map, &heap, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(w->map, NULL), CF_OK);
    for (size_t i = 0; i < w->nr_chunks; i++) {
        const struct cf_chunk *chunk = &w->chunks[i];
        const struct cf_heap *in = cf_chunkmap_heap(w->map, 0);
        if (chunk->state >= CF_CHUNK_TOP) {
            assert_int_equal(cf_chunkmap_add_odd(w->map, in, chunk->addr, chunk->state, NULL),
                             CF_OK);
            continue;
        }
        cf_chunkmap_set_start(w->map, in, chunk->addr);
        cf_chunkmap_set_state(w->map, in, chunk->addr, chunk->state);
    }
    for (size_t i = 0; i < w->nr_mmapped; i++)
        assert_int_equal(cf_chunkmap_add_mmapped(w->map, &w->mmapped[i], NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal(w->map, NULL), CF_OK);
}

/* Ends the world's making: marks it and looks for leaks. */
static void settle(struct world *w) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", NULL, &w->core, &err), CF_OK);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), CF_OK);
    build_map(w);
    struct cf_root *row = cf_array_push(&w->reach.roots.rows);
    assert_non_null(row);
    *row = (struct cf_root){.kind = CF_ROOT_GLOBAL, .start = ROOTS_AT,
                            .end = ROOTS_AT + ROOTS_BYTES, .thread = -1, .file = -1};
    struct cf_guard_pages guards = {.rows = {0}};
    assert_int_equal(cf_guard_pages_find(&guards, w->mem, w->map, &err), CF_OK);
    for (size_t i = 0; i < guards.rows.len; i++) {
        row = cf_array_push(&w->reach.roots.rows);
        assert_non_null(row);
        *row = (struct cf_root){.kind = CF_ROOT_MAPPING, .start = guards.rows.items[i].start,
                                .end = guards.rows.items[i].end, .thread = -1, .file = -1,
                                .is_guard = true};
    }
    cf_array_free(&guards.rows);
    w->reach.pointerless = w->pointerless;
    w->reach.nr_pointerless = w->nr_pointerless;
    assert_int_equal(cf_reach_prepare(NULL, w->mem, w->map, &w->reach, &err), CF_OK);
    assert_int_equal(cf_reach_follow(NULL, &w->reach, NULL, &err), CF_OK);
    const struct cf_leaks_input input = {.mark = w->reach.mark, .links = &w->reach.links};
    assert_int_equal(cf_leaks_find(NULL, &w->leaks, &input, &err), CF_OK);
}

static bool reached(const struct world *w, uint64_t header) {
    return cf_mark_reached_at(w->reach.mark, header);
}

static void chains_are_followed_to_their_end(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 16, 0x4000);
    uint64_t a = add(w, 2, CF_CHUNK_LIVE), b = add(w, 3, CF_CHUNK_LIVE);
    uint64_t c = add(w, 2, CF_CHUNK_LIVE), lost = add(w, 4, CF_CHUNK_LIVE);
    uint64_t lost_too = add(w, 2, CF_CHUNK_LIVE);
    (void)add(w, 10, CF_CHUNK_TOP);
    root(w, user(w, b));
    point(w, b, 0, user(w, a));
    point(w, a, 2, user(w, c)); /* the word that is the next chunk's prev_size */
    point(w, lost, 1, user(w, lost_too));
    settle(w);
    assert_true(reached(w, a) && reached(w, b) && reached(w, c));
    assert_false(reached(w, lost));
    assert_false(reached(w, lost_too));
    assert_int_equal(w->leaks.total.chunks, 2);
    assert_int_equal(w->leaks.total.bytes, 96);
    assert_int_equal(w->leaks.rows.len, 2);
    assert_int_equal(w->leaks.rows.items[0].size_bytes, 32);
    assert_int_equal(w->leaks.rows.items[0].root_chunks, 0);
    assert_int_equal(w->leaks.rows.items[1].size_bytes, 64);
    assert_int_equal(w->leaks.rows.items[1].root_chunks, 1);
    assert_int_equal(w->leaks.heaps[0].bytes, 96);
    world_free(w);
}

/* One chunk of six units, a neighbour on each side, one word that points somewhere at it. */
static void a_word_points_from_the_user_address_to_one_past_the_end(void **state) {
    (void)state;
    static const struct {
        enum cf_machine machine;
        int64_t offset_units; /* from the chunk's header, in units of two words */
        int64_t offset_bytes;
        bool wanted;
    } cases[] = {
        {CF_MACHINE_X86_64, 1, 0, true},    /* the user address */
        {CF_MACHINE_X86_64, 0, 0, false},   /* the header, which bins point to */
        {CF_MACHINE_X86_64, 1, -1, false},
        {CF_MACHINE_X86_64, 3, 5, true},    /* interior, and odd */
        {CF_MACHINE_X86_64, 6, 8, true},    /* the end of what can be used */
        {CF_MACHINE_X86_64, 7, -1, true},
        {CF_MACHINE_X86_64, 7, 0, false},   /* the next one's user address */
        {CF_MACHINE_I386, 1, 0, true},
        {CF_MACHINE_I386, 0, 0, false},
        {CF_MACHINE_I386, 1, -1, false},
        {CF_MACHINE_I386, 6, 7, true},
        {CF_MACHINE_I386, 7, 0, false},
        {CF_MACHINE_AARCH64, 1, 0, true},
        {CF_MACHINE_AARCH64, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = world_new(cases[i].machine, 8, 0x4000);
        (void)add(w, 2, CF_CHUNK_LIVE);
        uint64_t chunk = add(w, 6, CF_CHUNK_LIVE);
        (void)add(w, 2, CF_CHUNK_LIVE);
        (void)add(w, 10, CF_CHUNK_TOP);
        root(w, chunk + (uint64_t)(cases[i].offset_units * 2 * (int64_t)w->word +
                                   cases[i].offset_bytes));
        settle(w);
        assert_int_equal(reached(w, chunk), cases[i].wanted);
        world_free(w);
    }
}

static void a_tag_in_the_top_byte_is_no_address_on_aarch64_alone(void **state) {
    (void)state;
    static const enum cf_machine machines[] = {CF_MACHINE_AARCH64, CF_MACHINE_X86_64};
    for (size_t i = 0; i < 2; i++) {
        struct world *w = world_new(machines[i], 4, 0x4000);
        uint64_t chunk = add(w, 4, CF_CHUNK_LIVE);
        (void)add(w, 4, CF_CHUNK_TOP);
        root(w, user(w, chunk) | 0x0b00000000000000ull);
        settle(w);
        assert_int_equal(reached(w, chunk), machines[i] == CF_MACHINE_AARCH64);
        world_free(w);
    }
}

static void hidden_pointers_hide(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x4000);
    uint64_t xored = add(w, 2, CF_CHUNK_LIVE), unaligned = add(w, 2, CF_CHUNK_LIVE);
    uint64_t held = add(w, 4, CF_CHUNK_LIVE);
    (void)add(w, 4, CF_CHUNK_TOP);
    root(w, ~user(w, xored));
    root(w, user(w, held));
    put(w, user(w, held) + 9, user(w, unaligned));
    settle(w);
    assert_false(reached(w, xored));
    assert_false(reached(w, unaligned));
    assert_true(reached(w, held));
    world_free(w);
}

static void a_ring_of_leaks_has_no_root_and_a_chunk_that_names_itself_has(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x4000);
    uint64_t ring[3] = {
        add(w, 2, CF_CHUNK_LIVE), add(w, 2, CF_CHUNK_LIVE), add(w, 2, CF_CHUNK_LIVE),
    };
    uint64_t self = add(w, 4, CF_CHUNK_LIVE);
    (void)add(w, 4, CF_CHUNK_TOP);
    for (unsigned i = 0; i < 3; i++)
        point(w, ring[i], 0, user(w, ring[(i + 1) % 3]));
    point(w, self, 3, user(w, self));
    settle(w);
    assert_int_equal(w->leaks.total.chunks, 4);
    assert_int_equal(w->leaks.rows.items[0].chunks, 3);
    assert_int_equal(w->leaks.rows.items[0].root_chunks, 0);
    assert_int_equal(w->leaks.rows.items[1].chunks, 1);
    assert_int_equal(w->leaks.rows.items[1].root_chunks, 1);
    world_free(w);
}

/* Freed memory still holds the pointers of its last life. */
static void dead_chunks_fences_and_the_top_carry_nothing(void **state) {
    (void)state;
    static const enum cf_chunk_state states[] = {
        CF_CHUNK_FREE, CF_CHUNK_FAST, CF_CHUNK_TCACHE, CF_CHUNK_GAP, CF_CHUNK_TOP,
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x4000);
        uint64_t held = add(w, 2, CF_CHUNK_LIVE), lost = add(w, 2, CF_CHUNK_LIVE);
        (void)add(w, 1, CF_CHUNK_FENCE);
        uint64_t dead = add(w, 6, states[i]);
        (void)add(w, 4, CF_CHUNK_TOP);
        root(w, user(w, held));
        point(w, held, 0, user(w, dead));
        point(w, dead, 0, user(w, lost));
        settle(w);
        assert_false(reached(w, lost));
        assert_int_equal(w->leaks.total.chunks, 1);
        assert_int_equal(w->leaks.rows.items[0].root_chunks, 1);
        world_free(w);
    }
}

static void a_tcache_struct_is_no_leak_and_carries_nothing(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x4000);
    uint64_t tcache = add(w, 8, CF_CHUNK_LIVE), lost = add(w, 2, CF_CHUNK_LIVE);
    (void)add(w, 4, CF_CHUNK_TOP);
    root(w, user(w, tcache));
    point(w, tcache, 1, user(w, lost));
    w->pointerless[w->nr_pointerless++] = user(w, tcache);
    settle(w);
    assert_true(reached(w, tcache));
    assert_false(reached(w, lost));
    assert_int_equal(w->leaks.total.chunks, 1);
    world_free(w);
}

static void mmapped_chunks_are_targets_and_sources_unless_a_tcache_has_them(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x4000);
    uint64_t last = add(w, 2, CF_CHUNK_LIVE), lost = add(w, 2, CF_CHUNK_LIVE);
    (void)add(w, 4, CF_CHUNK_TOP);
    uint64_t first = add_mmapped(w, 0x30000, false), second = add_mmapped(w, 0x20000, false);
    uint64_t cached = add_mmapped(w, 0x20000, true), leaked = add_mmapped(w, 0x5000, false);
    root(w, first + 0x30000 - 1);    /* its last byte */
    root(w, leaked + 0x5000);        /* one past the end: another mapping's first byte */
    root(w, user(w, cached));
    put(w, first + 0x30000 - 8, second + 0x10001);
    put(w, user(w, second), user(w, last));
    put(w, user(w, cached), user(w, lost));
    settle(w);
    assert_true(reached(w, first) && reached(w, second) && reached(w, last));
    assert_false(reached(w, lost));
    assert_false(reached(w, leaked));
    assert_int_equal(w->leaks.total.chunks, 2);
    assert_int_equal(w->leaks.mmapped.bytes, 0x5000);
    world_free(w);
}

enum { NODES = 1000000 };

/* A list in one direction, then in the other, then in jumps: each is one path of a million. */
static void a_list_of_a_million_nodes_needs_no_deep_stack(void **state) {
    (void)state;
    static const uint64_t steps[] = {1, NODES - 1, 314159 + 618};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct world *w = world_new(CF_MACHINE_X86_64, NODES + 2, (uint64_t)NODES * 32 + 0x1000);
        for (uint64_t i = 0; i < NODES; i++)
            (void)add(w, 2, CF_CHUNK_LIVE);
        (void)add(w, 4, CF_CHUNK_TOP);
        uint64_t at = 0, nr = 0;
        for (uint64_t i = 0; i + 1 < NODES; i++, nr++) {
            uint64_t next = (at + steps[k]) % NODES;
            if (next == 0)
                break;
            point(w, w->chunks[at].addr, 0, user(w, w->chunks[next].addr));
            at = next;
        }
        root(w, user(w, w->chunks[0].addr));
        settle(w);
        assert_int_equal(w->leaks.total.chunks, NODES - 1 - nr);
        assert_int_equal(nr, NODES - 1);
        world_free(w);
    }
}

/* An array that points to all, near and far. */
static void an_array_of_many_leads_to_all_of_them(void **state) {
    (void)state;
    enum { FAN = 200000 };
    struct world *w = world_new(CF_MACHINE_X86_64, 2 * FAN + 2, (uint64_t)FAN * 80 + 0x1000);
    uint64_t array = add(w, FAN / 2 + 2, CF_CHUNK_LIVE);
    for (uint64_t i = 0; i < 2 * FAN; i++)
        (void)add(w, 2, CF_CHUNK_LIVE);
    (void)add(w, 4, CF_CHUNK_TOP);
    for (uint64_t i = 0; i < FAN; i++) {
        uint64_t child = w->chunks[1 + (i * 7919) % FAN].addr;
        put(w, user(w, array) + 8 * i, user(w, child));
        point(w, child, 1, user(w, w->chunks[1 + FAN + (i * 104729) % FAN].addr));
    }
    root(w, user(w, array));
    settle(w);
    assert_int_equal(w->leaks.total.chunks, 0);
    assert_int_equal(w->reach.paths->nr, 2 * FAN + 1);
    world_free(w);
}

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (*seed >> 33) % limit;
}

/* The definition, word by word and chunk by chunk. */
static void oracle_range(const struct world *w, uint64_t start, uint64_t end, bool *seen,
                         uint64_t *work, size_t *nr_work) {
    for (uint64_t at = start; at < end; at += w->word) {
        uint64_t a;
        assert_true(cf_mem_word(w->mem, at, &a));
        for (size_t i = 0; i < w->nr_chunks; i++) {
            const struct cf_chunk *chunk = &w->chunks[i];
            bool points = chunk->addr + 2 * w->word <= a &&
                          a < chunk->addr + chunk->bytes + 2 * w->word;
            if (!points || chunk->state != CF_CHUNK_LIVE || seen[i])
                continue;
            seen[i] = true;
            work[(*nr_work)++] = i;
        }
    }
}

static void oracle(const struct world *w, bool *seen) {
    uint64_t *work = calloc(w->nr_chunks, sizeof *work);
    assert_non_null(work);
    size_t nr_work = 0;
    oracle_range(w, ROOTS_AT, ROOTS_AT + 64 * w->word, seen, work, &nr_work);
    while (nr_work > 0) {
        const struct cf_chunk *chunk = &w->chunks[work[--nr_work]];
        oracle_range(w, user(w, chunk->addr), chunk->addr + chunk->bytes + w->word, seen, work,
                     &nr_work);
    }
    free(work);
}

static void random_world(struct world *w, uint64_t *seed, size_t nr) {
    static const enum cf_chunk_state states[] = {
        CF_CHUNK_LIVE, CF_CHUNK_LIVE, CF_CHUNK_LIVE, CF_CHUNK_FREE, CF_CHUNK_TCACHE,
        CF_CHUNK_FAST, CF_CHUNK_LIVE, CF_CHUNK_GAP,
    };
    for (size_t i = 0; i < nr; i++) {
        bool fence = random_below(seed, 30) == 0;
        uint64_t units = random_below(seed, 25) == 0 ? 5000 + random_below(seed, 9000)
                                                     : 2 + random_below(seed, 12);
        (void)add(w, fence ? 1 : units, fence ? CF_CHUNK_FENCE : states[random_below(seed, 8)]);
    }
    (void)add(w, 4, CF_CHUNK_TOP);
    uint64_t span = w->next - HEAP_AT;
    for (size_t i = 0; i < nr; i++) {
        const struct cf_chunk *chunk = &w->chunks[random_below(seed, nr)];
        uint64_t nr_words = chunk->bytes / w->word - 1;
        if (chunk->state != CF_CHUNK_FENCE)
            point(w, chunk->addr, (unsigned)random_below(seed, nr_words),
                  HEAP_AT - 64 + random_below(seed, span + 128));
    }
    for (unsigned i = 0; i < 5; i++)
        root(w, HEAP_AT + random_below(seed, span));
}

static void random_worlds_are_marked_as_the_definition_says(void **state) {
    (void)state;
    static const enum cf_machine machines[] = {
        CF_MACHINE_X86_64, CF_MACHINE_I386, CF_MACHINE_AARCH64,
    };
    for (uint64_t round = 0; round < 60; round++) {
        uint64_t seed = round * 7 + 1;
        size_t nr = 20 + (size_t)random_below(&seed, 200);
        struct world *w = world_new(machines[round % 3], nr + 2, 0x4000000);
        random_world(w, &seed, nr);
        settle(w);
        bool *seen = calloc(w->nr_chunks, sizeof *seen);
        assert_non_null(seen);
        oracle(w, seen);
        uint64_t nr_lost = 0;
        for (size_t i = 0; i < w->nr_chunks; i++) {
            bool live = w->chunks[i].state == CF_CHUNK_LIVE;
            assert_int_equal(reached(w, w->chunks[i].addr), seen[i] || !live);
            nr_lost += live && !seen[i];
        }
        assert_int_equal(w->leaks.total.chunks, nr_lost);
        free(seen);
        world_free(w);
    }
}

static void a_world_without_chunks_has_no_leaks(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 2, 0x4000);
    root(w, HEAP_AT + 16);
    settle(w);
    assert_int_equal(w->leaks.total.chunks, 0);
    assert_true(reached(w, HEAP_AT));
    world_free(w);
}

/* The core lacks the heap's second page: it says nothing, neither zero nor pointer. */
static void what_the_core_lacks_is_not_guessed(void **state) {
    (void)state;
    struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x2000);
    uint64_t held = add(w, 0x100, CF_CHUNK_LIVE); /* one page */
    uint64_t beyond = add(w, 0x80, CF_CHUNK_LIVE);
    uint64_t found = add(w, 2, CF_CHUNK_LIVE), lost = add(w, 0x7e, CF_CHUNK_LIVE);
    root(w, user(w, held));
    point(w, held, 0, user(w, beyond));
    point(w, held, 7, user(w, found));
    w->heap->file_bytes = 0x1000;
    settle(w);
    assert_true(reached(w, beyond) && reached(w, found));
    assert_false(reached(w, lost));
    world_free(w);
}

/* A signal stack from malloc: the kernel alone knows where it is, its guard page gives it away. */
static void a_chunk_around_a_guard_page_is_held_by_the_kernel(void **state) {
    (void)state;
    for (unsigned left_out = 0; left_out < 2; left_out++) {
        struct world *w = world_new(CF_MACHINE_X86_64, 8, 0x1000);
        if (!left_out)
            synth_segment(w->synth, HEAP_AT + 0x1000, 0x1000, 0);
        synth_segment(w->synth, HEAP_AT + 0x2000, 0x2000, SYNTH_RW);
        uint64_t before = add(w, 2, CF_CHUNK_LIVE), stack = add(w, 0x280, CF_CHUNK_LIVE);
        uint64_t kept = add(w, 2, CF_CHUNK_LIVE), lost = add(w, 2, CF_CHUNK_LIVE);
        (void)add(w, 10, CF_CHUNK_TOP);
        synth_put_word(w->synth, HEAP_AT + 0x2800, user(w, kept)); /* on the stack */
        settle(w);
        assert_true(reached(w, stack));
        assert_true(reached(w, kept));
        assert_false(reached(w, before));
        assert_false(reached(w, lost));
        world_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_followed_to_their_end),
        cmocka_unit_test(a_word_points_from_the_user_address_to_one_past_the_end),
        cmocka_unit_test(a_tag_in_the_top_byte_is_no_address_on_aarch64_alone),
        cmocka_unit_test(hidden_pointers_hide),
        cmocka_unit_test(a_chunk_around_a_guard_page_is_held_by_the_kernel),
        cmocka_unit_test(a_ring_of_leaks_has_no_root_and_a_chunk_that_names_itself_has),
        cmocka_unit_test(dead_chunks_fences_and_the_top_carry_nothing),
        cmocka_unit_test(a_tcache_struct_is_no_leak_and_carries_nothing),
        cmocka_unit_test(mmapped_chunks_are_targets_and_sources_unless_a_tcache_has_them),
        cmocka_unit_test(a_list_of_a_million_nodes_needs_no_deep_stack),
        cmocka_unit_test(an_array_of_many_leads_to_all_of_them),
        cmocka_unit_test(random_worlds_are_marked_as_the_definition_says),
        cmocka_unit_test(a_world_without_chunks_has_no_leaks),
        cmocka_unit_test(what_the_core_lacks_is_not_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
