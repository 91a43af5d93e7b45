/*
 * The dynamic symbols of a module as they stand in the core: what is left where its file cannot be
 * had. A core has them only where clean pages of files were dumped (coredump_filter bit 2, gcore
 * of some, the vdso always); then they need no file and no build id.
 */
#ifndef CF_SYM_DYNAMIC_H
#define CF_SYM_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"
#include "sym/symtab.h"

/* The table of the image at `base`, borrowed from the core; false when it is not all there. */
bool cf_dynamic_symbols(const struct cf_mem *mem, uint64_t base, struct cf_symbol_bytes *out);

#endif
