/*
 * The waterfall: every resident byte of the arenas' heaps in the first class that fits, in the
 * order live, overhead, releasable (by malloc_trim(0) now), pinned (dead, on a page with live
 * bytes), top, cached (fast and tcache), edge (other dead bytes). The classes sum to the resident
 * bytes exactly. Filled span by span from cf_pages_sweep().
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
    CF_WASTE_EDGE,
    CF_NR_WASTE_CLASSES,
};

const char *cf_waste_class_name(enum cf_waste_class waste_class); /* static */

struct cf_waste_sum {
    uint64_t bytes[CF_NR_WASTE_CLASSES];
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
