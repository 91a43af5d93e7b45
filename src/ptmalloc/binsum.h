/*
 * The bins of an arena held against the free chunks that the walk met, without following a list.
 *
 * A bin is a ring: header -> chunk -> ... -> header by fd, the same backwards by bk. Its links are
 * sound when each pair (p, p->fd) is also a pair (q->bk, q), which is: when both sets of pairs are
 * equal. Sets can be compared by sums over their members, in any order: each chunk adds the
 * hash of its fd pair and takes away that of its bk pair, and the header does the same. A rest of 0
 * says that fd and bk agree everywhere (but for one in 2^64), and that no link leaves the set. So
 * the walk, which has every free chunk's words at hand anyway, can prove the lists that would cost
 * another pass over the core in random order.
 *
 * Which bin a free chunk is in follows from its size (largebin_index and smallbin_index of
 * malloc.c, 2.17 to 2.44 alike), unless it waits on the unsorted list: that one is followed, and
 * its chunks are taken out of the sums. What is not proved here is followed link by link, as are
 * all lists of an arena where a sum does not come to 0: lists.c then says what is wrong and where.
 *
 * Not proved: that the chunks of a size are one ring with the header, and not a ring beside it.
 * malloc itself cannot leave such a ring, since it unlinks chunks one by one; rings of one and two
 * chunks, which take a forger the fewest words, are recognised by fd == bk. Longer ones count as
 * binned.
 */
#ifndef CF_PTMALLOC_BINSUM_H
#define CF_PTMALLOC_BINSUM_H

#include <stdbool.h>
#include <stdint.h>

enum { CF_UNSORTED_BIN = 1, CF_FIRST_LARGE_BIN = 64, CF_LAST_BIN = 126 };

struct cf_bin_sum {
    uint64_t links; /* of hashes: fd pairs less bk pairs */
    uint64_t chunks;
    uint64_t bytes;
};

struct cf_bin_sums {
    struct cf_bin_sum bins[CF_LAST_BIN + 1];
    bool is_doubtful; /* a chunk's links lead to itself alone, or cannot be read */
};

/* How an arena's bins lie; virtual header i (bin_at, all releases) is a chunk whose fd is the
 * i-th pair's first word. */
struct cf_bin_shape {
    uint64_t first_head; /* address of header 1 */
    unsigned word_bytes;
    unsigned alignment_shift; /* of MALLOC_ALIGNMENT */
};

static inline uint64_t cf_bin_head(const struct cf_bin_shape *shape, unsigned bin) {
    return shape->first_head + (uint64_t)2 * shape->word_bytes * (bin - CF_UNSORTED_BIN);
}

/* The bin of a free chunk of so many bytes, once it is sorted. */
static inline unsigned cf_bin_of(const struct cf_bin_shape *shape, uint64_t bytes) {
    /* SMALLBIN_CORRECTION: 1 where alignment is wider than two words (i386, 2.26+). */
    unsigned correction = (1u << shape->alignment_shift) > 2 * shape->word_bytes;
    uint64_t small = (bytes >> shape->alignment_shift) + correction;
    if (small < CF_FIRST_LARGE_BIN)
        return (unsigned)small;
    bool wide = shape->word_bytes == 8;
    unsigned last = wide ? 48 : correction != 0 ? 45 : 38;
    if (bytes >> 6 <= last)
        return (unsigned)(bytes >> 6) + (wide ? 48 : correction != 0 ? 49 : 56);
    if (bytes >> 9 <= 20)
        return (unsigned)(bytes >> 9) + 91;
    if (bytes >> 12 <= 10)
        return (unsigned)(bytes >> 12) + 110;
    if (bytes >> 15 <= 4)
        return (unsigned)(bytes >> 15) + 119;
    return bytes >> 18 <= 2 ? (unsigned)(bytes >> 18) + 124 : CF_LAST_BIN;
}

__extension__ typedef unsigned __int128 cf_u128;

/* A hash of the ordered pair: both halves of a product of the two, each with a key of its own. */
static inline uint64_t cf_link_hash(uint64_t from, uint64_t to) {
    cf_u128 product = (cf_u128)(from ^ 0x9e3779b97f4a7c15u) * (to ^ 0xd1b54a32d192ed03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A free chunk: its header's address, its size without flags, and its links. */
static inline void cf_bin_sums_add(struct cf_bin_sums *sums, const struct cf_bin_shape *shape,
                                   uint64_t addr, uint64_t bytes, uint64_t fd, uint64_t bk) {
    unsigned bin = cf_bin_of(shape, bytes);
    struct cf_bin_sum *sum = &sums->bins[bin];
    sum->links += cf_link_hash(addr, fd) - cf_link_hash(bk, addr);
    sum->chunks++;
    sum->bytes += bytes;
    if (__builtin_expect(fd == bk, 0) && fd != cf_bin_head(shape, bin) &&
        fd != cf_bin_head(shape, CF_UNSORTED_BIN))
        sums->is_doubtful = true;
}

/* A chunk that was added waits on the unsorted list. */
static inline void cf_bin_sums_remove(struct cf_bin_sums *sums, const struct cf_bin_shape *shape,
                                      uint64_t addr, uint64_t bytes, uint64_t fd, uint64_t bk) {
    struct cf_bin_sum *sum = &sums->bins[cf_bin_of(shape, bytes)];
    sum->links -= cf_link_hash(addr, fd) - cf_link_hash(bk, addr);
    sum->chunks--;
    sum->bytes -= bytes;
}

/* Adds those of another heap of the arena. */
static inline void cf_bin_sums_join(struct cf_bin_sums *sums, const struct cf_bin_sums *more) {
    for (unsigned bin = 0; bin <= CF_LAST_BIN; bin++) {
        sums->bins[bin].links += more->bins[bin].links;
        sums->bins[bin].chunks += more->bins[bin].chunks;
        sums->bins[bin].bytes += more->bins[bin].bytes;
    }
    sums->is_doubtful |= more->is_doubtful;
}

#endif
