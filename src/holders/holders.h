/*
 * Who holds a chunk: the shortest path to it from a root, hop by hop, for the few chunks that are
 * worth asking about (top pins, samples of page pins, the largest). The search from the roots
 * (reach/search.h) has left the paths; what is added here is which word of a root or chunk leads
 * on. A path is one of possibly many: the chunk may be held otherwise too.
 */
#ifndef CF_HOLDERS_HOLDERS_H
#define CF_HOLDERS_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "reach/reach.h"
#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"

enum { CF_HOPS_MAX = 32 }; /* kept of a path: the root, and the chunks nearest to the asked one */

/* One hop: a root first, then chunks, the asked one last. */
struct cf_hop {
    const struct cf_root *root; /* NULL: a chunk */
    uint64_t addr;              /* root: the word that points on (register: 0); chunk: its header */
    uint64_t offset;            /* chunk: of its payload's word that points on; last hop: 0 */
    uint64_t hop;               /* place on the path, from 0; a long path skips its middle */
};

struct cf_path {
    uint64_t addr; /* of the asked chunk's header */
    uint64_t length; /* hops on the whole path; 0: nothing leads to it */
    CF_ARRAY(struct cf_hop) hops;
};

struct cf_holders {
    CF_ARRAY(struct cf_path) paths; /* by address, each asked chunk once */
};

/* Asks for the chunk whose header is at `addr`; before the paths are told. CF_ENOMEM. */
int cf_holders_ask(struct cf_holders *holders, uint64_t addr, struct cf_err *err);

/* Fills the paths of all that was asked; lengths stay 0 where `reach` knows no paths. `holders`
 * starts all zero. CF_ENOMEM, CF_ECANCELLED. End with cf_holders_fini(). */
int cf_holders_find(const struct cf_context *ctx, struct cf_holders *holders,
                    const struct cf_mem *mem, const struct cf_reach *reach, struct cf_err *err);
void cf_holders_fini(struct cf_holders *holders);

#endif
