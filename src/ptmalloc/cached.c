/*
 * The cached: fastbins (up to 2.42) and the threads' caches (2.26+). Both are singly linked, the
 * links mangled from 2.32 on (PROTECT_PTR), and a cached chunk keeps its header as a chunk in use
 * (_int_free, tcache_put), so the lists are the only word on it: what stands on one is dead. All
 * chunks of a list are of the list's own sizes, which neither malloc nor free looks at again: a
 * link that leads to anything else was overwritten. The row names the chunk, or the arena or cache
 * whose list it heads, that holds such a link; the list is followed up to there, and a cache's
 * count says how many are behind it.
 *
 * Caches that no thread's TLS names (TLS not in the core, threads that ended under 2.26) are among
 * those that the walk found to look like one.
 */
#include "base/err.h"
#include "core/drop.h"
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

/* ---- fastbins ---- */

struct fastbin {
    struct cf_ptmalloc *pt;
    struct cf_arena *arena;
    struct cf_ledger *ledger;
    struct cf_bin row;
};

static uint64_t in_heap(const struct cf_ptmalloc *pt, uint64_t addr) {
    return cf_chunkmap_find_heap(pt->map, addr) != NULL ? addr : 0;
}

/* `holder` has the link that led to `addr`. */
static void note_fast(const struct fastbin *list, const char *code, uint64_t holder, uint64_t addr,
                      const char *detail) {
    cf_anomalies_add(&list->ledger->anomalies,
                     &(struct cf_anomaly){.code = code, .arena_id = list->arena->id,
                                          .heap_id = UINT32_MAX, .addr = holder,
                                          .target = in_heap(list->pt, addr),
                                          .in_complete = !cf_is_absent(list->pt, addr)},
                     "fastbin %u: %s; %llu met before it", list->row.index, detail,
                     (unsigned long long)list->row.chunks);
}

/* fastbin_index(), all releases that have them. */
static uint64_t fast_bytes(const struct cf_ptmalloc *pt, uint32_t index) {
    return (uint64_t)(index + 2) * 2 * pt->word_bytes;
}

/* One chunk of a fastbin. False: not a chunk in use of this arena, or met before. */
static bool take_fast(struct fastbin *list, uint64_t holder, uint64_t addr) {
    struct cf_ptmalloc *pt = list->pt;
    const struct cf_heap *heap;
    uint64_t size;
    if (!cf_walked_chunk(pt, addr, list->arena->id, &heap) || !cf_chunk_size(pt, addr, &size)) {
        note_fast(list, "fast-not-met", holder, addr, "its link leads to no chunk of the arena");
        return false;
    }
    if (size != fast_bytes(pt, list->row.index)) {
        note_fast(list, "fast-size", holder, addr, "its link leads to a chunk of another size");
        return false;
    }
    if (cf_walked_state(pt, heap, addr) != CF_CHUNK_LIVE) {
        note_fast(list, "fast-twice", addr, addr, "it is on another list, or on this one twice");
        return false;
    }
    cf_chunkmap_set_state(pt->map, heap, addr, CF_CHUNK_FAST);
    list->row.chunks++;
    list->row.bytes += size;
    return true;
}

static void follow_fastbin(struct fastbin *list, uint64_t head, struct cf_rss_guard *guard) {
    struct cf_ptmalloc *pt = list->pt;
    uint64_t holder = list->arena->addr, addr, stored;
    if (!cf_mem_word(pt->mem, head, &addr))
        return;
    while (addr != 0 && take_fast(list, holder, addr)) {
        cf_rss_guard_step(guard);
        uint64_t field = addr + 2 * pt->word_bytes;
        if (!cf_mem_word(pt->mem, field, &stored))
            break;
        holder = addr;
        addr = cf_malloc_reveal(pt->malloc_found, field, stored);
    }
    list->arena->nr_fast += list->row.chunks;
    list->arena->fast_bytes += list->row.bytes;
    cf_ledger_keep(list->ledger, &list->row);
}

void cf_fastbins_follow(struct cf_ptmalloc *pt, struct cf_arena *arena, struct cf_ledger *ledger,
                        struct cf_rss_guard *guard) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(pt->malloc_found);
    uint32_t nr = layout != NULL ? layout->nr_fastbins : 0; /* a heap without malloc's data */
    for (uint32_t index = 0; index < nr; index++) {
        struct fastbin list = {
            .pt = pt, .arena = arena, .ledger = ledger,
            .row = {.arena_id = arena->id, .kind = CF_BIN_FAST, .index = index},
        };
        follow_fastbin(&list, arena->addr + layout->fastbins + (uint64_t)index * pt->word_bytes,
                       guard);
    }
}

/* ---- caches ---- */

/* One bin's list while it is followed. */
struct cached_list {
    struct cf_ptmalloc *pt;
    struct cf_tcache *tcache;
    unsigned bin;
    struct cf_tcache_bin found; /* with what the cache says that it has */
    uint64_t met;
};

static void note(const struct cached_list *list, const char *code, uint64_t holder, uint64_t addr,
                 const char *detail) {
    uint64_t count = list->found.count;
    cf_anomalies_add(&list->pt->anomalies,
                     &(struct cf_anomaly){
                         .code = code, .arena_id = list->tcache->arena_id, .heap_id = UINT32_MAX,
                         .addr = holder, .in_complete = !cf_is_absent(list->pt, addr),
                         .tcache = list->tcache->addr,
                         .target = in_heap(list->pt, addr),
                         .excess_chunks = (int64_t)(list->met - count)},
                     "tcache 0x%llx, bin %u: %s; %llu met of %llu",
                     (unsigned long long)list->tcache->addr, list->bin, detail,
                     (unsigned long long)list->met, (unsigned long long)count);
}

