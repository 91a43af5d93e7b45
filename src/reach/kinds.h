/*
 * Edges by kind, and which kinds are usual. What a program stores it stores again and again at the
 * same places: each node of a list has a next one, each order a text. A word that was left behind
 * in memory that somebody else got since, and was never written over, looks like a pointer too, but
 * leads from any kind of chunk to any other. So chunks are put into classes, an edge's kind is its
 * two classes, and a kind is usual when it is
 *
 *   - in at least one in CF_USUAL_FROM chunks of the class that it leads from, or
 *   - at least one edge for each CF_USUAL_TO chunks of the class that it leads to.
 *
 * The caller's classes (by type, or by size) mix what has one size by chance. So they are divided
 * once by how their chunks are held: by the class that the commonest kind of edge to a chunk leads
 * from. Nodes of a table are held by nodes and buckets, blocks of the same size by their array.
 *
 * Of few chunks a quarter says little: what makes a kind usual by its first rule alone, in a class
 * of less than CF_MANY_CHUNKS, is an entry. It may be the head of a list, or chance.
 *
 * It is a guess about a single edge, and errs on both sides: it must only weigh edges against each
 * other where there are several. What is reached stays reached.
 */
#ifndef CF_REACH_KINDS_H
#define CF_REACH_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/links.h"

enum {
    CF_USUAL_FROM = 4,
    CF_USUAL_TO = 20,
    CF_MANY_CHUNKS = 16,
    CF_EDGE_KINDS_MAX = 1 << 20, /* beyond them every edge is usual */
    CF_CLASS_PAIRS_MAX = 1 << 20,
};

enum cf_edge_rank { CF_EDGE_USUAL, CF_EDGE_ENTRY, CF_EDGE_UNUSUAL };

struct cf_edge_kind {
    uint32_t chunks; /* that have such an edge */
    uint32_t last;   /* 1 and the rank of the last one */
    uint64_t edges;
};

/* All zero: every edge is usual. End with cf_edge_kinds_fini(). */
struct cf_edge_kinds {
    const uint16_t *classes; /* by rank; 0: more than can be numbered, all its edges are usual */
    CF_ARRAY(uint32_t) keys; /* by kind: its classes, that from which it leads on top */
    CF_ARRAY(struct cf_edge_kind) counts;
    struct cf_hash table;
    uint8_t *ranks;    /* enum cf_edge_rank: by kind, or, where that is small, by pair of classes */
    size_t nr_classes; /* 0: by kind */
    struct cf_scratch file;
};

/* Of all edges between live chunks. `classes` by rank, 0 as above. CF_ENOMEM, CF_ECANCELLED;
 * CF_EOUTPUT when there is no room in $TMPDIR (or /tmp). */
int cf_edge_kinds_judge(const struct cf_context *ctx, const struct cf_links *links,
                        const uint16_t *classes, struct cf_edge_kinds *out, struct cf_err *err);
void cf_edge_kinds_fini(struct cf_edge_kinds *kinds);

/* The number of a kind; CF_HASH_NONE: there is no such edge. */
static inline uint32_t cf_edge_kinds_row(const struct cf_edge_kinds *kinds, uint16_t from,
                                         uint16_t to) {
    uint32_t key = (uint32_t)from << 16 | to;
    return cf_hash_find(&kinds->table, cf_hash_mix(key), i, kinds->keys.items[i] == key);
}

/* Of an edge between chunks of these classes. */
static inline enum cf_edge_rank cf_edge_kinds_rank(const struct cf_edge_kinds *kinds,
                                                   uint16_t from, uint16_t to) {
    if (kinds->nr_classes > 0)
        return (enum cf_edge_rank)kinds->ranks[from * kinds->nr_classes + to];
    uint32_t row = cf_edge_kinds_row(kinds, from, to);
    return row == CF_HASH_NONE ? CF_EDGE_USUAL : (enum cf_edge_rank)kinds->ranks[row];
}

#endif
