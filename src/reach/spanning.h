/*
 * A depth-first spanning tree of what roots reach, as the search for dominators wants it
 * (reach/dominators.h). Vertex 0 stands for all roots together; below it is a vertex for each group
 * of roots that leads anywhere, and below those are the chunks. Vertices are numbered in the order
 * in which the depth-first search meets them, so that a vertex has a higher number than all that
 * are above it.
 *
 * An edge to a vertex comes either from one with a lower number, and of these only the lowest
 * counts (`first`); or from one with a higher number, and these are the late edges.
 *
 * Groups that last go first. Groups that pass (stacks, registers) follow, and what was reached
 * before them is not reached again: no edge leads from their part of the tree into the part before
 * it.
 *
 * Edges between chunks count where reach/lasting.h says so.
 */
#ifndef CF_REACH_SPANNING_H
#define CF_REACH_SPANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/lasting.h"
#include "reach/late_edges.h"
#include "reach/links.h"

/* What leads into the heap: of group g the ranks targets[begins[g]] to targets[begins[g + 1] - 1].
 * Groups without targets have no vertex. */
struct cf_spanning_input {
    const struct cf_links *links;
    size_t nr_reached; /* chunks, from all groups together */
    size_t nr_groups;
    const uint64_t *begins;
    const uint32_t *targets;
    const bool *passes; /* by group */
    const struct cf_lasting *lasting; /* which edges count */
};

/* Of a vertex: the rank of its chunk, or this bit and the number of its group. */
static const uint32_t CF_SPANNING_GROUP = 1u << 31;

/* What is known of a vertex, with room for what whoever asked for the tree finds out. */
struct cf_spanned {
    struct cf_vertex parent;
    struct cf_vertex first; /* the lowest that has an edge to it */
    uint32_t room[2];
};

/* All zero is none. Tables are temporary files. */
struct cf_spanning {
    uint32_t nr;              /* vertices */
    uint32_t *vertices;       /* by rank: the vertex; 0: not reached */
    const uint32_t *sources;  /* by vertex; of vertex 0 nothing */
    struct cf_spanned *rows;  /* by vertex */
    struct cf_vertex *groups; /* by group; 0: it leads nowhere */
    struct cf_vertex first_passing; /* vertices from here on are of groups that pass */
    struct cf_late_edges late;
    struct cf_scratch ranked; /* vertices */
    struct cf_scratch named;  /* sources */
    struct cf_scratch work;   /* rows */
};

/* CF_ENOMEM; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp); CF_EUSAGE for more vertices
 * than can be numbered. End with cf_spanning_fini(), also after a failure. */
int cf_spanning_make(const struct cf_context *ctx, const struct cf_spanning_input *input,
                     struct cf_spanning *out, struct cf_err *err);
void cf_spanning_fini(struct cf_spanning *tree);

#endif
