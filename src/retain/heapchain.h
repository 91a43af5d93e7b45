/*
 * An arena's heaps from the top down: the chain of heap_info.prev, newest heap first; main arena
 * has the one piece that its top stands in. And glibc's way to give an emptied heap back:
 * heap_trim() drops the newest heap while top fills it, unless what the heap below would then
 * have for a top (its free tail with the fences, and its unreserved part) is less than
 * top_pad + MINSIZE + a page; the tail becomes the new top.
 *
 *     heap 1 (older)  |info|...live...|--free--|fences|   reserve   |
 *     heap 0          |info|------------ top ------------| reserve  |    dropped: all of it
 *
 * A chain borrows map and rule.
 */
#ifndef CF_RETAIN_HEAPCHAIN_H
#define CF_RETAIN_HEAPCHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retain/trimrule.h"
#include "base/array.h"
#include "corefrag.h"
#include "ptmalloc/chunkmap.h"
#include "ptmalloc/planes.h"

struct cf_heap_chain {
    const struct cf_chunkmap *map;
    const struct cf_trim_rule *rule;
    CF_ARRAY(uint32_t) heaps; /* ids, newest first */
};

/* The chain below the heap that has the arena's top. CF_ENOMEM only; all zero is empty and good
 * for reuse; cf_heap_chain_fini() in the end. A ring of prev ends where it would repeat. */
int cf_heap_chain_build(struct cf_heap_chain *chain, const struct cf_chunkmap *map,
                        const struct cf_trim_rule *rule, const struct cf_heap *newest,
                        struct cf_err *err);
void cf_heap_chain_fini(struct cf_heap_chain *chain);
const struct cf_heap *cf_heap_chain_at(const struct cf_heap_chain *chain, size_t index);

/* Goes over one heap's chunks downwards. */
struct cf_down {
    const struct cf_planes *planes;
    const struct cf_heap *heap;
    uint64_t addr; /* all chunks that begin below are still to come */
    size_t odd;    /* rows of the side table that begin below */
};

void cf_down_init(struct cf_down *down, const struct cf_chunkmap *map, const struct cf_heap *heap,
                  uint64_t addr);
/* States are live, top, fence, gap, and free for all that is dead but tcache. */
bool cf_down_prev(struct cf_down *down, struct cf_chunk *out);
/* Passes dead chunks (tcache ones too, if `cached`) and returns the lowest one's address, or where
 * it stood. */
uint64_t cf_down_dead(struct cf_down *down, bool cached);
/* Where the dead run below the end of chain's heap `index` begins: below top in heap 0, below the
 * fences in the others. */
uint64_t cf_heap_chain_tail(const struct cf_heap_chain *chain, size_t index, bool cached);

/* Where top ends up once the heaps that it fills are dropped. */
struct cf_top_rest {
    size_t heap;            /* index in the chain */
    uint64_t top;           /* its address there */
    uint64_t dropped_bytes; /* accessible bytes of the dropped heaps */
};

/* All heaps above `index` are taken for empty, and heap `index` from `start` up. */
struct cf_top_rest cf_heap_chain_settle(const struct cf_heap_chain *chain, size_t index,
                                        uint64_t start, bool cached);

#endif
