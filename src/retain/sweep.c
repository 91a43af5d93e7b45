#include "retain/sweep.h"

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "ptmalloc/planes.h"

enum { TICK_CHUNKS = 1 << 17 };

static int no_room(const struct cf_holes *holes, struct cf_err *err) {
    return cf_err_nomem(err, cf_holes_nr(holes) * sizeof(struct cf_hole), "holes");
}

static int sweep_heap(const struct cf_context *ctx, const struct cf_chunkmap *map,
                      const struct cf_heap *heap, struct cf_sizes *sizes,
                      struct cf_size_counts *counts, struct cf_holes *holes, struct cf_err *err) {
    struct cf_planes_walk walk = cf_planes_walk(cf_chunkmap_planes(map), heap);
    struct cf_hole_run run = {0};
    struct cf_chunk chunk;
    size_t until_tick = TICK_CHUNKS;
    while (cf_planes_walk_next(&walk, &chunk)) {
        if (!cf_sizes_add(sizes, heap, counts, &chunk) ||
            !cf_holes_add(holes, heap, &run, &chunk))
            return no_room(holes, err);
        if (--until_tick > 0)
            continue;
        until_tick = TICK_CHUNKS;
        if (cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    return cf_sizes_end_heap(sizes, heap, counts) && cf_holes_end_heap(holes, heap, &run)
               ? CF_OK
               : no_room(holes, err);
}

int cf_sweep(const struct cf_context *ctx, const struct cf_mem *mem, const struct cf_trim *trim,
             const struct cf_chunkmap *map, size_t nr_arenas,
             struct cf_sizes **out_sizes, struct cf_holes **out_holes, struct cf_err *err) {
    CF_CLEANUP(cf_sizes_freep) struct cf_sizes *sizes = NULL;
    CF_CLEANUP(cf_holes_freep) struct cf_holes *holes = NULL;
    int status = cf_sizes_new(map, nr_arenas, &sizes, err);
    if (status == CF_OK)
        status = cf_holes_new(mem, trim, map, nr_arenas, &holes, err);
    if (status != CF_OK)
        return status;
    size_t nr_heaps = cf_chunkmap_nr_heaps(map);
    struct cf_size_counts counts;
    cf_size_counts_init(&counts, map);
    for (size_t i = 0; i < nr_heaps && status == CF_OK; i++)
        status = cf_tick(ctx) ? cf_err_cancelled(err)
                              : sweep_heap(ctx, map, cf_chunkmap_heap(map, i), sizes, &counts,
                                           holes, err);
    if (status == CF_OK)
        status = cf_sizes_finish(sizes, err);
    if (status != CF_OK)
        return status;
    *out_sizes = cf_take(&sizes);
    *out_holes = cf_take(&holes);
    return CF_OK;
}
