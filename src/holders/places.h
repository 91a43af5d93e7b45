/*
 * What a person takes for one holder among the words of roots: a variable as a whole, where symbols
 * tell how far it goes; a thread's stack with its registers; all of a runtime's heap; a mapping;
 * else the word alone. They are the groups of the dominator tree (reach/dominators.h), numbered in
 * the order of first sight.
 */
#ifndef CF_HOLDERS_PLACES_H
#define CF_HOLDERS_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "holders/labels.h"
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

#endif
