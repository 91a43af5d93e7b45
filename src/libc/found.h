/*
 * struct cf_malloc while it is being found: what the finders of this folder share and nobody
 * else sees. Each finder reads what the ones before it filled in; cf_malloc_find() knows the order:
 *
 *     arenas   bins arrays, state layout, rings, namespaces
 *     par      mp_ of each namespace
 *     heaps    HEAP_MAX, heap_info layout, heaps; arenas that only a heap_info names
 *     tls      thread_arena of each thread
 *     tcaches  tcache layout, each thread's tcache, more from the first chunks of each heap
 *     links    safe-linking
 *
 * Finders return a status for lack of memory only; what is not there is left zero.
 */
#ifndef CF_LIBC_FOUND_H
#define CF_LIBC_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/texts.h"
#include "libc/layout.h"
#include "libc/malloc.h"
#include "mem/mem.h"

enum {
    CF_NAMESPACES_MAX = 64,
    CF_MALLOC_ARENAS_MAX = 65536,
    CF_BINS_ENOUGH = 96, /* valid bins of 127 that make a damaged arena an arena */
};

/* One bins array: the address of bin 1's pair, and how many of the 127 pairs are sound. */
struct cf_bins {
    uint64_t addr;
    unsigned valid;
};

struct cf_arena_place {
    uint64_t addr;
    size_t index; /* in `arenas` */
};

struct cf_malloc {
    const struct cf_mem *mem;
    unsigned word;
    unsigned alignment;
    const struct cf_state_layout *state;
    const struct cf_heap_info_layout *heap_info;
    const struct cf_tcache_layout *tcache;
    uint64_t heap_max;
    struct cf_bare_heap bare_heap;
    bool safe_linking;
    bool links_decided; /* by votes; until then lists are tried both ways */
    char layout_text[160];
    char refused[16]; /* the release, where it is one that is not described */
    CF_ARRAY(struct cf_bins) bins; /* found by scanning; sorted, no overlaps */
    CF_ARRAY(struct cf_namespace) namespaces;
    CF_ARRAY(struct cf_arena_ref) arenas;
    CF_ARRAY(struct cf_arena_place) places; /* of `arenas`, sorted by address */
    CF_ARRAY(struct cf_heap_info) heaps;
    CF_ARRAY(struct cf_tcache_ref) tcaches;
    CF_ARRAY(struct cf_thread_malloc) threads;
    bool has_tls; /* where both variables stand, from the thread pointer */
    int64_t tls_arena;
    int64_t tls_tcache;
};

int cf_arenas_find(const struct cf_context *ctx, struct cf_malloc *m, struct cf_err *err);
void cf_par_find(struct cf_malloc *m, struct cf_namespace *ns);
int cf_heaps_find(struct cf_malloc *m, struct cf_err *err);
int cf_arenas_adopt(struct cf_malloc *m, struct cf_err *err); /* those that only heaps name */
/* bareheap.c: fills m->bare_heap where no main arena was found; false: there is none. */
bool cf_bare_heap_find(struct cf_malloc *m);
int cf_tls_find(struct cf_malloc *m, struct cf_err *err);
int cf_tcaches_find(struct cf_malloc *m, struct cf_err *err);
void cf_links_decide(struct cf_malloc *m);

/* bins.c: valid pairs of the bins array at `addr`; 0 when it cannot be read, or as soon as fewer
 * than CF_BINS_ENOUGH can be reached. */
unsigned cf_bins_valid(const struct cf_mem *mem, uint64_t addr);
/* Appends the bins arrays that lie in [start, end) to m->bins, in order. False: memory is out. */
bool cf_bins_scan(struct cf_malloc *m, uint64_t start, uint64_t end);

/* arenas.c: the arena whose malloc_state stands at `addr`, or NULL. */
const struct cf_arena_ref *cf_arenas_lookup(const struct cf_malloc *m, uint64_t addr);

/* heaps.c: the heap_info that `arena` lies behind, or 0: the address is no thread arena's. */
uint64_t cf_heap_of_arena(const struct cf_malloc *m, uint64_t arena);
/* HEAP_MAX_SIZE without huge pages. */
uint64_t cf_usual_heap_max(const struct cf_malloc *m);

/* A word of the malloc_state at `arena`, by its offset in the layout; 0 when it cannot be read. */
static inline uint64_t cf_state_word(const struct cf_malloc *m, uint64_t arena, unsigned offset) {
    uint64_t value = 0;
    if (offset == CF_ABSENT || !cf_mem_word(m->mem, arena + offset, &value))
        return 0;
    return value;
}

/* MINSIZE: a header and two links. */
static inline unsigned cf_min_chunk_bytes(const struct cf_malloc *m) {
    return 4 * m->word;
}

/* The first chunk at or after `addr`: its user memory is aligned. 0 when there is no room. */
uint64_t cf_first_chunk_at(const struct cf_malloc *m, uint64_t addr);
/* The size of the chunk at `addr`, flags cleared; false when unreadable or impossible. */
bool cf_chunk_size_at(const struct cf_malloc *m, uint64_t addr, uint64_t *out);

/* libc.so.6, libc-2.31.so. */
static inline bool cf_is_libc_path(const char *path) {
    const char *name = cf_base_name(path);
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0;
}

/* tcache.c: what the finders share beside what libc/malloc.h offers to all. */

/* How the bins of a would-be tcache look; nr_good + nr_bad are those that are not empty. */
struct cf_tcache_verdict {
    unsigned nr_good;
    unsigned nr_bad;
    unsigned nr_begun; /* of nr_bad: they have a count, and lead to a chunk of their own size */
    bool slots_full; /* 2.42+: nothing bad, and empty bins have the full number of slots */
};

struct cf_tcache_verdict cf_tcache_judge(const struct cf_malloc *m, uint64_t tcache,
                                         uint64_t chunk_bytes);

/* Its chunk is the first of a heap, where tcache_init() puts the first cache (2.26 to 2.42). */
bool cf_tcache_is_first(const struct cf_malloc *m, uint64_t tcache);

/* The list has bin->count chunks of the bin's sizes, and ends there (checked for short lists). */
bool cf_tcache_list_is_sound(const struct cf_malloc *m, const struct cf_tcache_bin *bin,
                             bool mangled);

#endif
