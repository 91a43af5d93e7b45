/*
 * The rules of ptmalloc/flux.h. What each operation can leave behind, by the order of its stores
 * in malloc.c (2.17 to 2.44; compilers move stores about, so an order is never relied on):
 *
 *     _int_malloc    victim off its bin, its successor's PREV_INUSE not set       sums by one chunk
 *                    remainder on the unsorted list, without a header yet         header, sums
 *                    av->top moved, the new top without a size                    top
 *     unlink_chunk   fd->bk or bk->fd changed, not both                           link, sums
 *     malloc_consolidate  a list that leads to the sum before it has links        link
 *     _int_free      neighbours off their bins, the sum not on one yet            sums by up to 3
 *     sysmalloc, systrim, heap_trim, grow_heap, shrink_heap: top and the heap's end apart     top
 *     tcache_put, tcache_get: the list longer or shorter by one than its count    cache
 *
 * One lock guards an arena, so one thread is at it; fastbins and caches are changed without it.
 */
#include "ptmalloc/flux.h"

#include <string.h>

#include "core/core.h"
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

enum {
    DEVIATIONS_MAX = 8, /* of one arena that one operation may leave */
    HANDS_MAX = 64,     /* chunks in hands that are looked at for one arena's sums */
    CACHE_SLIP = 1,     /* chunks by which a count may run ahead of its list */
};

/* What an anomaly has to show to be an operation's. */
enum kind {
    KIND_NEVER,
    KIND_CHUNK,
    KIND_RESUMED, /* behind a bad header: as that one */
    KIND_TOP,
    KIND_GROWTH, /* of the main arena: top and system_mem one after the other, by whole pages */
    KIND_SUMS,
    KIND_CACHE_COUNT,
    KIND_CACHE,
};

static enum kind kind_of(const char *code) {
    static const struct {
        const char *code;
        enum kind kind;
    } kinds[] = {
        {"prev-size", KIND_CHUNK},      {"bad-chunk-size", KIND_CHUNK},
        {"binned-not-met", KIND_CHUNK}, {"binned-in-use", KIND_CHUNK},
        {"half-link", KIND_CHUNK},      {"fast-twice", KIND_CHUNK},
        {"walk-resumed", KIND_RESUMED}, {"top-size", KIND_TOP},
        {"top-not-met", KIND_TOP},      {"heap-without-end", KIND_TOP},
        {"bin-link", KIND_CHUNK},       {"main-arena-size", KIND_GROWTH},
        {"free-not-binned", KIND_SUMS}, {"tcache-count", KIND_CACHE_COUNT},
        {"tcache-twice", KIND_CACHE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].code, code) == 0)
            return kinds[i].kind;
    return KIND_NEVER;
}

struct judge {
    struct cf_ptmalloc *pt;
    const struct cf_planes *planes;
    const struct cf_standing *standing;
    size_t nr;
    bool is_single; /* one thread alone takes no lock */
};

static bool has_word(const struct cf_standing *standing, uint64_t word) {
    for (size_t i = 0; i < standing->nr_words; i++)
        if (standing->words[i] == word)
            return true;
    return false;
}

/* The chunk by its header or by its user memory. */
static bool has_in_hand(const struct judge *judge, const struct cf_standing *standing,
                        uint64_t addr) {
    return addr != 0 && (has_word(standing, addr) ||
                         has_word(standing, addr + 2 * judge->pt->word_bytes));
}

/* The chunk that ends at `addr` or covers it; 0: none. */
static uint64_t chunk_before(const struct judge *judge, const struct cf_heap *heap,
                             uint64_t addr) {
    if (addr <= cf_planes_base(judge->planes, heap))
        return 0;
    struct cf_heap_unit start = cf_planes_prev_start(judge->planes, heap,
                                                     cf_planes_unit(judge->planes, heap, addr - 1));
    return cf_is_unit(start) ? cf_planes_addr(judge->planes, heap, start) : 0;
}

static bool thread_explains_chunk(const struct judge *judge, const struct cf_standing *standing,
                                  uint64_t addr) {
    if (has_in_hand(judge, standing, addr))
        return true;
    const struct cf_heap *heap = cf_chunkmap_find_heap(judge->pt->map, addr);
    uint64_t size;
    if (heap == NULL)
        return false;
    return has_in_hand(judge, standing, chunk_before(judge, heap, addr)) ||
           (cf_chunk_size(judge->pt, addr, &size) && size < heap->end - addr &&
            has_in_hand(judge, standing, addr + size));
}

