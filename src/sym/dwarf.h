/*
 * Where the fields of a struct stand, by the DWARF of one source file: how the second witness
 * checks layouts. Looks only into the units of that source file, and what they import.
 *
 * libdw reads the file. It has had faults with files made to break it, so nothing is handed to it
 * whose table of sections does not hold together, and only a file whose build id is the core's.
 */
#ifndef CF_SYM_DWARF_H
#define CF_SYM_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "sym/elf_file.h"

struct cf_dwarf;

/* The DWARF of `source` ("malloc.c") in `file` (borrowed until the free); NULL: there is none.
 * Fails only for lack of memory. */
int cf_dwarf_open(const struct cf_elf_file *file, const char *source, struct cf_dwarf **out,
                  struct cf_err *err);
void cf_dwarf_free(struct cf_dwarf *dwarf);

/* The size of `struct NAME`. False: it is not described. */
bool cf_dwarf_struct_bytes(struct cf_dwarf *dwarf, const char *name, uint64_t *out);
/* The offset of a member of `struct NAME`. False: no such struct or member. */
bool cf_dwarf_member_offset(struct cf_dwarf *dwarf, const char *name, const char *member,
                            uint64_t *out);

#endif
