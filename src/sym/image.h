/*
 * An ELF image as it stands in the core's memory: its header and program headers, all of them
 * bounded reads of hostile bytes. A plain value that borrows the address space.
 */
#ifndef CF_SYM_IMAGE_H
#define CF_SYM_IMAGE_H

#include <stdbool.h>
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
/* The first program header of `type`; false when there is none. */
bool cf_image_find_phdr(const struct cf_image *image, uint32_t type, struct cf_image_phdr *out);

#endif
