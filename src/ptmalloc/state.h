/*
 * The walk's private state: what the files of this folder share while cf_ptmalloc is being made.
 * Nobody outside ptmalloc includes this.
 */
#ifndef CF_PTMALLOC_STATE_H
#define CF_PTMALLOC_STATE_H

#include <string.h>

#include "base/array.h"
#include "core/drop.h"
#include "core/reader.h"
#include "ptmalloc/binsum.h"
#include "ptmalloc/chunkmap_build.h"
#include "ptmalloc/heap.h"

struct cf_anomalies {
    CF_ARRAY(struct cf_anomaly) rows;
    uint64_t seen;
};

struct cf_ptmalloc {
    const struct cf_malloc *malloc_found;
    const struct cf_mem *mem;
    struct cf_chunkmap *map;
    unsigned word_bytes;
    unsigned min_chunk; /* MINSIZE: 4 words */
    unsigned alignment; /* MALLOC_ALIGNMENT */
    CF_ARRAY(struct cf_arena) arenas;
    CF_ARRAY(struct cf_bin) bins;
    CF_ARRAY(struct cf_tcache) tcaches;
    CF_ARRAY(struct cf_heap) found_heaps; /* before they are sorted into the map */
    CF_ARRAY(uint64_t) tcache_chunks; /* by the walk: chunks that look like a tcache struct */
    struct cf_bin_sums **bin_sums; /* by arena, from the walk to the lists; NULL: no free chunk */
    struct cf_anomalies anomalies;
};

