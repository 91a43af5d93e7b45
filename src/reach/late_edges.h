/*
 * Edges of a graph that come in any order and are wanted by the vertex that they lead to, from the
 * last vertex to the first. Vertices that lie together share a bucket, and the edges of a bucket
 * fill blocks of a temporary file, each of which names the one before it:
 *
 *     file     | block | block | block | ...      4 KiB each, in the order in which they were full
 *     block    | block before it, edges | edge | edge | ...
 *
 * So there is one block a bucket in memory, some 4 MiB at most, and each block is written and read
 * in one go. A bucket that is read is sorted by counting, in a temporary file too: nobody can tell
 * how many edges lead to one place.
 */
#ifndef CF_REACH_LATE_EDGES_H
#define CF_REACH_LATE_EDGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/tempfile.h"
#include "corefrag.h"

enum {
    CF_LATE_PER_BLOCK = 512, /* the first of which is the block's header */
    CF_LATE_AHEAD = 24,
};

/* Of a graph; 0 stands for all roots together. */
struct cf_vertex {
    uint32_t index;
};

struct cf_late_edge {
    struct cf_vertex to;
    struct cf_vertex from;
};

struct cf_late_bucket {
    uint32_t before; /* 1 + the last block that was written; 0: none */
    uint32_t nr;     /* edges in its buffer */
    uint64_t total;
};

/* All zero is empty. */
struct cf_late_edges {
    unsigned shift; /* vertex >> shift is its bucket */
    size_t nr_buckets;
    struct cf_late_bucket *buckets;
    struct cf_late_edge *buffers; /* a block for each */
    struct cf_scratch_writer file;
    uint32_t nr_blocks;
    size_t loaded; /* bucket; nr_buckets: none */
    uint64_t *begins;       /* of its vertices, in `sorted` */
    struct cf_scratch room; /* for `sorted` */
    struct cf_vertex *sorted; /* where the edges come from; CF_LATE_AHEAD zeros in front */
};

/* For vertices below `nr_vertices`, more than none. CF_ENOMEM; CF_EOUTPUT when there is no room in
 * $TMPDIR (or /tmp). End with cf_late_edges_fini(), also after a failure. */
int cf_late_edges_begin(struct cf_late_edges *edges, size_t nr_vertices, struct cf_err *err);
void cf_late_edges_fini(struct cf_late_edges *edges);

/* The slow part of cf_late_edges_put(). */
void cf_late_edges_write(struct cf_late_edges *edges, size_t bucket);

static inline void cf_late_edges_put(struct cf_late_edges *edges, struct cf_vertex to,
                                     struct cf_vertex from) {
    size_t index = to.index >> edges->shift;
    struct cf_late_bucket *bucket = &edges->buckets[index];
    edges->buffers[index * CF_LATE_PER_BLOCK + ++bucket->nr] = (struct cf_late_edge){to, from};
    if (bucket->nr == CF_LATE_PER_BLOCK - 1)
        cf_late_edges_write(edges, index);
}

/* After all edges were put: those of the bucket of `vertex` can be asked for. As
 * cf_late_edges_begin(), and CF_ECANCELLED. */
int cf_late_edges_load(const struct cf_context *ctx, struct cf_late_edges *edges,
                       struct cf_vertex vertex, struct cf_err *err);

/* Where the edges to `vertex` come from: `*nr` vertices, borrowed until the next call. Of the
 * bucket that was loaded last. CF_LATE_AHEAD more can be read in front of them: those of lower
 * vertices, which are asked for next, or 0. */
static inline const struct cf_vertex *cf_late_edges_to(const struct cf_late_edges *edges,
                                                       struct cf_vertex vertex, uint64_t *nr) {
    size_t at = vertex.index & (((size_t)1 << edges->shift) - 1);
    *nr = edges->begins[at + 1] - edges->begins[at];
    return edges->sorted + edges->begins[at];
}

#endif
