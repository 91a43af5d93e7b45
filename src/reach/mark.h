/*
 * Reachability: which live chunks the program could still get at. Conservative: any aligned word
 * of a root or of a reached live chunk that looks like a pointer is one (reach/resolve.h says
 * what points where). Dead chunks and malloc's own structures carry nothing, so a chunk is called
 * unreached only if no such word leads to it; one that is called reached may still be garbage.
 *
 * One plane of bits over the chunk numbers, two uses:
 *
 *     number        n   n+1  ...      a chunk of two units or more
 *     bit           m   p             m: reached; chunks that are not live have it from the start,
 *                                        so that one test turns them away
 *                                     p: reached and not yet scanned (afterwards it is free: the
 *                                        leaks keep "an unreached chunk points here" in it)
 *
 * The order is what makes it fast and small. Chunks near the one at hand (in its 16 MiB window)
 * go on a bounded stack, depth first; what lies elsewhere waits in a bounded batch that is taken
 * in the order of addresses; what fits in neither is left as bits p, and a sweep over the plane
 * finds it. So each chunk is scanned once, memory is bounded, and the core is read window by
 * window. Pages are dropped behind, until it shows that the heap is too tangled for that.
 */
#ifndef CF_REACH_MARK_H
#define CF_REACH_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/ranks.h"
#include "reach/resolve.h"
#include "reach/roots.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"

struct cf_mark;

struct cf_mark_input {
    const struct cf_mem *mem;
    const struct cf_chunkmap *map;
    const struct cf_root *roots;
    size_t nr_roots;
    const uint64_t *silent;   /* user addresses of tcache structs: reached, and carry nothing */
    size_t nr_silent;
    size_t stack_cap;         /* entries of the stack and of the batch; 0: the default */
};

/* What it took. */
struct cf_mark_stats {
    uint64_t words;    /* looked at */
    uint64_t pointers; /* that led to a chunk, of any state */
    uint64_t chunks;   /* scanned */
    uint64_t sweeps;
    uint64_t drops;    /* of the core's pages from our memory */
    uint64_t unreadable_bytes; /* of live chunks: what they point to may be missed */
};

/* A mark in which nothing is reached yet but what is not live, and the silent chunks. Fails only
 * for lack of memory. Borrows mem and map until cf_mark_free(). */
int cf_mark_new(const struct cf_mark_input *input, struct cf_mark **out, struct cf_err *err);
void cf_mark_free(struct cf_mark *mark);

/* Follows pointers in the core itself, from the roots. Fails only for lack of memory. */
int cf_mark_follow(const struct cf_context *ctx, const struct cf_mark_input *input,
                   struct cf_mark *mark, struct cf_err *err);
/* Takes over what another search found: a plane with a bit for each rank. */
void cf_mark_take(struct cf_mark *mark, const struct cf_ranks *ranks, const uint64_t *reached);

/* cf_mark_new() and cf_mark_follow(). */
int cf_mark_run(const struct cf_context *ctx, const struct cf_mark_input *input,
                struct cf_mark **out, struct cf_err *err);

/* True for chunks that are reached, and for all that are not live. By the number of
 * reach/resolve.h. */
bool cf_mark_reached(const struct cf_mark *mark, size_t number);
/* The same by the header's address; for an address that is no chunk's, true. */
bool cf_mark_reached_at(const struct cf_mark *mark, uint64_t addr);

const struct cf_resolver *cf_mark_resolver(const struct cf_mark *mark);
const struct cf_mark_stats *cf_mark_stats(const struct cf_mark *mark);
/* Bit n says whether the chunk with number n is reached; bits that are no chunk's say nothing. */
const uint64_t *cf_mark_plane(const struct cf_mark *mark);

/* The second bit of a chunk, clear when the mark is done; for one pass after it. */
void cf_mark_set_second(struct cf_mark *mark, size_t number);
bool cf_mark_second(const struct cf_mark *mark, size_t number);

/* Chunks that are live and not reached, heaps and mmapped chunks in the order of addresses. */
struct cf_unreached_iter {
    const struct cf_mark *mark;
    size_t extent; /* index */
    size_t word;   /* of the extent's part of the planes */
    uint64_t bits; /* of that word, still to be told */
};

struct cf_unreached {
    size_t number;
    uint64_t addr;
    uint64_t bytes;
    const struct cf_extent *extent;
};

void cf_unreached_iter_init(struct cf_unreached_iter *iter, const struct cf_mark *mark);
bool cf_unreached_iter_next(struct cf_unreached_iter *iter, struct cf_unreached *out);

#endif
