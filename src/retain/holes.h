/*
 * Holes: longest runs of neighbouring dead chunks (free, fast, tcache) below the top, within one
 * piece of a heap. Fences, gaps, headers and the heap's ends bound them; a run just below the top
 * is a hole without a chunk above. Immutable. Those of at least a page are kept one by one, all are
 * counted in a histogram by arena and power of two.
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

void cf_holes_free(struct cf_holes *holes);

/* Of at least a page, by address (heaps are fed by address). */
size_t cf_holes_nr(const struct cf_holes *holes);
const struct cf_hole *cf_holes_get(const struct cf_holes *holes, size_t index);
/* CF_HOLE_CLASSES of them, the k-th for 2^k bytes. */
const struct cf_hole_class *cf_holes_classes(const struct cf_holes *holes, size_t arena_id);
/* All holes, of any size. */
const struct cf_hole_sums *cf_holes_heap(const struct cf_holes *holes, size_t heap_id);
const struct cf_hole_sums *cf_holes_arena(const struct cf_holes *holes, size_t arena_id);

/* The one iteration over all chunks that sizes and holes share. Both outputs are the caller's to
 * free. Borrows `mem`, which may be NULL: then nothing is known of residency; and `trim`, of the
 * same map, which may be NULL too: then nothing is known of what could be released. */
int cf_sweep(const struct cf_context *ctx, const struct cf_mem *mem, const struct cf_trim *trim,
             const struct cf_chunkmap *map, size_t nr_arenas,
             struct cf_sizes **out_sizes, struct cf_holes **out_holes, struct cf_err *err);

#endif
