/*
 * What roots reach, and by which paths: one breadth-first search over the links (reach/links.h), so
 * that the edge that first reached a chunk lies on a shortest path from a root. It goes from what
 * lasts first, and from stacks and registers to what that does not reach: a word that a call left
 * on a stack leads into the middle of a tree by a shorter way than the variable that holds it.
 * Where several paths are equally short, globals go before thread-local storage and other mappings,
 * and stacks before registers, since they say most.
 */
#ifndef CF_REACH_SEARCH_H
#define CF_REACH_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "reach/links.h"
#include "reach/roots.h"
#include "reach/paths.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_search_input {
    const struct cf_mem *mem;
    const struct cf_links *links;
    const struct cf_root *roots;
    size_t nr_roots;
};

/* Words of a plane with a bit for each rank, and one behind. */
static inline size_t cf_search_words(const struct cf_ranks *ranks) {
    return ranks->nr / 64 + 2;
}

/* Sets the bit of each rank that is reached in `reached`, which is all zero; tells the paths,
 * unless `paths` is NULL, and the words of roots that lead to live chunks, unless `words` is.
 * CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp); CF_EUSAGE for
 * more roots than can be numbered. */
int cf_search_run(const struct cf_context *ctx, const struct cf_search_input *input,
                  uint64_t *reached, struct cf_paths **paths, struct cf_root_words *words,
                  struct cf_err *err);

#endif
