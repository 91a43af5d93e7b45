/*
 * Reachability of one core: stacks, roots, and the mark from them. What the pipeline makes once,
 * and what types, leaks and holders build on. Borrows the walked
 * heap; immutable when made.
 */
#ifndef CF_ANALYSIS_REACH_H
#define CF_ANALYSIS_REACH_H

#include "analysis/mark.h"
#include "analysis/ranks.h"
#include "analysis/roots.h"
#include "analysis/stacks.h"
#include "corefrag.h"
#include "ptmalloc/heap.h"

struct cf_reach {
    struct cf_stacks stacks;
    struct cf_roots roots;
    uint64_t *silent; /* user addresses of chunks that carry nothing (tcache structs), sorted */
    size_t nr_silent;
    struct cf_mark *mark;
    struct cf_ranks ranks; /* of the chunks that the mark's resolver knows */
};

/* Fails only for lack of memory. Caller frees with cf_reach_free(). */
int cf_reach_run(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                 struct cf_reach **out, struct cf_err *err);
void cf_reach_free(struct cf_reach *reach);

#endif
