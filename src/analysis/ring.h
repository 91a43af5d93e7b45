/*
 * Words on their way to the chunks that they lead to. The planes that say which chunk that is lie
 * anywhere, so a word waits on a ring of some 32 until its parts of them have come, and is answered
 * in its turn: first in, first out.
 */
#ifndef CF_ANALYSIS_RING_H
#define CF_ANALYSIS_RING_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/ranks.h"
#include "analysis/resolve.h"

enum { CF_RING_ENTRIES = 32 };

struct cf_ring_entry {
    uint64_t lowered;
    const struct cf_extent *extent;
    size_t from; /* the caller's */
};

/* All zero but for `ranks`. */
struct cf_ring {
    const struct cf_ranks *ranks;
    unsigned put; /* both run on; [take, put) is in use */
    unsigned take;
    struct cf_ring_entry entries[CF_RING_ENTRIES];
};

/* Whoever gets the answer: where the word was seen, and the rank of the live chunk that it leads
 * to. Words that lead to none are not answered. Given as a constant it becomes part of the loop. */
typedef void cf_ring_found(void *arg, size_t from, size_t rank);

static inline __attribute__((always_inline)) void
cf_ring_answer(struct cf_ring *ring, cf_ring_found *found, void *arg) {
    const struct cf_ring_entry *oldest = &ring->entries[ring->take++ % CF_RING_ENTRIES];
    size_t number = cf_resolver_number(ring->ranks->resolver, oldest->extent, oldest->lowered);
    size_t rank = number == CF_NO_CHUNK ? CF_NO_CHUNK : cf_ranks_of(ring->ranks, number);
    if (rank != CF_NO_CHUNK)
        found(arg, oldest->from, rank);
}

/* A word in the span of the chunks, lowered (analysis/resolve.h). */
static inline __attribute__((always_inline)) void
cf_ring_put(struct cf_ring *ring, uint64_t lowered, size_t from, cf_ring_found *found, void *arg) {
    const struct cf_resolver *resolver = ring->ranks->resolver;
    const struct cf_extent *extent = cf_resolver_extent(resolver, lowered);
    if (extent == NULL)
        return;
    if (extent->heap != NULL) {
        size_t word = extent->plane_word + (cf_resolver_unit(resolver, extent, lowered) >> 6);
        __builtin_prefetch(&resolver->planes->starts[word]);
        __builtin_prefetch(&resolver->planes->states[word]);
        __builtin_prefetch(&ring->ranks->sums[word]);
    }
    if (ring->put - ring->take == CF_RING_ENTRIES)
        cf_ring_answer(ring, found, arg);
    ring->entries[ring->put++ % CF_RING_ENTRIES] = (struct cf_ring_entry){lowered, extent, from};
}

static inline __attribute__((always_inline)) void
cf_ring_empty(struct cf_ring *ring, cf_ring_found *found, void *arg) {
    while (ring->put != ring->take)
        cf_ring_answer(ring, found, arg);
}

#endif
