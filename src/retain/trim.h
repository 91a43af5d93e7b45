/*
 * What glibc's malloc_trim(0) would give back, range by range, as the core's release does it.
 *
 * The rule (malloc_trim, mtrim, systrim; 2.17 to 2.44), for each arena of the ring that the
 * program's libc has:
 *
 *  1. up to 2.42 malloc_consolidate() empties the fastbins: a fast chunk merges with a free or
 *     fast neighbour on either side, and into top when it is the chunk below top. A tcache chunk
 *     is in use to glibc and merges with nothing. Two free chunks do not merge with each other
 *     unless a fast chunk stands between them, and a free chunk alone does not merge into top.
 *     What merges into a thread arena's top is not released, so that this may release less.
 *  2. of each chunk then in a bin, with size > page - 1 + 6W, at p:
 *         a = round_up(p + 6W, page), length = (size - (a - p)) rounded down to pages,
 *     madvise(a, length, MADV_DONTNEED) where that is a page at least;
 *  3. main arena's top, only while the program break stands at its end: by brk,
 *         (top - MINSIZE - 1) rounded down to a page, or to thp_pagesize where that is set.
 *
 *     main's top   |--------------|-------------------------|
 *                  top            end - extra               end = break
 *                                 `------ brk range -------'
 *
 * Thread arenas' tops are never touched. Inside mappings of huge pages (hugetlbfs) the kernel
 * refuses an madvise whose start is no multiple of the huge page, and rounds its end down.
 *
 * The ranges are disjoint and sorted by address. They are address space; resident_bytes is what
 * the process would get back, where residency is known.
 */
#ifndef CF_RETAIN_TRIM_H
#define CF_RETAIN_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retain/resident.h"
#include "retain/trimrule.h"
#include "base/array.h"
#include "corefrag.h"
#include "ptmalloc/chunkmap.h"

enum cf_trim_how { CF_TRIM_MADVISE, CF_TRIM_BRK };

struct cf_trim_range {
    uint64_t addr;
    uint64_t bytes;
    struct cf_resident_bytes resident;
    uint32_t arena_id;
    enum cf_trim_how how;
};

/* One arena's sums. */
struct cf_trim_sum {
    uint64_t ranges;
    uint64_t bytes;
    uint64_t top_bytes;                    /* of `bytes`, by brk */
    struct cf_resident_bytes resident;     /* known when there is no range at all: 0 */
    struct cf_resident_bytes top_resident; /* of `resident`, by brk */
    uint64_t top_start; /* of the arena's top once consolidated; 0: no top, not trimmed */
};

struct cf_trim {
    CF_ARRAY(struct cf_trim_range) ranges;
    size_t nr_arenas;
    struct cf_trim_sum *arenas; /* by arena id */
    struct cf_trim_sum all;
};

/* Simulates malloc_trim(0) over `map` in one pass. CF_ENOMEM only; free `out` with
 * cf_trim_fini(). Heaps whose arena the rule does not know are not trimmed. */
int cf_trim_simulate(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                     const struct cf_residency *residency, struct cf_trim *out,
                     struct cf_err *err);
void cf_trim_fini(struct cf_trim *trim);

/* What is given back to its arena before malloc_trim(0), beside what is dead already. */
struct cf_trim_change {
    bool caches;           /* all that waits in thread caches */
    const uint64_t *freed; /* bits of live chunks, each at its start as in cf_planes; NULL: none */
};

/* The same after the change (NULL: none). A chunk that is given back merges as a fast one does:
 * with what is dead on either side, and with the top. */
int cf_trim_simulate_if(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                        const struct cf_residency *residency, const struct cf_trim_change *change,
                        struct cf_trim *out, struct cf_err *err);

/* Index of the first range that ends above `addr`; ranges.len when there is none. */
size_t cf_trim_lower_bound(const struct cf_trim *trim, uint64_t addr);
/* Resident bytes of the ranges inside [start, end); known as cf_residency_count() has it, and 0
 * where there is no range. */
struct cf_resident_bytes cf_trim_resident_within(const struct cf_trim *trim,
                                                 const struct cf_residency *residency,
                                                 uint64_t start, uint64_t end);

const char *cf_trim_how_name(enum cf_trim_how how); /* "madvise", "brk"; static */

#endif
