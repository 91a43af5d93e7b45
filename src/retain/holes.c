/*
 * Runs of dead chunks are closed by the first one that is not. Most holes are small, of one
 * chunk, lie in a run of resident pages and have nothing that malloc_trim would release: those
 * are only counted by power of two, until their heap ends. Trim's ranges and the runs of
 * residency go up with the holes, so that each is looked at once: time is linear in chunks,
 * ranges and runs.
 */
#include "retain/holes.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "ptmalloc/planes.h"
#include "base/context.h"
#include "base/cleanup.h"

enum { DEFAULT_PAGE_BYTES = 4096 };

struct arena_holes {
    struct cf_hole_sums sums;
    struct cf_hole_class classes[CF_HOLE_CLASSES];
};

struct cf_holes {
    const struct cf_mem *mem;
    const struct cf_trim *trim;
    size_t range; /* the first of trim's that ends above the last hole's start */
    uint64_t page_bytes;
    size_t nr_arenas;
    size_t nr_heaps;
    struct arena_holes *arenas;
    struct cf_hole_sums *heaps;
    struct cf_hole_class small[CF_HOLE_CLASSES]; /* of the heap at hand; see is_plain() */
    uint64_t small_largest;
    uint64_t next_range; /* where `range` starts: holes below it have nothing to release */
    uint64_t run_start;  /* the run of resident memory that was looked up last */
    uint64_t run_end;
    CF_ARRAY(struct cf_hole) kept;
};

static int new_holes(const struct cf_mem *mem, const struct cf_trim *trim,
                     const struct cf_chunkmap *map, size_t nr_arenas, struct cf_holes **out,
                     struct cf_err *err) {
    struct cf_holes *holes = calloc(1, sizeof *holes);
    if (holes == NULL)
        return cf_err_nomem(err, sizeof *holes, "the holes");
    holes->mem = mem;
    holes->trim = mem != NULL ? trim : NULL;
    holes->next_range = holes->trim == NULL ? UINT64_MAX : 0; /* 0: not looked up yet */
    holes->page_bytes = mem != NULL ? cf_mem_page_bytes(mem) : DEFAULT_PAGE_BYTES;
    holes->nr_arenas = nr_arenas;
    holes->nr_heaps = cf_chunkmap_nr_heaps(map);
    holes->arenas = calloc(nr_arenas + 1, sizeof *holes->arenas);
    holes->heaps = calloc(holes->nr_heaps + 1, sizeof *holes->heaps);
    if (holes->arenas == NULL || holes->heaps == NULL) {
        cf_holes_free(holes);
        return cf_err_nomem(err, nr_arenas * sizeof *holes->arenas, "the holes");
    }
    *out = holes;
    return CF_OK;
}

void cf_holes_free(struct cf_holes *holes) {
    if (holes == NULL)
        return;
    free(holes->arenas);
    free(holes->heaps);
    cf_array_free(&holes->kept);
    free(holes);
}

static void free_holes(struct cf_holes **holes) {
    cf_holes_free(*holes);
}

/* Most holes lie within the run of resident pages that held the hole before: no search then. */
static void find_resident(struct cf_holes *holes, struct cf_hole *hole) {
    if (holes->mem == NULL)
        return;
    uint64_t end = hole->addr + hole->bytes;
    if (hole->addr >= holes->run_end || hole->addr < holes->run_start) {
        if (!cf_mem_next_resident(holes->mem, hole->addr, &holes->run_start, &holes->run_end))
            holes->run_start = holes->run_end = 0;
    }
    if (hole->addr >= holes->run_start && end <= holes->run_end) {
        hole->resident_bytes = hole->bytes;
        hole->resident_known = true;
        return;
    }
    hole->resident_known =
        cf_mem_resident_bytes(holes->mem, hole->addr, end, &hole->resident_bytes);
}

