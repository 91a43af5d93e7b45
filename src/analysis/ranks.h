/*
 * Chunks numbered without gaps: the rank of a chunk is the number of chunks before it, those of
 * heaps first, mmapped ones behind. Tables with a few bytes for each chunk are indexed by it.
 */
#ifndef CF_ANALYSIS_RANKS_H
#define CF_ANALYSIS_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/resolve.h"
#include "corefrag.h"

/* All zero is empty. Ranks fit 31 bits, with room for two more values. */
struct cf_ranks {
    const struct cf_resolver *resolver;
    uint32_t *sums;   /* starts before each block of the plane */
    size_t nr_blocks;
    size_t nr_starts;
    size_t nr_chunks; /* with the mmapped ones; all ranks are below */
};

/* CF_ENOMEM; CF_EUSAGE: more chunks than can be ranked. Borrows the resolver. */
int cf_ranks_init(struct cf_ranks *ranks, const struct cf_resolver *resolver, struct cf_err *err);
void cf_ranks_fini(struct cf_ranks *ranks);

/* Of the chunk with this number (analysis/resolve.h), and back. */
size_t cf_ranks_of(const struct cf_ranks *ranks, size_t number);
size_t cf_ranks_number(const struct cf_ranks *ranks, size_t rank);

#endif
