/* The chunk map: what was set is what comes back, by iteration and by lookup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "ptmalloc/chunkmap.h"
#include "ptmalloc/chunkmap_build.h"
#include "ptmalloc/planes.h"

enum { MOST = 5000 };

struct model {
    struct cf_chunk chunks[MOST];
    size_t nr;
};

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (*seed >> 33) % limit;
}

static enum cf_chunk_state random_state(uint64_t *seed) {
    static const enum cf_chunk_state states[] = {CF_CHUNK_LIVE, CF_CHUNK_FREE, CF_CHUNK_FAST,
                                                 CF_CHUNK_TCACHE};
    return states[random_below(seed, 4)];
}

/* Chunks from `start`, mostly small, now and then huge, with fences of one unit between. */
static uint64_t fill_model(struct model *model, uint64_t *seed, uint64_t start, uint32_t heap_id,
                           unsigned unit, size_t nr) {
    uint64_t at = start;
    for (size_t i = 0; i < nr; i++) {
        struct cf_chunk *chunk = &model->chunks[model->nr++];
        uint64_t kind = random_below(seed, 40);
        uint64_t units = kind == 0   ? 2 + random_below(seed, 300000)
                         : kind == 1 ? 1
                                     : 2 + random_below(seed, 20);
        *chunk = (struct cf_chunk){.addr = at, .bytes = units * unit, .heap_id = heap_id};
        chunk->state = units == 1    ? CF_CHUNK_FENCE
                       : kind == 2   ? CF_CHUNK_GAP
                       : i == nr - 1 ? CF_CHUNK_TOP
                                     : random_state(seed);
        at += chunk->bytes;
    }
    return at;
}

static struct cf_chunkmap *build(const struct model *model, unsigned word,
                                 const struct cf_heap *heaps, size_t nr_heaps) {
    struct cf_chunkmap *map;
    assert_int_equal(cf_chunkmap_new(word, &map, NULL), CF_OK);
    for (size_t i = 0; i < nr_heaps; i++)
        assert_int_equal(cf_chunkmap_add_heap(map, &heaps[nr_heaps - 1 - i], NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(map, NULL), CF_OK);
    for (size_t i = 0; i < model->nr; i++) {
        const struct cf_chunk *chunk = &model->chunks[i];
        const struct cf_heap *heap = cf_chunkmap_heap(map, chunk->heap_id);
        if (chunk->state >= CF_CHUNK_TOP) {
            assert_int_equal(cf_chunkmap_add_odd(map, heap, chunk->addr, chunk->state, NULL),
                             CF_OK);
            continue;
        }
        cf_chunkmap_set_start(map, heap, chunk->addr);
        cf_chunkmap_set_state(map, heap, chunk->addr, chunk->state);
    }
    assert_int_equal(cf_chunkmap_seal(map, NULL), CF_OK);
    return map;
}

static void assert_chunk(const struct cf_chunk *got, const struct cf_chunk *wanted) {
    assert_int_equal(got->addr, wanted->addr);
    assert_int_equal(got->bytes, wanted->bytes);
    assert_int_equal(got->state, wanted->state);
    assert_int_equal(got->heap_id, wanted->heap_id);
}

static void check_map(const struct cf_chunkmap *map, const struct model *model, uint64_t *seed) {
    size_t index = 0;
    for (size_t h = 0; h < cf_chunkmap_nr_heaps(map); h++) {
        struct cf_chunk chunk;
        struct cf_planes_walk walk =
            cf_planes_walk(cf_chunkmap_planes(map), cf_chunkmap_heap(map, h));
        while (cf_planes_walk_next(&walk, &chunk))
            assert_chunk(&chunk, &model->chunks[index++]);
    }
    assert_int_equal(index, model->nr);
    for (size_t i = 0; i < model->nr; i++) {
        const struct cf_chunk *wanted = &model->chunks[i];
        uint64_t inside[] = {0, wanted->bytes - 1, random_below(seed, wanted->bytes)};
        for (size_t k = 0; k < 3; k++) {
            struct cf_chunk found;
            assert_true(cf_chunkmap_find(map, wanted->addr + inside[k], &found));
            assert_chunk(&found, wanted);
        }
        if (wanted->state < CF_CHUNK_TOP) {
            const struct cf_heap *heap = cf_chunkmap_heap(map, wanted->heap_id);
            const struct cf_planes *planes = cf_chunkmap_planes(map);
            struct cf_heap_unit unit = cf_planes_unit(planes, heap, wanted->addr);
            assert_int_equal(cf_planes_is_live(planes, heap, unit),
                             wanted->state == CF_CHUNK_LIVE);
        }
    }
}

static void round_trip(unsigned word) {
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t seed = round * 77 + word;
        unsigned unit = 2 * word;
        struct cf_heap heaps[3];
        uint64_t at = 0x10000 + unit * random_below(&seed, 70);
        model->nr = 0;
        for (uint32_t h = 0; h < 3; h++) {
            heaps[h] = (struct cf_heap){.arena_id = h, .start = at - random_below(&seed, unit)};
            heaps[h].first_chunk = at;
            at = fill_model(model, &seed, at, h, unit, 1 + random_below(&seed, 900));
            heaps[h].chunks_end = heaps[h].end = at;
            at += unit * (1 + random_below(&seed, 1000));
        }
        struct cf_chunkmap *map = build(model, word, heaps, 3);
        check_map(map, model, &seed);
        cf_chunkmap_free(map);
    }
    free(model);
}

