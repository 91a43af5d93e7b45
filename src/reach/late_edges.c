/*
 * Distribution into buckets, then counting within one (Knuth, The Art of Computer Programming,
 * volume 3, 5.2 and 5.2.5): two passes over the edges, whatever their order.
 */
#include "reach/late_edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"

enum { BUCKETS_MAX = 1024, SHIFT_MIN = 10, TICK_BLOCKS = 1024 };

int cf_late_edges_begin(struct cf_late_edges *edges, size_t nr_vertices, struct cf_err *err) {
    edges->shift = SHIFT_MIN;
    while ((nr_vertices >> edges->shift) >= BUCKETS_MAX)
        edges->shift++;
    edges->nr_buckets = edges->loaded = (nr_vertices >> edges->shift) + 1;
    size_t nr_edges = edges->nr_buckets * CF_LATE_PER_BLOCK;
    edges->buckets = calloc(edges->nr_buckets, sizeof *edges->buckets);
    edges->buffers = calloc(nr_edges, sizeof *edges->buffers);
    edges->begins = calloc(((size_t)1 << edges->shift) + 2, sizeof *edges->begins);
    if (edges->buckets == NULL || edges->buffers == NULL || edges->begins == NULL)
        return cf_err_nomem(err, nr_edges * sizeof *edges->buffers, "edges of the graph");
    return cf_scratch_begin(&edges->file, err);
}

void cf_late_edges_write(struct cf_late_edges *edges, size_t index) {
    struct cf_late_bucket *bucket = &edges->buckets[index];
    struct cf_late_edge *block = &edges->buffers[index * CF_LATE_PER_BLOCK];
    block[0] = (struct cf_late_edge){{bucket->before}, {bucket->nr}}; /* the header */
    cf_scratch_put(&edges->file, block, CF_LATE_PER_BLOCK * sizeof *block);
    bucket->before = ++edges->nr_blocks;
    bucket->total += bucket->nr;
    bucket->nr = 0;
}

/* False at the end of a bucket's blocks. */
static bool next_block(const struct cf_late_edges *edges, uint32_t *before,
                       struct cf_late_edge *block) {
    if (*before == 0)
        return false;
    size_t bytes = CF_LATE_PER_BLOCK * sizeof *block;
    cf_scratch_copy(&edges->file, (uint64_t)(*before - 1) * bytes, block, bytes);
    *before = block[0].to.index;
    return true;
}

static int make_room(struct cf_late_edges *edges, uint64_t nr, struct cf_err *err) {
    uint64_t wanted = nr + CF_LATE_AHEAD + 1;
    if (edges->room.bytes / sizeof *edges->sorted >= wanted)
        return CF_OK;
    cf_scratch_fini(&edges->room);
    int status = cf_scratch_init(&edges->room, wanted * sizeof *edges->sorted, err);
    if (status == CF_OK)
        edges->sorted = (struct cf_vertex *)edges->room.at + CF_LATE_AHEAD;
    return status;
}

/* Counts the edges of a block (`places` NULL), or puts them into their places. */
static void take_block(struct cf_late_edges *edges, const struct cf_late_edge *block,
                       struct cf_vertex *places) {
    size_t mask = ((size_t)1 << edges->shift) - 1;
    for (uint32_t i = 1; i <= block[0].from.index; i++) {
        uint64_t *end = &edges->begins[block[i].to.index & mask];
        if (places == NULL)
            ++*end;
        else
            places[--*end] = block[i].from;
    }
}

/* False: cancelled. */
static bool take_blocks(const struct cf_context *ctx, struct cf_late_edges *edges, size_t index,
                        struct cf_vertex *places) {
    struct cf_late_edge block[CF_LATE_PER_BLOCK];
    uint64_t nr = 0;
    for (uint32_t before = edges->buckets[index].before; next_block(edges, &before, block);) {
        take_block(edges, block, places);
        if (++nr % TICK_BLOCKS == 0 && cf_tick(ctx))
            return false;
    }
    return true;
}

/* By counting. Ends become beginnings while the edges go to their places, each vertex's from
 * behind. */
static int sort(const struct cf_context *ctx, struct cf_late_edges *edges, size_t index,
                struct cf_err *err) {
    size_t nr = (size_t)1 << edges->shift;
    memset(edges->begins, 0, (nr + 2) * sizeof *edges->begins);
    bool is_done = take_blocks(ctx, edges, index, NULL);
    for (size_t i = 1; i <= nr; i++)
        edges->begins[i] += edges->begins[i - 1];
    is_done = is_done && take_blocks(ctx, edges, index, edges->sorted);
    return is_done ? CF_OK : cf_err_cancelled(err);
}

int cf_late_edges_load(const struct cf_context *ctx, struct cf_late_edges *edges,
                       struct cf_vertex vertex, struct cf_err *err) {
    size_t index = vertex.index >> edges->shift;
    if (index == edges->loaded)
        return CF_OK;
    if (edges->buckets[index].nr > 0)
        cf_late_edges_write(edges, index);
    if (edges->file.code != 0)
        return cf_err_errno(err, CF_EOUTPUT, edges->file.code, "edges of the graph (TMPDIR)");
    int status = make_room(edges, edges->buckets[index].total, err);
    if (status == CF_OK)
        status = sort(ctx, edges, index, err);
    if (status == CF_OK)
        edges->loaded = index;
    return status;
}

void cf_late_edges_fini(struct cf_late_edges *edges) {
    cf_scratch_abandon(&edges->file);
    cf_scratch_fini(&edges->room);
    free(edges->buckets);
    free(edges->buffers);
    free(edges->begins);
    *edges = (struct cf_late_edges){.nr_buckets = 0};
}
