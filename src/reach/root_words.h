/*
 * The words of roots that lead to live chunks, in the order in which the search read them: by kind
 * of root, then by root, then by address. They are the only edges from outside of malloc into it;
 * whoever wants to know what a variable or a thread leads to reads them and not the roots again.
 * 16 bytes a word, in a temporary file.
 */
#ifndef CF_REACH_ROOT_WORDS_H
#define CF_REACH_ROOT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/scratch.h"

struct cf_root_word {
    uint64_t addr; /* where the word stands; of registers, which stand nowhere, 0 */
    uint32_t root; /* index among the roots */
    uint32_t rank; /* of the live chunk that it leads to (reach/ranks.h) */
};

/* All zero: there are none. End with cf_root_words_fini(). */
struct cf_root_words {
    const struct cf_root_word *rows;
    size_t nr;
    struct cf_scratch file;
};

static inline void cf_root_words_fini(struct cf_root_words *words) {
    cf_scratch_fini(&words->file);
    *words = (struct cf_root_words){0};
}

#endif
