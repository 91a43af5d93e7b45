/*
 * The live chunks that roots reach as a graph for passes that need its edges both ways: vertices
 * numbered in the order of a depth-first search from the roots, which together are vertex 0; each
 * one's parent in that search; and its predecessors. All of it stands in temporary files, some 20
 * bytes a chunk and 4 a pointer.
 *
 *     preds:  ... | of v: preds[first_pred[v]] ... preds[first_pred[v + 1] - 1] | of v + 1 ...
 *
 * A chunk never precedes itself; the roots are not among the predecessors but a bit of their own.
 */
#ifndef CF_REACH_GRAPH_H
#define CF_REACH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/ranks.h"
#include "reach/reach.h"
#include "base/scratch.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_graph {
    const struct cf_resolver *resolver;
    const struct cf_mem *mem;
    struct cf_ranks ranks;
    uint32_t nr; /* vertices, the roots' included: [0, nr) */
    const uint32_t *parent;     /* of [1, nr) */
    const uint32_t *first_pred; /* nr + 1 of them */
    const uint32_t *preds;
    /* internal */
    uint32_t *ranked;   /* by vertex: rank of its chunk */
    uint32_t *vertices; /* by rank: its vertex, 0: not reached */
    uint64_t *rooted;   /* a bit for each rank */
    struct cf_scratch tables;
    struct cf_scratch edges;
};

/* `graph` is all zero. CF_ENOMEM; CF_EOUTPUT as cf_scratch_init(); CF_EUSAGE: more than 32 bits can
 * number. End with cf_graph_fini(), also after a failure. */
int cf_graph_make(struct cf_graph *graph, const struct cf_context *ctx, const struct cf_mem *mem,
                  const struct cf_reach *reach, struct cf_err *err);
void cf_graph_fini(struct cf_graph *graph);

/* The number (reach/resolve.h) of a vertex's chunk; not of vertex 0. */
size_t cf_graph_number(const struct cf_graph *graph, uint32_t vertex);
/* Whether a root leads to it straight away. */
bool cf_graph_is_rooted(const struct cf_graph *graph, uint32_t vertex);

#endif
