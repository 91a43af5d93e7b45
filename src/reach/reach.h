/*
 * Reachability of one core: stacks, roots, the pointers between live chunks, and the search over
 * them from the roots. What the pipeline makes once, and what leaks and holders build on; types
 * look at the chunks while they are read.
 * Borrows the walked heap; immutable when made.
 */
#ifndef CF_REACH_REACH_H
#define CF_REACH_REACH_H

#include <stdbool.h>

#include "reach/links.h"
#include "reach/mark.h"
#include "reach/ranks.h"
#include "reach/roots.h"
#include "libc/stacks.h"
#include "reach/paths.h"
#include "corefrag.h"
#include "ptmalloc/heap.h"

struct cf_reach {
    const struct cf_mem *mem;
    struct cf_stacks stacks;
    struct cf_roots roots;
    uint64_t *pointerless;  /* user addresses of chunks without pointers (tcache structs), sorted */
    size_t nr_pointerless;
    struct cf_mark *mark;
    struct cf_ranks ranks;  /* of the chunks that the mark's resolver knows */
    struct cf_links links;
    struct cf_paths *paths; /* of the search from all roots */
    struct cf_root_words words;
};

/* Stacks, roots, and the chunks' ranks; nothing is reached yet. CF_ENOMEM, CF_ECANCELLED. Caller
 * frees with cf_reach_free(). */
int cf_reach_new(const struct cf_context *ctx, const struct cf_ptmalloc *pt, struct cf_reach **out,
                 struct cf_err *err);
void cf_reach_free(struct cf_reach *reach);

/* Reads the live chunks, once, also for `visitor` (unless NULL), and follows their pointers.
 * CF_ENOMEM; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp); CF_EUSAGE for more chunks or
 * roots than can be numbered. After a failure `reach` is only good for cf_reach_free(). */
int cf_reach_follow(const struct cf_context *ctx, struct cf_reach *reach,
                    const struct cf_live_visitor *visitor, struct cf_err *err);

/* What cf_reach_new() does when it has stacks, roots and the chunks without pointers: the rest of
 * `reach`, which is zero. End with cf_reach_fini_mark(), also after a failure. */
int cf_reach_prepare(const struct cf_context *ctx, const struct cf_mem *mem,
                     const struct cf_chunkmap *map, struct cf_reach *reach, struct cf_err *err);
void cf_reach_fini_mark(struct cf_reach *reach);

#endif
