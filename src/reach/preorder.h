/*
 * The chunks in the order of the dominator tree, each before all that hangs on it: what a vertex
 * dominates stands in one piece.
 *
 *     place    0     1     2     3     4 ...
 *     chunk    a     b     c     d     e       a dominates b, c, d; b dominates c
 */
#ifndef CF_REACH_PREORDER_H
#define CF_REACH_PREORDER_H

#include <stdint.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/dominators.h"

/* All zero is none. End with cf_preorder_fini(). */
struct cf_preorder {
    uint32_t nr;           /* chunks that are reached */
    const uint32_t *ranks; /* by place */
    const uint32_t *firsts; /* by vertex: the place where what it dominates begins, itself first */
    struct cf_scratch files[2];
};

/* CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp). */
int cf_preorder_find(const struct cf_context *ctx, const struct cf_dominators *dominators,
                     struct cf_preorder *out, struct cf_err *err);
void cf_preorder_fini(struct cf_preorder *preorder);

static inline struct cf_rank cf_preorder_rank(const struct cf_preorder *preorder, uint64_t place) {
    return (struct cf_rank){preorder->ranks[place]};
}

/* Gives the pages back; the files keep their content. */
void cf_preorder_drop(const struct cf_preorder *preorder);

#endif
