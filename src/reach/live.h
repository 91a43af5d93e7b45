/*
 * One pass over the bytes of all live chunks, for everybody who looks at each: in the order of
 * ranks (reach/ranks.h), which within heaps is that of addresses. Reading a chunk's words costs
 * more than most of what is asked of them, so they are read once.
 */
#ifndef CF_REACH_LIVE_H
#define CF_REACH_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "reach/ranks.h"
#include "reach/resolve.h"
#include "corefrag.h"
#include "mem/mem.h"

enum { CF_LIVE_WORDS = 32 };

/* A live chunk's payload, as far as the core has it in one run from the user address on. */
struct cf_live {
    uint64_t user;
    uint64_t bytes;
    const unsigned char *at; /* `readable` bytes, from `user`, until the visitor returns; NULL:
                                none, then all below is 0 */
    uint64_t readable;
    uint64_t words;          /* whole ones, of the readable bytes */
    uint32_t pointers;       /* of the first CF_LIVE_WORDS a bit each: in the span of the chunks */
};

/* Each visitor is called for each live chunk, in their order. */
struct cf_live_visitor {
    void *arg;
    void (*look)(void *arg, const struct cf_live *chunk, struct cf_rank rank);
};

/* The pass. CF_ENOMEM, CF_ECANCELLED. */
int cf_live_visit(const struct cf_context *ctx, const struct cf_mem *mem,
                  const struct cf_ranks *ranks, const struct cf_live_visitor *visitors,
                  size_t nr_visitors, struct cf_err *err);

/* Word `i` of the readable ones. */
static inline uint64_t cf_live_word(const struct cf_live *chunk, unsigned word_bytes, uint64_t i) {
    if (word_bytes == 8) {
        uint64_t word;
        __builtin_memcpy(&word, chunk->at + 8 * i, 8);
        return word;
    }
    uint32_t word;
    __builtin_memcpy(&word, chunk->at + 4 * i, 4);
    return word;
}

#endif
