/*
 * The map of the heaps as a page can draw it: each heap is a row of cells, a cell a run of
 * neighbouring pages with how many of them are of which class. Cells start out as the runs of the
 * database; where those are too many the map grows coarser, whole powers of two of pages at a time,
 * except in windows that are kept as fine as they are (around top pins and large holes). Pages are
 * counted, never dropped: the cells of a heap cover it without a gap.
 *
 * Rows are added in order: a heap, its windows, then its runs from the lowest address up. When
 * memory runs out the map notes it in `failed` and what is missing is missing.
 */
#ifndef CF_REPORT_MAP_H
#define CF_REPORT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

enum cf_map_class {
    CF_MAP_LIVE,
    CF_MAP_MIXED,
    CF_MAP_DEAD,
    CF_MAP_RELEASABLE,
    CF_MAP_TOP,
    CF_MAP_OVERHEAD,
    CF_MAP_NR_CLASSES,
};

/* Counts of pages have two places for each class: in memory (or not known), and not in memory. */
enum { CF_MAP_NR_COUNTS = 2 * CF_MAP_NR_CLASSES };

struct cf_map_cell {
    uint64_t page; /* its first page, counted from the heap's */
    uint64_t pages;
    uint64_t live_bytes;
    bool is_fine; /* in a window: never joined with its neighbours */
    uint64_t counts[CF_MAP_NR_COUNTS];
};

struct cf_map_heap {
    int64_t heap_id;
    int64_t arena_id;
    uint64_t start; /* of the first page */
    uint64_t pages;
    int64_t resident_bytes; /* negative: not known */
    int64_t live_bytes;
    size_t first_cell;
    size_t nr_cells;
};

/* What stands at an address of the map: a top pin, or a large hole. */
struct cf_map_mark {
    uint64_t address;
    int64_t bytes;    /* its size */
    int64_t unlocked; /* what a pin holds down; what malloc_trim(0) would release of a hole */
    int64_t heap_id;
    int64_t rank; /* of a pin, 1 is the topmost; 0: a hole */
    char *text;   /* type and holder of a pin, or NULL */
};

struct cf_map_window {
    uint64_t from; /* pages of the heap */
    uint64_t to;
};

struct cf_map {
    uint64_t page_bytes;
    bool has_chunks; /* the database has the live chunks one by one */
    bool failed;
    uint64_t grain; /* pages that a cell outside windows may cover at the most; 1: as they come */
    size_t max_cells;
    uint64_t nr_more; /* heaps that are left out */
    CF_ARRAY(struct cf_map_heap) heaps;
    CF_ARRAY(struct cf_map_cell) cells;
    CF_ARRAY(struct cf_map_mark) marks;
    CF_ARRAY(struct cf_map_window) windows; /* of the last heap, in order */
};

/* NULL: out of memory. `max_cells` is where the map begins to grow coarser. */
struct cf_map *cf_map_new(uint64_t page_bytes, size_t max_cells);
void cf_map_free(struct cf_map *map);

/* The counts and the first cell of `heap` are the map's own matter. */
void cf_map_heap(struct cf_map *map, const struct cf_map_heap *heap);
/* Pages [from, to) of the last heap stay fine; windows may overlap and come in any order. */
void cf_map_window(struct cf_map *map, uint64_t from, uint64_t to);
/* The next run of pages of the last heap, all of one class. What lies beyond the heap's pages is
 * left out. */
void cf_map_run(struct cf_map *map, uint64_t pages, enum cf_map_class class, bool is_resident,
                uint64_t live_bytes);
/* `text` is copied and may be NULL. */
void cf_map_mark(struct cf_map *map, const struct cf_map_mark *mark);

/* Doubles the grain; with `windows` they are given up too. False: it cannot grow any coarser. */
bool cf_map_coarsen(struct cf_map *map, bool windows);

/* A bound of the characters that all cells take when they are written as text, as in
 * emit_html_map.c. */
size_t cf_map_text_bytes(const struct cf_map *map);

/* The class by its name in v_page_run; false: there is no such class. */
bool cf_map_class_named(const char *name, enum cf_map_class *out);
const char *cf_map_class_name(enum cf_map_class class);

#endif
