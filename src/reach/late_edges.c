/*
 * Distribution into buckets, then counting within one (Knuth, The Art of Computer Programming,
 * volume 3, 5.2 and 5.2.5): two passes over the edges, whatever their order.
 */
#include "reach/late_edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { BUCKETS_MAX = 1024, SHIFT_MIN = 10 };

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
    block[0] = (struct cf_late_edge){bucket->before, bucket->nr};
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
    *before = block[0].to;
    return true;
}

static int make_room(struct cf_late_edges *edges, uint64_t nr, struct cf_err *err) {
    if (edges->room.bytes / sizeof *edges->sorted >= nr + 1)
        return CF_OK;
    cf_scratch_fini(&edges->room);
    int status = cf_scratch_init(&edges->room, (nr + 1) * sizeof *edges->sorted, err);
    edges->sorted = edges->room.at;
    return status;
}

/* Ends become beginnings while the edges go to their places, each vertex's from behind. */
static void sort(struct cf_late_edges *edges, size_t index) {
    struct cf_late_edge block[CF_LATE_PER_BLOCK];
    size_t nr = (size_t)1 << edges->shift, mask = nr - 1;
    memset(edges->begins, 0, (nr + 2) * sizeof *edges->begins);
    for (uint32_t before = edges->buckets[index].before; next_block(edges, &before, block);)
        for (uint32_t i = 1; i <= block[0].from; i++)
            edges->begins[block[i].to & mask]++;
    for (size_t i = 1; i <= nr; i++)
        edges->begins[i] += edges->begins[i - 1];
    for (uint32_t before = edges->buckets[index].before; next_block(edges, &before, block);)
        for (uint32_t i = 1; i <= block[0].from; i++)
            edges->sorted[--edges->begins[block[i].to & mask]] = block[i].from;
}

int cf_late_edges_load(struct cf_late_edges *edges, uint32_t vertex, struct cf_err *err) {
    size_t index = vertex >> edges->shift;
    if (index == edges->loaded)
        return CF_OK;
    if (edges->buckets[index].nr > 0)
        cf_late_edges_write(edges, index);
    if (edges->file.code != 0)
        return cf_err_errno(err, CF_EOUTPUT, edges->file.code, "edges of the graph (TMPDIR)");
    int status = make_room(edges, edges->buckets[index].total, err);
    if (status != CF_OK)
        return status;
    sort(edges, index);
    edges->loaded = index;
    return CF_OK;
}

void cf_late_edges_fini(struct cf_late_edges *edges) {
    cf_scratch_abandon(&edges->file);
    cf_scratch_fini(&edges->room);
    free(edges->buckets);
    free(edges->buffers);
    free(edges->begins);
    *edges = (struct cf_late_edges){.nr_buckets = 0};
}
