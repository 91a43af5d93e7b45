/*
 * _int_free consolidates and trims once a chunk of FASTBIN_CONSOLIDATION_THRESHOLD (64 KiB) came
 * together: systrim(top_pad) for main arena where top has reached trim_threshold, heap_trim()
 * for the others (2.17 to 2.44). heap_trim compares top with the threshold from 2.23 on only.
 */
#include "retain/freeing.h"

#include <stdlib.h>

#include "retain/heapchain.h"
#include "base/checked.h"
#include "base/err.h"

static void add_range(struct cf_free_arena *arena, const struct cf_residency *residency,
                      const struct cf_trim *trim, uint64_t start, uint64_t end) {
    struct cf_resident_bytes part = cf_residency_count(residency, start, end);
    arena->beyond_trim_bytes +=
        part.bytes - cf_trim_resident_within(trim, residency, start, end).bytes;
    arena->resident.known = arena->bytes == 0 ? part.known : arena->resident.known || part.known;
    arena->resident.bytes += part.bytes;
    arena->bytes += end - start;
}

/* heap_trim()'s shrinking of the top that is left. */
static uint64_t shrink_bytes(const struct cf_trim_rule *rule, uint64_t top_bytes, uint64_t page) {
    uint64_t keep;
    if (rule->heap_has_threshold && top_bytes < rule->trim_threshold)
        return 0;
    if (!cf_add_u64(cf_trim_min_chunk(rule) + 1, rule->top_pad, &keep) || top_bytes <= keep)
        return 0;
    return cf_align_down(top_bytes - keep, page);
}

uint64_t cf_freeing_top_bytes(const struct cf_trim_rule *rule, const struct cf_heap *heap,
                              uint64_t top) {
    const struct cf_trim_arena *arena = &rule->arenas[heap->arena_id];
    uint64_t top_bytes = heap->chunks_end - top;
    if (!arena->is_main)
        return shrink_bytes(rule, top_bytes, rule->heaps[heap->id].page_bytes);
    if (!arena->by_brk || top_bytes < rule->trim_threshold)
        return 0;
    return cf_trim_top_bytes(rule, top_bytes, rule->top_pad);
}

static void free_top(const struct cf_trim_rule *rule, const struct cf_residency *residency,
                     const struct cf_trim *trim, const struct cf_heap *heap, uint64_t top,
                     struct cf_free_arena *out) {
    out->top_bytes = heap->chunks_end - top;
    uint64_t bytes = cf_freeing_top_bytes(rule, heap, top);
    if (bytes > 0)
        add_range(out, residency, trim, heap->chunks_end - bytes, heap->chunks_end);
}

static void free_thread(const struct cf_heap_chain *chain, const struct cf_residency *residency,
                        const struct cf_trim *trim, uint64_t top, struct cf_free_arena *out) {
    struct cf_top_rest rest = cf_heap_chain_settle(chain, 0, top, false);
    for (size_t i = 0; i < rest.heap; i++) {
        const struct cf_heap *gone = cf_heap_chain_at(chain, i);
        add_range(out, residency, trim, gone->start, gone->end);
    }
    out->dropped_heaps = rest.heap;
    free_top(chain->rule, residency, trim, cf_heap_chain_at(chain, rest.heap), rest.top, out);
}

static void add_to_all(struct cf_free_arena *all, const struct cf_free_arena *arena) {
    all->top_bytes += arena->top_bytes;
    all->dropped_heaps += arena->dropped_heaps;
    if (arena->bytes == 0)
        return;
    all->resident.known = all->bytes == 0 ? arena->resident.known
                                          : all->resident.known || arena->resident.known;
    all->resident.bytes += arena->resident.bytes;
    all->beyond_trim_bytes += arena->beyond_trim_bytes;
    all->bytes += arena->bytes;
}

/* A heap with an arena's top: fills the arena's row. */
static int free_arena(struct cf_heap_chain *chain, const struct cf_residency *residency,
                      const struct cf_trim *trim, const struct cf_heap *heap,
                      struct cf_freeing *out, struct cf_err *err) {
    uint64_t top = trim->arenas[heap->arena_id].top_start;
    if (heap->top == 0 || top < heap->start || top > heap->top)
        return CF_OK;
    struct cf_free_arena *arena = &out->arenas[heap->arena_id];
    if (chain->rule->arenas[heap->arena_id].is_main) {
        free_top(chain->rule, residency, trim, heap, top, arena);
    } else {
        int rc = cf_heap_chain_build(chain, chain->map, chain->rule, heap, err);
        if (rc != CF_OK)
            return rc;
        free_thread(chain, residency, trim, top, arena);
    }
    add_to_all(&out->all, arena);
    return CF_OK;
}

int cf_freeing_find(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                    const struct cf_residency *residency, const struct cf_trim *trim,
                    struct cf_freeing *out, struct cf_err *err) {
    struct cf_freeing freeing = {.nr_arenas = rule->nr_arenas};
    freeing.arenas = calloc(rule->nr_arenas + 1, sizeof *freeing.arenas);
    if (freeing.arenas == NULL)
        return cf_err_nomem(err, rule->nr_arenas * sizeof *freeing.arenas, "what free() returns");
    for (size_t i = 0; i < rule->nr_arenas; i++)
        freeing.arenas[i].resident.known = true;
    freeing.all.resident.known = true;
    struct cf_heap_chain chain = {.map = map, .rule = rule};
    int rc = CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && rc == CF_OK; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        if (heap->arena_id < rule->nr_arenas)
            rc = free_arena(&chain, residency, trim, heap, &freeing, err);
    }
    cf_heap_chain_fini(&chain);
    if (rc != CF_OK) {
        cf_freeing_fini(&freeing);
        return rc;
    }
    *out = freeing;
    return CF_OK;
}

void cf_freeing_fini(struct cf_freeing *freeing) {
    free(freeing->arenas);
    freeing->arenas = NULL;
}
