/*
 * Owners: what keeps memory alive alone, by the dominators, and has a name.
 *
 *   place    a variable, a thread's stack, a runtime's heap (holders/places.h)
 *   shared   what several places lead to, and none keeps alone; so the bytes of places and of what
 *            they share sum to all that is reached
 *   type     the objects of a type, with all that hangs on them; within another of the type they
 *            count once. What hangs on objects of two types counts for both
 *   module   its variables, with what only they share
 *
 * The largest of each, and what the examined chunks hang on.
 */
#ifndef CF_HOLDERS_OWNERS_H
#define CF_HOLDERS_OWNERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "holders/labels.h"
#include "holders/places.h"
#include "holders/sharing.h"
#include "reach/dominators.h"
#include "reach/preorder.h"
#include "types/types.h"

enum { CF_OWNERS_MAX = 1000 }; /* of each kind */

enum cf_owner_kind {
    CF_OWNER_PLACE,
    CF_OWNER_SHARED,
    CF_OWNER_TYPE,
    CF_OWNER_MODULE,
    CF_NR_OWNER_KINDS,
};

struct cf_owner {
    enum cf_owner_kind kind;
    uint32_t number;            /* of the place; row of the sharers; type; the module's file */
    struct cf_kept_alive kept;
    uint64_t absent_bytes;      /* of them, not resident */
    uint32_t first;             /* place in the preorder of one of them, the largest below it */
    const struct cf_root_word *word; /* of places: the one that leads there */
};

/* All zero is empty. End with cf_owners_fini(). */
struct cf_owners {
    CF_ARRAY(struct cf_owner) rows; /* by kind, those with the most bytes first */
};

/* Borrowed. */
struct cf_owners_input {
    const struct cf_mem *mem;
    const struct cf_dominators *dominators; /* whose groups are the places */
    const struct cf_preorder *preorder;
    const struct cf_sharing *sharing;
    const struct cf_places *places;
    const struct cf_labels *labels;
    const struct cf_root_words *words;
};

/* `owners` is all zero. CF_ENOMEM, CF_ECANCELLED. End with cf_owners_fini(). */
int cf_owners_find(const struct cf_context *ctx, const struct cf_owners_input *input,
                   struct cf_owners *owners, struct cf_err *err);
void cf_owners_fini(struct cf_owners *owners);

/* "g_sessions (server)", "shared by g_a (server) and g_b (server)", "Session", "server". */
void cf_owner_label(const struct cf_owners_input *input, const struct cf_owner *owner, char *out,
                    size_t bytes);

/* "global", "tls", "stack", "register", "mapping", "runtime", "shared", "type", "module"; is
 * static. */
const char *cf_owner_kind_name(const struct cf_owners_input *input, const struct cf_owner *owner);

/* The file's name of the module that it stands in; "" for none. */
void cf_owner_module(const struct cf_owners_input *input, const struct cf_owner *owner, char *out,
                     size_t bytes);

#endif
