/*
 * The pointers between live chunks as lists: for each live chunk, by its rank (reach/ranks.h),
 * the ranks of the live chunks that its words lead to, in the order of the words. They are made in
 * one pass over the chunks (reach/live.h); whoever follows pointers afterwards does not touch
 * the core, where each step would lead to some other page.
 *
 *     block   | begin      | length 0 | length 1 | ... | length 7 |     eight ranks, 16 bytes
 *     lists   | of rank 0 | of rank 1 | ...                             back to back
 *     list    | link | link | ...
 *     link    1 to 5 bytes: in the lowest three bits how many, above them by how much it differs
 *             from the link before it, or the first one from the chunk's own rank; zigzag
 *
 * A list of more than LENGTH_MAX bytes stands in a file for long ones; in its place are where it
 * begins and how many bytes it has there. A chunk's pointers to itself are left out, and of several
 * to one chunk in a row all but the first. Chunks without pointers have none. Some six bytes a
 * chunk, in temporary files, when most pointers lead to chunks that were made at about the same
 * time.
 */
#ifndef CF_REACH_LINKS_H
#define CF_REACH_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "reach/live.h"
#include "reach/ranks.h"

enum { CF_LINKS_PER_BLOCK = 8, CF_LINKS_LENGTH_MAX = 127, CF_LINKS_LONG = 128 };

struct cf_links_block {
    uint64_t begin;
    uint8_t lengths[CF_LINKS_PER_BLOCK]; /* CF_LINKS_LONG on top: see above */
};

/* All zero: there are none. Immutable when made. */
struct cf_links {
    const struct cf_ranks *ranks;
    const struct cf_links_block *blocks; /* NULL: not made */
    const unsigned char *lists;
    const unsigned char *long_lists;
    struct cf_scratch files[3]; /* of each */
};

struct cf_links_input {
    const struct cf_context *ctx; /* asked within large chunks; what is made then is of no use */
    const struct cf_mem *mem;
    const struct cf_ranks *ranks;
    const uint64_t *pointerless; /* user addresses of chunks without pointers, sorted */
    size_t nr_pointerless;
};

/* What is being made. */
struct cf_links_builder;

/* CF_ENOMEM; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp); CF_EUSAGE for more chunks than
 * can be numbered. Borrows all of `input`. Ends with cf_links_finish() or cf_links_abandon(). */
int cf_links_begin(const struct cf_links_input *input, struct cf_links_builder **out,
                   struct cf_err *err);
/* To be called for each live chunk (reach/live.h). */
struct cf_live_visitor cf_links_visitor(struct cf_links_builder *builder);
/* The builder is gone in any case. As cf_links_begin(). Borrows the ranks. End with
 * cf_links_fini(). */
int cf_links_finish(struct cf_links_builder *builder, struct cf_links *out, struct cf_err *err);
void cf_links_abandon(struct cf_links_builder *builder); /* takes NULL */
void cf_links_fini(struct cf_links *links);

/* Gives the pages back; the files keep their content. */
void cf_links_drop(const struct cf_links *links);
uint64_t cf_links_bytes(const struct cf_links *links);

/* The links of one chunk that have not been taken yet. */
struct cf_link_list {
    const unsigned char *at;
    const unsigned char *end;
    uint64_t last;
};

/* The block that the chunk is in, for a prefetch. */
static inline const struct cf_links_block *cf_links_block(const struct cf_links *links,
                                                          struct cf_rank rank) {
    return &links->blocks[rank.index / CF_LINKS_PER_BLOCK];
}

/* Where the chunk's list begins, for a prefetch. */
static inline const unsigned char *cf_links_place(const struct cf_links *links,
                                                  struct cf_rank rank) {
    const struct cf_links_block *block = cf_links_block(links, rank);
    uint64_t lengths;
    memcpy(&lengths, block->lengths, sizeof lengths);
    lengths &= 0x7f7f7f7f7f7f7f7full & ~(~0ull << 8 * (rank.index % CF_LINKS_PER_BLOCK));
    lengths = (lengths & 0x00ff00ff00ff00ffull) + (lengths >> 8 & 0x00ff00ff00ff00ffull);
    return links->lists + block->begin + (lengths * 0x0001000100010001ull >> 48);
}

/* Whether the chunk has many links. */
static inline bool cf_links_are_long(const struct cf_links *links, struct cf_rank rank) {
    uint8_t length = cf_links_block(links, rank)->lengths[rank.index % CF_LINKS_PER_BLOCK];
    return (length & CF_LINKS_LONG) != 0;
}

/* `at` is the chunk's place. */
static inline struct cf_link_list cf_links_at(const struct cf_links *links, struct cf_rank rank,
                                              const unsigned char *at) {
    uint8_t length = cf_links_block(links, rank)->lengths[rank.index % CF_LINKS_PER_BLOCK];
    if ((length & CF_LINKS_LONG) != 0) {
        uint64_t place[2];
        memcpy(place, at, sizeof place);
        at = links->long_lists + place[0];
        return (struct cf_link_list){at, at + place[1], rank.index};
    }
    return (struct cf_link_list){at, at + length, rank.index};
}

static inline struct cf_link_list cf_links_of(const struct cf_links *links,
                                              struct cf_rank rank) {
    return cf_links_at(links, rank, cf_links_place(links, rank));
}

/* The next rank; the list is not at its end. There are 8 bytes behind every list. */
static inline struct cf_rank cf_links_take(struct cf_link_list *list) {
    uint64_t bits;
    memcpy(&bits, list->at, sizeof bits);
    unsigned nr = (unsigned)(bits & 7);
    uint64_t zigzag = (bits & ~(~0ull << 8 * nr)) >> 3;
    list->at += nr;
    list->last += zigzag >> 1 ^ -(zigzag & 1);
    return (struct cf_rank){(size_t)list->last};
}

#endif
