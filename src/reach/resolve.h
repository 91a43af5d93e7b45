/*
 * From a word to the chunk that it points to: the one rule of reachability, for the mark and for
 * everything that follows pointers after it.
 *
 * A word `a` points to the chunk at `h` when h + 2W <= a < h + size + 2W: one past the end counts,
 * a pointer to a header does not. These ranges tile a heap just as its chunks do, so the chunk
 * that covers a - 2W is the answer, and there is only one. An mmapped chunk ends with its own
 * pages: what stands right behind them is the next mapping's start, and no end of this one.
 *
 *     chunks      | h0            | h1      | h2              |
 *     pointed at      | h0            | h1      | h2              |      2W further
 *
 * Every chunk has one number, dense enough for a bit plane: of a chunk in a heap that of its
 * first bit in the planes; of the i-th mmapped chunk nr_units + 2 * i. So number + 1 is never
 * another chunk's number (MINSIZE is two units), and a pass may keep a second bit there.
 *
 * The steps: one comparison with the span of all heaps and mmapped chunks; a slot table, two
 * levels, 64 MiB a slot on 64-bit, that names the extents in reach; the start plane, backwards.
 * The steps are apart (cf_resolver_extent(), cf_resolver_number()) so that a caller can prefetch
 * between. A resolver is immutable and borrows the map and the address space.
 */
#ifndef CF_REACH_RESOLVE_H
#define CF_REACH_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"
#include "ptmalloc/planes.h"

enum { CF_SLOTS_PER_BLOCK = 64 };

/* A chunk's number. */
struct cf_chunk_number {
    size_t index;
};

/* What is no chunk's number. */
#define CF_NO_CHUNK ((struct cf_chunk_number){SIZE_MAX})

static inline bool cf_is_chunk(struct cf_chunk_number number) {
    return number.index != SIZE_MAX;
}

/* The number of the chunk whose first unit is this one of the heap whose planes begin at
 * `plane_word`. */
static inline struct cf_chunk_number cf_number_of_unit(size_t plane_word,
                                                       struct cf_heap_unit unit) {
    return (struct cf_chunk_number){plane_word * 64 + unit.index};
}

static inline struct cf_chunk_number cf_number_of_mmapped(const struct cf_chunkmap *map,
                                                          size_t index) {
    return (struct cf_chunk_number){cf_chunkmap_nr_units(map) + 2 * index};
}

/* In a plane with a bit for each number. */
static inline bool cf_number_bit(const uint64_t *plane, struct cf_chunk_number number) {
    return plane[number.index >> 6] >> (number.index & 63) & 1;
}

/* A run of chunks: those of a heap, or one mmapped chunk. */
struct cf_extent {
    uint64_t start;              /* of the first header */
    uint64_t end;                /* of the last chunk */
    uint64_t lowered_end;        /* words that lead here, lowered, are below */
    const unsigned char *bytes;  /* of `start`, where all of it is one readable run; else NULL */
    uint64_t base;               /* heap: address of unit 0 */
    size_t plane_word;           /* heap: its first word in the planes */
    struct cf_chunk_number first_number; /* of unit 0, or of the mmapped chunk */
    const struct cf_heap *heap;  /* or NULL */
    const struct cf_mmapped *mmapped; /* or NULL */
};

struct cf_slot {
    uint32_t first; /* extent */
    uint32_t count;
};

struct cf_resolver {
    const struct cf_mem *mem;
    const struct cf_chunkmap *map;
    const struct cf_planes *planes;
    unsigned word_bytes;
    uint64_t word_mask;  /* takes the tag off a pointer (aarch64) */
    uint64_t low;        /* the extents' span: [low, low + span) */
    uint64_t span;
    size_t nr_numbers;   /* all chunk numbers are below; a plane needs so many bits */
    struct cf_extent *extents; /* sorted, not overlapping */
    size_t nr_extents;
    /* internal: the slot table */
    unsigned slot_shift;
    uint32_t *blocks;    /* by (addr - low) >> slot_shift / CF_SLOTS_PER_BLOCK; 0: empty */
    size_t nr_blocks;
    struct cf_slot *slots;
};

/* Fails only for lack of memory. End with cf_resolver_fini(), also after a failure. */
int cf_resolver_init(struct cf_resolver *resolver, const struct cf_mem *mem,
                     const struct cf_chunkmap *map, struct cf_err *err);
void cf_resolver_fini(struct cf_resolver *resolver);

/*
 * A word as it stands in memory, without its tag and two words lower: what is compared with
 * chunks. Below 2W it wraps, out of the span.
 */
static inline uint64_t cf_resolver_lowered(const struct cf_resolver *resolver, uint64_t word) {
    return (word & resolver->word_mask) - 2 * resolver->word_bytes;
}

/* Cheap and often false: whether a lowered word can be in an extent at all. */
static inline bool cf_resolver_in_span(const struct cf_resolver *resolver, uint64_t lowered) {
    return lowered - resolver->low < resolver->span;
}

