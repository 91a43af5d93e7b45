/*
 * What each chunk and each root keeps alive alone: itself and all that could not be reached without
 * it. That is the dominator tree of what is reached: a vertex dominates another when every path
 * from the roots to that one leads through it, and the nearest of those is its immediate dominator.
 * The sum over what hangs right below vertex 0 is all that is reached.
 *
 *     0  all roots together
 *     |- group of roots: words that a person takes for one thing (a variable, a thread's stack and
 *     |  |               registers, a runtime's heap), as the caller groups them
 *     |  `- chunk        that only this group leads to
 *     |     `- chunk     that only that chunk leads to
 *     `- chunk           that several groups lead to
 *
 * Stacks and registers do not compete with roots that last: a thread that is just looking at a
 * table does not hold it. So the tree is made of what lasts (variables, thread-local storage,
 * mappings) first. Groups of stacks and registers keep only chunks that nothing lasting leads to,
 * and an edge from such a chunk to one that lasts does not count. Nor do unusual edges
 * compete with usual ones (reach/lasting.h): a word left behind in reused memory holds a chunk, and
 * takes it from nobody.
 *
 * Made from the links and the words of roots alone, 24 bytes a chunk in temporary files, and while
 * it is made 8 more for an edge that leads to a lower vertex. Immutable when made.
 */
#ifndef CF_REACH_DOMINATORS_H
#define CF_REACH_DOMINATORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/kinds.h"
#include "reach/lasting.h"
#include "reach/late_edges.h"
#include "reach/links.h"
#include "reach/roots.h"

/* What is no group's number. */
#define CF_NO_GROUP UINT32_MAX

/* Of a vertex. */
struct cf_dominated {
    uint64_t bytes; /* kept alive, its own counted */
    struct cf_vertex above; /* the immediate dominator */
    uint32_t chunks;
};

/* The words of roots by group. */
struct cf_grouping {
    size_t nr;         /* groups */
    uint64_t *begins;  /* by group, in `targets`, and the end */
    bool *passes;      /* by group */
    uint32_t *targets; /* ranks, by group */
    uint32_t *numbers; /* by word: its group */
    struct cf_scratch file;
};

/* All zero is none. End with cf_dominators_fini(). */
struct cf_dominators {
    const struct cf_links *links;
    const struct cf_ranks *ranks;
    struct cf_lasting lasting;
    struct cf_vertex first_passing; /* vertices from here on are of groups that pass */
    struct cf_grouping roots;
    uint32_t nr;               /* vertices; a dominator has a lower number than what it dominates */
    const uint32_t *vertices;  /* by rank: the vertex; 0: not reached */
    const uint32_t *sources;   /* by vertex: a rank, or CF_SPANNING_GROUP and a group */
    const struct cf_dominated *rows; /* by vertex */
    struct cf_vertex *groups;  /* by group; 0: it leads nowhere */
    size_t nr_groups;
    struct cf_scratch files[3]; /* vertices, sources, rows */
};

struct cf_dominators_input {
    const struct cf_links *links;
    const struct cf_root *roots;
    const struct cf_root_words *words;
    const struct cf_edge_kinds *kinds; /* NULL: every edge is usual */
    size_t nr_reached; /* chunks that the words lead to, and what those lead to */
    /* The group that a word of a root belongs to, below 2^31 and mostly one after the other;
     * CF_NO_GROUP: memory is out. Words of stacks and registers share no group with others. NULL:
     * each root is a group, by its index. Called once for each word, in their order. */
    uint32_t (*group_of)(void *source, const struct cf_root_word *word);
    void *source;
};

/* `out` is all zero. CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room in $TMPDIR (or
 * /tmp); CF_EUSAGE for more vertices than can be numbered. Borrows the links and kinds. */
int cf_dominators_find(const struct cf_context *ctx, const struct cf_dominators_input *input,
                       struct cf_dominators *out, struct cf_err *err);
void cf_dominators_fini(struct cf_dominators *dominators);

/* Vertex 0 for a chunk that is not reached, or a group that leads nowhere or is not known. */
struct cf_vertex cf_dominators_of_rank(const struct cf_dominators *dominators,
                                       struct cf_rank rank);
struct cf_vertex cf_dominators_of_group(const struct cf_dominators *dominators, uint32_t group);

/* The immediate dominator. */
struct cf_vertex cf_dominators_above(const struct cf_dominators *dominators,
                                     struct cf_vertex vertex);
/* CF_NO_RANK for vertices that are no chunk's, CF_NO_GROUP for those that are no group's. */
struct cf_rank cf_dominators_rank(const struct cf_dominators *dominators,
                                  struct cf_vertex vertex);
uint32_t cf_dominators_group(const struct cf_dominators *dominators, struct cf_vertex vertex);

struct cf_kept_alive {
    uint64_t bytes;
    uint64_t chunks;
};

/* What is kept alive by the vertex, a chunk's own bytes counted; of vertex 0 all that is
 * reached. */
struct cf_kept_alive cf_dominators_kept(const struct cf_dominators *dominators,
                                        struct cf_vertex vertex);

/* Whether an edge between two chunks that are reached counts: see above. */
static inline bool cf_dominators_counts(const struct cf_dominators *dominators,
                                        struct cf_rank from, struct cf_rank to) {
    if (dominators->vertices[from.index] >= dominators->first_passing.index &&
        dominators->vertices[to.index] < dominators->first_passing.index)
        return false;
    return cf_lasting_counts(&dominators->lasting, from, to);
}

/* Gives the pages back; the files keep their content. */
void cf_dominators_drop(const struct cf_dominators *dominators);

#endif
