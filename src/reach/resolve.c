/*
 * Extents are sorted and do not overlap, so the one that covers an address is the last that starts
 * at or below it. The slot table cuts that search short: each slot names the extents that touch
 * its 64 MiB, most often one. It has two levels since heaps lie terabytes apart (brk, mmap, and
 * arenas anywhere between); a slot is made larger where even the first level would grow too long.
 */
#include "reach/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"
#include "core/core.h"

enum { SLOT_SHIFT_64 = 26, SLOT_SHIFT_32 = 20, BLOCKS_MAX = 16384 };

/* `bytes` is set where one pointer reaches all of the extent, which is the rule: a heap is one
 * segment. Readers of the rest ask the address space for every piece. */
static void note_bytes(const struct cf_mem *mem, struct cf_extent *extent) {
    uint64_t avail;
    const unsigned char *bytes = cf_mem_span(mem, extent->start, &avail);
    if (bytes != NULL && avail >= extent->end - extent->start)
        extent->bytes = bytes;
}

static void add_heaps(struct cf_resolver *resolver) {
    for (size_t i = 0; i < resolver->planes->nr_heaps; i++) {
        const struct cf_heap *heap = &resolver->planes->heaps[i];
        uint64_t base = cf_planes_base(resolver->planes, heap);
        uint64_t start = heap->first_chunk > base ? heap->first_chunk : base;
        if (start >= heap->chunks_end)
            continue;
        resolver->extents[resolver->nr_extents++] = (struct cf_extent){
            .start = start, .end = heap->chunks_end, .lowered_end = heap->chunks_end, .base = base,
            .plane_word = heap->plane_word, .heap = heap,
            .first_number = cf_number_of_unit(heap->plane_word, (struct cf_heap_unit){0}),
        };
    }
}

static void add_mmapped(struct cf_resolver *resolver) {
    const uint64_t header = 2 * resolver->word_bytes;
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(resolver->map); i++) {
        const struct cf_mmapped *mmapped = cf_chunkmap_mmapped(resolver->map, i);
        uint64_t end;
        if (!cf_add_u64(mmapped->addr, mmapped->bytes, &end) || mmapped->bytes == 0)
            continue;
        resolver->extents[resolver->nr_extents++] = (struct cf_extent){
            .start = mmapped->addr, .end = end, .base = mmapped->addr,
            .lowered_end = end - mmapped->addr > header ? end - header : mmapped->addr + 1,
            .first_number = cf_number_of_mmapped(resolver->map, i), .mmapped = mmapped,
        };
    }
}

static int compare_extents(const void *a, const void *b) {
    const struct cf_extent *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    size_t one = left->first_number.index, other = right->first_number.index;
    return one < other ? -1 : one > other;
}

/* Of two that overlap, which only a damaged core brings about, the later one gives way. */
static void sort_extents(struct cf_resolver *resolver) {
    qsort(resolver->extents, resolver->nr_extents, sizeof *resolver->extents, compare_extents);
    size_t kept = 0;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (kept > 0 && extent->start < resolver->extents[kept - 1].end)
            continue;
        resolver->extents[kept++] = *extent;
    }
    resolver->nr_extents = kept;
    for (size_t i = 0; i < kept; i++)
        note_bytes(resolver->mem, &resolver->extents[i]);
}

static uint64_t slot_of(const struct cf_resolver *resolver, uint64_t addr) {
    return (addr - resolver->low) >> resolver->slot_shift;
}

/* Block 0 stays empty, so that a 0 in `blocks` needs no other meaning. */
static size_t number_blocks(struct cf_resolver *resolver) {
    uint32_t used = 0;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        uint64_t last = slot_of(resolver, extent->end - 1) / CF_SLOTS_PER_BLOCK;
        for (uint64_t b = slot_of(resolver, extent->start) / CF_SLOTS_PER_BLOCK; b <= last; b++)
            if (resolver->blocks[b] == 0)
                resolver->blocks[b] = ++used;
    }
    return (size_t)used + 1;
}

static void fill_slots(struct cf_resolver *resolver) {
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        uint64_t last = slot_of(resolver, extent->end - 1);
        for (uint64_t s = slot_of(resolver, extent->start); s <= last; s++) {
            uint32_t block = resolver->blocks[s / CF_SLOTS_PER_BLOCK];
            struct cf_slot *slot = &resolver->slots[(size_t)block * CF_SLOTS_PER_BLOCK +
                                                    s % CF_SLOTS_PER_BLOCK];
            if (slot->count++ == 0)
                slot->first = (uint32_t)i;
        }
    }
}

