/*
 * What a root keeps alive: the chunks that nothing else would reach. The mark is made again
 * without that root, and what is no longer reached is what it holds alone. Chunks that are held
 * from elsewhere too are not counted, so it is a lower bound of what the root can get at.
 */
#ifndef CF_ANALYSIS_HELD_H
#define CF_ANALYSIS_HELD_H

#include <stdint.h>

#include "analysis/reach.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_held {
    enum cf_root_kind kind;
    uint64_t start;  /* words of memory: [start, end); none where they are equal */
    uint64_t end;
    int32_t thread;  /* its registers too; -1: none */
    uint64_t chunks; /* filled in by cf_held_count() */
    uint64_t bytes;
};

/* Fails only for lack of memory. Costs as much as the mark did. */
int cf_held_count(const struct cf_context *ctx, const struct cf_mem *mem,
                  const struct cf_reach *reach, struct cf_held *held, struct cf_err *err);

#endif
