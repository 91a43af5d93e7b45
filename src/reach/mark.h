/*
 * Which live chunks the program could still get at, as one bit for each chunk number
 * (reach/resolve.h). Reachability is conservative: any aligned word of a root or of a reached live
 * chunk that looks like a pointer is one. Dead chunks and malloc's own structures carry nothing,
 * so a chunk is called unreached only if no such word leads to it; one that is called reached may
 * still be garbage.
 *
 * The search (reach/search.h) finds out; the mark keeps what it found. Chunks that are not live
 * have their bit from the start, so that one test turns them away, and so have chunks without
 * pointers that malloc keeps for itself. The mark owns the resolver that everybody else uses.
 */
#ifndef CF_REACH_MARK_H
#define CF_REACH_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/ranks.h"
#include "reach/resolve.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"

struct cf_mark;

struct cf_mark_input {
    const struct cf_mem *mem;
    const struct cf_chunkmap *map;
    const uint64_t *pointerless; /* user addresses of chunks without pointers: tcache structs */
    size_t nr_pointerless;
};

/* A mark before the search: reached are only chunks that are not live, and those without pointers.
 * CF_ENOMEM, CF_ECANCELLED. Borrows mem and map until cf_mark_free(). */
int cf_mark_new(const struct cf_context *ctx, const struct cf_mark_input *input,
                struct cf_mark **out, struct cf_err *err);
void cf_mark_free(struct cf_mark *mark); /* takes NULL */

/* Adds what the search found: a plane with a bit for each rank, and 64 bits behind. CF_ECANCELLED;
 * then the mark has a part of it. */
int cf_mark_take(const struct cf_context *ctx, struct cf_mark *mark, const struct cf_ranks *ranks,
                 const uint64_t *reached, struct cf_err *err);

/* True for chunks that are reached, and for all that are not live. By the number of
 * reach/resolve.h. */
bool cf_mark_reached(const struct cf_mark *mark, struct cf_chunk_number number);
/* The same by the header's address; for an address that is no chunk's, true. */
bool cf_mark_reached_at(const struct cf_mark *mark, uint64_t addr);

/* Borrowed until cf_mark_free(). */
const struct cf_resolver *cf_mark_resolver(const struct cf_mark *mark);
/* Bit n says whether the chunk with number n is reached; bits that are no chunk's say nothing.
 * Borrowed until cf_mark_free(). */
const uint64_t *cf_mark_plane(const struct cf_mark *mark);

/* Chunks that are live and not reached, heaps and mmapped chunks in the order of addresses. */
struct cf_unreached_iter {
    const struct cf_mark *mark;
    size_t extent; /* index */
    size_t word;   /* of the extent's part of the planes */
    uint64_t bits; /* of that word, still to be told */
};

struct cf_unreached {
    struct cf_chunk_number number;
    uint64_t addr;
    uint64_t bytes;
    const struct cf_extent *extent;
};

void cf_unreached_iter_init(struct cf_unreached_iter *iter, const struct cf_mark *mark);
bool cf_unreached_iter_next(struct cf_unreached_iter *iter, struct cf_unreached *out);

#endif
