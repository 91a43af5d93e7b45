/*
 * Which heaps each arena has. Thread arenas: their heap_infos. Main arena: one piece from
 * sbrk_base to the end of top while it is contiguous (foreign sbrk areas are gaps inside it);
 * once the break was refused (sysmalloc's mmap fallback sets NONCONTIGUOUS for good), pieces
 * that may stand anywhere in anonymous memory, page-aligned, each ended by a double fencepost
 * or by top. Their sizes add up to system_mem.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/err.h"
#include "core/drop.h"
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

static int add_heap(struct cf_ptmalloc *pt, const struct cf_heap *heap, struct cf_err *err) {
    struct cf_heap *slot = cf_array_push(&pt->found_heaps);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "a heap");
    *slot = *heap;
    return CF_OK;
}

static uint32_t arena_at(const struct cf_ptmalloc *pt, uint64_t addr) {
    for (size_t i = 0; i < pt->arenas.len; i++)
        if (pt->arenas.items[i].addr == addr)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* First chunk of a heap_info: after the malloc_state where this heap holds it (_int_new_arena),
 * else right after the heap_info (sysmalloc). */
static uint64_t first_chunk_of(const struct cf_ptmalloc *pt, const struct cf_heap_info *info) {
    const struct cf_heap_info_layout *layout = cf_malloc_heap_info_layout(pt->malloc_found);
    uint64_t at = info->addr + layout->bytes;
    if (info->ar_ptr >= info->addr && info->ar_ptr - info->addr < info->size)
        at = info->ar_ptr + cf_malloc_state_layout(pt->malloc_found)->bytes;
    return cf_chunk_from(pt, at);
}

static int add_thread_heap(struct cf_ptmalloc *pt, const struct cf_heap_info *info,
                           struct cf_err *err) {
    uint64_t max = cf_malloc_heap_max(pt->malloc_found);
    uint32_t arena_id = arena_at(pt, info->ar_ptr);
    if (arena_id == UINT32_MAX) {
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){.code = "heap-without-arena", .arena_id = UINT32_MAX,
                                              .heap_id = UINT32_MAX, .addr = info->addr,
                                              .in_complete = true},
                         "its ar_ptr 0x%llx is no arena", (unsigned long long)info->ar_ptr);
        return CF_OK;
    }
    const struct cf_arena *arena = &pt->arenas.items[arena_id];
    uint64_t accessible = info->mprotect_size > info->size ? info->mprotect_size : info->size;
    uint64_t chunks_end = info->addr + info->size;
    bool has_top = arena->top >= info->addr && arena->top < chunks_end;
    struct cf_heap heap = {
        .arena_id = arena_id,
        .start = info->addr,
        .first_chunk = first_chunk_of(pt, info),
        .end = info->addr + (accessible < max ? accessible : max),
        .chunks_end = chunks_end,
        .reserved_end = info->addr + max,
        .top = has_top ? arena->top : 0,
    };
    if (heap.first_chunk >= heap.chunks_end)
        heap.first_chunk = heap.chunks_end;
    return add_heap(pt, &heap, err);
}