/* NULL: no thread does. */
static const struct cf_standing *who_explains(const struct judge *judge, uint64_t addr) {
    for (size_t i = 0; i < judge->nr; i++)
        if (thread_explains_chunk(judge, &judge->standing[i], addr))
            return &judge->standing[i];
    return NULL;
}

/* A thread may be at the arena: its mutex, the first word of malloc_state, is taken. */
static bool is_locked(const struct judge *judge, const struct cf_anomaly *anomaly) {
    uint32_t mutex;
    if (anomaly->arena_id >= judge->pt->arenas.len)
        return false;
    uint64_t arena = judge->pt->arenas.items[anomaly->arena_id].addr;
    return judge->is_single || (arena != 0 && cf_mem_u32(judge->pt->mem, arena, &mutex) &&
                                mutex != 0);
}

/* ---- sums ---- */

/* Chunks that threads have in hand and that the walk and the lists tell differently. */
struct hands {
    uint64_t addrs[HANDS_MAX];
    size_t nr;
    int64_t chunks; /* free by the walk and on no list, less those that are the other way round */
    int64_t bytes;
};

/* Who followed its list met it: the chunk before leads to it, or the one that leads to it is on its
 * way out, and it knows already only the one before that. */
static bool is_listed(const struct cf_ptmalloc *pt, uint64_t addr) {
    uint64_t word = pt->word_bytes, fd, bk, before;
    if (cf_is_binned(pt, addr))
        return true;
    for (size_t i = 0; i < pt->anomalies.rows.len; i++) {
        const struct cf_anomaly *row = &pt->anomalies.rows.items[i];
        if (strcmp(row->code, "half-link") == 0 &&
            cf_mem_word(pt->mem, row->addr + 2 * word, &fd) && fd == addr &&
            cf_mem_word(pt->mem, row->addr + 3 * word, &before) &&
            cf_mem_word(pt->mem, addr + 3 * word, &bk) && bk == before)
            return true;
    }
    return false;
}

static void add_hand(const struct judge *judge, uint32_t arena_id, uint64_t addr,
                     struct hands *hands) {
    const struct cf_ptmalloc *pt = judge->pt;
    const struct cf_heap *heap = cf_chunkmap_find_heap(pt->map, addr);
    uint64_t size;
    if (heap == NULL || heap->arena_id != arena_id || hands->nr == HANDS_MAX ||
        addr % (2 * pt->word_bytes) != 0 || !cf_chunk_size(pt, addr, &size))
        return;
    for (size_t i = 0; i < hands->nr; i++)
        if (hands->addrs[i] == addr)
            return;
    const struct cf_heap *met;
    if (!cf_walked_chunk(pt, addr, arena_id, &met) || addr == pt->arenas.items[arena_id].top)
        return; /* a bin's head stands in the heap too, and is linked; a top is on no list */
    bool is_free = cf_walked_state(pt, met, addr) == CF_CHUNK_FREE;
    if (is_free == is_listed(pt, addr))
        return;
    hands->addrs[hands->nr++] = addr;
    hands->chunks += is_free ? 1 : -1;
    hands->bytes += is_free ? (int64_t)size : -(int64_t)size;
}

/* free() and malloc() join a chunk with its neighbours, and have the sum in hand alone. */
static void add_around(const struct judge *judge, uint32_t arena_id, uint64_t addr,
                       struct hands *hands) {
    const struct cf_heap *heap;
    uint64_t size;
    add_hand(judge, arena_id, addr, hands);
    if (!cf_walked_chunk(judge->pt, addr, arena_id, &heap) ||
        !cf_chunk_size(judge->pt, addr, &size))
        return;
    add_hand(judge, arena_id, chunk_before(judge, heap, addr), hands);
    add_hand(judge, arena_id, addr + size, hands);
}

/* On a list, and not a chunk to the walk: either saw it first. */
static bool is_unmet(const struct cf_ptmalloc *pt, const struct cf_anomaly *row) {
    return strcmp(row->code, "binned-not-met") == 0 ||
           (strcmp(row->code, "bad-chunk-size") == 0 && cf_is_binned(pt, row->addr));
}