/* Holes come by address, as trim's ranges do: most have none of them. */
static void find_releasable(struct cf_holes *holes, struct cf_hole *hole) {
    if (holes->trim == NULL)
        return;
    const struct cf_trim_range *ranges = holes->trim->ranges.items;
    size_t nr = holes->trim->ranges.len;
    while (holes->range < nr &&
           ranges[holes->range].addr + ranges[holes->range].bytes <= hole->addr)
        holes->range++;
    uint64_t end = hole->addr + hole->bytes;
    hole->releasable.known = true;
    holes->next_range = holes->range == nr ? UINT64_MAX : ranges[holes->range].addr;
    if (holes->next_range >= end)
        return;
    struct cf_residency residency = cf_residency_of_mem(holes->mem);
    hole->releasable = cf_trim_resident_within(holes->trim, &residency, hole->addr, end);
}

static void merge_sums(struct cf_hole_sums *sums, const struct cf_hole_sums *more) {
    sums->holes += more->holes;
    sums->bytes += more->bytes;
    if (more->largest > sums->largest)
        sums->largest = more->largest;
}

static void add_class(struct cf_hole_class *class, const struct cf_hole_class *more) {
    class->holes += more->holes;
    class->bytes += more->bytes;
    class->resident_bytes += more->resident_bytes;
    class->resident_known |= more->resident_known;
    class->releasable.bytes += more->releasable.bytes;
    class->releasable.known |= more->releasable.known;
}

static void count_in_arena(struct arena_holes *arena, const struct cf_hole *hole) {
    const struct cf_hole_class one = {
        .holes = 1,
        .bytes = hole->bytes,
        .resident_bytes = hole->resident_known ? hole->resident_bytes : 0,
        .resident_known = hole->resident_known,
        .releasable = {.bytes = hole->releasable.known ? hole->releasable.bytes : 0,
                       .known = hole->releasable.known},
    };
    merge_sums(&arena->sums, &(struct cf_hole_sums){1, hole->bytes, hole->bytes});
    add_class(&arena->classes[63 - __builtin_clzll(hole->bytes)], &one);
}

/* Below a page, all in memory, nothing to release: most are, and they are only counted. */
static bool is_plain(const struct cf_holes *holes, uint64_t addr, uint64_t bytes) {
    uint64_t end = addr + bytes;
    return bytes < holes->page_bytes && addr >= holes->run_start && end <= holes->run_end &&
           end <= holes->next_range;
}

/* The hole at hand, while a heap's chunks go by; begins as zeros. */
struct hole_run {
    uint64_t addr;
    uint64_t bytes; /* 0: there is none */
    uint64_t chunks;
    uint64_t below;
    uint64_t last_live; /* the chunk before, when it is live, else 0 */
};

/* The hole ends; `above` as in struct cf_hole. False: memory is out. */
static bool close_hole(struct cf_holes *holes, const struct cf_heap *heap, struct hole_run *run,
                       uint64_t above) {
    uint64_t bytes = run->bytes, chunks = run->chunks;
    run->bytes = run->chunks = 0;
    if (is_plain(holes, run->addr, bytes)) {
        struct cf_hole_class *class = &holes->small[63 - __builtin_clzll(bytes)];
        class->holes++;
        class->bytes += bytes;
        holes->small_largest = bytes > holes->small_largest ? bytes : holes->small_largest;
        return true;
    }
    struct cf_hole hole = {.arena_id = heap->arena_id, .heap_id = heap->id, .addr = run->addr,
                           .bytes = bytes, .chunks = chunks, .below = run->below,
                           .above = above};
    find_resident(holes, &hole);
    find_releasable(holes, &hole);
    merge_sums(&holes->heaps[heap->id], &(struct cf_hole_sums){1, bytes, bytes});
    if (heap->arena_id < holes->nr_arenas)
        count_in_arena(&holes->arenas[heap->arena_id], &hole);
    if (bytes < holes->page_bytes)
        return true;
    struct cf_hole *slot = cf_array_push(&holes->kept);
    if (slot != NULL)
        *slot = hole;
    return slot != NULL;
}

static inline bool add_chunk(struct cf_holes *holes, const struct cf_heap *heap,
                             struct hole_run *run, const struct cf_chunk *chunk) {
    if (cf_chunk_is_dead(chunk->state)) {
        run->addr = run->bytes == 0 ? chunk->addr : run->addr;
        run->below = run->bytes == 0 ? run->last_live : run->below;
        run->bytes += chunk->bytes;
        run->chunks++;
        return true;
    }
    run->last_live = chunk->state == CF_CHUNK_LIVE ? chunk->addr : 0;
    return run->bytes == 0 || close_hole(holes, heap, run, run->last_live);
}

