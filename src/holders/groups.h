/*
 * What would come back if a group of chunks were gone at once: all that one owner keeps alive
 * alone, all chunks of one type with what only they keep alive, or the chunks of one size and type
 * that pin the most, alone. Survivors that share pages count only together: freed one by one, none
 * of them returns a page.
 *
 * Owners' and types' groups are closed under the dominator tree: a chunk is gone when one above it
 * is. malloc_trim(0) is then simulated with these chunks given back (retain/trim.h). It is a bound:
 * of what a program frees, the last few chunks of each size stay in the cache of the thread that
 * frees them.
 */
#ifndef CF_HOLDERS_GROUPS_H
#define CF_HOLDERS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "holders/owners.h"
#include "reach/dominators.h"
#include "reach/preorder.h"
#include "retain/kept.h"
#include "types/types.h"

/* Of each kind, those that are looked at. */
enum { CF_GROUP_OWNERS_MAX = 2, CF_GROUP_TYPES_MAX = 2 };

struct cf_group {
    const struct cf_owner *owner; /* borrowed; NULL: a type's, or a size's */
    uint32_t type;                /* of a size: 0 for none */
    uint64_t size_bytes;          /* 0: not a size's */
    struct cf_trim_if gone; /* chunks of heaps alone */
};

/* All zero is empty. End with cf_groups_fini(). */
struct cf_groups {
    CF_ARRAY(struct cf_group) rows;
};

/* Borrowed. */
struct cf_groups_input {
    const struct cf_ptmalloc *pt;
    const struct cf_kept *kept; /* whose page pins say which types are worth it */
    const struct cf_dominators *dominators;
    const struct cf_preorder *preorder;
    const struct cf_owners *owners;
    const struct cf_types *types;
};

/* `groups` is all zero. CF_ENOMEM, CF_ECANCELLED. */
int cf_groups_find(const struct cf_context *ctx, const struct cf_groups_input *input,
                   struct cf_groups *groups, struct cf_err *err);
void cf_groups_fini(struct cf_groups *groups);

#endif
