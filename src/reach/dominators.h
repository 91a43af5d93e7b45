/*
 * What each live chunk alone keeps alive: itself and all that could not be reached without it, by
 * the dominator tree of the reached chunks (Lengauer and Tarjan's algorithm with path compression).
 * The sum over the chunks that roots alone dominate is all that is reached.
 *
 * Needs about 60 bytes a chunk and 4 a pointer, in temporary files.
 */
#ifndef CF_REACH_DOMINATORS_H
#define CF_REACH_DOMINATORS_H

#include <stdint.h>

#include "reach/reach.h"
#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"

enum { CF_RETAINED_MAX = 10000 };

struct cf_retained_row {
    uint64_t addr;           /* of the header */
    uint64_t bytes;          /* of the chunk */
    uint64_t retained_bytes; /* with the chunk itself */
    uint64_t chunks;
    uint64_t dominator;      /* header of the nearest chunk without which this one would be lost; 0:
                                no single one */
};

struct cf_retained {
    CF_ARRAY(struct cf_retained_row) rows; /* that keep the most, CF_RETAINED_MAX at the most */
    uint64_t chunks;                       /* all that is reached */
    uint64_t bytes;
};

/* `retained` is all zero; end with cf_retained_fini(). Fails as cf_graph_make() does. */
int cf_retained_find(struct cf_retained *retained, const struct cf_context *ctx,
                     const struct cf_mem *mem, const struct cf_reach *reach, struct cf_err *err);
void cf_retained_fini(struct cf_retained *retained);

#endif
