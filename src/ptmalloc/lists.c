/*
 * Bins and fastbins, followed over the walked planes. The lists say what the allocator knows as
 * free; the walk says what is free; both must agree chunk by chunk.
 *
 * Virtual bin header i (bin_at, all releases) is at bins + 2W(i - 1) - 2W, so its fd is the pair's
 * first word. Fastbins (up to 2.42) are singly linked by fd, mangled from 2.32 on (PROTECT_PTR);
 * their chunks keep their successor's PREV_INUSE set and look like chunks in use.
 */
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

#include <stdlib.h>

#include "base/err.h"

enum { UNSORTED = 1, FIRST_LARGE = 64, LAST_BIN = 126 };

struct list {
    struct cf_ptmalloc *pt;
    struct cf_arena *arena;
    enum cf_bin_kind kind;
    uint32_t index;
    uint64_t chunks;
    uint64_t bytes;
};

static void note(const struct list *list, const char *code, uint64_t addr, const char *detail) {
    static const char *const kinds[] = {"fastbin", "unsorted bin", "small bin", "large bin"};
    bool readable = cf_mem_page_state(list->pt->mem, addr) != CF_PAGE_CUT_OFF &&
                    cf_mem_page_state(list->pt->mem, addr) != CF_PAGE_NOT_DUMPED;
    cf_anomalies_add(&list->pt->anomalies,
                     &(struct cf_anomaly){.code = code, .arena_id = list->arena->id,
                                          .heap_id = UINT32_MAX, .addr = addr,
                                          .in_complete = readable},
                     "%s %u: %s", kinds[list->kind], list->index, detail);
}

static int keep(const struct list *list, struct cf_err *err) {
    if (list->chunks == 0)
        return CF_OK;
    struct cf_bin *row = cf_array_push(&list->pt->bins);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "a bin");
    *row = (struct cf_bin){
        .arena_id = list->arena->id, .kind = list->kind, .index = list->index,
        .chunks = list->chunks, .bytes = list->bytes,
    };
    return CF_OK;
}

enum cf_chunk_state cf_walked_state(const struct cf_ptmalloc *pt, const struct cf_heap *heap,
                                    uint64_t addr) {
    const struct cf_planes *planes = cf_chunkmap_planes(pt->map);
    size_t unit = (size_t)((addr - cf_planes_base(planes, heap)) >> planes->unit_shift);
    bool dead = cf_plane_bit(planes->states, heap->plane_word, unit);
    bool cached = cf_plane_bit(planes->states, heap->plane_word, unit + 1);
    if (dead)
        return cached ? CF_CHUNK_FAST : CF_CHUNK_FREE;
    return cached ? CF_CHUNK_TCACHE : CF_CHUNK_LIVE;
}

/* Every chunk takes MINSIZE at least: a longer list has a cycle. */
static uint64_t most_chunks(const struct cf_ptmalloc *pt, const struct cf_arena *arena) {
    uint64_t units = cf_chunkmap_nr_units(pt->map) / 2;
    uint64_t by_size = arena->system_mem / pt->min_chunk + 1;
    return by_size < units ? by_size : units;
}

/*
 * A list leads criss-cross through the heap, and each page of the core that it touches, with the
 * neighbours that the kernel maps along, counts as our memory. So all of them are dropped after
 * so many jumps; a list in the order of addresses jumps seldom.
 */
static void touch(struct cf_ptmalloc *pt, uint64_t addr) {
    enum { WINDOW_SHIFT = 16, WINDOWS_MAX = 1024 };
    const struct cf_core *core = cf_mem_core(pt->mem);
    if (addr >> WINDOW_SHIFT == pt->touched_window)
        return;
    pt->touched_window = addr >> WINDOW_SHIFT;
    if (++pt->nr_touched < WINDOWS_MAX)
        return;
    cf_core_drop(core, 0, cf_core_file_bytes(core));
    pt->nr_touched = 0;
}

/* One chunk of a doubly linked bin. False: the list cannot be followed behind it. */
static bool take_binned(struct list *list, uint64_t addr, uint64_t back) {
    const struct cf_ptmalloc *pt = list->pt;
    const struct cf_heap *heap;
    uint64_t bk, size;
    touch(list->pt, addr);
    if (!cf_mem_word(pt->mem, addr + 3 * pt->word_bytes, &bk) || !cf_chunk_size(pt, addr, &size)) {
        note(list, "binned-unreadable", addr, "its chunk is not in the core");
        return false;
    }
    if (bk != back) {
        note(list, "bin-link", addr, "bk does not lead back to the chunk before it");
        return false;
    }
    list->chunks++;
    list->bytes += size;
    if (!cf_walked_chunk(pt, addr, list->arena->id, &heap))
        note(list, "binned-not-met", addr, "the walk did not meet this chunk");
    else if (cf_walked_state(pt, heap, addr) != CF_CHUNK_FREE)
        note(list, "binned-in-use", addr, "its successor says that it is in use");
    return true;
}

