/*
 * How well each chunk is held by roots that last: by the least usual edge (reach/kinds.h) of the
 * best path to it. An edge counts where its end has no better path; so a word that was left behind
 * in reused memory does not take a list from its owner, and what only such words lead to is held by
 * them.
 */
#ifndef CF_REACH_LASTING_H
#define CF_REACH_LASTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "reach/kinds.h"
#include "reach/links.h"

/* All zero: every edge counts. End with cf_lasting_fini(). */
struct cf_lasting {
    const struct cf_edge_kinds *kinds;
    uint64_t *planes[CF_EDGE_UNUSUAL]; /* by rank: whether there is a path of edges of this rank of
                                          kinds, or better ones */
};

struct cf_lasting_input {
    const struct cf_links *links;
    const struct cf_edge_kinds *kinds;
    size_t nr_groups; /* of roots, as struct cf_spanning_input has them */
    const uint64_t *begins;
    const uint32_t *targets;
    const bool *passes;
};

/* `out` is all zero; borrows the kinds. CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room
 * in $TMPDIR (or /tmp). */
int cf_lasting_find(const struct cf_context *ctx, const struct cf_lasting_input *input,
                    struct cf_lasting *out, struct cf_err *err);
void cf_lasting_fini(struct cf_lasting *lasting);

/* The least usual edge of the best path to this rank. */
static inline enum cf_edge_rank cf_lasting_held(const struct cf_lasting *lasting,
                                                struct cf_rank rank) {
    unsigned held = CF_EDGE_UNUSUAL;
    for (unsigned i = 0; i < CF_EDGE_UNUSUAL; i++)
        held -= cf_rank_bit(lasting->planes[i], rank);
    return (enum cf_edge_rank)held;
}

/* Whether the edge between these ranks counts. */
static inline bool cf_lasting_counts(const struct cf_lasting *lasting, struct cf_rank from,
                                     struct cf_rank to) {
    if (lasting->kinds == NULL)
        return true;
    enum cf_edge_rank held = cf_lasting_held(lasting, to);
    const uint16_t *classes = lasting->kinds->classes;
    return held == CF_EDGE_UNUSUAL ||
           (cf_lasting_held(lasting, from) <= held &&
            cf_edge_kinds_rank(lasting->kinds, classes[from.index], classes[to.index]) <= held);
}

#endif
