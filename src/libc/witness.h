/*
 * The second witness: what symbols and DWARF say about malloc, held against what the patterns
 * found. It confirms or contradicts and never leads: nothing that was found changes, a
 * contradiction becomes an anomaly. Where no file with the core's build id is at hand it says
 * nothing.
 *
 *     symbols   main_arena and mp_ of each namespace; how far thread_arena and tcache stand apart
 *               in thread-local storage
 *     DWARF     sizes and members of malloc_state, malloc_par, heap_info, tcache_perthread_struct
 */
#ifndef CF_LIBC_WITNESS_H
#define CF_LIBC_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libc/malloc.h"
#include "sym/symbols.h"

enum { CF_CONTRADICTIONS_MAX = 16 };

struct cf_contradiction {
    uint64_t addr; /* 0: a layout's, at no place */
    char detail[192];
};

struct cf_witness {
    unsigned nr_symbols;      /* places that symbols confirm */
    unsigned nr_members;      /* offsets and sizes that DWARF confirms */
    char release[16];         /* of glibc, by the libc's banner in the core or its file, or by its
                                 path (libc-2.31.so); "": not known */
    uint64_t arena_limit;     /* as malloc itself has it (narenas_limit); 0: not known, or not
                                 reckoned yet: it is when there are more than arena_test arenas */
    bool unverified;          /* by a file whose build id could not be compared (--exe) */
    size_t nr_contradictions; /* at most CF_CONTRADICTIONS_MAX */
    struct cf_contradiction contradictions[CF_CONTRADICTIONS_MAX];
};

/* Fills `out`. May read files (sym/symbols.h). Fails only for lack of memory. */
int cf_witness_ask(struct cf_symbols *symbols, const struct cf_malloc *found,
                   struct cf_witness *out, struct cf_err *err);

/* How malloc was located, for meta: "dwarf" where symbols and layout are confirmed, "symbols"
 * where places are, else "pattern"; "pattern" too where anything is contradicted. */
const char *cf_witness_located_by(const struct cf_witness *witness);

#endif
