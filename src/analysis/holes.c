#include "analysis/holes.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

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
    struct cf_hole open; /* bytes == 0: none */
    uint64_t last_live;  /* the chunk before, when it is live, else 0 */
    uint64_t run_start;  /* the run of resident memory that was looked up last */
    uint64_t run_end;
    CF_ARRAY(struct cf_hole) kept;
};

int cf_holes_new(const struct cf_mem *mem, const struct cf_trim *trim,
                 const struct cf_chunkmap *map, size_t nr_arenas, struct cf_holes **out,
                 struct cf_err *err) {
    struct cf_holes *holes = calloc(1, sizeof *holes);
    if (holes == NULL)
        return cf_err_nomem(err, sizeof *holes, "the holes");
    holes->mem = mem;
    holes->trim = mem != NULL ? trim : NULL;
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

void cf_holes_freep(struct cf_holes **holes) {
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
    if (holes->range == nr || ranges[holes->range].addr >= end)
        return;
    struct cf_residency residency = cf_residency_of_mem(holes->mem);
    hole->releasable = cf_trim_resident_within(holes->trim, &residency, hole->addr, end);
}

static void add_to_sums(struct cf_hole_sums *sums, uint64_t bytes) {
    sums->holes++;
    sums->bytes += bytes;
    if (bytes > sums->largest)
        sums->largest = bytes;
}

static void count_in_arena(struct arena_holes *arena, const struct cf_hole *hole) {
    add_to_sums(&arena->sums, hole->bytes);
    struct cf_hole_class *class = &arena->classes[63 - __builtin_clzll(hole->bytes)];
    class->holes++;
    class->bytes += hole->bytes;
    if (hole->resident_known) {
        class->resident_bytes += hole->resident_bytes;
        class->resident_known = true;
    }
    if (hole->releasable.known) {
        class->releasable.bytes += hole->releasable.bytes;
        class->releasable.known = true;
    }
}

static bool close_hole(struct cf_holes *holes, uint64_t above) {
    struct cf_hole *hole = &holes->open;
    if (hole->bytes == 0)
        return true;
    hole->above = above;
    find_resident(holes, hole);
    find_releasable(holes, hole);
    add_to_sums(&holes->heaps[hole->heap_id], hole->bytes);
    if (hole->arena_id < holes->nr_arenas)
        count_in_arena(&holes->arenas[hole->arena_id], hole);
    if (hole->bytes >= holes->page_bytes) {
        struct cf_hole *slot = cf_array_push(&holes->kept);
        if (slot == NULL)
            return false;
        *slot = *hole;
    }
    hole->bytes = 0;
    return true;
}

bool cf_holes_add(struct cf_holes *holes, const struct cf_heap *heap,
                  const struct cf_chunk *chunk) {
    if (!cf_chunk_is_dead(chunk->state)) {
        uint64_t live = chunk->state == CF_CHUNK_LIVE ? chunk->addr : 0;
        holes->last_live = live;
        return close_hole(holes, live);
    }
    if (holes->open.bytes == 0)
        holes->open = (struct cf_hole){.arena_id = heap->arena_id,
                                       .heap_id = heap->id,
                                       .addr = chunk->addr,
                                       .below = holes->last_live};
    holes->open.bytes += chunk->bytes;
    holes->open.chunks++;
    return true;
}

bool cf_holes_end_heap(struct cf_holes *holes, const struct cf_heap *heap) {
    (void)heap;
    holes->last_live = 0;
    return close_hole(holes, 0);
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
