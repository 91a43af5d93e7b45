/*
 * Where the program keeps its first pointers: everything outside malloc's chunks that it could
 * still reach them from. Registers, the live parts of stacks, thread-local storage, the data of
 * modules, other writable mappings, and foreign memory between main arena's chunks.
 *
 * Not roots: malloc's chunks (the mark follows them), malloc_state, mp_ and heap_info, dead parts
 * of stacks and stacks of threads that are gone, and code and constants that came from a file.
 * Memory that is not writable now but was once is one: RELRO, and anonymous memory that the
 * program protected. The rule errs to the side of "reached".
 *
 * What the core lacks is no zero: a root that should be here and is not is counted in `missing`,
 * and whoever judges leaks lowers its confidence.
 */
#ifndef CF_REACH_ROOTS_H
#define CF_REACH_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/tempfile.h"
#include "corefrag.h"
#include "libc/stacks.h"
#include "mem/mem.h"
#include "ptmalloc/heap.h"

enum cf_root_kind {
    CF_ROOT_REGISTER,
    CF_ROOT_STACK,
    CF_ROOT_TLS,
    CF_ROOT_GLOBAL,  /* a module's data */
    CF_ROOT_MAPPING, /* other anonymous or shared memory */
    CF_NR_ROOT_KINDS,
};

/* "register", "stack", "tls", "global", "mapping"; static. */
const char *cf_root_kind_name(enum cf_root_kind kind);

/* A readable range of words; of a register set the thread alone. */
struct cf_root {
    enum cf_root_kind kind;
    uint64_t start;
    uint64_t end;
    int32_t thread; /* index in the core's threads; -1: none, or it is gone */
    int32_t file;   /* index in the core's files; -1: none */
    bool is_guard;  /* has no words: the kernel knows the chunk around it (reach/guards.h) */
};

/* What should be a root and cannot be read. */
struct cf_missing_root {
    uint64_t bytes;  /* in mappings that are known and not in the core; registers: 0 */
    uint64_t places; /* mappings, or threads */
};

struct cf_roots {
    CF_ARRAY(struct cf_root) rows; /* register sets first, then sorted by address */
    uint64_t bytes[CF_NR_ROOT_KINDS];
    struct cf_missing_root missing[CF_NR_ROOT_KINDS];
    const struct cf_mem *mem;
};

/* `roots` is all zero. Fails only for lack of memory. Borrows `mem`. End with cf_roots_fini(). */
int cf_roots_find(struct cf_roots *roots, const struct cf_mem *mem, const struct cf_ptmalloc *pt,
                  const struct cf_stacks *stacks, struct cf_err *err);
void cf_roots_fini(struct cf_roots *roots);

/* "thread 4711", "libfoo.so", "anonymous mapping": what a person calls it. */
void cf_root_label(const struct cf_roots *roots, const struct cf_root *root, char *out,
                   size_t bytes);

/*
 * The words of roots that lead to live chunks, in the order in which the search read them
 * (reach/search.h): by kind of root, then by root, then by address. They are the only edges from
 * outside of malloc into it; whoever wants to know what a variable or a thread leads to reads them
 * and not the roots again. 16 bytes a word, in a temporary file.
 */
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

void cf_root_words_fini(struct cf_root_words *words);

#endif
