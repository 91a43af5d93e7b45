/*
 * glibc's malloc as found in a core: which shapes its structs have and where they stand. Found by
 * pattern, with no symbols: the self-referring bins of main_arena in writable memory, the ring of
 * `next`, heap_info at HEAP_MAX alignment, mp_ by a scored signature, each thread's tcache. One
 * libc is one namespace; dlmopen and the debug-malloc preload bring a second. Namespace 0 is the
 * program's: the one whose main arena is in use. Immutable; borrows the address space.
 */
#ifndef CF_LIBC_MALLOC_H
#define CF_LIBC_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "libc/layout.h"
#include "mem/mem.h"

struct cf_malloc;

/* mp_ as read. Fields that the shape lacks are 0. */
struct cf_par {
    uint64_t addr; /* 0: not found */
    const struct cf_par_layout *layout;
    int score;
    uint64_t trim_threshold, top_pad, mmap_threshold, arena_test, arena_max;
    uint64_t thp_mode, thp_pagesize, hp_pagesize, hp_flags;
    uint64_t n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
    uint64_t mmapped_mem, max_mmapped_mem, max_total_mem, sbrk_base;
    uint64_t tcache_bins, tcache_max_bytes, tcache_count, tcache_unsorted_limit;
};

/* One libc. */
struct cf_namespace {
    uint64_t main_arena; /* address of its malloc_state */
    struct cf_par par;
    bool break_at_top;   /* a word of libc's data equals the end of main's top: brk can shrink it */
    bool used;           /* its main arena has served an allocation */
};

/* One malloc_state of a ring. Index 0 is namespace 0's main arena. */
struct cf_arena_ref {
    uint64_t addr; /* 0: it is not in the core, its heap is (cf_malloc_bare_heap) */
    uint32_t ns;
    bool is_main;
    bool in_ring; /* false: met only through heap_info or its bins */
};

/* One heap_info. */
struct cf_heap_info {
    uint64_t addr;
    uint64_t ar_ptr, prev, size, mprotect_size, pagesize;
};

/* One tcache_perthread_struct. */
struct cf_tcache_ref {
    uint64_t addr;       /* of the struct (user address of its chunk) */
    int32_t thread;      /* index in the core's threads, or -1: an orphan or not told */
};

/* The heap of a main arena whose malloc_state is not in the core, by its mapping and its chunks. */
struct cf_bare_heap {
    uint64_t start;
    uint64_t first_chunk;
    uint64_t end; /* of the mapping; 0: there is no such heap */
    uint64_t top; /* 0: what the core has of the heap ends before it */
};

/* What a thread's TLS says. */
struct cf_thread_malloc {
    uint64_t thread_arena; /* 0: not known or none */
    uint64_t tcache;       /* 0: not known or none */
};

/*
 * Finds malloc in `mem`. Success with cf_malloc_nr_namespaces() == 0 means that there is no glibc
 * malloc (or its data is not in the core). Fails only for lack of memory.
 */
int cf_malloc_find(const struct cf_context *ctx, const struct cf_mem *mem, struct cf_malloc **out,
                   struct cf_err *err);
void cf_malloc_free(struct cf_malloc *malloc_found);

const struct cf_mem *cf_malloc_mem(const struct cf_malloc *m);
const struct cf_state_layout *cf_malloc_state_layout(const struct cf_malloc *m); /* or NULL: none */
const struct cf_heap_info_layout *cf_malloc_heap_info_layout(const struct cf_malloc *m);
const struct cf_tcache_layout *cf_malloc_tcache_layout(const struct cf_malloc *m); /* or NULL */
/* "state 2.27-2.42, mp 2.35-2.42, heap_info 2.35-2.44, tcache 2.30-2.41", "none" for what was not
 * found, "" without any malloc; owned by `m`. */
const char *cf_malloc_layout_text(const struct cf_malloc *m);

/*
 * The releases of glibc 2.x that have all of these shapes; first > last where there are none: the
 * shapes contradict each other (what distributions are known to have backported does not: it went
 * to a release whose other shapes went along). Shapes that only an absent struct could show count
 * for nothing.
 */
struct cf_releases cf_malloc_releases(const struct cf_malloc *m);

/* A glibc whose malloc is not described here (before 2.17): "before 2.17", or its release where
 * that is known. NULL: none. Nothing of such a malloc is kept. */
