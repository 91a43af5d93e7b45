/*
 * Who shares what nobody keeps alive alone. What hangs right below the roots in the dominator tree
 * is a group of roots with all that only it leads to, or a chunk that several groups lead to, with
 * all that only that chunk leads to. Of the latter it is told which groups these are, as far as
 * they are few.
 */
#ifndef CF_HOLDERS_SHARING_H
#define CF_HOLDERS_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/dominators.h"
#include "reach/preorder.h"

enum { CF_SHARERS_MAX = 3 };

/* Groups that lead to something, or the one that keeps it alive. */
struct cf_sharers {
    uint32_t groups[CF_SHARERS_MAX]; /* sorted */
    uint32_t nr; /* CF_SHARERS_MAX + 1: more than these, and which is not told */
};

/* What hangs right below the roots. */
struct cf_top {
    struct cf_vertex vertex;
    uint32_t place;   /* where its piece of the preorder begins */
    uint32_t sharers; /* row of `rows` */
};

/* All zero is none. End with cf_sharing_fini(). */
struct cf_sharing {
    const struct cf_top *tops; /* by place; of several at one place all but the last are empty */
    size_t nr_tops;
    CF_ARRAY(struct cf_sharers) rows;
    struct cf_hash table;
    struct cf_scratch file;
};

struct cf_sharing_input {
    const struct cf_dominators *dominators;
    const struct cf_preorder *preorder;
};

/* `out` is all zero. CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room in $TMPDIR (or
 * /tmp). */
int cf_sharing_find(const struct cf_context *ctx, const struct cf_sharing_input *input,
                    struct cf_sharing *out, struct cf_err *err);
void cf_sharing_fini(struct cf_sharing *sharing);

/* The top whose piece has the chunk at this place of the preorder. */
const struct cf_top *cf_sharing_top(const struct cf_sharing *sharing, uint32_t place);

#endif
