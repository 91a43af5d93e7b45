/*
 * Words on their way to the chunks that they lead to. The planes that say which chunk that is lie
 * anywhere, so words wait until there are some 64: then their parts of the planes are prefetched,
 * and by the time the last prefetch is issued, those of the first have come. First in, first out.
 */
#ifndef CF_REACH_PENDING_H
#define CF_REACH_PENDING_H

#include <stddef.h>
#include <stdint.h>

#include "reach/ranks.h"
#include "reach/resolve.h"

enum { CF_PENDING_MOST = 64 };

/* All zero but for `ranks`. */
struct cf_pending {
    const struct cf_ranks *ranks;
    size_t nr;
    size_t extent; /* index of the one that the last word led to */
    uint64_t lowered[CF_PENDING_MOST];
    struct cf_chunk_number places[CF_PENDING_MOST]; /* of its unit, which begins no
                                                       chunk mostly; CF_NO_CHUNK: nowhere */
    uint32_t from[CF_PENDING_MOST]; /* the caller's */
};

/* Whoever gets the answer: where the word was seen, and the rank of the live chunk that it leads
 * to. Words that lead to none are not answered. Given as a constant it becomes part of the loop. */
typedef void cf_pending_found(void *arg, uint32_t from, struct cf_rank rank);

/* Where the words lead, as far as that can be told without the planes, which are prefetched. */
static inline void cf_pending_place(struct cf_pending *pending) {
    const struct cf_ranks *ranks = pending->ranks;
    const struct cf_resolver *resolver = ranks->resolver;
    const uint64_t *starts = resolver->planes->starts, *states = resolver->planes->states;
    const uint32_t *sums = ranks->sums;
    const unsigned shift = resolver->planes->unit_shift;
    struct cf_extent extent = resolver->extents[pending->extent];
    for (size_t i = 0; i < pending->nr; i++) {
        uint64_t lowered = pending->lowered[i];
        if (lowered - extent.start >= extent.lowered_end - extent.start) {
            const struct cf_extent *other = cf_resolver_extent(resolver, lowered);
            pending->places[i] = CF_NO_CHUNK;
            if (other == NULL)
                continue;
            pending->extent = (size_t)(other - resolver->extents);
            extent = *other;
        }
        if (extent.heap == NULL) {
            pending->places[i] = extent.first_number;
            continue;
        }
        struct cf_chunk_number place =
            cf_number_of_unit(extent.plane_word,
                              (struct cf_heap_unit){(size_t)((lowered - extent.base) >> shift)});
        __builtin_prefetch(&starts[place.index >> 6]);
        __builtin_prefetch(&states[place.index >> 6]);
        __builtin_prefetch(&sums[place.index >> 6]);
        pending->places[i] = place;
    }
}

/* The rank of the live chunk that covers the place of the word with this index; CF_NO_RANK for
 * none that is live. It mostly starts in the same word of the planes. */
static inline struct cf_rank cf_pending_rank(const struct cf_pending *pending,
                                             const struct cf_planes *planes, size_t index) {
    const struct cf_ranks *ranks = pending->ranks;
    struct cf_chunk_number place = pending->places[index];
    size_t word = place.index >> 6;
    if (word >= planes->nr_words)
        return cf_is_chunk(place) ? cf_ranks_of(ranks, place) : CF_NO_RANK;
    uint64_t upto = planes->starts[word] & ~(~1ull << (place.index & 63));
    if (upto == 0) {
        place = cf_resolver_target_of(ranks->resolver, pending->lowered[index]);
        return cf_is_chunk(place) ? cf_ranks_of(ranks, place) : CF_NO_RANK;
    }
    uint64_t start = 1ull << (63 - __builtin_clzll(upto));
    uint64_t live = cf_ranks_live_bits(planes, word);
    return (live & start) == 0 ? CF_NO_RANK : cf_ranks_of_bit(ranks, word, live, start);
}

/* Answers all that wait. */
static inline __attribute__((always_inline)) void
cf_pending_answer(struct cf_pending *pending, cf_pending_found *found, void *arg) {
    const struct cf_planes planes = *pending->ranks->resolver->planes;
    cf_pending_place(pending);
    for (size_t i = 0; i < pending->nr; i++) {
        struct cf_rank rank = cf_pending_rank(pending, &planes, i);
        if (cf_is_ranked(rank))
            found(arg, pending->from[i], rank);
    }
    pending->nr = 0;
}

/* A word in the span of the chunks, lowered (reach/resolve.h). True: no more have room, and all
 * must be answered now. */
static inline bool cf_pending_put(struct cf_pending *pending, uint64_t lowered, uint32_t from) {
    pending->lowered[pending->nr] = lowered;
    pending->from[pending->nr] = from;
    return ++pending->nr == CF_PENDING_MOST;
}

#endif
