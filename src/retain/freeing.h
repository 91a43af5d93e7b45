/*
 * What free() returns by itself, without malloc_trim(): the next free() of a chunk that coalesces
 * to 64 KiB or more, in each arena as it stands. (_int_free, heap_trim, systrim.)
 *
 *  - Up to 2.42 the fastbins are consolidated first.
 *  - Main arena, with the break at its top: where top has reached trim_threshold, all of it but
 *    top_pad goes by brk.
 *  - A thread arena drops heaps that its top fills (heapchain.h). What is then its top shrinks to
 *    top_pad where it has reached trim_threshold (2.23+; before that whenever it is larger).
 *
 * So this is 0 while a live chunk holds top below the threshold, however much is free below it;
 * and holes between live chunks are never returned. Both are why malloc_trim() finds something.
 */
#ifndef CF_RETAIN_FREEING_H
#define CF_RETAIN_FREEING_H

#include <stddef.h>
#include <stdint.h>

#include "retain/resident.h"
#include "retain/trim.h"
#include "retain/trimrule.h"
#include "corefrag.h"
#include "ptmalloc/chunkmap.h"

struct cf_free_arena {
    uint64_t top_bytes;     /* of the top that is judged, once heaps are dropped */
    uint64_t dropped_heaps;
    uint64_t bytes;         /* address space that would be returned */
    struct cf_resident_bytes resident; /* of these */
    uint64_t beyond_trim_bytes; /* of `resident`, what malloc_trim(0) would not return anyway */
};

struct cf_freeing {
    size_t nr_arenas;
    struct cf_free_arena *arenas; /* by arena id; zero where malloc_trim's rule knows no arena */
    struct cf_free_arena all;
};

/* Of an arena's top that begins at `top` in `heap`, once heaps are dropped: how many bytes at its
 * end the next free() gives back. */
uint64_t cf_freeing_top_bytes(const struct cf_trim_rule *rule, const struct cf_heap *heap,
                              uint64_t top);

/* `trim` is of the same map and rule. CF_ENOMEM only; free with cf_freeing_fini(). */
int cf_freeing_find(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                    const struct cf_residency *residency, const struct cf_trim *trim,
                    struct cf_freeing *out, struct cf_err *err);
void cf_freeing_fini(struct cf_freeing *freeing);

#endif
