/*
 * Mallocs other than glibc's, told from the core alone: by the library that brings them, by the
 * dynamic symbols of a program that links them in, by the structures they leave in memory. Where
 * glibc's own heap is unused, anonymous memory that nobody else claims is theirs, kind
 * CF_CLAIM_ALLOCATOR; where it is used, what they hold cannot be told from other memory, and
 * nothing is claimed.
 */
#ifndef CF_SPACE_ALLOCATORS_H
#define CF_SPACE_ALLOCATORS_H

#include <stdbool.h>

#include "space/claims.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "sym/module.h"

struct cf_allocator {
    const char *name;     /* "jemalloc" ...; static */
    const char *evidence; /* what told: a path, a symbol, "structure in memory"; borrowed */
};

/* The first that is found; false: none is to be seen. Where no file and no symbol tells, and there
 * is no libc, `search` asks for a look at every page of anonymous memory. */
bool cf_allocator_find(const struct cf_mem *mem, const struct cf_modules *modules, bool search,
                       struct cf_allocator *out);

/* Claims for `allocator`, in `out`, all anonymous memory that `taken` (sealed) leaves. */
int cf_allocator_claim(const struct cf_allocator *allocator, const struct cf_mem *mem,
                       const struct cf_claims *taken, struct cf_claims *out, struct cf_err *err);

/* False where the producer left out all private anonymous memory (coredump_filter without bit
 * 0x1): then no heap of whatever allocator can be in the core. */
bool cf_anonymous_is_dumped(const struct cf_mem *mem);

#endif