/* The extent that covers a lowered word that is in the span, or NULL. */
static inline const struct cf_extent *cf_resolver_extent(const struct cf_resolver *resolver,
                                                         uint64_t lowered) {
    uint64_t slot = (lowered - resolver->low) >> resolver->slot_shift;
    uint32_t block = resolver->blocks[slot / CF_SLOTS_PER_BLOCK];
    if (block == 0)
        return NULL;
    struct cf_slot in = resolver->slots[(size_t)block * CF_SLOTS_PER_BLOCK +
                                        slot % CF_SLOTS_PER_BLOCK];
    const struct cf_extent *first = resolver->extents + in.first;
    for (uint32_t count = in.count; count > 1;) { /* the last that starts at or below */
        uint32_t half = count / 2;
        if (first[half].start <= lowered) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    if (in.count == 0 || lowered < first->start || lowered >= first->lowered_end)
        return NULL;
    return first;
}

/* The unit that `lowered` is in, of the heap that `extent` is. */
static inline struct cf_heap_unit cf_resolver_unit(const struct cf_resolver *resolver,
                                                   const struct cf_extent *extent,
                                                   uint64_t lowered) {
    uint64_t offset = lowered - extent->base;
    return (struct cf_heap_unit){(size_t)(offset >> resolver->planes->unit_shift)};
}

/* The number of the chunk that covers `lowered`, which is in `extent`; or CF_NO_CHUNK. */
static inline struct cf_chunk_number cf_resolver_number(const struct cf_resolver *resolver,
                                                        const struct cf_extent *extent,
                                                        uint64_t lowered) {
    if (extent->heap == NULL)
        return extent->first_number;
    struct cf_heap_unit unit = cf_planes_prev_start(resolver->planes, extent->heap,
                                                    cf_resolver_unit(resolver, extent, lowered));
    return cf_is_unit(unit) ? cf_number_of_unit(extent->plane_word, unit) : CF_NO_CHUNK;
}

/* The number of the chunk whose header `lowered` is, which is in `extent`; or CF_NO_CHUNK. */
static inline struct cf_chunk_number cf_resolver_start(const struct cf_resolver *resolver,
                                                       const struct cf_extent *extent,
                                                       uint64_t lowered) {
    if (extent->heap == NULL)
        return lowered == extent->start ? extent->first_number : CF_NO_CHUNK;
    struct cf_heap_unit unit = cf_resolver_unit(resolver, extent, lowered);
    bool exact = extent->base + ((uint64_t)unit.index << resolver->planes->unit_shift) == lowered;
    return exact && cf_plane_bit(resolver->planes->starts, extent->plane_word, unit)
               ? cf_number_of_unit(extent->plane_word, unit)
               : CF_NO_CHUNK;
}

/* The chunk that a lowered word in the span leads to, of any state; CF_NO_CHUNK for none. */
static inline struct cf_chunk_number cf_resolver_target_of(const struct cf_resolver *resolver,
                                                           uint64_t lowered) {
    const struct cf_extent *extent = cf_resolver_extent(resolver, lowered);
    return extent == NULL ? CF_NO_CHUNK : cf_resolver_number(resolver, extent, lowered);
}

/* All steps in one: the chunk that `word` points to. */
static inline struct cf_chunk_number cf_resolver_target(const struct cf_resolver *resolver,
                                                        uint64_t word) {
    uint64_t lowered = cf_resolver_lowered(resolver, word);
    return cf_resolver_in_span(resolver, lowered) ? cf_resolver_target_of(resolver, lowered)
                                                  : CF_NO_CHUNK;
}

/* The extent that holds the chunk with this number. */
const struct cf_extent *cf_resolver_extent_of(const struct cf_resolver *resolver,
                                              struct cf_chunk_number number);

/* The chunk with this number: its header, its size, and whether it is live (mmapped and not in a
 * tcache counts as live). */
struct cf_numbered {
    uint64_t addr;
    uint64_t bytes;
    bool live;
};

struct cf_numbered cf_resolver_chunk(const struct cf_resolver *resolver,
                                     const struct cf_extent *extent,
                                     struct cf_chunk_number number);

/* Where the pointers of a chunk end; they begin at its user address. The next chunk's prev_size is
 * its own too; an mmapped chunk has no next one. Never beyond the extent. */
static inline uint64_t cf_resolver_payload_end(const struct cf_resolver *resolver,
                                               const struct cf_extent *extent, uint64_t addr,
                                               uint64_t bytes) {
    uint64_t end = extent->mmapped != NULL
                       ? addr + 2 * resolver->word_bytes + extent->mmapped->usable_bytes
                       : addr + bytes + resolver->word_bytes;
    return end < extent->end && end >= addr ? end : extent->end;
}

/* The number of the chunk whose header is at `addr`; CF_NO_CHUNK when none starts there. */
struct cf_chunk_number cf_resolver_number_at(const struct cf_resolver *resolver, uint64_t addr);

#endif
