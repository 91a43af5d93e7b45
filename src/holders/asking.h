/*
 * Which chunks are worth asking about, and what an answer is worth: the topmost pin of each arena
 * (what it holds down), samples of the costliest groups of page pins, of the types and of the sizes
 * with the most bytes, and the largest live chunks. Some hundreds together.
 */
#ifndef CF_HOLDERS_ASKING_H
#define CF_HOLDERS_ASKING_H

#include "retain/kept.h"
#include "reach/mark.h"
#include "types/types.h"
#include "base/array.h"
#include "corefrag.h"

enum {
    CF_ASKED_PINS = 200,
    CF_ASKED_GROUPS = 40,
    CF_ASKED_TYPES = 20,
    CF_ASKED_SIZES = 10,
    CF_ASKED_LARGEST = 20,
};

struct cf_asked {
    uint64_t addr;   /* of the header */
    uint64_t weight; /* bytes that its holder would explain */
};

struct cf_asking {
    CF_ARRAY(struct cf_asked) rows; /* a chunk may be here more than once */
};

/* `asking` is all zero; `suspect` is a chunk to ask about in any case, or 0. CF_ENOMEM,
 * CF_ECANCELLED. End with cf_asking_fini(). */
int cf_asking_choose(const struct cf_context *ctx, struct cf_asking *asking, uint64_t suspect,
                     const struct cf_mark *mark, const struct cf_kept *kept,
                     const struct cf_types *types, struct cf_err *err);
/* Adds samples of the types of memory (holders/belong.h) that hold the most. */
int cf_asking_add_memory(struct cf_asking *asking, const struct cf_types *types,
                         struct cf_err *err);
void cf_asking_fini(struct cf_asking *asking);

#endif
