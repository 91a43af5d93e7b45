/*
 * Places: what a person takes for one holder among the words of roots. A variable as a whole, where
 * symbols tell how far it goes; where they do not, its words together that lead to one chunk, or
 * side by side to chunks of one size; a thread's stack with its registers; its thread-local
 * storage; all of a runtime's heap; a mapping. They are the groups of the dominator tree
 * (reach/dominators.h), numbered in the order of first sight.
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
    uint32_t root;    /* index of the root that it was first seen in */
    uint64_t start;   /* words of memory: [start, end); a thread's are told by cf_place_where() */
    uint64_t end;
    bool is_named;    /* a variable with a symbol */
    int32_t thread;   /* its registers too; -1: none */
    const struct cf_claim *heap; /* a claim of a runtime's heap, which counts as a whole, wherever
                                    it lies; NULL: none. Borrowed. */
};

/* A word of a variable that has no symbol. */
struct cf_unnamed_word {
    struct cf_root_word word;
    uint64_t bytes; /* of the chunk that it leads to */
    uint32_t row;   /* of its place */
};

enum { CF_UNNAMED_WORDS = 8 }; /* a std::deque is not longer */

/* All zero is empty. End with cf_places_fini(). */
struct cf_places {
    CF_ARRAY(struct cf_place) rows;
    struct cf_hash table;
    uint32_t last; /* the row that was asked for last */
    struct cf_unnamed_word unnamed[CF_UNNAMED_WORDS]; /* the last ones, in turn */
    size_t nr_unnamed;
};

/* The number of the place that a word of a root belongs to, a new one where it was not seen before;
 * UINT32_MAX when memory is out. To be asked in the order of the words. */
uint32_t cf_places_of(struct cf_places *places, const struct cf_labels *labels,
                      const struct cf_root_word *word);
void cf_places_fini(struct cf_places *places);

/* The same, with the range of a thread's stack or thread-local storage. Goes through all roots. */
struct cf_place cf_place_where(const struct cf_roots *roots, const struct cf_place *place);

/* "g_sessions (server)", "thread 4711, frame serve": whose the words of the place are. `word` is
 * the one of them that leads to what it is asked for; NULL: it is not known. */
void cf_place_label(const struct cf_labels *labels, const struct cf_place *place,
                    const struct cf_root_word *word, char *out, size_t bytes);

#endif
