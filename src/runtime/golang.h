/* What a Go program says of itself. */
#ifndef CF_RUNTIME_GOLANG_H
#define CF_RUNTIME_GOLANG_H

#include <stdbool.h>
#include <stddef.h>

#include "mem/mem.h"
#include "sym/module.h"

/* The version that a Go program's build information names ("go1.19.8"), cut at `out_bytes`; false
 * where the program is not Go's. */
bool cf_golang_version(const struct cf_mem *mem, const struct cf_modules *modules, char *out,
                       size_t out_bytes);

#endif
