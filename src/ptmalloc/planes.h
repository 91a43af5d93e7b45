/*
 * The chunk map's planes themselves, for passes that touch every chunk or every pointer and
 * cannot afford a call each: the mark, the writer of chunk rows. Everybody else uses chunkmap.h.
 *
 * Unit u of a heap is bit (u & 63) of word heap->plane_word + (u >> 6) in `starts` and `states`;
 * unit 0 is at cf_planes_base(). Bit w of `summary` says that word w of `starts` is not zero.
 */
#ifndef CF_PTMALLOC_PLANES_H
#define CF_PTMALLOC_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptmalloc/chunkmap.h"

struct cf_odd {
    uint64_t addr;
    enum cf_chunk_state state; /* top, fence, gap */
};

struct cf_planes {
    const uint64_t *starts;
    const uint64_t *states;
    const uint64_t *summary;
    size_t nr_words;         /* of starts and of states */
    const struct cf_odd *odds; /* sorted by address */
    size_t nr_odds;
    const struct cf_heap *heaps;
    size_t nr_heaps;
    unsigned unit_shift;     /* 4 on 64-bit, 3 on 32-bit */
};

const struct cf_planes *cf_chunkmap_planes(const struct cf_chunkmap *map);

static inline uint64_t cf_planes_base(const struct cf_planes *planes, const struct cf_heap *heap) {
    return heap->start >> planes->unit_shift << planes->unit_shift;
}

/* Units of the heap that chunks cover: [0, this). */
static inline size_t cf_planes_units(const struct cf_planes *planes, const struct cf_heap *heap) {
    return (size_t)((heap->chunks_end - cf_planes_base(planes, heap)) >> planes->unit_shift);
}

static inline bool cf_plane_bit(const uint64_t *plane, size_t first_word, size_t unit) {
    return plane[first_word + (unit >> 6)] >> (unit & 63) & 1;
}

/* The first start at or after `unit`, or `limit`. */
static inline size_t cf_planes_next_start(const struct cf_planes *planes,
                                          const struct cf_heap *heap, size_t unit, size_t limit) {
    if (unit >= limit)
        return limit;
    size_t word = unit >> 6;
    size_t last_word = (limit - 1) >> 6;
    const uint64_t *starts = planes->starts + heap->plane_word;
    uint64_t bits = starts[word] & ~0ull << (unit & 63);
    while (bits == 0) {
        if (++word > last_word)
            return limit;
        bits = starts[word];
    }
    size_t found = (word << 6) + (size_t)__builtin_ctzll(bits);
    return found < limit ? found : limit;
}

/* The last start at or before `unit`; SIZE_MAX when there is none. The summary plane makes a step
 * of 64 words (64 KiB of a 64-bit heap) out of one. */
static inline size_t cf_planes_prev_start(const struct cf_planes *planes,
                                          const struct cf_heap *heap, size_t unit) {
    size_t first = heap->plane_word;
    size_t word = first + (unit >> 6);
    uint64_t bits = planes->starts[word] & ~0ull >> (63 - (unit & 63));
    if (bits == 0) {
        if (word == first)
            return SIZE_MAX;
        size_t s = (word - 1) >> 6;
        uint64_t summary = planes->summary[s] & ~0ull >> (63 - ((word - 1) & 63));
        while (summary == 0) {
            if (s <= first >> 6)
                return SIZE_MAX;
            summary = planes->summary[--s];
        }
        word = (s << 6) + 63 - (size_t)__builtin_clzll(summary);
        if (word < first)
            return SIZE_MAX;
        bits = planes->starts[word];
    }
    return ((word - first) << 6) + 63 - (size_t)__builtin_clzll(bits);
}

/* A chunk in use, at `unit` (its start): neither dead, nor cached, nor odd. */
static inline bool cf_planes_is_live(const struct cf_planes *planes, const struct cf_heap *heap,
                                     size_t unit) {
    return !cf_plane_bit(planes->states, heap->plane_word, unit) &&
           !cf_plane_bit(planes->states, heap->plane_word, unit + 1);
}

#endif
