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
#include <string.h>

#include "ptmalloc/chunkmap.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "planes and core words are read as such");

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

/* A unit of one heap, counted from unit 0. */
struct cf_heap_unit {
    size_t index;
};

/* What is no unit. */
#define CF_NO_UNIT ((struct cf_heap_unit){SIZE_MAX})

static inline bool cf_is_unit(struct cf_heap_unit unit) {
    return unit.index != SIZE_MAX;
}

/* The unit of the heap that holds `addr`, which is in it; and where a unit begins. */
static inline struct cf_heap_unit cf_planes_unit(const struct cf_planes *planes,
                                                 const struct cf_heap *heap, uint64_t addr) {
    uint64_t offset = addr - cf_planes_base(planes, heap);
    return (struct cf_heap_unit){(size_t)(offset >> planes->unit_shift)};
}

static inline uint64_t cf_planes_addr(const struct cf_planes *planes, const struct cf_heap *heap,
                                      struct cf_heap_unit unit) {
    return cf_planes_base(planes, heap) + ((uint64_t)unit.index << planes->unit_shift);
}

static inline bool cf_plane_bit(const uint64_t *plane, size_t first_word,
                                struct cf_heap_unit unit) {
    return plane[first_word + (unit.index >> 6)] >> (unit.index & 63) & 1;
}

/* The same for the unit behind: the second bit of a state. */
static inline bool cf_plane_bit_behind(const uint64_t *plane, size_t first_word,
                                       struct cf_heap_unit unit) {
    unit.index++;
    return cf_plane_bit(plane, first_word, unit);
}

/* The first start from unit `from` on, or `limit`. */
static inline size_t cf_planes_next_start(const struct cf_planes *planes,
                                          const struct cf_heap *heap, size_t from, size_t limit) {
    if (from >= limit)
        return limit;
    size_t word = from >> 6;
    size_t last_word = (limit - 1) >> 6;
    const uint64_t *starts = planes->starts + heap->plane_word;
    uint64_t bits = starts[word] & ~0ull << (from & 63);
    while (bits == 0) {
        if (++word > last_word)
            return limit;
        bits = starts[word];
    }
    size_t found = (word << 6) + (size_t)__builtin_ctzll(bits);
    return found < limit ? found : limit;
}

/* The last start at or before `unit`; CF_NO_UNIT when there is none. The summary plane makes a step
 * of 64 words (64 KiB of a 64-bit heap) out of one. */
static inline struct cf_heap_unit cf_planes_prev_start(const struct cf_planes *planes,
                                                       const struct cf_heap *heap,
                                                       struct cf_heap_unit unit) {
    size_t first = heap->plane_word;
    size_t word = first + (unit.index >> 6);
    uint64_t bits = planes->starts[word] & ~0ull >> (63 - (unit.index & 63));
    if (bits == 0) {
        if (word == first)
            return CF_NO_UNIT;
        size_t s = (word - 1) >> 6;
        uint64_t summary = planes->summary[s] & ~0ull >> (63 - ((word - 1) & 63));
        while (summary == 0) {
            if (s <= first >> 6)
                return CF_NO_UNIT;
            summary = planes->summary[--s];
        }
        word = (s << 6) + 63 - (size_t)__builtin_clzll(summary);
        if (word < first)
            return CF_NO_UNIT;
        bits = planes->starts[word];
    }
    return (struct cf_heap_unit){((word - first) << 6) + 63 - (size_t)__builtin_clzll(bits)};
}

/* A chunk in use, at `unit` (its start): neither dead, nor cached, nor odd. */
static inline bool cf_planes_is_live(const struct cf_planes *planes, const struct cf_heap *heap,
                                     struct cf_heap_unit unit) {
    return !cf_plane_bit(planes->states, heap->plane_word, unit) &&
           !cf_plane_bit_behind(planes->states, heap->plane_word, unit);
}

/*
 * All chunks and gaps of a heap in address order, inline and with the state looked up without a
 * branch: for passes that cost little more than the walk itself.
 *
 *     struct cf_planes_walk walk = cf_planes_walk(planes, heap);
 *     while (cf_planes_walk_next(&walk, &chunk)) ...
 */
