/*
 * Who holds a chunk: the shortest way to it from a root, hop by hop, for the few chunks that are
 * worth asking about (top pins, samples of page pins, the largest). One breadth-first search from
 * all roots answers for all of them; where several ways are equally short, globals go before
 * thread-local storage, stacks, registers and other mappings, since they say most.
 *
 * The search uses the mark's second bits (it must be the last pass that does) and ends as soon as
 * every asked chunk is found, unless all of it is wanted. A way is one of possibly many: the chunk
 * may be held otherwise too.
 */
#ifndef CF_ANALYSIS_HOLDERS_H
#define CF_ANALYSIS_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/mark.h"
#include "analysis/parents.h"
#include "analysis/roots.h"
#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"

enum { CF_HOPS_MAX = 32 }; /* kept of a way: the root, and the chunks nearest to the asked one */

/* One hop: a root first, then chunks, the asked one last. */
struct cf_hop {
    const struct cf_root *root; /* NULL: a chunk */
    uint64_t addr;              /* root: the word that points on (register: 0); chunk: its header */
    uint64_t offset;            /* chunk: of its payload's word that points on; last hop: 0 */
    uint64_t hop;               /* place on the way, from 0; a long way's numbers skip its middle */
};

struct cf_way {
    uint64_t addr; /* of the asked chunk's header */
    uint64_t length; /* hops on the whole way; 0: nothing leads to it */
    CF_ARRAY(struct cf_hop) hops;
};

struct cf_holders {
    CF_ARRAY(struct cf_way) ways; /* by address, each asked chunk once */
    struct cf_parents *parents;   /* of all that is reached, or NULL; cf_holders_drop_parents() */
};

struct cf_holders_input {
    const struct cf_mem *mem;
    struct cf_mark *mark;
    const struct cf_roots *roots;
    const uint64_t *silent; /* user addresses of chunks that carry nothing, sorted */
    size_t nr_silent;
    size_t queue_cap; /* chunks of a step that are kept as a list; 0: the default */
    bool whole;       /* go on to the end, and leave the parents with the holders */
};

/* Asks for the chunk whose header is at `addr`; before the search. CF_ENOMEM. */
int cf_holders_ask(struct cf_holders *holders, uint64_t addr, struct cf_err *err);

/* Fills the ways of all that was asked. `holders` starts all zero. CF_ENOMEM, or as
 * cf_parents_new(). End with cf_holders_fini(). */
int cf_holders_find(const struct cf_context *ctx, const struct cf_holders_input *input,
                    struct cf_holders *holders, struct cf_err *err);
void cf_holders_fini(struct cf_holders *holders);
/* Adds the ways of `nr` more chunks, after a whole search and as long as the parents are here. */
int cf_holders_tell(const struct cf_holders_input *input, struct cf_holders *holders,
                    const uint64_t *addrs, size_t nr, struct cf_err *err);
/* Gives their file back, before the holders end. */
void cf_holders_drop_parents(struct cf_holders *holders);

/* The way to the chunk at `addr`, or NULL when it was not asked for. */
const struct cf_way *cf_holders_way(const struct cf_holders *holders, uint64_t addr);

#endif