/* A remainder that is on its list before it has a header: the lists counted it, by what stood
 * there before, and the walk did not meet it. Lists are judged before their sums. */
static void add_unmet(const struct judge *judge, uint32_t arena_id, struct hands *hands) {
    for (size_t i = 0; i < judge->pt->anomalies.rows.len; i++) {
        const struct cf_anomaly *row = &judge->pt->anomalies.rows.items[i];
        uint64_t size;
        if (row->arena_id != arena_id || !row->in_flux ||
            !is_unmet(judge->pt, row))
            continue;
        if (!cf_chunk_size(judge->pt, row->addr, &size))
            size = 0; /* so the list counted it */
        hands->chunks--;
        hands->bytes -= (int64_t)size;
    }
}

/* Whoever has most of the chunks: one thread is at an arena at a time. NULL: the sums are not what
 * threads have in hand. */
static const struct cf_standing *who_has_sums(const struct judge *judge,
                                              const struct cf_anomaly *anomaly) {
    const struct cf_standing *most = judge->standing;
    size_t nr_most = 0;
    struct hands hands = {.nr = 0};
    add_unmet(judge, anomaly->arena_id, &hands);
    for (size_t i = 0; i < judge->nr; i++) {
        const struct cf_standing *standing = &judge->standing[i];
        size_t before = hands.nr;
        for (size_t k = 0; k < standing->nr_words; k++) {
            add_around(judge, anomaly->arena_id, standing->words[k], &hands);
            add_around(judge, anomaly->arena_id,
                       standing->words[k] - 2 * judge->pt->word_bytes, &hands);
        }
        most = hands.nr - before > nr_most ? standing : most;
        nr_most = hands.nr - before > nr_most ? hands.nr - before : nr_most;
    }
    bool fits = hands.chunks == anomaly->excess_chunks && hands.bytes == anomaly->excess_bytes;
    return fits ? most : NULL;
}

/* ---- caches ---- */

static const struct cf_standing *owner_of(const struct judge *judge, uint64_t tcache) {
    int32_t thread = -1;
    for (size_t i = 0; i < judge->pt->tcaches.len; i++)
        if (judge->pt->tcaches.items[i].addr == tcache)
            thread = judge->pt->tcaches.items[i].thread;
    for (size_t i = 0; i < judge->nr && thread >= 0; i++)
        if (judge->standing[i].thread == thread)
            return &judge->standing[i];
    return NULL;
}

static const struct cf_standing *who_has_cache(const struct judge *judge,
                                               const struct cf_anomaly *anomaly) {
    const struct cf_standing *owner = owner_of(judge, anomaly->tcache);
    if (owner == NULL)
        return NULL;
    bool is_count = kind_of(anomaly->code) == KIND_CACHE_COUNT;
    bool fits = is_count ? anomaly->excess_chunks <= CACHE_SLIP &&
                               anomaly->excess_chunks >= -CACHE_SLIP
                         : has_in_hand(judge, owner, anomaly->addr);
    return fits ? owner : NULL;
}

/* ---- freed twice ---- */

/* Free already: on a list, or part of a chunk that is free. */
static bool is_dead(const struct cf_ptmalloc *pt, uint64_t addr) {
    struct cf_chunk chunk;
    return addr % (2 * pt->word_bytes) == 0 && cf_chunkmap_find(pt->map, addr, &chunk) &&
           (cf_chunk_is_dead(chunk.state) || chunk.state == CF_CHUNK_TOP);
}

void cf_flux_name_freed_twice(struct cf_ptmalloc *pt, const struct cf_standing *standing) {
    uint64_t found = 0;
    for (size_t i = 0; i < standing->nr_words; i++) {
        uint64_t addr = standing->words[i];
        if (addr == found || !has_word(standing, addr + 2 * pt->word_bytes) || !is_dead(pt, addr))
            continue;
        if (found != 0)
            return;
        found = addr;
    }
    const struct cf_heap *heap = found == 0 ? NULL : cf_chunkmap_find_heap(pt->map, found);
    if (heap != NULL)
        cf_anomalies_add(&pt->anomalies,
                         &(struct cf_anomaly){.code = "freed-twice", .arena_id = heap->arena_id,
                                              .heap_id = heap->id, .addr = found,
                                              .in_complete = true},
                         "this chunk was freed when it was free already");
}