struct cf_planes_walk {
    const uint64_t *starts;
    const uint64_t *states;
    uint64_t bits;    /* starts of the word at hand that are still to come */
    size_t word;
    size_t nr_words;
    struct cf_heap_unit unit; /* the next chunk's start; `units`: none */
    size_t units;
    uint64_t base;
    unsigned shift;
    uint32_t heap_id;
    uint64_t next_odd; /* address of the first odd at or above the next chunk, or UINT64_MAX */
    const struct cf_odd *odd;
    const struct cf_odd *odds_end;
};

/* The next start after those that were taken; `units` at the end. */
static inline struct cf_heap_unit cf_planes_walk_start(struct cf_planes_walk *walk) {
    while (walk->bits == 0) {
        if (walk->word + 1 >= walk->nr_words)
            return (struct cf_heap_unit){walk->units};
        walk->bits = walk->starts[++walk->word];
    }
    size_t unit = (walk->word << 6) + (size_t)__builtin_ctzll(walk->bits);
    walk->bits &= walk->bits - 1;
    return (struct cf_heap_unit){unit < walk->units ? unit : walk->units};
}

static inline struct cf_planes_walk cf_planes_walk(const struct cf_planes *planes,
                                                   const struct cf_heap *heap) {
    struct cf_planes_walk walk = {
        .starts = planes->starts + heap->plane_word,
        .states = planes->states + heap->plane_word,
        .units = cf_planes_units(planes, heap),
        .base = cf_planes_base(planes, heap),
        .shift = planes->unit_shift,
        .heap_id = heap->id,
        .odd = planes->odds + heap->odd_first,
        .odds_end = planes->odds + planes->nr_odds,
    };
    walk.next_odd = walk.odd < walk.odds_end ? walk.odd->addr : UINT64_MAX;
    walk.nr_words = (walk.units + 63) >> 6;
    walk.bits = walk.nr_words > 0 ? walk.starts[0] : 0;
    walk.unit = cf_planes_walk_start(&walk);
    return walk;
}

/* The same from the first chunk that starts in plane word `word` of the heap or behind it. */
static inline struct cf_planes_walk cf_planes_walk_at(const struct cf_planes *planes,
                                                      const struct cf_heap *heap, size_t word) {
    struct cf_planes_walk walk = cf_planes_walk(planes, heap);
    walk.word = word;
    walk.bits = word < walk.nr_words ? walk.starts[word] : 0;
    walk.unit = cf_planes_walk_start(&walk);
    uint64_t addr = walk.base + ((uint64_t)walk.unit.index << walk.shift);
    size_t left = (size_t)(walk.odds_end - walk.odd);
    while (left > 0) { /* the first odd at or above it */
        size_t half = left / 2;
        bool below = walk.odd[half].addr < addr;
        walk.odd = below ? walk.odd + half + 1 : walk.odd;
        left = below ? left - half - 1 : half;
    }
    walk.next_odd = walk.odd < walk.odds_end ? walk.odd->addr : UINT64_MAX;
    return walk;
}

static inline bool cf_planes_walk_next(struct cf_planes_walk *walk, struct cf_chunk *out) {
    static const uint8_t states[4] = {CF_CHUNK_LIVE, CF_CHUNK_FREE, CF_CHUNK_TCACHE,
                                      CF_CHUNK_FAST};
    size_t unit = walk->unit.index;
    if (unit >= walk->units)
        return false;
    /* Both state bits by one load of two bytes. The plane has a word more than the heap's units
     * need, for a second bit beyond. */
    uint16_t two;
    memcpy(&two, (const unsigned char *)walk->states + (unit >> 3), sizeof two);
    walk->unit = cf_planes_walk_start(walk);
    out->addr = walk->base + ((uint64_t)unit << walk->shift);
    out->bytes = (uint64_t)(walk->unit.index - unit) << walk->shift;
    out->heap_id = walk->heap_id;
    out->state = (enum cf_chunk_state)states[two >> (unit & 7) & 3];
    if (__builtin_expect(out->addr == walk->next_odd, 0)) {
        out->state = walk->odd++->state;
        walk->next_odd = walk->odd < walk->odds_end ? walk->odd->addr : UINT64_MAX;
    }
    return true;
}

#endif
