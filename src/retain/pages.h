/*
 * The heaps page by page: one sweep over the chunk map that says of each page which bytes are
 * live, overhead, released by malloc_trim(0), top, cached or otherwise dead, and hands each live
 * chunk the bytes that it pins. What is made of it (runs, the waterfall, page pins) is the
 * visitor's; the sweep itself keeps one page and the live chunks that touch it.
 *
 *     page     |...................|...................|
 *     chunks   --A--|d|-B-|--- d --+--|------ C -------+----
 *                     dead          dead   live: no page of C but its first and last can be shared
 *
 * Pinned: a resident page with at least one live byte is a page pin, and its dead bytes (top's
 * and cached ones included; those that malloc_trim releases are not) are pinned. They are shared
 * equally among the live chunks that touch the page; what does not divide goes one byte each to
 * those at the lowest addresses. So the shares sum to the pinned bytes exactly.
 *
 * Every byte of [heap start, heap end) is in exactly one part of exactly one span. A page that a
 * heap covers only in part counts with the bytes that are the heap's.
 */
#ifndef CF_RETAIN_PAGES_H
#define CF_RETAIN_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "ptmalloc/chunkmap.h"
#include "retain/resident.h"
#include "retain/trim.h"

enum cf_page_part {
    CF_PART_LIVE,
    CF_PART_OVERHEAD,   /* heap_info, malloc_state, fences, alignment, foreign gaps */
    CF_PART_RELEASABLE, /* inside a range of malloc_trim(0), whatever the chunk */
    CF_PART_TOP,
    CF_PART_TCACHE,
    CF_PART_FAST,
    CF_PART_FREE,
    CF_NR_PARTS,
};

/* Neighbouring pages of one heap that are alike to the byte; most spans are one page. */
struct cf_page_span {
    const struct cf_heap *heap;
    uint64_t start; /* page-aligned; may stand before the heap's start */
    uint64_t pages;
    uint64_t parts[CF_NR_PARTS]; /* bytes, of all pages together; sum: what the heap has here */
    enum cf_resident resident;
    bool joins_top; /* free and fast bytes here would merge with the arena's top (trim.h), which
                       malloc_trim(0) does not return */
};

enum cf_page_class {
    CF_PAGES_LIVE,       /* live bytes and no dead one */
    CF_PAGES_MIXED,      /* live bytes and dead ones */
    CF_PAGES_DEAD,       /* no live byte, some dead ones that are not top's */
    CF_PAGES_RELEASABLE, /* the whole page is released by malloc_trim(0) */
    CF_PAGES_TOP,        /* no live byte, top's bytes alone (beside overhead) */
    CF_PAGES_OVERHEAD,   /* overhead alone */
    CF_NR_PAGE_CLASSES,
};

const char *cf_page_class_name(enum cf_page_class page_class); /* "live", "mixed" ...; static */

/* The bytes that a page pin holds: 0 where the page is not resident or has no live byte. */
uint64_t cf_page_span_pinned(const struct cf_page_span *span);

/* A live chunk with its share of the pages that it touches. */
struct cf_pinner {
    uint64_t addr;
    uint64_t bytes;
    uint64_t pinned_bytes; /* may be 0 */
};

/* Called in address order; each returns CF_OK or a status that ends the sweep. `pins` gets every
 * live chunk that touches a page pin once, after the last span that it touches, together with
 * those that end on the same page. Either may be NULL. */
struct cf_page_visitor {
    void *user;
    int (*span)(void *user, const struct cf_page_span *span, struct cf_err *err);
    int (*pins)(void *user, const struct cf_heap *heap, const struct cf_pinner *pinners, size_t nr,
                struct cf_err *err);
};

/* Sweeps all heaps of `map`. `trim` is of the same map. Fails for lack of memory, or as the
 * visitor does. */
int cf_pages_sweep(const struct cf_chunkmap *map, const struct cf_residency *residency,
                   const struct cf_trim *trim, const struct cf_page_visitor *visitor,
                   struct cf_err *err);

/* Runs of like pages, for maps of a heap: neighbouring pages of one class and one residency become
 * one row. Filled span by span, in address order. */
struct cf_page_run {
    uint64_t start; /* page-aligned */
    uint64_t pages;
    uint64_t live_bytes;
    uint32_t heap_id;
    uint8_t page_class; /* enum cf_page_class */
    uint8_t resident;   /* enum cf_resident */
};

/* All zero is empty; ends with cf_array_free(). */
struct cf_page_runs {
    CF_ARRAY(struct cf_page_run) runs;
    uint64_t page_bytes;
};

int cf_page_runs_add(struct cf_page_runs *runs, const struct cf_page_span *span,
                     struct cf_err *err);

#endif
