/*
 * Live chunks by size and type together: what a size class is made of. One pass over the types
 * that are known already; no byte of the core is read. Of a heap with more than CF_SIZE_TYPES_MAX
 * such pairs those that are met first are counted, and the rest is left out.
 */
#ifndef CF_TYPES_SIZETYPE_H
#define CF_TYPES_SIZETYPE_H

#include <stddef.h>
#include <stdint.h>

#include "types/types.h"
#include "corefrag.h"

enum { CF_SIZE_TYPES_MAX = 1 << 16 };

struct cf_size_type {
    uint64_t bytes;  /* of one chunk; 0: an empty slot */
    uint64_t chunks;
    uint32_t type;
};

/* All zero is empty. */
struct cf_size_types {
    struct cf_size_type *rows; /* by size, then by type */
    size_t nr;
};

/* The ranks are of the chunks that the types are of. CF_ENOMEM, CF_ECANCELLED. End with
 * cf_size_types_fini(). */
int cf_size_types_count(const struct cf_context *ctx, struct cf_size_types *out,
                        const struct cf_types *types, const struct cf_ranks *ranks,
                        struct cf_err *err);
void cf_size_types_fini(struct cf_size_types *sizes);

#endif
