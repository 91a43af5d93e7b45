/*
 * Heaps of managed runtimes, told from the core alone and claimed for the budget (claims.h), kind
 * CF_CLAIM_MANAGED: HotSpot's from its own VMStructs where they can be read, V8's pages by their
 * header, CPython's arenas by those of their pools, Go's by where they lie in a program with Go's
 * build information, .NET's by the shape of its reservations. A label with "guess" in it rests on
 * shape alone.
 *
 * What a runtime's own structures name is claimed whoever else claims it; a guess takes only what
 * nobody has claimed.
 */
#ifndef CF_RUNTIME_MANAGED_H
#define CF_RUNTIME_MANAGED_H

#include <stdbool.h>

#include "space/claims.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "sym/module.h"

/* What a finder looks at, and where its claims go. Borrows everything. */
struct cf_managed {
    const struct cf_mem *mem;
    const struct cf_modules *modules;
    const struct cf_claims *taken; /* sealed: malloc's and the stacks' */
    struct cf_claims *out;         /* not `taken` */
};

/* Each adds its claims to `out`, none where its runtime is not in the process. CF_ENOMEM only. */
int cf_jvm_claim(const struct cf_managed *managed, struct cf_err *err);
int cf_v8_claim(const struct cf_managed *managed, struct cf_err *err);
int cf_python_claim(const struct cf_managed *managed, struct cf_err *err);
int cf_dotnet_claim(const struct cf_managed *managed, struct cf_err *err);
int cf_golang_claim(const struct cf_managed *managed, struct cf_err *err);

/* All of them. */
int cf_managed_claim(const struct cf_managed *managed, struct cf_err *err);

/* The version that a Go program's build information names ("go1.19.8"), cut at `out_bytes`; false
 * where the program is not Go's. */
bool cf_golang_version(const struct cf_mem *mem, const struct cf_modules *modules, char *out,
                       size_t out_bytes);

/* The first module whose file's name begins with `prefix`, or NULL. */
const struct cf_module *cf_managed_module(const struct cf_modules *modules, const char *prefix);

#endif
