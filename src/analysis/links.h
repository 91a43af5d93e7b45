/*
 * The pointers between live chunks as lists: for each live chunk, by its rank (analysis/ranks.h),
 * the ranks of the live chunks that its words lead to, in the order of the words. They are made in
 * one pass over the chunks (analysis/live.h); whoever follows pointers afterwards does not touch
 * the core, where each step would lead to some other page.
 *
 *     first   0   2   2   5 ...         of rank r: to[first[r]] to to[first[r + 1] - 1]
 *     to      7 9 |   | 1 3 4 | ...     none of rank 1
 *
 * A chunk's pointers to itself are left out, and of several to one chunk in a row all but the
 * first. Silent chunks have none. 4 bytes a live chunk and 4 a pointer, in temporary files.
 */
#ifndef CF_ANALYSIS_LINKS_H
#define CF_ANALYSIS_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/live.h"
#include "analysis/ranks.h"
#include "base/scratch.h"
#include "corefrag.h"
#include "mem/mem.h"

/* All zero: there are none. Immutable when made. */
struct cf_links {
    const struct cf_ranks *ranks;
    const uint32_t *first; /* ranks->nr + 1 of them; NULL: not made */
    const uint32_t *to;
    struct cf_scratch first_file;
    struct cf_scratch to_file;
};

struct cf_links_input {
    const struct cf_mem *mem;
    const struct cf_ranks *ranks;
    const uint64_t *silent; /* user addresses of chunks that carry nothing, sorted */
    size_t nr_silent;
};

/* What is being made. */
struct cf_links_builder;

/* CF_ENOMEM; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp); CF_EUSAGE for more chunks than
 * can be numbered. Borrows all of `input`. Ends with cf_links_finish() or cf_links_abandon(). */
int cf_links_begin(const struct cf_links_input *input, struct cf_links_builder **out,
                   struct cf_err *err);
/* To be called for each live chunk (analysis/live.h). */
struct cf_live_visitor cf_links_visitor(struct cf_links_builder *builder);
/* The builder is gone in any case. As cf_links_begin(); CF_EUSAGE for too many pointers. Borrows
 * the ranks. End with cf_links_fini(). */
int cf_links_finish(struct cf_links_builder *builder, struct cf_links *out, struct cf_err *err);
void cf_links_abandon(struct cf_links_builder *builder); /* takes NULL */
void cf_links_fini(struct cf_links *links);

/* Only our view of the pages goes. */
void cf_links_drop(const struct cf_links *links);

#endif
