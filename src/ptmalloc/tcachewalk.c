/*
 * The threads' caches. A cached chunk keeps its header as a chunk in use (tcache_put, 2.26+), so
 * the lists are the only word on it: what stands on one is dead. Structs that no thread's TLS
 * names (TLS not in the core, threads that ended under 2.26) are among those that the walk found to
 * look like one.
 */
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

#include "base/err.h"
#include "core/rss_guard.h"
#include "libc/tcache.h"

/* One bin's list while it is followed. */
struct list {
    struct cf_ptmalloc *pt;
    struct cf_tcache *tcache;
    unsigned bin;
    uint64_t count; /* what the cache says that it has */
    uint64_t met;
};

static void note(const struct list *list, const char *code, uint64_t addr, const char *detail) {
    cf_anomalies_add(&list->pt->anomalies,
                     &(struct cf_anomaly){
                         .code = code, .arena_id = list->tcache->arena_id, .heap_id = UINT32_MAX,
                         .addr = addr, .in_complete = !cf_is_absent(list->pt, addr),
                         .tcache = list->tcache->addr,
                         .excess_chunks = (int64_t)(list->met - list->count)},
                     "tcache 0x%llx, bin %u: %s; %llu met of %llu",
                     (unsigned long long)list->tcache->addr, list->bin, detail,
                     (unsigned long long)list->met, (unsigned long long)list->count);
}

/* From 2.43 on an mmapped chunk can be cached too. */
static struct cf_mmapped *find_mmapped(struct cf_ptmalloc *pt, uint64_t addr) {
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(pt->map); i++)
        if (cf_chunkmap_mmapped(pt->map, i)->addr == addr)
            return cf_chunkmap_mmapped_mutable(pt->map, i);
    return NULL;
}

/* False: the list cannot be followed behind this chunk. */
static bool take_cached(struct list *list, uint64_t addr) {
    struct cf_ptmalloc *pt = list->pt;
    const struct cf_heap *heap;
    uint64_t size;
    if (cf_walked_chunk(pt, addr, UINT32_MAX, &heap)) {
        if (cf_walked_state(pt, heap, addr) != CF_CHUNK_LIVE) {
            note(list, "tcache-twice", addr, "this chunk is on another list, or on this one twice");
            return false;
        }
        if (!cf_chunk_size(pt, addr, &size))
            return false;
        cf_chunkmap_set_state(pt->map, heap, addr, CF_CHUNK_TCACHE);
    } else {
        struct cf_mmapped *mmapped = find_mmapped(pt, addr);
        if (mmapped == NULL || mmapped->in_tcache) {
            note(list, "tcache-not-met", addr, "its link leads to no chunk");
            return false;
        }
        mmapped->in_tcache = true;
        size = mmapped->bytes;
    }
    list->met++;
    list->tcache->chunks++;
    list->tcache->bytes += size;
    return true;
}

/* Up to its end, or to where its links break: the count says how many are missing. */
static void follow_bin(struct cf_ptmalloc *pt, struct cf_tcache *tcache, unsigned bin) {
    struct cf_tcache_bin found;
    if (!cf_tcache_bin(pt->malloc_found, tcache->addr, bin, &found))
        return;
    struct list list = {.pt = pt, .tcache = tcache, .bin = bin, .count = found.count};
    uint64_t user = found.head, stored, limit = cf_chunkmap_nr_units(pt->map) / 2;
    while (user != 0 && list.met < limit) {
        if (!take_cached(&list, user - 2 * pt->word_bytes) ||
            !cf_mem_word(pt->mem, user, &stored))
            return;
        user = cf_malloc_reveal(pt->malloc_found, user, stored);
    }
    if (list.met != list.count)
        note(&list, "tcache-count", found.head, "its count disagrees with its list");
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
