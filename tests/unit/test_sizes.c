/* Size classes and sums, from maps written as words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "retain/holes.h"
#include "base/cleanup.h"
#include "ptmalloc/chunkmap_build.h"
#include "toyheap.h"

struct swept {
    struct cf_chunkmap *map;
    struct cf_sizes *sizes;
    struct cf_holes *holes;
};

static void swept_free(struct swept *swept) {
    cf_sizes_free(swept->sizes);
    cf_holes_free(swept->holes);
    cf_chunkmap_free(swept->map);
}

static struct swept sweep(struct cf_chunkmap *map, size_t nr_arenas) {
    struct swept swept = {.map = map};
    struct cf_err err;
    assert_int_equal(cf_sweep(NULL, NULL, NULL, map, nr_arenas, &swept.sizes, &swept.holes, &err),
                     0);
    return swept;
}

static uint64_t chunks_of(const struct cf_sizes *sizes, uint32_t arena_id,
                          enum cf_chunk_state state, uint64_t size_bytes) {
    uint64_t chunks = 0;
    for (size_t i = 0; i < cf_sizes_nr_classes(sizes); i++) {
        const struct cf_size_class *class = cf_sizes_class(sizes, i);
        if (class->arena_id == arena_id && class->state == state && class->size_bytes == size_bytes)
            chunks += class->chunks;
    }
    return chunks;
}

static void classes_count_by_arena_state_and_size(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {
        {0, 0x10000, 0x10010, "L20 L20 F20 f20 t20 L900 F900 F900 T400", 0},
        {1, 0x40000, 0x40040, "L20 t20 t20 #10 #10", 0},
    };
    CF_CLEANUP(swept_free) struct swept swept = sweep(toy_map(8, heaps, 2), 2);
    static const struct {
        uint32_t arena_id;
        enum cf_chunk_state state;
        uint64_t size_bytes, chunks;
    } cases[] = {
        {0, CF_CHUNK_LIVE, 0x20, 2},   {0, CF_CHUNK_FREE, 0x20, 1},  {0, CF_CHUNK_FAST, 0x20, 1},
        {0, CF_CHUNK_TCACHE, 0x20, 1}, {0, CF_CHUNK_LIVE, 0x900, 1}, {0, CF_CHUNK_FREE, 0x900, 2},
        {0, CF_CHUNK_TOP, 0x400, 1},   {1, CF_CHUNK_LIVE, 0x20, 1},  {1, CF_CHUNK_TCACHE, 0x20, 2},
        {1, CF_CHUNK_FENCE, 0x10, 2},  {1, CF_CHUNK_FREE, 0x20, 0},
    };
    size_t nr_classes = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(
            chunks_of(swept.sizes, cases[i].arena_id, cases[i].state, cases[i].size_bytes),
            cases[i].chunks);
        nr_classes += cases[i].chunks > 0;
    }
    assert_int_equal(cf_sizes_nr_classes(swept.sizes), nr_classes);
    assert_int_equal(cf_sizes_nr_chunks(swept.sizes), 14);
}

static void classes_are_sorted_by_arena_state_and_size(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {
        {1, 0x10000, 0x10010, "L1000 L30 F2000 L20 F20 T400", 0},
        {0, 0x40000, 0x40010, "F5000 L900 L20 T400", 0},
    };
    CF_CLEANUP(swept_free) struct swept swept = sweep(toy_map(8, heaps, 2), 2);
    for (size_t i = 1; i < cf_sizes_nr_classes(swept.sizes); i++) {
        const struct cf_size_class *a = cf_sizes_class(swept.sizes, i - 1);
        const struct cf_size_class *b = cf_sizes_class(swept.sizes, i);
        assert_true(
            a->arena_id < b->arena_id ||
            (a->arena_id == b->arena_id &&
             (a->state < b->state || (a->state == b->state && a->size_bytes < b->size_bytes))));
    }
}

static void every_byte_of_a_heap_is_in_one_sum(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {
        {0, 0x10000, 0x10040, "L40 F2000 f20 t30 L20 #10 #10 ~100 L60 T1000", 0x20000},
    };
    CF_CLEANUP(swept_free) struct swept swept = sweep(toy_map(8, heaps, 1), 1);
    const struct cf_size_sums *heap = cf_sizes_heap(swept.sizes, 0);
    assert_int_equal(heap->mapped_bytes, 0x10000);
    assert_int_equal(heap->bytes[CF_CHUNK_LIVE], 0x40 + 0x20 + 0x60);
    assert_int_equal(heap->bytes[CF_CHUNK_FENCE], 0x20);
    assert_int_equal(heap->bytes[CF_CHUNK_TOP], 0x1000);
    assert_int_equal(heap->bytes[CF_CHUNK_LIVE] + heap->bytes[CF_CHUNK_FREE] +
                         heap->bytes[CF_CHUNK_FAST] + heap->bytes[CF_CHUNK_TCACHE] +
                         heap->bytes[CF_CHUNK_TOP] + heap->overhead_bytes,
                     heap->mapped_bytes);
    uint64_t chunk_bytes = 0xc0 + 0x2000 + 0x20 + 0x30 + 0x1000;
    assert_int_equal(heap->overhead_bytes, 0x10000 - chunk_bytes);
    assert_int_equal(heap->chunks[CF_CHUNK_GAP], 0);
    assert_int_equal(heap->last_live, 0x10040 + 0x40 + 0x2000 + 0x20 + 0x30 + 0x20 + 0x20 + 0x100);
    assert_memory_equal(cf_sizes_arena(swept.sizes, 0)->bytes, heap->bytes, sizeof heap->bytes);
}

static void arenas_sum_their_heaps(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {
        {0, 0x10000, 0x10010, "L40 F2000 T1000", 0},
        {1, 0x40000, 0x40010, "L20", 0},
        {0, 0x80000, 0x80010, "L60 #10 #10", 0},
    };
    CF_CLEANUP(swept_free) struct swept swept = sweep(toy_map(8, heaps, 3), 2);
    const struct cf_size_sums *arena = cf_sizes_arena(swept.sizes, 0);
    assert_int_equal(arena->heaps, 2);
    assert_int_equal(arena->bytes[CF_CHUNK_LIVE], 0xa0);
    assert_int_equal(arena->chunks[CF_CHUNK_LIVE], 2);
    assert_int_equal(arena->mapped_bytes, cf_sizes_heap(swept.sizes, 0)->mapped_bytes +
                                              cf_sizes_heap(swept.sizes, 2)->mapped_bytes);
    assert_int_equal(cf_sizes_heap(swept.sizes, 1)->last_live, 0x40010);
    assert_int_equal(cf_sizes_arena(swept.sizes, 1)->heaps, 1);
}

/* More sizes than the first hash table has room for, each of them twice. */
static void thousands_of_sizes_are_told_apart(void **state) {
    (void)state;
    enum { NR_SIZES = 3000, FIRST = 0x1000 };
    struct cf_chunkmap *map = NULL;
    struct cf_err err;
    uint64_t addr = 0x100000, end = addr;
    for (uint64_t i = 0; i < NR_SIZES; i++)
        end += 2 * (FIRST + 16 * i);
    struct cf_heap heap = {
        .start = addr, .first_chunk = addr, .end = end, .chunks_end = end, .reserved_end = end};
    assert_int_equal(cf_chunkmap_new(8, &map, &err), 0);
    assert_int_equal(cf_chunkmap_add_heap(map, &heap, &err), 0);
    assert_int_equal(cf_chunkmap_seal_heaps(map, &err), 0);
    for (uint64_t i = 0; i < 2 * NR_SIZES; i++) {
        cf_chunkmap_set_start(map, cf_chunkmap_heap(map, 0), addr);
        addr += FIRST + 16 * (i / 2);
    }
    assert_int_equal(cf_chunkmap_seal(map, &err), 0);
    CF_CLEANUP(swept_free) struct swept swept = sweep(map, 1);
    assert_int_equal(cf_sizes_nr_classes(swept.sizes), NR_SIZES);
    for (uint64_t i = 0; i < NR_SIZES; i++) {
        assert_int_equal(cf_sizes_class(swept.sizes, i)->size_bytes, FIRST + 16 * i);
        assert_int_equal(cf_sizes_class(swept.sizes, i)->chunks, 2);
    }
}

