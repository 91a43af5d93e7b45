/*
 * What the trimming rules of a release need to know beside the chunk map: sizes, thresholds of
 * mp_, which arenas malloc_trim() walks, where huge pages are. Plain values, read once from what
 * the walk found; tests fill their own.
 */
#ifndef CF_RETAIN_TRIMRULE_H
#define CF_RETAIN_TRIMRULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "ptmalloc/heap.h"

/* A mapping of huge pages. */
struct cf_trim_huge {
    uint64_t start;
    uint64_t end;
};

struct cf_trim_arena {
    bool is_main;
    bool trimmed; /* in the ring that malloc_trim walks */
    bool by_brk;  /* main, with the break at the end of its top */
};

/* A heap_info's own fields, by heap id. */
struct cf_trim_heap {
    uint32_t prev;       /* the heap below it in the arena's chain, UINT32_MAX: none */
    uint64_t size_bytes; /* heap_info.size; of a piece of main, its length */
    uint64_t page_bytes; /* heap_info.pagesize (2.35+), else the page */
};

struct cf_trim_rule {
    unsigned word_bytes;
    uint64_t page_bytes;
    uint64_t thp_bytes;        /* mp_.thp_pagesize, 0: not set */
    uint64_t hugetlb_bytes;    /* mp_.hp_pagesize, 0: none */
    uint64_t top_pad;          /* mp_ */
    uint64_t trim_threshold;   /* mp_ */
    uint64_t heap_max_bytes;   /* HEAP_MAX_SIZE */
    bool heap_has_threshold;   /* heap_trim() asks trim_threshold (2.23+) */
    size_t nr_arenas;
    struct cf_trim_arena *arenas; /* by arena id */
    size_t nr_heaps;
    struct cf_trim_heap *heaps;   /* by heap id */
    CF_ARRAY(struct cf_trim_huge) huge; /* sorted */
};

/* CF_ENOMEM only; nothing to free then. */
int cf_trim_rule_of(const struct cf_ptmalloc *pt, struct cf_trim_rule *out, struct cf_err *err);
void cf_trim_rule_fini(struct cf_trim_rule *rule);

/* MINSIZE of the target. */
static inline uint64_t cf_trim_min_chunk(const struct cf_trim_rule *rule) {
    return 4 * (uint64_t)rule->word_bytes;
}

/* systrim()'s amount for main's top chunk of `top_bytes`: (top - MINSIZE - 1 - pad) rounded down
 * to the unit that applies; 0 when it would leave it alone. */
uint64_t cf_trim_top_bytes(const struct cf_trim_rule *rule, uint64_t top_bytes, uint64_t pad);

/* What the kernel does with an madvise(DONTNEED) of `bytes` at `addr`: all of it, or inside a
 * mapping of huge pages whole huge pages from an aligned start, else nothing (EINVAL). */
uint64_t cf_trim_accepted_bytes(const struct cf_trim_rule *rule, uint64_t addr, uint64_t bytes);

#endif
