/*
 * The chunks that keep the most alive, by the dominators (reach/dominators.h).
 */
#ifndef CF_REACH_RETAINED_H
#define CF_REACH_RETAINED_H

#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "reach/dominators.h"

enum { CF_RETAINED_MAX = 10000 };

struct cf_retained_row {
    uint64_t addr;           /* of the header */
    uint64_t bytes;          /* of the chunk */
    uint64_t retained_bytes; /* with the chunk itself */
    uint64_t chunks;
    uint64_t dominator;      /* header of the nearest chunk without which this one would be lost; 0:
                                no single one */
};

/* All zero is empty. End with cf_retained_fini(). */
struct cf_retained {
    CF_ARRAY(struct cf_retained_row) rows; /* the most first, CF_RETAINED_MAX at the most */
};

/* CF_ENOMEM, CF_ECANCELLED. */
int cf_retained_find(const struct cf_context *ctx, struct cf_retained *retained,
                     const struct cf_dominators *dominators, struct cf_err *err);
void cf_retained_fini(struct cf_retained *retained);

#endif