/* From 2.43 on an mmapped chunk can be cached too. */
static struct cf_mmapped *find_mmapped(struct cf_ptmalloc *pt, uint64_t addr) {
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(pt->map); i++)
        if (cf_chunkmap_mmapped(pt->map, i)->addr == addr)
            return cf_chunkmap_mmapped_mutable(pt->map, i);
    return NULL;
}

/* Takes a chunk of a heap. False: it is dead already. */
static bool take_walked(struct cached_list *list, const struct cf_heap *heap, uint64_t addr) {
    if (cf_walked_state(list->pt, heap, addr) != CF_CHUNK_LIVE) {
        note(list, "tcache-twice", addr, addr, "it is on another list, or on this one twice");
        return false;
    }
    cf_chunkmap_set_state(list->pt->map, heap, addr, CF_CHUNK_TCACHE);
    return true;
}

/* False: the list cannot be followed behind this chunk, to which `holder` leads. */
static bool take_cached(struct cached_list *list, uint64_t holder, uint64_t addr) {
    struct cf_ptmalloc *pt = list->pt;
    const struct cf_heap *heap;
    struct cf_mmapped *mmapped = NULL;
    uint64_t size;
    bool is_walked = cf_walked_chunk(pt, addr, UINT32_MAX, &heap) && cf_chunk_size(pt, addr, &size);
    if (!is_walked) {
        mmapped = find_mmapped(pt, addr);
        if (mmapped == NULL || mmapped->in_tcache) {
            note(list, "tcache-not-met", holder, addr, "its link leads to no chunk");
            return false;
        }
        size = mmapped->bytes;
    } else if (size < list->found.min_bytes || size > list->found.max_bytes) {
        note(list, "tcache-size", holder, addr, "its link leads to a chunk of another size");
        return false;
    }
    if (is_walked && !take_walked(list, heap, addr))
        return false;
    if (mmapped != NULL)
        mmapped->in_tcache = true;
    list->met++;
    list->tcache->chunks++;
    list->tcache->bytes += size;
    return true;
}

/* Up to its end, or to where its links break: the count says how many are missing. */
static void follow_bin(struct cf_ptmalloc *pt, struct cf_tcache *tcache, unsigned bin) {
    struct cached_list list = {.pt = pt, .tcache = tcache, .bin = bin};
    if (!cf_tcache_bin(pt->malloc_found, tcache->addr, bin, &list.found))
        return;
    uint64_t header = 2 * pt->word_bytes, holder = tcache->addr - header;
    uint64_t user = list.found.head, stored, limit = cf_chunkmap_nr_units(pt->map) / 2;
    while (user != 0 && list.met < limit) {
        if (!take_cached(&list, holder, user - header) || !cf_mem_word(pt->mem, user, &stored))
            return;
        holder = user - header;
        user = cf_malloc_reveal(pt->malloc_found, user, stored);
    }
    if (list.met != list.found.count)
        note(&list, "tcache-count", holder, holder, "its count disagrees with its list");
}

static int follow(struct cf_ptmalloc *pt, uint64_t addr, int32_t thread, struct cf_err *err) {
    const struct cf_heap *heap = NULL;
    bool in_heap = cf_walked_chunk(pt, addr - 2 * pt->word_bytes, UINT32_MAX, &heap);
    struct cf_tcache *tcache = cf_array_push(&pt->tcaches);
    if (tcache == NULL)
        return cf_err_nomem(err, sizeof *tcache, "a tcache");
    *tcache = (struct cf_tcache){
        .addr = addr, .thread = thread,
        .arena_id = in_heap ? heap->arena_id : UINT32_MAX,
    };
    for (unsigned bin = 0; bin < cf_tcache_nr_bins(pt->malloc_found); bin++)
        follow_bin(pt, tcache, bin);
    return CF_OK;
}

/* The threads' own structs first: a stale copy must not claim what a live one holds. */
int cf_tcaches_follow(struct cf_ptmalloc *pt, struct cf_err *err) {
    if (cf_malloc_tcache_layout(pt->malloc_found) == NULL)
        return CF_OK;
    const struct cf_core *core = cf_mem_core(pt->mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    int status = CF_OK;
    for (size_t i = 0; i < cf_malloc_nr_tcaches(pt->malloc_found) && status == CF_OK; i++) {
        const struct cf_tcache_ref *ref = cf_malloc_tcache(pt->malloc_found, i);
        cf_rss_guard_step(&guard);
        status = follow(pt, ref->addr, ref->thread, err);
    }
    for (size_t i = 0; i < pt->tcache_chunks.len && status == CF_OK; i++) {
        uint64_t addr = pt->tcache_chunks.items[i], user = addr + 2 * pt->word_bytes;
        const struct cf_heap *heap;
        if (!cf_malloc_has_tcache(pt->malloc_found, user) &&
            cf_walked_chunk(pt, addr, UINT32_MAX, &heap) &&
            cf_walked_state(pt, heap, addr) == CF_CHUNK_LIVE)
            status = follow(pt, user, -1, err);
    }
    return status;
}
