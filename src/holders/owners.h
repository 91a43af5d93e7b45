/*
 * Places: what a person takes for one holder among the words of roots. A variable as a whole, where
 * symbols tell how far it goes; a thread's stack with its registers; all of a runtime's heap; a
 * mapping; else the word alone. They are the groups of the dominator tree (reach/dominators.h),
 * numbered in the order of first sight.
 *
 * Owners: the places that hold most of what was asked about, and what each keeps alive alone, by
 * the dominators.
 */
#ifndef CF_HOLDERS_OWNERS_H
#define CF_HOLDERS_OWNERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "corefrag.h"
#include "holders/asking.h"
#include "holders/holders.h"
#include "holders/labels.h"
#include "reach/dominators.h"
#include "reach/roots.h"
#include "space/claims.h"

struct cf_place {
    enum cf_root_kind kind;
    uint64_t start;   /* words of memory: [start, end); none where they are equal */
    uint64_t end;
    int32_t thread;   /* its registers too; -1: none */
    const struct cf_claim *heap; /* a claim of a runtime's heap, which counts as a whole, wherever
                                    it lies; NULL: none. Borrowed. */
};

/* All zero is empty. End with cf_places_fini(). */
struct cf_places {
    CF_ARRAY(struct cf_place) rows;
    struct cf_hash table;
    uint32_t last; /* the row that was asked for last */
};

/* The number of the place that the word at `addr` of `root` belongs to, a new one where it was not
 * seen before; UINT32_MAX when memory is out. */
uint32_t cf_places_of(struct cf_places *places, const struct cf_labels *labels,
                      const struct cf_root *root, uint64_t addr);
void cf_places_fini(struct cf_places *places);

enum { CF_OWNERS_MAX = 3 };

/* A root that holds asked chunks. */
struct cf_owner {
    struct cf_place place;
    uint32_t number; /* of the place */
    struct cf_kept_alive kept;
    struct cf_hop hop; /* of the first of them */
    uint64_t weight;   /* of the weightiest */
};

struct cf_owners {
    CF_ARRAY(struct cf_owner) rows; /* the weightiest first */
};

/* Borrowed. */
struct cf_owners_input {
    const struct cf_dominators *dominators; /* whose groups are the places */
    struct cf_places *places;
    const struct cf_labels *labels;
    const struct cf_asking *asking;
    const struct cf_holders *holders; /* the paths to what was asked */
};

/* `owners` is all zero. Fails only for lack of memory. End with cf_owners_fini(). */
int cf_owners_find(const struct cf_owners_input *input, struct cf_owners *owners,
                   struct cf_err *err);
void cf_owners_fini(struct cf_owners *owners);

/* "connections (server)", "thread 4711": the root, not the word in it. */
void cf_owner_label(const struct cf_labels *labels, const struct cf_owner *owner, char *out,
                    size_t bytes);

#endif
