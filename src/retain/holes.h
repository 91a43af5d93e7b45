/*
 * Holes: longest runs of neighbouring dead chunks (free, fast, tcache) below the top, within one
 * piece of a heap. Fences, gaps, headers and the heap's ends bound them; a run just below the top
 * is a hole without a chunk above. Fed with every chunk of each heap in order of address, heap by
 * heap; immutable once finished. Those of at least a page are kept one by one, all are counted in
 * a histogram by arena and power of two.
 *
 *     cf_holes_new(mem, trim, map, nr_arenas, &holes, err);
 *     cf_holes_add(holes, heap, &run, &chunk) ...           false: memory is out
 *     cf_holes_end_heap(holes, heap, &run) ...              false: memory is out
 */
#ifndef CF_RETAIN_HOLES_H
#define CF_RETAIN_HOLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retain/resident.h"
#include "retain/sizes.h"
#include "retain/trim.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"

struct cf_holes;

enum { CF_HOLE_CLASSES = 64 };

struct cf_hole {
    uint32_t arena_id;
    uint32_t heap_id;
    uint64_t addr;
    uint64_t bytes;
    uint64_t chunks;
    uint64_t resident_bytes;
    bool resident_known;
    struct cf_resident_bytes releasable; /* of these, what malloc_trim(0) would give back */
    uint64_t below; /* live chunk that ends where the hole starts; 0: none */
    uint64_t above; /* live chunk that starts where it ends; 0: none */
};

/* Holes of [2^k, 2^(k+1)) bytes of one arena. */
struct cf_hole_class {
    uint64_t holes;
    uint64_t bytes;
    uint64_t resident_bytes; /* of those holes where it is known */
    bool resident_known;     /* of any */
    struct cf_resident_bytes releasable;
};

struct cf_hole_sums {
    uint64_t holes;
    uint64_t bytes;
    uint64_t largest;
};

/* Borrows `mem`, which may be NULL: then nothing is known of residency; and `trim`, of the same
 * map, which may be NULL too: then nothing is known of what could be released. */
int cf_holes_new(const struct cf_mem *mem, const struct cf_trim *trim,
                 const struct cf_chunkmap *map, size_t nr_arenas, struct cf_holes **out,
                 struct cf_err *err);
void cf_holes_free(struct cf_holes *holes);
void cf_holes_freep(struct cf_holes **holes);

/* The hole at hand, while a heap's chunks go by; begins as zeros. */
struct cf_hole_run {
    uint64_t addr;
    uint64_t bytes; /* 0: there is none */
    uint64_t chunks;
    uint64_t below;
    uint64_t last_live; /* the chunk before, when it is live, else 0 */
};

/* The hole ends; `above` as in struct cf_hole. */
bool cf_holes_close(struct cf_holes *holes, const struct cf_heap *heap, struct cf_hole_run *run,
                    uint64_t above);

static inline bool cf_holes_add(struct cf_holes *holes, const struct cf_heap *heap,
                                struct cf_hole_run *run, const struct cf_chunk *chunk) {
    if (cf_chunk_is_dead(chunk->state)) {
        run->addr = run->bytes == 0 ? chunk->addr : run->addr;
        run->below = run->bytes == 0 ? run->last_live : run->below;
        run->bytes += chunk->bytes;
        run->chunks++;
        return true;
    }
    run->last_live = chunk->state == CF_CHUNK_LIVE ? chunk->addr : 0;
    return run->bytes == 0 || cf_holes_close(holes, heap, run, run->last_live);
}

/* Clears the run too. */
bool cf_holes_end_heap(struct cf_holes *holes, const struct cf_heap *heap,
                       struct cf_hole_run *run);

/* Of at least a page, by address (heaps are fed by address). */
size_t cf_holes_nr(const struct cf_holes *holes);
const struct cf_hole *cf_holes_get(const struct cf_holes *holes, size_t index);
/* CF_HOLE_CLASSES of them, the k-th for 2^k bytes. */
const struct cf_hole_class *cf_holes_classes(const struct cf_holes *holes, size_t arena_id);
/* All holes, of any size. */
const struct cf_hole_sums *cf_holes_heap(const struct cf_holes *holes, size_t heap_id);
const struct cf_hole_sums *cf_holes_arena(const struct cf_holes *holes, size_t arena_id);

/* The one iteration over all chunks that sizes and holes share. Both outputs are the caller's to
 * free; `mem` and `trim` as for cf_holes_new(). */
int cf_sweep(const struct cf_context *ctx, const struct cf_mem *mem, const struct cf_trim *trim,
             const struct cf_chunkmap *map, size_t nr_arenas,
             struct cf_sizes **out_sizes, struct cf_holes **out_holes, struct cf_err *err);

#endif
