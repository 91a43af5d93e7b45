/*
 * The dynamic symbols of a module as they stand in the core: what is left where its file cannot be
 * had. A core of the default coredump_filter has of an ELF file its first page and what was
 * written, so the tables of a large library are mostly not there; they are where clean pages of
 * files were dumped (coredump_filter bit 2, which HotSpot sets; some gcores; the vdso always). Then
 * they need no file and no build id.
 */
#ifndef CF_SYM_DYNAMIC_H
#define CF_SYM_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"
#include "sym/symtab.h"

/* The table of the image at `base`, borrowed from the core; false when it is not all there. */
bool cf_dynamic_symbols(const struct cf_mem *mem, uint64_t base, struct cf_symbol_bytes *out);

/* The address of the symbol that the image at `base` defines as `name`. False: it does not, or
 * its tables cannot be read. */
bool cf_dynsym_find(const struct cf_mem *mem, uint64_t base, const char *name, uint64_t *out);

#endif
