/*
 * Reads a GNU build id from an ELF image as it stands in the core (image.h): from its PT_NOTE.
 */
#ifndef CF_SYM_BUILD_ID_H
#define CF_SYM_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "mem/mem.h"

/* At most `out_max` bytes; returns their number, 0 when there is no build id to be read. */
size_t cf_elf_build_id(const struct cf_mem *mem, uint64_t base, unsigned char *out, size_t out_max);

/* The same from the bytes of a PT_NOTE or SHT_NOTE. */
size_t cf_notes_build_id(const unsigned char *notes, size_t bytes, unsigned char *out,
                         size_t out_max);

#endif
