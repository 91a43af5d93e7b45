/*
 * Why freed memory stays, all of it: what malloc_trim(0) and free() would give back, where every
 * resident byte of the heaps goes, which live chunks pin pages and tops. Owns the results of the
 * passes of trim, freeing, pages (waste, page runs, page pins) and top pins, in that order; read
 * only once filled. Borrows the walk.
 */
#ifndef CF_RETAIN_KEPT_H
#define CF_RETAIN_KEPT_H

#include "retain/former.h"
#include "retain/freeing.h"
#include "retain/pagepin.h"
#include "retain/pages.h"
#include "retain/resident.h"
#include "retain/toppin.h"
#include "retain/trim.h"
#include "retain/trimrule.h"
#include "retain/waste.h"
#include "types/types.h"
#include "corefrag.h"
#include "ptmalloc/heap.h"

/* DEFAULT_TRIM_THRESHOLD, DEFAULT_MMAP_THRESHOLD (malloc.c, 2.17 to 2.44). */
enum { CF_TRIM_THRESHOLD_DEFAULT = 128 * 1024, CF_MMAP_THRESHOLD_DEFAULT = 128 * 1024 };

/* What malloc_trim(0) would give back if some chunks went back to their arenas first, with what
 * free() drops of threads' arenas once these have merged: malloc_trim never touches their tops. */
struct cf_trim_if {
    uint64_t chunks; /* that would go back; 0: nobody asked, since there is none */
    uint64_t bytes;
    struct cf_resident_bytes now;  /* without the change */
    struct cf_resident_bytes then;
};

struct cf_kept {
    struct cf_residency residency;
    struct cf_trim_rule rule;
    struct cf_trim trim;
    struct cf_trim_if without_caches; /* all thread caches empty */
    struct cf_resident_bytes threshold_then; /* what free() gives back with a trim_threshold of
                                                CF_TRIM_THRESHOLD_DEFAULT */
    struct cf_former_blocks former; /* beyond CF_MMAP_THRESHOLD_DEFAULT, where mmap_threshold is
                                       larger; else all zero */
    struct cf_freeing freeing;
    struct cf_waste waste;
    struct cf_page_runs runs;
    struct cf_page_pins *page_pins;
    struct cf_types *types; /* borrowed, or NULL */
    struct cf_top_pins top_pins;
};

/* What malloc_trim(0) and free() would give back, also without thread caches, and which large
 * blocks stood where free memory is. `kept` is all zero but for `types`. CF_ENOMEM, CF_ECANCELLED.
 * End with cf_kept_fini(), also after a failure. */
int cf_kept_trim(const struct cf_context *ctx, const struct cf_ptmalloc *pt, struct cf_kept *kept,
                 struct cf_err *err);

/* `out`'s chunks and bytes are the caller's. After cf_kept_trim(), of which nothing changes. Fails
 * only for lack of memory. */
int cf_kept_trim_if(const struct cf_ptmalloc *pt, const struct cf_kept *kept,
                    const struct cf_trim_change *change, struct cf_trim_if *out,
                    struct cf_err *err);

/* The rest, after cf_kept_trim(): pages and pins. What that one found is only read. */
int cf_kept_pins(const struct cf_context *ctx, const struct cf_ptmalloc *pt, struct cf_kept *kept,
                 struct cf_err *err);
void cf_kept_fini(struct cf_kept *kept);

#endif