/* The heap's plain holes go into the sums. */
static void settle_small(struct cf_holes *holes, const struct cf_heap *heap) {
    struct cf_hole_sums sums = {.largest = holes->small_largest};
    bool in_arena = heap->arena_id < holes->nr_arenas;
    for (size_t k = 0; k < CF_HOLE_CLASSES; k++) {
        struct cf_hole_class *class = &holes->small[k];
        if (class->holes == 0)
            continue;
        class->resident_bytes = class->bytes;
        class->resident_known = true;
        class->releasable.known = holes->trim != NULL;
        sums.holes += class->holes;
        sums.bytes += class->bytes;
        if (in_arena)
            add_class(&holes->arenas[heap->arena_id].classes[k], class);
        *class = (struct cf_hole_class){0};
    }
    merge_sums(&holes->heaps[heap->id], &sums);
    if (in_arena)
        merge_sums(&holes->arenas[heap->arena_id].sums, &sums);
    holes->small_largest = 0;
}

static bool end_heap(struct cf_holes *holes, const struct cf_heap *heap, struct hole_run *run) {
    bool kept = run->bytes == 0 || close_hole(holes, heap, run, 0);
    settle_small(holes, heap);
    return kept;
}

size_t cf_holes_nr(const struct cf_holes *holes) {
    return holes->kept.len;
}

const struct cf_hole *cf_holes_get(const struct cf_holes *holes, size_t index) {
    return &holes->kept.items[index];
}

const struct cf_hole_class *cf_holes_classes(const struct cf_holes *holes, size_t arena_id) {
    return holes->arenas[arena_id].classes;
}

const struct cf_hole_sums *cf_holes_heap(const struct cf_holes *holes, size_t heap_id) {
    return &holes->heaps[heap_id];
}

const struct cf_hole_sums *cf_holes_arena(const struct cf_holes *holes, size_t arena_id) {
    return &holes->arenas[arena_id].sums;
}

/* ---- sizes and holes together ---- */

enum { TICK_CHUNKS = 1 << 17 };

static int no_room(const struct cf_holes *holes, struct cf_err *err) {
    return cf_err_nomem(err, cf_holes_nr(holes) * sizeof(struct cf_hole), "holes");
}

static int sweep_heap(const struct cf_context *ctx, const struct cf_chunkmap *map,
                      const struct cf_heap *heap, struct cf_sizes *sizes,
                      struct cf_size_counts *counts, struct cf_holes *holes, struct cf_err *err) {
    struct cf_planes_walk walk = cf_planes_walk(cf_chunkmap_planes(map), heap);
    struct hole_run run = {0};
    struct cf_chunk chunk;
    size_t until_tick = TICK_CHUNKS;
    while (cf_planes_walk_next(&walk, &chunk)) {
        if (!cf_sizes_add(sizes, heap, counts, &chunk) ||
            !add_chunk(holes, heap, &run, &chunk))
            return no_room(holes, err);
        if (--until_tick > 0)
            continue;
        until_tick = TICK_CHUNKS;
        if (cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    return cf_sizes_end_heap(sizes, heap, counts) && end_heap(holes, heap, &run)
               ? CF_OK
               : no_room(holes, err);
}

int cf_sweep(const struct cf_context *ctx, const struct cf_mem *mem, const struct cf_trim *trim,
             const struct cf_chunkmap *map, size_t nr_arenas,
             struct cf_sizes **out_sizes, struct cf_holes **out_holes, struct cf_err *err) {
    CF_CLEANUP(cf_sizes_freep) struct cf_sizes *sizes = NULL;
    CF_CLEANUP(free_holes) struct cf_holes *holes = NULL;
    int status = cf_sizes_new(map, nr_arenas, &sizes, err);
    if (status == CF_OK)
        status = new_holes(mem, trim, map, nr_arenas, &holes, err);
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
