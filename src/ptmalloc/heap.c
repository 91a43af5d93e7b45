/*
 * The order of the steps that rebuild ptmalloc, and the readers of what they leave. An arena's
 * own figures are fields of malloc_state; its top is initial_top() (the bins' own header, taken
 * for a chunk: malloc_init_state, all releases) until it is used first.
 */
#include "ptmalloc/heap.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"
#include "ptmalloc/state.h"

/* Free chunks as the walk met them against the bins' sums, arena by arena. */
static void compare_sums(struct cf_ptmalloc *pt) {
    bool complete = cf_core_complete(cf_mem_core(pt->mem));
    for (size_t i = 0; i < pt->arenas.len; i++) {
        const struct cf_arena *arena = &pt->arenas.items[i];
        if (arena->addr == 0 || (arena->walked_free == arena->nr_binned &&
                                 arena->walked_free_bytes == arena->binned_bytes))
            continue;
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){
                             .code = "free-not-binned", .arena_id = arena->id,
                             .heap_id = UINT32_MAX, .addr = arena->addr,
                             .in_complete =
                                 complete && cf_ptmalloc_left_out_bytes(pt, arena->id) == 0,
                             .excess_chunks = (int64_t)(arena->walked_free - arena->nr_binned),
                             .excess_bytes =
                                 (int64_t)(arena->walked_free_bytes - arena->binned_bytes)},
                         "the walk met %llu free chunks (%llu bytes), the bins have %llu (%llu)",
                         (unsigned long long)arena->walked_free,
                         (unsigned long long)arena->walked_free_bytes,
                         (unsigned long long)arena->nr_binned,
                         (unsigned long long)arena->binned_bytes);
    }
}

/* The order is the proof: heaps before the walk, the walk before the lists, all heaps before
 * mmapped chunks (they are outside of them), mmapped chunks before tcaches (from 2.43 on a
 * tcache may hold one). */
static int walk_all(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                    struct cf_err *err) {
    int status = cf_pieces_find(pt, err);
    if (status == CF_OK)
        status = cf_chunkmap_seal_heaps(pt->map, err);
    if (status == CF_OK)
        status = cf_walk_heaps(ctx, pt, nr_threads, err);
    if (status == CF_OK)
        status = cf_lists_follow(ctx, pt, nr_threads, err);
    if (status == CF_OK)
        status = cf_mmapped_find(pt, err);
    if (status == CF_OK)
        status = cf_tcaches_follow(pt, err);
    if (status == CF_OK)
        status = cf_chunkmap_seal(pt->map, err);
    if (status == CF_OK)
        compare_sums(pt);
    return status;
}

static void read_word(const struct cf_ptmalloc *pt, uint64_t addr, uint16_t offset,
                      uint64_t *out) {
    if (offset != CF_ABSENT)
        (void)cf_mem_word(pt->mem, addr + offset, out);
}

static void read_arena(const struct cf_ptmalloc *pt, struct cf_arena *arena) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(pt->malloc_found);
    uint64_t attached, word, initial_top = arena->addr + layout->bins - 2 * pt->word_bytes;
    uint32_t flags = 0;
    (void)cf_mem_u32(pt->mem, arena->addr + 4, &flags);
    arena->contiguous = (flags & 2) == 0; /* NONCONTIGUOUS_BIT, all releases */
    read_word(pt, arena->addr, layout->top, &arena->top);
    read_word(pt, arena->addr, layout->system_mem, &arena->system_mem);
    read_word(pt, arena->addr, layout->max_system_mem, &arena->max_system_mem);
    arena->attached_threads = -1;
    if (layout->attached_threads != CF_ABSENT &&
        cf_mem_word(pt->mem, arena->addr + layout->attached_threads, &attached))
        arena->attached_threads = (int64_t)attached;
    if (arena->top == initial_top)
        arena->top = 0; /* initial_top(): never used by malloc */
    if (arena->top != 0 && cf_mem_word(pt->mem, arena->top + pt->word_bytes, &word))
        arena->top_bytes = word & ~(uint64_t)SIZE_FLAGS;
}

static void take_bare_heap(const struct cf_bare_heap *heap, struct cf_arena *arena) {
    arena->contiguous = true;
    arena->top = heap->top;
    arena->top_bytes = heap->top != 0 ? heap->end - heap->top : 0;
}

