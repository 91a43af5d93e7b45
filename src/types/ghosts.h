/*
 * Ghosts: objects that were freed and still show in free memory. When free() merges a chunk with
 * its neighbours, only the lowest one's first words are written over; the others stand there as
 * they were, header, vtable and all, until somebody gets the memory again. So holes tell what they
 * once were.
 *
 * Counted where a word leads to a table of functions (as of live objects: types.h) and the word in
 * front of it is a size that fits into the free chunk. What was reused in between shows no more:
 * this is evidence of what died, not a count of it. Chunks in caches and fastbins are not looked
 * at, since their own first words are gone.
 */
#ifndef CF_TYPES_GHOSTS_H
#define CF_TYPES_GHOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "ptmalloc/heap.h"
#include "types/types.h"

struct cf_ghost {
    uint64_t ghosts;
    uint64_t bytes;  /* by the sizes in front of them */
    uint64_t arenas; /* in which there are some */
    uint32_t arena;  /* 1 and the id of the last one */
};

/* All zero is empty. End with cf_ghosts_fini(). */
struct cf_ghosts {
    CF_ARRAY(struct cf_ghost) rows; /* by type */
};

/* Looks through free chunks and tops; types that no live chunk has are made. CF_ENOMEM,
 * CF_ECANCELLED. */
int cf_ghosts_find(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                   struct cf_types *types, struct cf_ghosts *out, struct cf_err *err);
void cf_ghosts_fini(struct cf_ghosts *ghosts);

#endif
