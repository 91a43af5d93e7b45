/*
 * The roots that hold most of what was asked about, each as a person sees it (a whole variable, a
 * thread, a runtime's heap), and what each keeps alive alone, by the dominators.
 */
#ifndef CF_HOLDERS_OWNERS_H
#define CF_HOLDERS_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "holders/asking.h"
#include "holders/holders.h"
#include "holders/labels.h"
#include "holders/places.h"
#include "reach/dominators.h"

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
