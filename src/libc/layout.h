/*
 * Where glibc's malloc keeps its fields, as data: one table for each struct, a row for each
 * shape that a release had (2.17 to 2.44, 64-bit and 32-bit). A row is chosen because the core's
 * bytes fit it, never by a version string: distributions backport. Offsets are bytes from the
 * struct's start; CF_ABSENT marks a field that the shape does not have. What the code did with a
 * struct changed with its shape, so behaviours are fields of the rows too: a new glibc is new rows.
 * Rows are static.
 *
 * Sources: malloc/malloc.c and malloc/arena.c of each release, compiled for each target.
 */
#ifndef CF_LIBC_LAYOUT_H
#define CF_LIBC_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CF_ABSENT = 0xffff, CF_NR_BINS = 127, CF_BIN_WORDS = 254, CF_NR_FASTBINS_MAX = 11 };

/* Of glibc 2.x, both included. */
struct cf_releases {
    uint8_t first;
    uint8_t last;
};

/* struct malloc_state */
struct cf_state_layout {
    const char *releases; /* "2.27-2.42" */
    struct cf_releases span;
    uint8_t word_bytes;
    uint8_t alignment;                /* MALLOC_ALIGNMENT; i386 has had 16 since 2.26 */
    uint8_t heap_trim_asks_threshold; /* heap_trim() asks trim_threshold (2.23+) */
    uint8_t mmapped_header_is_short;  /* an mmapped chunk's size leaves out its header (2.43+) */
    uint8_t tcache_is_late;           /* made by the first free(), so anywhere (2.43+) */
    uint8_t default_tcache_count;     /* mp_.tcache_count as it begins; 0: no tcache yet */
    uint8_t nr_fastbins; /* NFASTBINS; 0 from 2.43 */
    uint16_t have_fastchunks;
    uint16_t fastbins;
    uint16_t top;
    uint16_t last_remainder;
    uint16_t bins;
    uint16_t binmap;
    uint16_t next;
    uint16_t next_free;
    uint16_t attached_threads;
    uint16_t system_mem;
    uint16_t max_system_mem;
    uint16_t bytes;
};

/* struct malloc_par. The fields before n_mmaps never moved: trim_threshold, top_pad,
 * mmap_threshold, arena_test, arena_max, one word each. */
struct cf_par_layout {
    const char *releases;
    struct cf_releases span;
    uint8_t word_bytes;
    uint16_t thp_mode;
    uint16_t thp_pagesize;
    uint16_t hp_pagesize;
    uint16_t hp_flags;
    uint16_t n_mmaps;
    uint16_t n_mmaps_max;
    uint16_t max_n_mmaps;
    uint16_t no_dyn_threshold;
    uint16_t mmapped_mem;
    uint16_t max_mmapped_mem;
    uint16_t max_total_mem;
    uint16_t sbrk_base;
    uint16_t tcache_bins;
    uint16_t tcache_max_bytes;
    uint16_t tcache_count;
    uint16_t tcache_unsorted_limit;
    uint16_t bytes;
    uint8_t mmapped_mem_drifts;  /* each mremap adds 2 words too many (mremap_chunk, 2.43+) */
    uint8_t arenas_are_cores;    /* arena_get2() allows one arena a core, not 8 or 2 (2.44) */
    uint16_t pagesize;           /* an int, before 2.17 alone; 0: none */
    uint8_t has_no_arenas;       /* without PER_THREAD: no arena_test, no arena_max */
};

/* heap_info: ar_ptr, prev, size, mprotect_size are the first four words in every shape. */
struct cf_heap_info_layout {
    const char *releases;
    struct cf_releases span;
    uint8_t word_bytes;
    uint16_t pagesize;
    uint16_t bytes;
};

/* struct tcache_perthread_struct */
struct cf_tcache_layout {
    const char *releases;
    struct cf_releases span;
    uint8_t word_bytes;
    uint8_t count_bytes;   /* 1 or 2 */
    uint8_t counts_are_slots; /* 2.42: counts[] became num_slots[], the free slots left */
    uint8_t nr_small;      /* bins of one size each */
    uint8_t nr_large;      /* 2.42+: bins of a power of two */
    uint16_t entries;
    uint16_t bytes;
    uint16_t chunk_bytes;  /* of the chunk that holds it; up to 0x20 more is possible */
};

/* PROTECT_PTR came in 2.32: every release of the span has it. */
static inline bool cf_releases_mangle_links(struct cf_releases span) {
    return span.first >= 32;
}

enum { CF_FIRST_RELEASE = 17, CF_LAST_RELEASE = 44 }; /* whose malloc is described */

static inline bool cf_releases_overlap(struct cf_releases a, struct cf_releases b) {
    return a.first <= b.last && b.first <= a.last;
}

extern const struct cf_state_layout cf_state_layouts[];
extern const size_t cf_nr_state_layouts;
extern const struct cf_par_layout cf_par_layouts[];
extern const size_t cf_nr_par_layouts;
extern const struct cf_heap_info_layout cf_heap_info_layouts[];
extern const size_t cf_nr_heap_info_layouts;
extern const struct cf_tcache_layout cf_tcache_layouts[];
extern const size_t cf_nr_tcache_layouts;

/*
 * A chunk's header is the word before the user memory: the chunk's size, whose three lowest bits
 * are flags (malloc.c, "struct malloc_chunk", all releases). What such a word can be and what not
 * is judged here and nowhere else.
 */
enum {
    PREV_INUSE = 1,
    IS_MMAPPED = 2,
    NON_MAIN_ARENA = 4,
    SIZE_FLAGS = 7,
};

/* The bytes of the chunk, flags cleared. */
static inline uint64_t cf_header_bytes(uint64_t header) {
    return header & ~(uint64_t)SIZE_FLAGS;
}

/* What holds for the chunks of one arena's heaps. */
struct cf_header_rule {
    unsigned min_bytes; /* MINSIZE: 4 words */
    unsigned alignment; /* MALLOC_ALIGNMENT */
    unsigned bad_flags; /* that no header of the heap has */
};

static inline struct cf_header_rule cf_header_rule_make(unsigned word_bytes, unsigned alignment,
                                                        bool is_main) {
    return (struct cf_header_rule){
        .min_bytes = 4 * word_bytes,
        .alignment = alignment,
        .bad_flags = is_main ? IS_MMAPPED | NON_MAIN_ARENA : IS_MMAPPED,
    };
}

/* A header that _int_malloc, _int_free or sysmalloc can have written, of a chunk that has `room`
 * bytes at most. */
static inline bool cf_header_can_be(struct cf_header_rule rule, uint64_t header, uint64_t room) {
    uint64_t bytes = cf_header_bytes(header);
    return bytes >= rule.min_bytes && (bytes & (rule.alignment - 1)) == 0 &&
           (header & rule.bad_flags) == 0 && bytes <= room;
}

#endif
