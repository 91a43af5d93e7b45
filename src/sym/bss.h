/*
 * Where a module's .bss ends: anonymous memory that ld.so or the kernel mapped behind the module's
 * writable data, up to the last byte of its last segment (p_vaddr + p_memsz), rounded up to a page.
 * What lies behind that in the same mapping was mapped by somebody else, and the kernel merged the
 * two since their rights are the same.
 */
#ifndef CF_SYM_BSS_H
#define CF_SYM_BSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/mem.h"

enum cf_bss {
    CF_BSS_NONE,    /* the region does not follow a module's writable data */
    CF_BSS_KNOWN,   /* it is .bss up to an end that the module's own headers tell */
    CF_BSS_UNKNOWN, /* the headers are not in the core: taken for .bss up to its end */
};

/* What the region with this index is, and where its .bss ends: an address within [start, end] of
 * the region. `*end` is set unless the answer is CF_BSS_NONE. */
enum cf_bss cf_bss_of(const struct cf_mem *mem, size_t index, uint64_t *end);

/* The same of the memory from `end` on, where a module's mapping ends: the end of its .bss, or
 * `end` where it has none there. */
uint64_t cf_bss_end(const struct cf_mem *mem, uint64_t end);

/* The file of a region is an ELF image, by its own first bytes or else by its name. */
bool cf_region_is_elf(const struct cf_mem *mem, size_t index);

#endif
