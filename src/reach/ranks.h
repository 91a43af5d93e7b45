/*
 * Live chunks numbered without gaps: the rank of a live chunk is the number of live chunks before
 * it, those of heaps first, in the order of addresses; behind them stand all mmapped chunks. Tables
 * with a few bytes for each chunk are indexed by it.
 *
 * What is kept is one sum for each word of the planes; the rest is counted in that word's bits.
 */
#ifndef CF_REACH_RANKS_H
#define CF_REACH_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/resolve.h"
#include "corefrag.h"

enum { CF_RANKS_BLOCK_SHIFT = 20 }; /* words of the planes between two sums of 64 bits */

/* A live chunk's rank. */
struct cf_rank {
    size_t index;
};

/* What is no chunk's rank. */
#define CF_NO_RANK ((struct cf_rank){SIZE_MAX})

static inline bool cf_is_ranked(struct cf_rank rank) {
    return rank.index != SIZE_MAX;
}

/* In a plane with a bit for each rank. */
static inline bool cf_rank_bit(const uint64_t *plane, struct cf_rank rank) {
    return plane[rank.index >> 6] >> (rank.index & 63) & 1;
}

static inline void cf_rank_set_bit(uint64_t *plane, struct cf_rank rank) {
    plane[rank.index >> 6] |= 1ull << (rank.index & 63);
}

/* All zero is empty. */
struct cf_ranks {
    const struct cf_resolver *resolver;
    uint32_t *sums;   /* live chunks before each word of the planes, since its block's start */
    uint64_t *blocks; /* live chunks before each block */
    size_t nr_live;   /* of heaps */
    size_t nr;        /* with the mmapped ones; all ranks are below */
};

/* CF_ENOMEM, CF_ECANCELLED. Borrows the resolver. End with cf_ranks_fini(), also after a
 * failure. */
int cf_ranks_init(const struct cf_context *ctx, struct cf_ranks *ranks,
                  const struct cf_resolver *resolver, struct cf_err *err);
void cf_ranks_fini(struct cf_ranks *ranks);

/* The starts of live chunks in a word of the planes, as cf_planes_is_live() judges. There is a word
 * behind the last one. */
static inline uint64_t cf_ranks_live_bits(const struct cf_planes *planes, size_t word) {
    uint64_t second = planes->states[word] >> 1 | planes->states[word + 1] << 63;
    return planes->starts[word] & ~(planes->states[word] | second);
}

/* Without the processor's own instruction, which not every x86_64 has, the compiler would call a
 * function of its library. */
static inline size_t cf_ranks_count_bits(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555ull;
    bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (size_t)(bits * 0x0101010101010101ull >> 56);
}

/* The rank of the first live chunk that starts in a word of the planes or behind it: as many are
 * before. */
static inline struct cf_rank cf_ranks_of_word(const struct cf_ranks *ranks, size_t word) {
    return (struct cf_rank){(size_t)ranks->blocks[word >> CF_RANKS_BLOCK_SHIFT] +
                            ranks->sums[word]};
}

/* The same for the one that starts at this bit of the word, whose live bits these are. */
static inline struct cf_rank cf_ranks_of_bit(const struct cf_ranks *ranks, size_t word,
                                             uint64_t live, uint64_t bit) {
    struct cf_rank rank = cf_ranks_of_word(ranks, word);
    rank.index += cf_ranks_count_bits(live & (bit - 1));
    return rank;
}

/* As cf_ranks_of(), for an mmapped chunk. */
struct cf_rank cf_ranks_of_mmapped(const struct cf_ranks *ranks, struct cf_chunk_number number);

/* The rank of the chunk with this number; CF_NO_RANK when it is not live. */
static inline struct cf_rank cf_ranks_of(const struct cf_ranks *ranks,
                                         struct cf_chunk_number number) {
    const struct cf_planes *planes = ranks->resolver->planes;
    size_t word = number.index >> 6;
    if (word >= planes->nr_words)
        return cf_ranks_of_mmapped(ranks, number);
    uint64_t live = cf_ranks_live_bits(planes, word), bit = 1ull << (number.index & 63);
    return (live & bit) == 0 ? CF_NO_RANK : cf_ranks_of_bit(ranks, word, live, bit);
}

/* The number of the chunk with this rank, which is below `nr`. */
struct cf_chunk_number cf_ranks_number(const struct cf_ranks *ranks, struct cf_rank rank);

/*
 * The live chunks of one heap in the order of addresses, for passes that want no others. Their
 * ranks follow each other from cf_ranks_of_word() of the heap's first word on.
 *
 *     struct cf_live_walk walk = cf_live_walk(planes, heap);
 *     while (cf_live_walk_next(&walk)) ... walk.unit, walk.units
 */
struct cf_live_walk {
    const struct cf_planes *planes;
    const struct cf_heap *heap;
    size_t word;
    size_t end_word;
    size_t end;     /* units of the heap */
    uint64_t live;  /* of the word at hand, still to come */
    struct cf_heap_unit unit; /* where the chunk starts */
    size_t units;   /* of the chunk */
};

static inline struct cf_live_walk cf_live_walk(const struct cf_planes *planes,
                                               const struct cf_heap *heap) {
    size_t units = cf_planes_units(planes, heap);
    return (struct cf_live_walk){
        .planes = planes, .heap = heap, .word = heap->plane_word, .end = units,
        .end_word = heap->plane_word + (units + 63) / 64,
        .live = units > 0 ? cf_ranks_live_bits(planes, heap->plane_word) : 0,
    };
}

static inline bool cf_live_walk_next(struct cf_live_walk *walk) {
    while (walk->live == 0) {
        if (++walk->word >= walk->end_word)
            return false;
        walk->live = cf_ranks_live_bits(walk->planes, walk->word);
    }
    unsigned bit = (unsigned)__builtin_ctzll(walk->live);
    size_t first = (walk->word - walk->heap->plane_word) * 64;
    uint64_t behind = walk->planes->starts[walk->word] & ~1ull << bit;
    walk->live &= walk->live - 1;
    walk->unit.index = first + bit;
    size_t next = behind != 0 ? first + (size_t)__builtin_ctzll(behind)
                              : cf_planes_next_start(walk->planes, walk->heap, first + 64,
                                                     walk->end);
    walk->units = (next < walk->end ? next : walk->end) - walk->unit.index;
    return walk->unit.index < walk->end;
}

#endif