/* Adds a row, or only counts it past CF_ANOMALIES_MAX; memory out drops the row, not the count. */
void cf_anomalies_add(struct cf_anomalies *anomalies, const struct cf_anomaly *where,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

/* All rows of `more`, and its count. */
void cf_anomalies_join(struct cf_anomalies *anomalies, const struct cf_anomalies *more);

static inline uint64_t cf_load_word(const unsigned char *at, unsigned word_bytes) {
    uint64_t eight = 0;
    uint32_t four;
    if (word_bytes == 8)
        memcpy(&eight, at, 8);
    else
        memcpy(&four, at, 4);
    return word_bytes == 8 ? eight : four;
}

/*
 * A view of what was read last, so that a walk does not look up each header: of a whole span of the
 * mapping, or of the buffer of a reader, where the pass goes up through the heap.
 */
struct cf_word_view {
    const struct cf_mem *mem;
    struct cf_core_reader *reader; /* NULL: the mapping */
    uint64_t keep; /* what is read next begins here, where that is near; 0: at the word asked for */
    const unsigned char *data;
    uint64_t start;
    uint64_t bytes;
    unsigned word_bytes;
};

bool cf_word_view_refill(struct cf_word_view *view, uint64_t addr);

static inline bool cf_word_view_get(struct cf_word_view *view, uint64_t addr, uint64_t *out) {
    uint64_t offset = addr - view->start;
    if (__builtin_expect(offset + view->word_bytes > view->bytes ||
                             offset >= view->bytes, 0)) {
        if (!cf_word_view_refill(view, addr))
            return false;
        offset = addr - view->start;
        if (view->bytes - offset < view->word_bytes)
            return cf_mem_word(view->mem, addr, out);
    }
    const unsigned char *at = view->data + offset;
    *out = cf_load_word(at, view->word_bytes);
    return true;
}

/* The first address at or above `addr` whose byte can be read; UINT64_MAX: none below `limit`. */
uint64_t cf_readable_from(const struct cf_mem *mem, uint64_t addr, uint64_t limit);

/*
 * The first page at or above `addr` (page-aligned) that the file stores of anonymous memory: what
 * it does not store holds no header. UINT64_MAX aligned down when there is none.
 */
uint64_t cf_next_present_page(const struct cf_mem *mem, uint64_t addr, uint64_t page);

/* What ends a chain of chunks. */
enum cf_chain_end {
    CF_CHAIN_TOP,        /* at the arena's top */
    CF_CHAIN_FENCES,     /* main arena: after two headers of 2 words */
    CF_CHAIN_ZERO_FENCE, /* thread arena: after a header of size 0 */
    CF_CHAIN_LIMIT,      /* exactly at the limit */
    CF_CHAIN_BROKEN,     /* at a header that cannot be */
    CF_CHAIN_STEPS,      /* after `max_steps` sound chunks */
};

struct cf_chain {
    uint64_t top;   /* of the arena; 0: none here */
    uint64_t limit;
    bool is_main;
};

/*
 * Follows chunk headers from `addr` without noting anything. Fills `out_end` with the address
 * after the last sound chunk (fences included). For finding pieces and sound places.
 */
enum cf_chain_end cf_chain_probe(struct cf_word_view *view, const struct cf_ptmalloc *pt,
                                 const struct cf_chain *chain, uint64_t addr, uint64_t max_steps,
                                 uint64_t *out_end);

/* A sound place: enough headers chain from `addr`, or the chain ends as a heap ends. */
bool cf_chain_is_sound(struct cf_word_view *view, const struct cf_ptmalloc *pt,
                       const struct cf_chain *chain, uint64_t addr);

/* pieces.c: adds every heap of every arena to the map (unsealed). */
int cf_pieces_find(struct cf_ptmalloc *pt, struct cf_err *err);

/* How the bins of an arena lie whose malloc_state was found. */
struct cf_bin_shape cf_bin_shape_of(const struct cf_ptmalloc *pt, const struct cf_arena *arena);

/* walk.c: fills the planes of all heaps, and the sums over the links of their free chunks. */
int cf_walk_heaps(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                  struct cf_err *err);

/* What one arena's lists had: arenas are followed by several threads. */
struct cf_ledger {
    CF_ARRAY(struct cf_bin) bins;
    struct cf_anomalies anomalies;
    bool out_of_memory;
};

/* Keeps a row, unless the list was empty. */
void cf_ledger_keep(struct cf_ledger *ledger, const struct cf_bin *bin);

/* lists.c: bins and fastbins of all arenas over the walked planes; takes the sums. */
int cf_lists_follow(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                    struct cf_err *err);

/* cached.c: the fastbins of one arena, up to their ends or to where their links break. */
void cf_fastbins_follow(struct cf_ptmalloc *pt, struct cf_arena *arena, struct cf_ledger *ledger,
                        struct cf_rss_guard *guard);

/* cached.c: every tcache, also those that no thread's TLS names. */
int cf_tcaches_follow(struct cf_ptmalloc *pt, struct cf_err *err);

/* mmapped.c: chunks in mappings of their own; after the heaps are known. */
int cf_mmapped_find(struct cf_ptmalloc *pt, struct cf_err *err);

/* What stands at `addr` may have been there and is not in the core: memory that was left out or cut
 * off, a page of a heap that the dumper could not read. False: it is in the core, or no memory. */
bool cf_is_absent(const struct cf_ptmalloc *pt, uint64_t addr);

/* The chunk before it on a doubly linked list leads to it: who follows the list by fd meets it,
 * also while the other link is not made yet. */
bool cf_is_binned(const struct cf_ptmalloc *pt, uint64_t addr);

/* True when `addr` is the start of a chunk of a heap of `arena_id` (any arena: UINT32_MAX). */
bool cf_walked_chunk(const struct cf_ptmalloc *pt, uint64_t addr, uint32_t arena_id,
                     const struct cf_heap **out);

/* The chunk's size word without flags; false when it cannot be read. */
bool cf_chunk_size(const struct cf_ptmalloc *pt, uint64_t addr, uint64_t *out);

/* The state in the planes of a chunk that starts at `addr` in `heap`; not of odd ones. */
enum cf_chunk_state cf_walked_state(const struct cf_ptmalloc *pt, const struct cf_heap *heap,
                                    uint64_t addr);

/* First chunk at or after `addr`: chunk + 2 words is a multiple of MALLOC_ALIGNMENT. */
uint64_t cf_chunk_from(const struct cf_ptmalloc *pt, uint64_t addr);

#endif
