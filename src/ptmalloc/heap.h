/*
 * ptmalloc rebuilt: arenas with their figures, the chunk map, bins, tcaches, and what did not add
 * up. Made by one walk over the core; immutable afterwards. The walk checks itself: sizes add up
 * to the heap, every binned chunk is met, prev_size and PREV_INUSE agree. What does not becomes
 * an anomaly, and the walk goes on at the next sound place.
 */
#ifndef CF_PTMALLOC_HEAP_H
#define CF_PTMALLOC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "libc/malloc.h"
#include "ptmalloc/chunkmap.h"

struct cf_ptmalloc;

struct cf_arena {
    uint32_t id;   /* 0: namespace 0's main arena */
    uint32_t ns;
    uint64_t addr; /* of its malloc_state; 0 when only its heaps were found */
    bool is_main;
    bool contiguous;          /* main arena grown by brk alone */
    int64_t attached_threads; /* the field; -1 when the shape lacks it */
    uint64_t system_mem;
    uint64_t max_system_mem;
    uint64_t top;             /* address of the top chunk, 0: none */
    uint64_t top_bytes;
    uint64_t walked_free;     /* free chunks and their bytes, from the headers */
    uint64_t walked_free_bytes;
    uint64_t nr_binned;       /* chunks on bins 1..126 and their bytes, from the lists */
    uint64_t binned_bytes;
    uint64_t nr_fast;         /* from the fastbin lists */
    uint64_t fast_bytes;
};

enum cf_bin_kind { CF_BIN_FAST, CF_BIN_UNSORTED, CF_BIN_SMALL, CF_BIN_LARGE };

struct cf_bin {
    uint32_t arena_id;
    enum cf_bin_kind kind;
    uint32_t index; /* fastbinsY index, or bin number 1..126 */
    uint64_t chunks;
    uint64_t bytes;
};

struct cf_tcache {
    uint64_t addr;
    uint32_t arena_id; /* of the heap that holds the struct; UINT32_MAX: none */
    int32_t thread;    /* index in the core's threads, or -1 */
    uint64_t chunks;
    uint64_t bytes;
};

/* `code` is static. Absent ids are UINT32_MAX, an absent address is 0. */
struct cf_anomaly {
    const char *code;
    uint32_t arena_id;
    uint32_t heap_id;
    uint64_t addr;
    bool in_complete; /* the bytes it rests on are in the core: corruption, not absence */
    bool in_flux;     /* a thread was at it: what an operation leaves until it is done (flux.h) */
    int32_t thread;   /* that thread, an index in the core's; of use where in_flux */
    uint64_t tcache;  /* the cache whose list it is about; 0: none */
    uint64_t target;  /* where in a heap a list leads to what is none of its chunks; 0: elsewhere */
    int64_t excess_chunks; /* of sums and counts: what the walk or the list has too many */
    int64_t excess_bytes;
    char detail[160];
};

enum { CF_ANOMALIES_MAX = 10000 }; /* kept; cf_ptmalloc_nr_anomalies_seen() counts all */

/* Walks everything that `m` found (borrowed until the free). Fails only for lack of memory. */
int cf_ptmalloc_walk(const struct cf_context *ctx, const struct cf_malloc *m, unsigned nr_threads,
                     struct cf_ptmalloc **out, struct cf_err *err);
void cf_ptmalloc_free(struct cf_ptmalloc *pt);

const struct cf_malloc *cf_ptmalloc_malloc(const struct cf_ptmalloc *pt);
const struct cf_chunkmap *cf_ptmalloc_map(const struct cf_ptmalloc *pt);
size_t cf_ptmalloc_nr_arenas(const struct cf_ptmalloc *pt);
const struct cf_arena *cf_ptmalloc_arena(const struct cf_ptmalloc *pt, size_t id);
size_t cf_ptmalloc_nr_bins(const struct cf_ptmalloc *pt); /* bins that hold chunks only */
const struct cf_bin *cf_ptmalloc_bin(const struct cf_ptmalloc *pt, size_t index);
size_t cf_ptmalloc_nr_tcaches(const struct cf_ptmalloc *pt);
const struct cf_tcache *cf_ptmalloc_tcache(const struct cf_ptmalloc *pt, size_t index);
size_t cf_ptmalloc_nr_anomalies(const struct cf_ptmalloc *pt);
const struct cf_anomaly *cf_ptmalloc_anomaly(const struct cf_ptmalloc *pt, size_t index);
uint64_t cf_ptmalloc_nr_anomalies_seen(const struct cf_ptmalloc *pt);
/* Bytes of an arena's heaps (UINT32_MAX: of all) in writable mappings of which the core has no
 * byte, though they had some, since malloc works in heaps: MADV_DONTDUMP. */
uint64_t cf_ptmalloc_left_out_bytes(const struct cf_ptmalloc *pt, uint32_t arena_id);

#endif