const char *cf_malloc_refused(const struct cf_malloc *m);
/* Takes what the libc's own banner says ("2.12"; "" is nothing): a release that is not described is
 * refused, whatever its structs look like. */
void cf_malloc_take_release(struct cf_malloc *m, const char *release);

uint64_t cf_malloc_heap_max(const struct cf_malloc *m);    /* HEAP_MAX_SIZE: alignment of heaps */
unsigned cf_malloc_alignment(const struct cf_malloc *m);   /* MALLOC_ALIGNMENT */
bool cf_malloc_safe_linking(const struct cf_malloc *m);
/* 2.43+: an mmapped chunk's size leaves out its header. */
bool cf_malloc_header_is_short(const struct cf_malloc *m);

size_t cf_malloc_nr_namespaces(const struct cf_malloc *m);
/* NULL for an index that is not below. */
const struct cf_namespace *cf_malloc_namespace(const struct cf_malloc *m, size_t index);
size_t cf_malloc_nr_arenas(const struct cf_malloc *m);
const struct cf_arena_ref *cf_malloc_arena(const struct cf_malloc *m, size_t index);
size_t cf_malloc_nr_heaps(const struct cf_malloc *m); /* sorted by address */
const struct cf_heap_info *cf_malloc_heap(const struct cf_malloc *m, size_t index);
/* The heap_info that stands at `addr`, or NULL. */
const struct cf_heap_info *cf_malloc_heap_at(const struct cf_malloc *m, uint64_t addr);
size_t cf_malloc_nr_tcaches(const struct cf_malloc *m); /* sorted by address */
const struct cf_tcache_ref *cf_malloc_tcache(const struct cf_malloc *m, size_t index);
bool cf_malloc_has_tcache(const struct cf_malloc *m, uint64_t addr);
/* One for each thread of the core, in its order. */
const struct cf_thread_malloc *cf_malloc_thread(const struct cf_malloc *m, size_t index);
/* Where thread_arena and tcache stand, counted from a thread pointer; false: not both are known. */
bool cf_malloc_tls(const struct cf_malloc *m, int64_t *arena, int64_t *tcache);

/* Of the main arena of namespace 0 where its address is 0, else NULL. */
const struct cf_bare_heap *cf_malloc_bare_heap(const struct cf_malloc *m);

/* The chunk that a stored link names: undoes safe-linking (PROTECT_PTR, 2.32+) where in use. */
uint64_t cf_malloc_reveal(const struct cf_malloc *m, uint64_t field_addr, uint64_t stored);

/*
 * Reading a tcache_perthread_struct by the layout that cf_malloc_find() chose.
 *
 *     | counts (or slots left, 2.42+) of each bin | entries: head of each bin's list |
 *
 * A small bin holds chunks of exactly one size, a large one (2.42+) those of a power of two. Heads
 * are plain pointers to user memory; the links in the chunks are mangled where safe-linking is in
 * use: follow them with cf_malloc_reveal(m, user, word at user).
 */
struct cf_tcache_bin {
    uint64_t head;      /* user address of the first chunk, 0: empty */
    uint64_t count;     /* chunks that the list should have */
    uint64_t min_bytes; /* whole chunks of the bin; equal for a small bin */
    uint64_t max_bytes;
};

/* Bins of a tcache: 64, 76, or 0 when the core has shown no tcache. */
size_t cf_tcache_nr_bins(const struct cf_malloc *m);

/* Bin `index` of the struct at `tcache`; false when it cannot be read or there is no such bin.
 * Nothing in it is checked. */
bool cf_tcache_bin(const struct cf_malloc *m, uint64_t tcache, size_t index,
                   struct cf_tcache_bin *out);

/* The chunk's size could hold a tcache: cheap, to be asked first. */
bool cf_tcache_fits(const struct cf_malloc *m, uint64_t chunk_bytes);

/*
 * Whether the user memory at `tcache`, of a chunk of `chunk_bytes`, is a tcache by its content:
 * counts and lists agree. For finding those that TLS does not give: of threads whose TLS is not in
 * the core, and orphans (2.26). An empty one is recognised from 2.42 on (its slots are full); an
 * older empty one is all zeros, like any cleared block, and is not.
 */
bool cf_tcache_plausible(const struct cf_malloc *m, uint64_t tcache, uint64_t chunk_bytes);

#endif
