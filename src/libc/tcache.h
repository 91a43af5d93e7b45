/*
 * Reading a tcache_perthread_struct by the layout that cf_malloc_find() chose.
 *
 *     | counts (or slots left, 2.42+) of each bin | entries: head of each bin's list |
 *
 * A small bin holds chunks of exactly one size, a large one (2.42+) those of a power of two. Heads
 * are plain pointers to user memory; the links in the chunks are mangled where safe-linking is in
 * use: follow them with cf_malloc_reveal(m, user, word at user).
 */
#ifndef CF_LIBC_TCACHE_H
#define CF_LIBC_TCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libc/malloc.h"

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