static int build_slots(struct cf_resolver *resolver, struct cf_err *err) {
    if (resolver->nr_extents == 0)
        return CF_OK; /* the span is 0: nothing gets as far as the table */
    resolver->low = resolver->extents[0].start;
    resolver->span = resolver->extents[resolver->nr_extents - 1].end - resolver->low;
    resolver->slot_shift = resolver->word_bytes == 8 ? SLOT_SHIFT_64 : SLOT_SHIFT_32;
    while (slot_of(resolver, resolver->low + resolver->span - 1) / CF_SLOTS_PER_BLOCK >=
           BLOCKS_MAX)
        resolver->slot_shift++;
    resolver->nr_blocks =
        (size_t)(slot_of(resolver, resolver->low + resolver->span - 1) / CF_SLOTS_PER_BLOCK) + 1;
    resolver->blocks = calloc(resolver->nr_blocks, sizeof *resolver->blocks);
    if (resolver->blocks == NULL)
        return cf_err_nomem(err, resolver->nr_blocks * sizeof *resolver->blocks, "the slot table");
    size_t nr_used = number_blocks(resolver);
    resolver->slots = calloc(nr_used * CF_SLOTS_PER_BLOCK, sizeof *resolver->slots);
    if (resolver->slots == NULL)
        return cf_err_nomem(err, nr_used * CF_SLOTS_PER_BLOCK * sizeof *resolver->slots,
                            "the slot table");
    fill_slots(resolver);
    return CF_OK;
}

int cf_resolver_init(struct cf_resolver *resolver, const struct cf_mem *mem,
                     const struct cf_chunkmap *map, struct cf_err *err) {
    memset(resolver, 0, sizeof *resolver);
    resolver->mem = mem;
    resolver->map = map;
    resolver->planes = cf_chunkmap_planes(map);
    resolver->word_bytes = cf_mem_word_bytes(mem);
    bool tagged = cf_core_machine(cf_mem_core(mem)) == CF_MACHINE_AARCH64;
    resolver->word_mask = tagged ? ~0ull >> 8 : ~0ull;
    size_t nr_mmapped = cf_chunkmap_nr_mmapped(map);
    resolver->nr_numbers = cf_chunkmap_nr_units(map) + 2 * nr_mmapped;
    size_t cap = resolver->planes->nr_heaps + nr_mmapped + 1;
    resolver->extents = calloc(cap, sizeof *resolver->extents);
    if (resolver->extents == NULL)
        return cf_err_nomem(err, cap * sizeof *resolver->extents, "the table of heaps");
    add_heaps(resolver);
    add_mmapped(resolver);
    sort_extents(resolver);
    return build_slots(resolver, err);
}

void cf_resolver_fini(struct cf_resolver *resolver) {
    free(resolver->extents);
    free(resolver->blocks);
    free(resolver->slots);
    memset(resolver, 0, sizeof *resolver);
}

/* Heaps are numbered in the order of their addresses, mmapped chunks too, but the extents of both
 * are mixed: so by address. */
const struct cf_extent *cf_resolver_extent_of(const struct cf_resolver *resolver,
                                              struct cf_chunk_number number) {
    size_t nr_units = cf_chunkmap_nr_units(resolver->map);
    uint64_t addr;
    if (number.index >= nr_units) {
        size_t index = (number.index - nr_units) / 2;
        if (index >= cf_chunkmap_nr_mmapped(resolver->map))
            return NULL;
        addr = cf_chunkmap_mmapped(resolver->map, index)->addr;
    } else {
        const struct cf_heap *heaps = resolver->planes->heaps;
        size_t upto = cf_bound(resolver->planes->nr_heaps, i,
                               heaps[i].plane_word * 64 > number.index);
        if (upto == 0)
            return NULL;
        const struct cf_heap *heap = &heaps[upto - 1];
        addr = cf_planes_addr(resolver->planes, heap,
                              (struct cf_heap_unit){number.index - heap->plane_word * 64});
    }
    if (!cf_resolver_in_span(resolver, addr))
        return NULL;
    return cf_resolver_extent(resolver, addr);
}

struct cf_numbered cf_resolver_chunk(const struct cf_resolver *resolver,
                                     const struct cf_extent *extent,
                                     struct cf_chunk_number number) {
    if (extent->heap == NULL)
        return (struct cf_numbered){
            .addr = extent->start, .bytes = extent->end - extent->start,
            .live = !extent->mmapped->in_tcache,
        };
    const struct cf_planes *planes = resolver->planes;
    struct cf_heap_unit unit = {number.index - extent->first_number.index};
    size_t next = cf_planes_next_start(planes, extent->heap, unit.index + 1,
                                       cf_planes_units(planes, extent->heap));
    return (struct cf_numbered){
        .addr = cf_planes_addr(planes, extent->heap, unit),
        .bytes = (uint64_t)(next - unit.index) << planes->unit_shift,
        .live = cf_planes_is_live(planes, extent->heap, unit),
    };
}

struct cf_chunk_number cf_resolver_number_at(const struct cf_resolver *resolver, uint64_t addr) {
    if (!cf_resolver_in_span(resolver, addr))
        return CF_NO_CHUNK;
    const struct cf_extent *extent = cf_resolver_extent(resolver, addr);
    return extent == NULL ? CF_NO_CHUNK : cf_resolver_start(resolver, extent, addr);
}
