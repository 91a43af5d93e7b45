/*
 * Leaks: live chunks that nothing reaches, grouped by size and type, and which of them head their
 * group: the root chunks, that no other leaked chunk points to. Freeing a root chunk's owner is
 * what was forgotten; the rest hangs on it. A ring of leaked chunks that only point at each other
 * has no root chunk; a chunk that only points at itself has one, itself.
 */
#ifndef CF_REACH_LEAKS_H
#define CF_REACH_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/links.h"
#include "reach/mark.h"
#include "base/array.h"
#include "corefrag.h"

struct cf_leak {
    uint64_t size_bytes; /* of one chunk */
    uint32_t type;       /* as input->type_of() tells it; 0: the size is all that is known */
    uint64_t chunks;
    uint64_t bytes;
    uint64_t root_chunks;
    uint64_t resident_bytes; /* of `bytes` */
    bool resident_known;     /* false: the core says of none of them which pages were in memory */
};

struct cf_leak_sum {
    uint64_t chunks;
    uint64_t bytes;
};

struct cf_leaks {
    CF_ARRAY(struct cf_leak) rows; /* by size, then type, ascending */
    struct cf_leak_sum total;
    struct cf_leak_sum mmapped;
    struct cf_leak_sum *heaps;     /* by heap id */
};

struct cf_leaks_input {
    const struct cf_mark *mark;
    const struct cf_links *links; /* between the same chunks */
    const struct cf_mem *mem;     /* NULL: no residency is wanted */
    /* The type of the live chunk with this number (reach/resolve.h); NULL: no types are known. */
    uint32_t (*type_of)(const void *types, struct cf_chunk_number number);
    const void *types;
};

/* `leaks` is all zero. CF_ENOMEM, CF_ECANCELLED. End with cf_leaks_fini(). */
int cf_leaks_find(const struct cf_context *ctx, struct cf_leaks *leaks,
                  const struct cf_leaks_input *input, struct cf_err *err);
void cf_leaks_fini(struct cf_leaks *leaks);

#endif