static void random_maps_come_back_on_64_bit(void **state) {
    (void)state;
    round_trip(8);
}

static void random_maps_come_back_on_32_bit(void **state) {
    (void)state;
    round_trip(4);
}

static void addresses_outside_of_heaps_find_nothing(void **state) {
    (void)state;
    struct model model = {.nr = 1};
    model.chunks[0] = (struct cf_chunk){.addr = 0x20010, .bytes = 64, .state = CF_CHUNK_LIVE};
    struct cf_heap heap = {.start = 0x20000, .first_chunk = 0x20010, .chunks_end = 0x20050,
                           .end = 0x21000};
    struct cf_chunkmap *map = build(&model, 8, &heap, 1);
    struct cf_chunk found;
    static const uint64_t nowhere[] = {0, 0x1ffff, 0x20000, 0x2000f, 0x20050, 0x20fff, 0x21000,
                                       UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_false(cf_chunkmap_find(map, nowhere[i], &found));
    assert_null(cf_chunkmap_find_heap(map, 0x21000));
    assert_non_null(cf_chunkmap_find_heap(map, 0x20fff));
    cf_chunkmap_free(map);
}

static void mmapped_chunks_are_found_by_their_middle(void **state) {
    (void)state;
    struct cf_chunkmap *map;
    struct cf_chunk found;
    assert_int_equal(cf_chunkmap_new(8, &map, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(map, NULL), CF_OK);
    for (uint64_t i = 3; i-- > 0;) {
        struct cf_mmapped row = {.addr = 0x100000 + i * 0x10000, .bytes = 0x8000,
                                 .in_tcache = i == 1};
        assert_int_equal(cf_chunkmap_add_mmapped(map, &row, NULL), CF_OK);
    }
    assert_int_equal(cf_chunkmap_seal(map, NULL), CF_OK);
    assert_true(cf_chunkmap_find(map, 0x107fff, &found));
    assert_int_equal(found.addr, 0x100000);
    assert_int_equal(found.state, CF_CHUNK_MMAPPED);
    assert_false(cf_chunkmap_find(map, 0x108000, &found));
    assert_true(cf_chunkmap_find(map, 0x110000, &found));
    assert_int_equal(found.state, CF_CHUNK_TCACHE);
    cf_chunkmap_free(map);
}

static void overlapping_heaps_are_refused(void **state) {
    (void)state;
    struct cf_chunkmap *map;
    struct cf_err err;
    struct cf_heap first = {.start = 0x1000, .end = 0x3000, .chunks_end = 0x3000};
    struct cf_heap second = {.start = 0x2000, .end = 0x4000, .chunks_end = 0x4000};
    assert_int_equal(cf_chunkmap_new(8, &map, &err), CF_OK);
    assert_int_equal(cf_chunkmap_add_heap(map, &first, &err), CF_OK);
    assert_int_equal(cf_chunkmap_add_heap(map, &second, &err), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(map, &err), CF_EINTERNAL);
    cf_chunkmap_free(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_maps_come_back_on_64_bit),
        cmocka_unit_test(random_maps_come_back_on_32_bit),
        cmocka_unit_test(addresses_outside_of_heaps_find_nothing),
        cmocka_unit_test(mmapped_chunks_are_found_by_their_middle),
        cmocka_unit_test(overlapping_heaps_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