static int add_thread_heaps(struct cf_ptmalloc *pt, struct cf_err *err) {
    for (size_t i = 0; i < cf_malloc_nr_heaps(pt->malloc_found); i++) {
        int status = add_thread_heap(pt, cf_malloc_heap(pt->malloc_found, i), err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* Where the main arena's contiguous area ends: behind top, or where system_mem says when top's
 * header is not in the core. */
static uint64_t contiguous_end(const struct cf_arena *arena, uint64_t sbrk_base) {
    uint64_t end;
    if (arena->top_bytes > 0 && cf_add_u64(arena->top, arena->top_bytes, &end))
        return end;
    if (cf_add_u64(sbrk_base, arena->system_mem, &end))
        return end;
    return 0;
}

/* The end of the run of mapped memory that holds `addr`, of whatever kind; 0 when unmapped. */
static uint64_t mapped_run_end(const struct cf_mem *mem, uint64_t addr) {
    uint64_t end = 0;
    for (size_t i = cf_mem_lower_bound(mem, addr); i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (end == 0 ? region->start > addr : region->start != end)
            break;
        end = region->end;
    }
    return end;
}

static int add_main_piece(struct cf_ptmalloc *pt, const struct cf_arena *arena, uint64_t start,
                          uint64_t end, struct cf_err *err) {
    bool has_top = arena->top >= start && arena->top < end;
    struct cf_heap heap = {
        .arena_id = arena->id,
        .start = start,
        .first_chunk = cf_chunk_from(pt, start),
        .end = end,
        .chunks_end = end,
        .reserved_end = end,
        .top = has_top ? arena->top : 0,
    };
    return add_heap(pt, &heap, err);
}

/* A piece that starts at `start`: fills its end (behind the fences, rounded up to the page; or
 * behind top). */
static bool probe_piece(struct cf_ptmalloc *pt, struct cf_word_view *view,
                        const struct cf_arena *arena, uint64_t start, uint64_t limit,
                        uint64_t *out_end) {
    struct cf_chain chain = {.top = arena->top, .limit = limit, .is_main = true};
    uint64_t first = cf_chunk_from(pt, start), word, end;
    if (first >= limit || !cf_word_view_get(view, first + pt->word_bytes, &word) ||
        !(word & PREV_INUSE))
        return false;
    switch (cf_chain_probe(view, pt, &chain, first, UINT64_MAX, &end)) {
    case CF_CHAIN_TOP:
        if (arena->top_bytes == 0 || arena->top_bytes > limit - end)
            return false;
        *out_end = end + arena->top_bytes;
        return true;
    case CF_CHAIN_FENCES:
        return cf_align_up(end, cf_mem_page_bytes(pt->mem), out_end) && *out_end <= limit;
    default:
        return false;
    }
}

/* The end of the run of mapped, writable, possibly anonymous memory that holds `addr`. */
static uint64_t anonymous_run_end(const struct cf_mem *mem, size_t index) {
    uint64_t end = cf_mem_region(mem, index)->end;
    for (size_t i = index + 1; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *next = cf_mem_region(mem, i);
        if (next->start != end || next->kind == CF_REGION_FILE || next->kind == CF_REGION_SHARED)
            break;
        end = next->end;
    }
    return end;
}

/* The heap_info that stands at `addr`'s HEAP_MAX boundary and covers it. */
static bool in_thread_heap(const struct cf_ptmalloc *pt, uint64_t addr, uint64_t *out_end) {
    uint64_t max = cf_malloc_heap_max(pt->malloc_found);
    uint64_t base = cf_align_down(addr, max);
    if (cf_malloc_heap_at(pt->malloc_found, base) == NULL)
        return false;
    *out_end = base + max;
    return true;
}

struct piece_search {
    struct cf_ptmalloc *pt;
    const struct cf_arena *arena;
    struct cf_word_view view;
    uint64_t first;     /* the piece at sbrk_base, added already */
    uint64_t first_end;
    uint64_t covered_end; /* of the last piece found: it may cross into the next region */
    uint64_t run_end;     /* of the run of regions that the last one looked at is in */
    uint64_t found_bytes;
    struct cf_rss_guard guard;
};

static int search_region(struct piece_search *search, size_t index, struct cf_err *err) {
    struct cf_ptmalloc *pt = search->pt;
    const struct cf_region *region = cf_mem_region(pt->mem, index);
    uint64_t page = cf_mem_page_bytes(pt->mem), at, end;
    if (region->start >= search->run_end)
        search->run_end = anonymous_run_end(pt->mem, index);
    uint64_t limit = search->run_end;
    if (!cf_align_up(region->start, page, &at))
        return CF_OK;
    while (at < region->end && search->found_bytes < search->arena->system_mem) {
        cf_rss_guard_step(&search->guard);
        if (at < search->covered_end) {
            at = search->covered_end;
        } else if (at >= search->first && at < search->first_end) {
            at = search->first_end;
        } else if (in_thread_heap(pt, at, &end)) {
            at = end;
        } else if (probe_piece(pt, &search->view, search->arena, at, limit, &end)) {
            int status = add_main_piece(pt, search->arena, at, end, err);
            if (status != CF_OK)
                return status;
            search->found_bytes += end - at;
            search->covered_end = at = end;
        } else {
            at = cf_next_present_page(pt->mem, at + page, page);
        }
    }
    return CF_OK;
}

static int add_scattered_pieces(struct cf_ptmalloc *pt, const struct cf_arena *arena,
                                uint64_t sbrk_base, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(pt->mem);
    struct piece_search search = {
        .pt = pt, .arena = arena,
        .guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1),
        .view = {.mem = pt->mem, .word_bytes = pt->word_bytes},
    };
    size_t index = cf_mem_lower_bound(pt->mem, sbrk_base);
    uint64_t end;
    if (sbrk_base != 0 && index < cf_mem_nr_regions(pt->mem) &&
        cf_mem_region(pt->mem, index)->start <= sbrk_base &&
        probe_piece(pt, &search.view, arena, sbrk_base, anonymous_run_end(pt->mem, index),
                    &end)) {
        int status = add_main_piece(pt, arena, sbrk_base, end, err);
        if (status != CF_OK)
            return status;
        search.first = sbrk_base;
        search.first_end = end;
        search.found_bytes = end - sbrk_base;
    }
    for (size_t i = 0; i < cf_mem_nr_regions(pt->mem); i++) {
        const struct cf_region *region = cf_mem_region(pt->mem, i);
        if (region->data_bytes == 0 || region->kind == CF_REGION_FILE ||
            region->kind == CF_REGION_SHARED)
            continue;
        int status = search_region(&search, i, err);
        if (status != CF_OK)
            return status;
    }
    if (search.found_bytes != arena->system_mem)
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){.code = "main-arena-size", .arena_id = arena->id,
                                              .heap_id = UINT32_MAX, .addr = arena->addr,
                                              .in_complete = cf_core_complete(
                                                  cf_mem_core(pt->mem))},
                         "pieces of %llu bytes found, system_mem is %llu",
                         (unsigned long long)search.found_bytes,
                         (unsigned long long)arena->system_mem);
    return CF_OK;
}

