/*
 * Which blocks stood where free memory is now. free() merges a chunk with its neighbours by writing
 * the lowest one's header; those of the others stay as they were until somebody gets the memory
 * again (_int_free, malloc_consolidate, unlink_chunk; 2.17 to 2.44). Each says where its chunk
 * ended: at the free chunk's end, or where the next one's stale header stands.
 *
 *     | size: all of it |    A    | size of B |  B  | size of C |   C   |
 *     ^ free chunk                ^ ends at C's     ^ ends at the free chunk's end
 *
 * Found from the end down. What was overwritten shows no more, and the block around it looks larger
 * or smaller than it was: this is evidence, not a count.
 */
#ifndef CF_RETAIN_FORMER_H
#define CF_RETAIN_FORMER_H

#include <stdint.h>

#include "retain/resident.h"
#include "base/context.h"
#include "corefrag.h"
#include "ptmalloc/heap.h"

struct cf_former_blocks {
    uint64_t blocks;
    uint64_t bytes;
    struct cf_resident_bytes resident; /* of these */
};

/* Blocks of `least` bytes and more in free chunks and tops of all heaps. CF_ENOMEM, CF_ECANCELLED.
 * A unit of the largest free chunk costs a bit of memory while this runs. */
int cf_former_blocks_find(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                          const struct cf_residency *residency, uint64_t least,
                          struct cf_former_blocks *out, struct cf_err *err);

#endif
