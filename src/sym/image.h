/*
 * An ELF image as it stands in the core's memory: its header, program headers, build id and dynamic
 * table, all of them bounded reads of hostile bytes. A plain value that borrows the address space.
 */
#ifndef CF_SYM_IMAGE_H
#define CF_SYM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/mem.h"

struct cf_image {
    const struct cf_mem *mem;
    uint64_t base;
    uint64_t bias; /* what a p_vaddr lacks to be an address */
    uint64_t phdrs;
    unsigned nr_phdrs;
    bool is_64;
};

/* What a program header says, of either class. */
struct cf_image_phdr {
    uint32_t type;
    uint64_t vaddr;
    uint64_t bytes;     /* in the file */
    uint64_t mem_bytes; /* in memory */
};

/* True when an ELF header stands at `base`. */
bool cf_elf_is_image(const struct cf_mem *mem, uint64_t base);

/* False: no image at `base`, or its headers are not in the core. */
bool cf_image_open(const struct cf_mem *mem, uint64_t base, struct cf_image *out);
bool cf_image_phdr(const struct cf_image *image, unsigned index, struct cf_image_phdr *out);

/* The value of the first entry of PT_DYNAMIC with this tag (DT_...); false: there is none, or the
 * table is not in the core. */
bool cf_image_dynamic(const struct cf_image *image, uint64_t tag, uint64_t *out);
/* The same where the value is an address of the process: glibc's ld.so writes that over the file's
 * (elf_get_dynamic_info); musl's does not, and nobody does it for the vdso. */
bool cf_image_dynamic_address(const struct cf_image *image, uint64_t tag, uint64_t *out);

/* The GNU build id of the image at `base`, from its PT_NOTE, at most `out_max` bytes; returns their
 * number, 0 when there is no build id to be read. */
size_t cf_elf_build_id(const struct cf_mem *mem, uint64_t base, unsigned char *out, size_t out_max);

/* The same from the bytes of a PT_NOTE or SHT_NOTE. */
size_t cf_notes_build_id(const unsigned char *notes, size_t bytes, unsigned char *out,
                         size_t out_max);

#endif