/* libc's data is not in the core: the heap stands alone. */
static int add_bare_heap(struct cf_ptmalloc *pt, const struct cf_arena *arena,
                         struct cf_err *err) {
    const struct cf_bare_heap *bare = cf_malloc_bare_heap(pt->malloc_found);
    struct cf_heap heap = {
        .arena_id = arena->id,
        .start = bare->start,
        .first_chunk = bare->first_chunk,
        .end = bare->end,
        .chunks_end = bare->end,
        .reserved_end = bare->end,
        .top = bare->top,
    };
    cf_anomalies_add(&pt->anomalies,
                     &(struct cf_anomaly){.code = "main-arena-by-mapping", .arena_id = arena->id,
                                          .heap_id = UINT32_MAX, .addr = bare->start},
                     "libc's data is not in the core; this heap was found by its mapping, and "
                     "what waits in its fastbins and caches looks live");
    return add_heap(pt, &heap, err);
}

static int add_main_heaps(struct cf_ptmalloc *pt, const struct cf_arena *arena,
                          struct cf_err *err) {
    if (arena->addr == 0)
        return add_bare_heap(pt, arena, err);
    const struct cf_namespace *ns = cf_malloc_namespace(pt->malloc_found, arena->ns);
    uint64_t base = ns->par.sbrk_base;
    if (arena->top == 0 && arena->system_mem == 0)
        return CF_OK; /* never used */
    if (!arena->contiguous)
        return add_scattered_pieces(pt, arena, base, err);
    uint64_t end = contiguous_end(arena, base), mapped_end = mapped_run_end(pt->mem, base);
    if (base == 0 || end <= base || mapped_end <= base) {
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){.code = "main-arena-bounds", .arena_id = arena->id,
                                              .heap_id = UINT32_MAX, .addr = arena->addr},
                         "sbrk_base 0x%llx and top 0x%llx bound no heap",
                         (unsigned long long)base, (unsigned long long)arena->top);
        return CF_OK;
    }
    if (end - base != arena->system_mem)
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){.code = "main-arena-size", .arena_id = arena->id,
                                              .heap_id = UINT32_MAX, .addr = arena->top,
                                              .in_complete = true,
                                              .excess_bytes = (int64_t)(arena->system_mem -
                                                                        (end - base))},
                         "sbrk_base to the end of top is %llu bytes, system_mem is %llu",
                         (unsigned long long)(end - base),
                         (unsigned long long)arena->system_mem);
    return add_main_piece(pt, arena, base, end < mapped_end ? end : mapped_end, err);
}

static int compare_starts(const void *a, const void *b) {
    const struct cf_heap *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Heaps of a sound process never overlap; of those that do in a damaged one, the first stays. */
static int hand_over_heaps(struct cf_ptmalloc *pt, struct cf_err *err) {
    uint64_t previous_end = 0;
    if (pt->found_heaps.len > 0)
        qsort(pt->found_heaps.items, pt->found_heaps.len, sizeof *pt->found_heaps.items,
              compare_starts);
    for (size_t i = 0; i < pt->found_heaps.len; i++) {
        const struct cf_heap *heap = &pt->found_heaps.items[i];
        if (heap->start < previous_end || heap->end < heap->start) {
            cf_anomalies_add(&pt->anomalies,
                             &(struct cf_anomaly){.code = "heaps-overlap",
                                                  .arena_id = heap->arena_id,
                                                  .heap_id = UINT32_MAX, .addr = heap->start,
                                                  .in_complete = true},
                             "the heap before it reaches to 0x%llx; left out",
                             (unsigned long long)previous_end);
            continue;
        }
        previous_end = heap->end;
        int status = cf_chunkmap_add_heap(pt->map, heap, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

int cf_pieces_find(struct cf_ptmalloc *pt, struct cf_err *err) {
    int status = add_thread_heaps(pt, err);
    for (size_t i = 0; i < pt->arenas.len && status == CF_OK; i++)
        if (pt->arenas.items[i].is_main)
            status = add_main_heaps(pt, &pt->arenas.items[i], err);
    return status == CF_OK ? hand_over_heaps(pt, err) : status;
}
