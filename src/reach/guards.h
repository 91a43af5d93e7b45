/*
 * Stacks that the program took from malloc and told to the kernel alone: sigaltstack() and clone()
 * keep their addresses where no core has them, so that a live stack would look leaked. What gives
 * it away is its guard page: a page without rights, or one that the writer of the core could not
 * read, inside of a chunk. Each becomes a root that stands for one word, its own address
 * (`is_guard` of struct cf_root).
 */
#ifndef CF_REACH_GUARDS_H
#define CF_REACH_GUARDS_H

#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"

struct cf_guard_page {
    uint64_t start;
    uint64_t end;
};

/* All zero is empty; ends with cf_array_free(). */
struct cf_guard_pages {
    CF_ARRAY(struct cf_guard_page) rows;
};

/* Those inside of heaps and mmapped chunks, in the order of these. CF_ENOMEM only. */
int cf_guard_pages_find(struct cf_guard_pages *out, const struct cf_mem *mem,
                        const struct cf_chunkmap *map, struct cf_err *err);

#endif
