/*
 * Whose memory it is, where a chunk's own bytes do not say what it is: a chunk without a name hangs
 * on one that has one (a C++ object's buffers, what a library keeps for it), or on a root that has
 * one (a variable, a Java object): the nearest that keeps it alive alone, by the dominators. So
 * "node::crypto::Hash" and "memory of node::crypto::Hash" stand side by side, and what piles up has
 * a name though most of it is plain bytes. What several hold and none of them alone belongs to the
 * one whose word leads right there, else to all of them together, as far as they are few.
 */
#ifndef CF_HOLDERS_BELONG_H
#define CF_HOLDERS_BELONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holders/sharing.h"
#include "reach/dominators.h"
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
    const struct cf_reach *reach;
    const struct cf_dominators *dominators;
    const struct cf_preorder *preorder;
    const struct cf_sharing *sharing; /* NULL: what is shared keeps its size for a name */
    void *source;
    /* The name of what has the word at `addr` of `root`. */
    enum cf_belong_name (*name)(void *source, const struct cf_root *root, uint64_t addr, char *out,
                                size_t bytes);
    /* The name of a group of roots. False: it has none. NULL: none has. */
    bool (*name_group)(void *source, uint32_t group, char *out, size_t bytes);
};

/* Makes nameless live chunks that are reached chunks of types of their own, "memory of ...",
 * evidence CF_EVIDENCE_OWNER, and counts them there; after cf_types_count(). CF_ENOMEM, CF_EOUTPUT
 * as cf_scratch_init(); then all types are what they were. CF_ECANCELLED; then they are not. */
int cf_belong_count(const struct cf_context *ctx, const struct cf_belong_input *input,
                    struct cf_types *types, struct cf_err *err);

#endif
