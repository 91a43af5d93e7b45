/*
 * How many chunks of which state and size: by heap, by arena, and as size classes. Fed with every
 * chunk of every heap, heap by heap, then finished; immutable afterwards. Nearly all chunks are
 * small: those are only counted, in a table that the caller lends, until their heap ends.
 *
 *     cf_sizes_new(map, nr_arenas, &sizes, err);
 *     cf_size_counts_init(&counts, map);
 *     cf_sizes_add(sizes, heap, &counts, &chunk) ...        false: memory is out
 *     cf_sizes_end_heap(sizes, heap, &counts) ...           false: memory is out
 *     cf_sizes_finish(sizes, err);
 *
 * live + free + fast + tcache + top + overhead are a heap's end - start, exactly: overhead is all
 * that is in no chunk (heap_info, malloc_state, alignment, gaps, bytes beyond the top), and the
 * fences.
 */
#ifndef CF_RETAIN_SIZES_H
#define CF_RETAIN_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "ptmalloc/chunkmap.h"

struct cf_sizes;

struct cf_size_sums {
    uint64_t chunks[CF_NR_CHUNK_STATES]; /* gaps are not counted as chunks */
    uint64_t bytes[CF_NR_CHUNK_STATES];
    uint64_t mapped_bytes;
    uint64_t reserved_bytes; /* beyond the accessible part */
    uint64_t overhead_bytes;
    uint64_t heaps;
    uint64_t last_live; /* of a heap: its highest live chunk; 0: none */
};

struct cf_size_class {
    uint32_t arena_id; /* UINT32_MAX: mmapped chunks */
    enum cf_chunk_state state;
    uint64_t size_bytes;
    uint64_t chunks;
};

/* Borrows `map`. Heaps whose arena_id is not below `nr_arenas` count for their heap alone. */
int cf_sizes_new(const struct cf_chunkmap *map, size_t nr_arenas, struct cf_sizes **out,
                 struct cf_err *err);
void cf_sizes_free(struct cf_sizes *sizes);
void cf_sizes_freep(struct cf_sizes **sizes);

/* Of one heap: live, free, fast and tcache chunks below CF_COUNTED_UNITS units. */
enum { CF_COUNTED_STATES = 4, CF_COUNTED_UNITS = 128 };

struct cf_size_counts {
    uint64_t chunks[CF_COUNTED_STATES * CF_COUNTED_UNITS];
    uint64_t last_live;
    unsigned unit_shift;
};

void cf_size_counts_init(struct cf_size_counts *counts, const struct cf_chunkmap *map);

/* What is not counted in `counts`. */
bool cf_sizes_add_other(struct cf_sizes *sizes, const struct cf_heap *heap,
                        const struct cf_chunk *chunk);

static inline bool cf_sizes_add(struct cf_sizes *sizes, const struct cf_heap *heap,
                                struct cf_size_counts *counts, const struct cf_chunk *chunk) {
    uint64_t units = chunk->bytes >> counts->unit_shift;
    counts->last_live = chunk->state == CF_CHUNK_LIVE ? chunk->addr : counts->last_live;
    if (units >= CF_COUNTED_UNITS || (unsigned)chunk->state >= CF_COUNTED_STATES)
        return cf_sizes_add_other(sizes, heap, chunk);
    counts->chunks[(unsigned)chunk->state * CF_COUNTED_UNITS + units]++;
    return true;
}

/* Takes the counts over and clears them. */
bool cf_sizes_end_heap(struct cf_sizes *sizes, const struct cf_heap *heap,
                       struct cf_size_counts *counts);
/* Adds the mmapped chunks, sorts the classes, closes the sums. */
int cf_sizes_finish(struct cf_sizes *sizes, struct cf_err *err);

const struct cf_size_sums *cf_sizes_heap(const struct cf_sizes *sizes, size_t heap_id);
const struct cf_size_sums *cf_sizes_arena(const struct cf_sizes *sizes, size_t arena_id);
uint64_t cf_sizes_nr_chunks(const struct cf_sizes *sizes); /* in heaps, without gaps */
size_t cf_sizes_nr_classes(const struct cf_sizes *sizes);  /* by arena, state, size */
const struct cf_size_class *cf_sizes_class(const struct cf_sizes *sizes, size_t index);

#endif
