/*
 * The search for who holds the chunks that are worth asking about (asking.h): their paths from the
 * roots (holders.h), what a person calls each hop (labels.h), what the weightiest owners keep alive
 * (owners.h), and whose memory the nameless chunks are (belong.h).
 */
#ifndef CF_HOLDERS_HOLDING_H
#define CF_HOLDERS_HOLDING_H

#include <stddef.h>

#include "corefrag.h"
#include "holders/asking.h"
#include "holders/groups.h"
#include "holders/holders.h"
#include "holders/labels.h"
#include "holders/leakgroups.h"
#include "holders/owners.h"
#include "mem/mem.h"
#include "reach/dominators.h"
#include "reach/reach.h"
#include "reach/retained.h"
#include "retain/kept.h"
#include "runtime/runtimes.h"
#include "sym/module.h"
#include "types/classes.h"
#include "types/sizetype.h"
#include "types/types.h"

/* All zero is empty. Must not move once it is found: its labels point into it. */
struct cf_holding {
    struct cf_asking asking;
    struct cf_holders holders;
    struct cf_owners owners;
    struct cf_objects objects; /* of managed heaps */
    struct cf_labels labels;
    struct cf_size_types sizes;
    struct cf_places places; /* the groups of the dominators */
    struct cf_classes classes;       /* of the chunks, for the kinds of their edges */
    struct cf_edge_kinds kinds;
    struct cf_dominators dominators;
    struct cf_preorder preorder;
    struct cf_sharing sharing;
    struct cf_owners_input owning;   /* what the owners stand on, for their names */
    struct cf_retained retained;
    struct cf_groups groups;
    struct cf_leak_groups leaks;
    char no_dominators[1024]; /* why they could not be found; "" */
};

/* What the search stands on; borrowed. */
struct cf_holding_input {
    const struct cf_mem *mem;
    const struct cf_ptmalloc *pt;
    const struct cf_modules *modules;
    const struct cf_reach *reach;
    const struct cf_kept *kept;
    const struct cf_naming *naming;
    uint64_t suspect; /* a chunk to ask about before all else; 0: none */
    const struct cf_claims *claims; /* whose mappings are whose; sealed */
};

/* After the mark, types, pins and the budget. `holding` is all zero; borrows all of `input`. Where
 * there is no room for the dominators, it says why in `no_dominators`, and owners and `retained`
 * are empty. CF_ENOMEM, CF_ECANCELLED. End with cf_holding_fini(). */
int cf_holding_find(const struct cf_context *ctx, const struct cf_holding_input *input,
                    struct cf_types *types, struct cf_holding *holding, struct cf_err *err);
void cf_holding_fini(struct cf_holding *holding);

#endif