static int read_arenas(struct cf_ptmalloc *pt, struct cf_err *err) {
    for (size_t i = 0; i < cf_malloc_nr_arenas(pt->malloc_found); i++) {
        const struct cf_arena_ref *ref = cf_malloc_arena(pt->malloc_found, i);
        struct cf_arena *arena = cf_array_push(&pt->arenas);
        if (arena == NULL)
            return cf_err_nomem(err, sizeof *arena, "an arena");
        *arena = (struct cf_arena){
            .id = (uint32_t)i, .ns = ref->ns, .addr = ref->addr, .is_main = ref->is_main,
            .attached_threads = -1,
        };
        if (arena->addr != 0)
            read_arena(pt, arena);
        else if (cf_malloc_bare_heap(pt->malloc_found) != NULL)
            take_bare_heap(cf_malloc_bare_heap(pt->malloc_found), arena);
    }
    return CF_OK;
}

int cf_ptmalloc_walk(const struct cf_context *ctx, const struct cf_malloc *m, unsigned nr_threads,
                     struct cf_ptmalloc **out, struct cf_err *err) {
    struct cf_ptmalloc *pt = calloc(1, sizeof *pt);
    if (pt == NULL)
        return cf_err_nomem(err, sizeof *pt, "the walk");
    pt->malloc_found = m;
    pt->mem = cf_malloc_mem(m);
    pt->word_bytes = cf_mem_word_bytes(pt->mem);
    pt->min_chunk = 4 * pt->word_bytes;
    pt->alignment = cf_malloc_alignment(m);
    int status = cf_chunkmap_new(pt->word_bytes, &pt->map, err);
    if (status == CF_OK && cf_malloc_nr_arenas(m) > 0) {
        status = read_arenas(pt, err);
        if (status == CF_OK)
            status = walk_all(ctx, pt, nr_threads, err);
    } else if (status == CF_OK) {
        status = cf_chunkmap_seal_heaps(pt->map, err);
        if (status == CF_OK)
            status = cf_chunkmap_seal(pt->map, err);
    }
    if (status != CF_OK) {
        cf_ptmalloc_free(pt);
        return status;
    }
    *out = pt;
    return CF_OK;
}

void cf_ptmalloc_free(struct cf_ptmalloc *pt) {
    if (pt == NULL)
        return;
    cf_chunkmap_free(pt->map);
    for (size_t i = 0; pt->bin_sums != NULL && i < pt->arenas.len; i++)
        free(pt->bin_sums[i]);
    free(pt->bin_sums);
    cf_array_free(&pt->arenas);
    cf_array_free(&pt->bins);
    cf_array_free(&pt->tcaches);
    cf_array_free(&pt->found_heaps);
    cf_array_free(&pt->tcache_chunks);
    cf_array_free(&pt->anomalies.rows);
    free(pt);
}

const struct cf_malloc *cf_ptmalloc_malloc(const struct cf_ptmalloc *pt) {
    return pt->malloc_found;
}

const struct cf_chunkmap *cf_ptmalloc_map(const struct cf_ptmalloc *pt) {
    return pt->map;
}

size_t cf_ptmalloc_nr_arenas(const struct cf_ptmalloc *pt) {
    return pt->arenas.len;
}

const struct cf_arena *cf_ptmalloc_arena(const struct cf_ptmalloc *pt, size_t id) {
    return &pt->arenas.items[id];
}

size_t cf_ptmalloc_nr_bins(const struct cf_ptmalloc *pt) {
    return pt->bins.len;
}

const struct cf_bin *cf_ptmalloc_bin(const struct cf_ptmalloc *pt, size_t index) {
    return &pt->bins.items[index];
}

size_t cf_ptmalloc_nr_tcaches(const struct cf_ptmalloc *pt) {
    return pt->tcaches.len;
}

const struct cf_tcache *cf_ptmalloc_tcache(const struct cf_ptmalloc *pt, size_t index) {
    return &pt->tcaches.items[index];
}

size_t cf_ptmalloc_nr_anomalies(const struct cf_ptmalloc *pt) {
    return pt->anomalies.rows.len;
}

const struct cf_anomaly *cf_ptmalloc_anomaly(const struct cf_ptmalloc *pt, size_t index) {
    return &pt->anomalies.rows.items[index];
}

uint64_t cf_ptmalloc_nr_anomalies_seen(const struct cf_ptmalloc *pt) {
    return pt->anomalies.seen;
}

static uint64_t left_out_of(const struct cf_mem *mem, const struct cf_heap *heap) {
    uint64_t bytes = 0;
    for (size_t i = cf_mem_lower_bound(mem, heap->start); i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->start >= heap->end)
            break;
        if (cf_region_is_writable(region) && region->data_bytes == 0 && region->cut_bytes == 0)
            bytes += cf_overlap(region->start, region->end, heap->start, heap->end);
    }
    return bytes;
}

uint64_t cf_ptmalloc_left_out_bytes(const struct cf_ptmalloc *pt, uint32_t arena_id) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(pt->map); i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(pt->map, i);
        if (arena_id == UINT32_MAX || heap->arena_id == arena_id)
            bytes += left_out_of(pt->mem, heap);
    }
    return bytes;
}
