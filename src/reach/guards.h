/*
 * Stacks that the program took from malloc and told to the kernel alone: sigaltstack() and clone()
 * keep their addresses where no core has them, so that a live stack would look leaked. What gives
 * it away is its guard page: a page without rights, or one that the writer of the core could not
 * read, inside of a chunk. Such a page becomes a root that stands for one word, its own address
 * (`is_guard` of struct cf_root).
 */
#ifndef CF_REACH_GUARDS_H
#define CF_REACH_GUARDS_H

#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"
#include "reach/roots.h"

/* Adds the guard pages inside of heaps and mmapped chunks. CF_ENOMEM only. */
int cf_guards_add(struct cf_roots *roots, const struct cf_mem *mem, const struct cf_chunkmap *map,
                  struct cf_err *err);

#endif
