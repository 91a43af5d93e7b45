/*
 * Chunk maps from words, for tests. A heap is described by its chunks from the first one up:
 *
 *     "L40 F2000 f20 t30 #10 ~100 T1000"     sizes in hex bytes
 *
 * L live, F free, f fast, t tcache, T top, # fence, ~ gap. Residency is a string with a letter for
 * each page from `base`: R resident, N not, ? unknown; pages beyond it are resident.
 */
#ifndef CF_TESTS_TOYHEAP_H
#define CF_TESTS_TOYHEAP_H

#include "retain/resident.h"
#include "retain/trimrule.h"
#include "ptmalloc/chunkmap.h"

struct toy_heap {
    uint32_t arena_id;
    uint64_t start;
    uint64_t first_chunk;
    const char *chunks;
    uint64_t end; /* 0: the end of the last chunk */
};

/* Fails the test when the words make no sense. Free with cf_chunkmap_free(). */
struct cf_chunkmap *toy_map(unsigned word_bytes, const struct toy_heap *heaps, size_t nr);

struct toy_residency {
    uint64_t base;
    uint64_t page_bytes;
    const char *pages;
};

struct cf_residency toy_residency(const struct toy_residency *pages);

/* A rule for `map`: 64-bit or 32-bit, 4 KiB pages, arenas [0, nr_arenas) trimmed, 0 by brk; heaps
 * not chained, as long as they are. cf_trim_rule_fini() in the end. */
struct cf_trim_rule toy_rule(unsigned word_bytes, const struct cf_chunkmap *map,
                             size_t nr_arenas);

#endif
