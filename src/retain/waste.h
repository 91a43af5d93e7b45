/*
 * The waterfall: every resident byte of the arenas' heaps in the first class that fits, in the
 * order live, overhead, releasable (by malloc_trim(0) now), pinned (dead, on a page with live
 * bytes), top, cached (fast and tcache), cache-pinned (dead, on a page with chunks in caches), edge
 * (other dead bytes). The classes sum to the resident bytes exactly.
 *
 * And who keeps it: each dead byte that malloc_trim(0) would not return stands on a page that
 * somebody keeps, and counts for all together that have a byte on that page.
 *
 * Filled span by span from cf_pages_sweep().
 */
#ifndef CF_RETAIN_WASTE_H
#define CF_RETAIN_WASTE_H

#include <stddef.h>
#include <stdint.h>

#include "retain/pages.h"
#include "retain/resident.h"
#include "corefrag.h"

enum cf_waste_class {
    CF_WASTE_LIVE,
    CF_WASTE_OVERHEAD,
    CF_WASTE_RELEASABLE,
    CF_WASTE_PINNED,
    CF_WASTE_TOP,
    CF_WASTE_CACHED,
    CF_WASTE_CACHE_PINNED,
    CF_WASTE_EDGE,
    CF_NR_WASTE_CLASSES,
};

const char *cf_waste_class_name(enum cf_waste_class waste_class); /* static */

/* Who keeps a resident page: those of the first three that have a byte on it, and where none has,
 * a top (also one that what is free below it would join), else overhead (fences, heap_info, the
 * piece's end), else the header of a free chunk. */
enum cf_keeper {
    CF_KEEPER_LIVE = 1,
    CF_KEEPER_TCACHE = 2,
    CF_KEEPER_FAST = 4,
    CF_KEEPER_TOP = 8,
    CF_KEEPER_OVERHEAD,
    CF_KEEPER_HEADER,
    CF_NR_KEEPERS,
};

/* "live", "live and tcache" ...; static. NULL for 0. */
const char *cf_keeper_name(unsigned keeper);

struct cf_kept_pages {
    uint64_t pages;
    uint64_t dead_bytes; /* on them, but what malloc_trim(0) returns */
};

struct cf_waste_sum {
    uint64_t bytes[CF_NR_WASTE_CLASSES];
    uint64_t tcache_bytes; /* of the cached ones, in thread caches; the rest is in fastbins */
    struct cf_kept_pages keepers[CF_NR_KEEPERS]; /* by enum cf_keeper, the first three or'ed */
    struct cf_resident_bytes resident; /* not known: the core says nothing of any page */
};

struct cf_waste {
    size_t nr_arenas;
    struct cf_waste_sum *arenas; /* by arena id */
    struct cf_waste_sum all;
};

int cf_waste_init(struct cf_waste *waste, size_t nr_arenas, struct cf_err *err);
void cf_waste_fini(struct cf_waste *waste);
/* A span of an arena beyond nr_arenas counts in `all` alone. */
void cf_waste_add(struct cf_waste *waste, const struct cf_page_span *span);

#endif
