/*
 * Whose memory it is, where a chunk's own bytes do not say what it is: a chunk without a name hangs
 * on one that has one (a C++ object's buffers, what a library keeps for it), or on a root that has
 * one (a variable, a Java object). The nearest on the shortest path from a root counts. So
 * "node::crypto::Hash" and "memory of node::crypto::Hash" stand side by side, and what piles up has
 * a name though most of it is plain bytes.
 *
 * Exact for the paths that the search from the roots took; a chunk may be held otherwise too.
 */
#ifndef CF_HOLDERS_BELONG_H
#define CF_HOLDERS_BELONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/reach.h"
#include "types/types.h"
#include "corefrag.h"

/* How well it is known what a root's word stands in. */
enum cf_belong_name {
    CF_BELONG_NONE,
    CF_BELONG_PLACE,  /* a variable, a runtime's heap */
    CF_BELONG_OBJECT, /* an object in that heap: says more than a buffer's looks */
};

struct cf_belong_input {
    const struct cf_reach *reach; /* with paths */
    void *source;
    /* The name of what has the word at `addr` of `root`. */
    enum cf_belong_name (*name)(void *source, const struct cf_root *root, uint64_t addr, char *out,
                                size_t bytes);
};

/* Makes nameless live chunks that are reached chunks of types of their own, "memory of ...",
 * evidence CF_EVIDENCE_OWNER, and counts them there; after cf_types_count(). CF_ENOMEM, CF_EOUTPUT
 * as cf_scratch_init(); then all types are what they were. CF_ECANCELLED; then they are not. */
int cf_belong_count(const struct cf_context *ctx, const struct cf_belong_input *input,
                    struct cf_types *types, struct cf_err *err);

#endif
