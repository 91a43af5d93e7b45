/*
 * Dynamic symbols of an image, read from the core alone: through PT_DYNAMIC, DT_GNU_HASH,
 * DT_SYMTAB and DT_STRTAB. A core of the default coredump_filter has of an ELF file its first
 * page and what was written, so the tables of a large library are mostly not there; runtimes that
 * widen their filter (HotSpot) keep them.
 */
#ifndef CF_SYM_DYNSYM_H
#define CF_SYM_DYNSYM_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"

/* The address of the symbol that the image at `base` defines as `name`. False: it does not, or
 * its tables cannot be read. */
bool cf_dynsym_find(const struct cf_mem *mem, uint64_t base, const char *name, uint64_t *out);

/* True where the C string `text` stands at `addr`. */
bool cf_mem_text_is(const struct cf_mem *mem, uint64_t addr, const char *text);

#endif