/* ---- a fault ---- */

void cf_flux_add_fault(struct cf_ptmalloc *pt) {
    for (size_t i = 0; i < pt->anomalies.rows.len; i++)
        if (pt->anomalies.rows.items[i].in_complete)
            return;
    cf_anomalies_add(&pt->anomalies,
                     &(struct cf_anomaly){.code = "fault-in-malloc", .arena_id = UINT32_MAX,
                                          .heap_id = UINT32_MAX, .in_complete = true},
                     "malloc followed a pointer to where nothing is");
}

/* ---- all ---- */

/* Whoever explains the header that made the walk look for another place. */
static const struct cf_standing *who_explains_before(const struct judge *judge,
                                                     const struct cf_anomaly *resumed) {
    const struct cf_anomaly *before = resumed - 1;
    if (resumed == judge->pt->anomalies.rows.items || !before->in_flux ||
        before->heap_id != resumed->heap_id || kind_of(before->code) != KIND_CHUNK)
        return NULL;
    return who_explains(judge, before->addr);
}

/* Main arena's end and system_mem are apart by whole pages, since the heap is grown in pages; or
 * by anything, while top has no size yet. */
static bool may_be_growth(const struct judge *judge, const struct cf_anomaly *anomaly) {
    if (anomaly->excess_bytes % (int64_t)cf_mem_page_bytes(judge->pt->mem) == 0)
        return true;
    for (size_t i = 0; i < judge->pt->anomalies.rows.len; i++) {
        const struct cf_anomaly *row = &judge->pt->anomalies.rows.items[i];
        if (row->addr == anomaly->addr && strcmp(row->code, "top-size") == 0)
            return true;
    }
    return false;
}

/* The thread whose operation leaves such a thing; NULL: none. */
static const struct cf_standing *who_is_at(const struct judge *judge,
                                           const struct cf_anomaly *anomaly) {
    switch (kind_of(anomaly->code)) {
    case KIND_RESUMED:
        return who_explains_before(judge, anomaly);
    case KIND_CACHE:
    case KIND_CACHE_COUNT:
        return who_has_cache(judge, anomaly);
    case KIND_SUMS:
        return is_locked(judge, anomaly) ? who_has_sums(judge, anomaly) : NULL;
    case KIND_GROWTH:
        if (!may_be_growth(judge, anomaly))
            return NULL;
        /* fallthrough */
    case KIND_TOP:
    case KIND_CHUNK:
        return is_locked(judge, anomaly) ? who_explains(judge, anomaly->addr) : NULL;
    default:
        return NULL;
    }
}

/* How many deviations of the anomaly's arena there are. */
static size_t nr_of_arena(const struct cf_ptmalloc *pt, uint32_t arena_id) {
    size_t nr = 0;
    for (size_t i = 0; i < pt->anomalies.rows.len && nr <= DEVIATIONS_MAX; i++)
        nr += pt->anomalies.rows.items[i].arena_id == arena_id;
    return nr;
}

void cf_flux_judge(struct cf_ptmalloc *pt, const struct cf_standing *standing, size_t nr) {
    struct judge judge = {
        .pt = pt, .planes = cf_chunkmap_planes(pt->map), .standing = standing, .nr = nr,
        .is_single = cf_core_nr_threads(cf_mem_core(pt->mem)) == 1,
    };
    if (nr == 0 || pt->anomalies.rows.len == CF_ANOMALIES_MAX)
        return;
    for (size_t i = 0; i < pt->anomalies.rows.len; i++) {
        struct cf_anomaly *anomaly = &pt->anomalies.rows.items[i];
        if (!anomaly->in_complete || nr_of_arena(pt, anomaly->arena_id) > DEVIATIONS_MAX)
            continue;
        const struct cf_standing *at_it = who_is_at(&judge, anomaly);
        anomaly->in_flux = at_it != NULL;
        anomaly->thread = at_it != NULL ? at_it->thread : -1;
    }
    for (size_t i = 0; i < pt->anomalies.rows.len; i++)
        if (pt->anomalies.rows.items[i].in_flux)
            pt->anomalies.rows.items[i].in_complete = false;
}
