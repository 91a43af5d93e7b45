/* Parents of chunks: what is set is what is got, and the end of a way is its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "analysis/parents.h"
#include "core/core.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap_build.h"
#include "synth.h"

enum { HEAPS = 3, CHUNKS = 3000, MMAPPED = 40, ALL = HEAPS * CHUNKS + MMAPPED };

/* Heaps of chunks of two to nine units, far apart, and mmapped chunks behind them. */
struct world {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_chunkmap *map;
    struct cf_resolver resolver;
    size_t numbers[ALL];
};

static uint64_t heap_start(size_t heap) {
    return 0x10000000 + heap * 0x8000000ull + 16 * (heap % 2);
}

static uint64_t chunk_addr(size_t heap, size_t chunk) {
    return heap_start(heap) + (chunk / 8 * 44 + (chunk % 8) * (chunk % 8 + 3) / 2) * 16;
}

static void fill_numbers(struct world *w) {
    size_t nr = 0;
    for (size_t h = 0; h < HEAPS; h++)
        for (size_t i = 0; i < CHUNKS; i++)
            w->numbers[nr++] = cf_resolver_number_at(&w->resolver, chunk_addr(h, i));
    for (size_t i = 0; i < MMAPPED; i++)
        w->numbers[nr++] = cf_resolver_number_at(&w->resolver, 0x70000000 + i * 0x100000);
    for (size_t i = 0; i < ALL; i++)
        assert_int_not_equal(w->numbers[i], CF_NO_CHUNK);
}

static struct world *world_new(void) {
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->synth = synth_new(CF_MACHINE_X86_64);
    synth_segment(w->synth, 0x1000, 0x1000, SYNTH_RW);
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", &w->core, NULL), CF_OK);
    assert_int_equal(cf_mem_new(NULL, w->core, &w->mem, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_new(8, &w->map, NULL), CF_OK);
    for (size_t h = 0; h < HEAPS; h++) {
        uint64_t start = heap_start(h), end = chunk_addr(h, CHUNKS);
        struct cf_heap heap = {.start = start, .first_chunk = start, .end = end,
                               .chunks_end = end, .reserved_end = end};
        assert_int_equal(cf_chunkmap_add_heap(w->map, &heap, NULL), CF_OK);
    }
    assert_int_equal(cf_chunkmap_seal_heaps(w->map, NULL), CF_OK);
    for (size_t h = 0; h < HEAPS; h++)
        for (size_t i = 0; i < CHUNKS; i++)
            cf_chunkmap_set_start(w->map, cf_chunkmap_heap(w->map, h), chunk_addr(h, i));
    for (size_t i = 0; i < MMAPPED; i++) {
        uint64_t at = 0x70000000 + i * 0x100000;
        struct cf_mmapped row = {.addr = at, .bytes = 0x21000, .map_start = at,
                                 .map_end = at + 0x21000, .usable_bytes = 0x20ff0};
        assert_int_equal(cf_chunkmap_add_mmapped(w->map, &row, NULL), CF_OK);
    }
    assert_int_equal(cf_chunkmap_seal(w->map, NULL), CF_OK);
    assert_int_equal(cf_resolver_init(&w->resolver, w->mem, w->map, NULL), CF_OK);
    fill_numbers(w);
    return w;
}

static void world_free(struct world *w) {
    cf_resolver_fini(&w->resolver);
    cf_chunkmap_free(w->map);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
    free(w);
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A forest: the i-th chunk hangs on an earlier one, or every so often on a root; a few on none. */
static void what_is_set_is_what_is_got(void **state) {
    (void)state;
    struct world *w = world_new();
    struct cf_parents *parents;
    size_t *of = calloc(ALL, sizeof *of); /* SIZE_MAX: none; ALL + r: root r; else an index */
    uint32_t seed = 1;
    assert_non_null(of);
    assert_int_equal(cf_parents_new(&w->resolver, 100, &parents, NULL), CF_OK);
    for (size_t i = 0; i < ALL; i++) {
        uint32_t r = next_random(&seed);
        of[i] = i == 0 || r % 50 == 0 ? ALL + r % 100 : r % 51 == 0 ? SIZE_MAX : r % i;
        if (of[i] != SIZE_MAX)
            cf_parents_set(parents, w->numbers[i],
                           of[i] >= ALL ? cf_parents_from_root(of[i] - ALL)
                                        : cf_parents_from_chunk(parents, w->numbers[of[i]]));
    }
    for (size_t i = 0; i < ALL; i++) {
        size_t root, from;
        assert_int_equal(cf_parents_get(parents, w->numbers[i], &root, &from), of[i] != SIZE_MAX);
        if (of[i] == SIZE_MAX)
            continue;
        assert_int_equal(root, of[i] >= ALL ? of[i] - ALL : SIZE_MAX);
        assert_int_equal(from, of[i] >= ALL ? CF_NO_CHUNK : w->numbers[of[i]]);
    }
    cf_parents_free(parents);
    free(of);
    world_free(w);
}

static void the_end_of_a_way_is_the_same_from_everywhere_on_it(void **state) {
    (void)state;
    struct world *w = world_new();
    struct cf_parents *parents;
    assert_int_equal(cf_parents_new(&w->resolver, 9, &parents, NULL), CF_OK);
    /* Two long ways, of the even and of the odd chunks. */
    for (size_t i = 0; i < ALL; i++)
        cf_parents_set(parents, w->numbers[i],
                       i < 2 ? cf_parents_from_root(3 + i)
                             : cf_parents_from_chunk(parents, w->numbers[i - 2]));
    for (size_t step = 0; step < 3; step++)
        for (size_t i = step * 61; i < ALL; i += 997 - step) {
            size_t at = step == 1 ? ALL - 1 - i : i;
            struct cf_way_end end;
            assert_true(cf_parents_end(parents, w->numbers[at], &end));
            assert_int_equal(end.root, 3 + at % 2);
            assert_int_equal(end.first, w->numbers[at % 2]);
            assert_int_equal(end.nr_chunks, at / 2 + 1);
        }
    cf_parents_free(parents);
    world_free(w);
}

static void a_chunk_that_nothing_led_to_has_no_end(void **state) {
    (void)state;
    struct world *w = world_new();
    struct cf_parents *parents;
    struct cf_way_end end;
    size_t root, from;
    assert_int_equal(cf_parents_new(&w->resolver, 1, &parents, NULL), CF_OK);
    assert_false(cf_parents_end(parents, w->numbers[7], &end));
    assert_false(cf_parents_get(parents, w->numbers[7], &root, &from));
    cf_parents_free(parents);
    world_free(w);
}

static void too_many_roots_are_refused(void **state) {
    (void)state;
    struct world *w = world_new();
    struct cf_parents *parents = NULL;
    assert_int_equal(cf_parents_new(&w->resolver, SIZE_MAX, &parents, NULL), CF_EUSAGE);
    assert_null(parents);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_is_what_is_got),
        cmocka_unit_test(the_end_of_a_way_is_the_same_from_everywhere_on_it),
        cmocka_unit_test(a_chunk_that_nothing_led_to_has_no_end),
        cmocka_unit_test(too_many_roots_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