static int follow_bin(struct cf_ptmalloc *pt, struct cf_arena *arena, uint32_t index,
                      struct cf_err *err) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(pt->malloc_found);
    unsigned word = pt->word_bytes;
    uint64_t head = arena->addr + layout->bins + (uint64_t)2 * word * (index - 1) - 2 * word;
    struct list list = {
        .pt = pt, .arena = arena, .index = index,
        .kind = index == UNSORTED     ? CF_BIN_UNSORTED
                : index < FIRST_LARGE ? CF_BIN_SMALL
                                      : CF_BIN_LARGE,
    };
    uint64_t limit = most_chunks(pt, arena), back = head, addr;
    if (!cf_mem_word(pt->mem, head + 2 * word, &addr))
        return CF_OK; /* the arena itself is not in the core: its heaps alone were found */
    while (addr != head && addr != 0) {
        if (list.chunks >= limit) {
            note(&list, "bin-cycle", addr, "more chunks than the arena can hold");
            break;
        }
        if (!take_binned(&list, addr, back))
            break;
        back = addr;
        if (!cf_mem_word(pt->mem, addr + 2 * word, &addr))
            break;
    }
    arena->nr_binned += list.chunks;
    arena->binned_bytes += list.bytes;
    return keep(&list, err);
}

/* One chunk of a fastbin. False: not a chunk in use of this arena, or met before. */
static bool take_fast(struct list *list, uint64_t addr) {
    struct cf_ptmalloc *pt = list->pt;
    const struct cf_heap *heap;
    uint64_t size;
    touch(pt, addr);
    if (!cf_chunk_size(pt, addr, &size)) {
        note(list, "fast-unreadable", addr, "its chunk is not in the core");
        return false;
    }
    if (!cf_walked_chunk(pt, addr, list->arena->id, &heap)) {
        note(list, "fast-not-met", addr, "the walk did not meet this chunk");
        return false;
    }
    if (cf_walked_state(pt, heap, addr) != CF_CHUNK_LIVE) {
        note(list, "fast-in-flux", addr, "it is on another list, or on this one twice");
        return false;
    }
    cf_chunkmap_set_state(pt->map, heap, addr, CF_CHUNK_FAST);
    list->chunks++;
    list->bytes += size;
    return true;
}

static int follow_fastbin(struct cf_ptmalloc *pt, struct cf_arena *arena, uint32_t index,
                          struct cf_err *err) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(pt->malloc_found);
    struct list list = {.pt = pt, .arena = arena, .kind = CF_BIN_FAST, .index = index};
    uint64_t addr, stored;
    if (!cf_mem_word(pt->mem, arena->addr + layout->fastbins + (uint64_t)index * pt->word_bytes,
                     &addr))
        return CF_OK;
    while (addr != 0 && take_fast(&list, addr)) {
        uint64_t field = addr + 2 * pt->word_bytes;
        if (!cf_mem_word(pt->mem, field, &stored))
            break;
        addr = cf_malloc_reveal(pt->malloc_found, field, stored);
    }
    arena->nr_fast += list.chunks;
    arena->fast_bytes += list.bytes;
    return keep(&list, err);
}

struct census {
    uint64_t chunks;
    uint64_t bytes;
};

/* Free chunks of each arena as the walk saw them. */
static void count_free(const struct cf_ptmalloc *pt, struct census *per_arena) {
    const struct cf_planes *planes = cf_chunkmap_planes(pt->map);
    for (size_t i = 0; i < planes->nr_heaps; i++) {
        const struct cf_heap *heap = &planes->heaps[i];
        struct census *census = &per_arena[heap->arena_id];
        struct cf_planes_walk walk = cf_planes_walk(planes, heap);
        struct cf_chunk chunk;
        while (cf_planes_walk_next(&walk, &chunk)) {
            if (chunk.state != CF_CHUNK_FREE)
                continue;
            census->chunks++;
            census->bytes += chunk.bytes;
        }
    }
}

int cf_lists_compare(struct cf_ptmalloc *pt, struct cf_err *err) {
    struct census *per_arena = calloc(pt->arenas.len + 1, sizeof *per_arena);
    if (per_arena == NULL)
        return cf_err_nomem(err, pt->arenas.len * sizeof *per_arena, "the census");
    count_free(pt, per_arena);
    bool complete = cf_core_complete(cf_mem_core(pt->mem));
    for (size_t i = 0; i < pt->arenas.len; i++) {
        const struct cf_arena *arena = &pt->arenas.items[i];
        if (arena->addr == 0 || (per_arena[i].chunks == arena->nr_binned &&
                                 per_arena[i].bytes == arena->binned_bytes))
            continue;
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){.code = "free-not-binned", .arena_id = arena->id,
                                              .heap_id = UINT32_MAX, .addr = arena->addr,
                                              .in_complete = complete},
                         "the walk met %llu free chunks (%llu bytes), the bins have %llu (%llu)",
                         (unsigned long long)per_arena[i].chunks,
                         (unsigned long long)per_arena[i].bytes,
                         (unsigned long long)arena->nr_binned,
                         (unsigned long long)arena->binned_bytes);
    }
    free(per_arena);
    return CF_OK;
}

int cf_lists_follow(struct cf_ptmalloc *pt, struct cf_err *err) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(pt->malloc_found);
    int status = CF_OK;
    for (size_t i = 0; i < pt->arenas.len && status == CF_OK; i++) {
        struct cf_arena *arena = &pt->arenas.items[i];
        if (arena->addr == 0)
            continue;
        for (uint32_t bin = UNSORTED; bin <= LAST_BIN && status == CF_OK; bin++)
            status = follow_bin(pt, arena, bin, err);
        for (uint32_t fast = 0; fast < layout->nr_fastbins && status == CF_OK; fast++)
            status = follow_fastbin(pt, arena, fast, err);
    }
    return status;
}
