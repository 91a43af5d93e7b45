/*
 * Live chunks numbered without gaps: the rank of a live chunk is the number of live chunks before
 * it, those of heaps first, in the order of addresses; behind them stand all mmapped chunks. Tables
 * with a few bytes for each chunk are indexed by it.
 *
 * What is kept is one sum for each word of the planes; the rest is counted in that word's bits.
 */
#ifndef CF_ANALYSIS_RANKS_H
#define CF_ANALYSIS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/resolve.h"
#include "corefrag.h"

enum { CF_RANKS_BLOCK_SHIFT = 20 }; /* words of the planes between two sums of 64 bits */

/* All zero is empty. */
struct cf_ranks {
    const struct cf_resolver *resolver;
    uint32_t *sums;   /* live chunks before each word of the planes, since its block's start */
    uint64_t *blocks; /* live chunks before each block */
    size_t nr_live;   /* of heaps */
    size_t nr;        /* with the mmapped ones; all ranks are below */
};

/* CF_ENOMEM. Borrows the resolver. End with cf_ranks_fini(), also after a failure. */
int cf_ranks_init(struct cf_ranks *ranks, const struct cf_resolver *resolver, struct cf_err *err);
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

/* Live chunks before a word of the planes. */
static inline size_t cf_ranks_before_word(const struct cf_ranks *ranks, size_t word) {
    return (size_t)ranks->blocks[word >> CF_RANKS_BLOCK_SHIFT] + ranks->sums[word];
}

/* As cf_ranks_of(), for an mmapped chunk. */
size_t cf_ranks_of_mmapped(const struct cf_ranks *ranks, size_t number);

/* The rank of the chunk with this number; CF_NO_CHUNK when it is not live. */
static inline size_t cf_ranks_of(const struct cf_ranks *ranks, size_t number) {
    const struct cf_planes *planes = ranks->resolver->planes;
    size_t word = number >> 6;
    if (word >= planes->nr_words)
        return cf_ranks_of_mmapped(ranks, number);
    uint64_t live = cf_ranks_live_bits(planes, word), bit = 1ull << (number & 63);
    if ((live & bit) == 0)
        return CF_NO_CHUNK;
    return cf_ranks_before_word(ranks, word) + cf_ranks_count_bits(live & (bit - 1));
}

/* The number of the chunk with this rank, which is below `nr`. */
size_t cf_ranks_number(const struct cf_ranks *ranks, size_t rank);

#endif
