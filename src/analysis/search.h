/*
 * What roots reach, and by which ways: one search in breadth over the links (analysis/links.h), so
 * that each chunk's parents are its shortest way back to a root. Where several ways are equally
 * short, globals go before thread-local storage, stacks, registers and other mappings, since they
 * say most.
 *
 * The chunks of a step stand on a list, as long as there is room; what is beyond it are bits of
 * a plane, which lose the order of those chunks within the step, but no chunk.
 */
#ifndef CF_ANALYSIS_SEARCH_H
#define CF_ANALYSIS_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/links.h"
#include "analysis/parents.h"
#include "analysis/roots.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_search_input {
    const struct cf_mem *mem;
    const struct cf_links *links;
    const struct cf_root *roots;
    size_t nr_roots;
    size_t queue_cap; /* chunks of a step that are kept as a list; 0: the default */
};

/* Words of a plane with a bit for each rank. */
static inline size_t cf_search_words(const struct cf_ranks *ranks) {
    return ranks->nr / 64 + 1;
}

/* Sets the bit of each rank that is reached in `reached`, which is all zero; and sets its parents,
 * unless NULL. CF_ENOMEM. */
int cf_search_run(const struct cf_context *ctx, const struct cf_search_input *input,
                  uint64_t *reached, struct cf_parents *parents, struct cf_err *err);

#endif
