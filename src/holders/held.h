/*
 * What a root keeps alive: the chunks that nothing else would reach. The search is made again
 * without that root, and what is no longer reached is what it holds alone. Chunks that are held
 * from elsewhere too are not counted, so it is a lower bound of what the root can get at.
 *
 * Stacks and registers do not compete with what lasts: a thread that is just looking at a table
 * does not hold it. So variables, thread-local storage and mappings are judged by searches without
 * them, against one such search from all roots that last.
 */
#ifndef CF_HOLDERS_HELD_H
#define CF_HOLDERS_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "space/claims.h"
#include "reach/reach.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_held {
    enum cf_root_kind kind;
    uint64_t start;  /* words of memory: [start, end); none where they are equal */
    uint64_t end;
    int32_t thread;  /* its registers too; -1: none */
    const struct cf_claims *claims; /* sealed; all that these say is of the same heap, too */
    const struct cf_claim *heap;    /* one of a runtime's; NULL: no more than the above */
    uint64_t chunks; /* filled in by cf_held_count() */
    uint64_t bytes;
};

/* What the answers for several roots have in common. All zero but for the first two members; the
 * others are planes with a bit for each rank, made when they are needed. */
struct cf_held_marks {
    const struct cf_mem *mem;
    const struct cf_reach *reach; /* with links */
    uint64_t *all;     /* reached from all roots */
    uint64_t *lasting; /* from roots that last */
};

/* Whether `claim` is of the heap that `held` has: the same area of the same runtime. */
static inline bool cf_held_is_heap(const struct cf_held *held, const struct cf_claim *claim) {
    return claim->kind == held->heap->kind && claim->runtime == held->heap->runtime &&
           claim->area == held->heap->area;
}

/* Fails as cf_search_run() does. Costs as much as that, the first call twice. */
int cf_held_count(const struct cf_context *ctx, struct cf_held_marks *marks, struct cf_held *held,
                  struct cf_err *err);
void cf_held_marks_fini(struct cf_held_marks *marks);

#endif