static void mmapped_chunks_have_no_arena(void **state) {
    (void)state;
    struct cf_chunkmap *map = NULL;
    struct cf_err err;
    assert_int_equal(cf_chunkmap_new(8, &map, &err), 0);
    assert_int_equal(cf_chunkmap_seal_heaps(map, &err), 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct cf_mmapped mmapped = {
            .addr = 0x100000 * (i + 1), .bytes = 0x21000, .in_tcache = i == 2};
        assert_int_equal(cf_chunkmap_add_mmapped(map, &mmapped, &err), 0);
    }
    assert_int_equal(cf_chunkmap_seal(map, &err), 0);
    CF_CLEANUP(swept_free) struct swept swept = sweep(map, 0);
    assert_int_equal(chunks_of(swept.sizes, UINT32_MAX, CF_CHUNK_MMAPPED, 0x21000), 2);
    assert_int_equal(chunks_of(swept.sizes, UINT32_MAX, CF_CHUNK_TCACHE, 0x21000), 1);
}

static void units_of_32_bit_are_8_bytes(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {{0, 0x10000, 0x10008, "L10 L18 F18 T100", 0}};
    CF_CLEANUP(swept_free) struct swept swept = sweep(toy_map(4, heaps, 1), 1);
    assert_int_equal(chunks_of(swept.sizes, 0, CF_CHUNK_LIVE, 0x10), 1);
    assert_int_equal(chunks_of(swept.sizes, 0, CF_CHUNK_LIVE, 0x18), 1);
    assert_int_equal(chunks_of(swept.sizes, 0, CF_CHUNK_FREE, 0x18), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_count_by_arena_state_and_size),
        cmocka_unit_test(classes_are_sorted_by_arena_state_and_size),
        cmocka_unit_test(every_byte_of_a_heap_is_in_one_sum),
        cmocka_unit_test(arenas_sum_their_heaps),
        cmocka_unit_test(thousands_of_sizes_are_told_apart),
        cmocka_unit_test(mmapped_chunks_have_no_arena),
        cmocka_unit_test(units_of_32_bit_are_8_bytes),
    };
    return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
