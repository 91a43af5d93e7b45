#include "sym/build_id.h"

#include <elf.h>
#include <string.h>

#include "base/checked.h"

enum { MAX_PHDRS = 256, MAX_NOTE_BYTES = 4096 };

/* What a program header says, of either class. */
struct phdr {
    uint32_t type;
    uint64_t vaddr;
    uint64_t bytes;
};

struct image {
    const struct cf_mem *mem;
    uint64_t base;
    uint64_t bias; /* what a p_vaddr lacks to be an address */
    uint64_t phdrs;
    unsigned nr_phdrs;
    bool is_64;
};

bool cf_elf_is_image(const struct cf_mem *mem, uint64_t base) {
    unsigned char ident[EI_NIDENT];
    return cf_mem_read(mem, base, ident, sizeof ident) && memcmp(ident, ELFMAG, SELFMAG) == 0 &&
           (ident[EI_CLASS] == ELFCLASS64 || ident[EI_CLASS] == ELFCLASS32) &&
           ident[EI_DATA] == ELFDATA2LSB;
}

static bool read_header(struct image *image) {
    union {
        unsigned char ident[EI_NIDENT];
        Elf64_Ehdr e64;
        Elf32_Ehdr e32;
    } header;
    if (!cf_mem_read(image->mem, image->base, header.ident, sizeof header.ident))
        return false;
    image->is_64 = header.ident[EI_CLASS] == ELFCLASS64;
    size_t bytes = image->is_64 ? sizeof header.e64 : sizeof header.e32;
    if (!cf_mem_read(image->mem, image->base, &header, bytes))
        return false;
    uint64_t offset = image->is_64 ? header.e64.e_phoff : header.e32.e_phoff;
    unsigned entry = image->is_64 ? header.e64.e_phentsize : header.e32.e_phentsize;
    unsigned expected = image->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    image->nr_phdrs = image->is_64 ? header.e64.e_phnum : header.e32.e_phnum;
    return entry == expected && image->nr_phdrs <= MAX_PHDRS &&
           cf_add_u64(image->base, offset, &image->phdrs);
}

static bool read_phdr(const struct image *image, unsigned index, struct phdr *out) {
    union {
        Elf64_Phdr p64;
        Elf32_Phdr p32;
    } phdr;
    size_t bytes = image->is_64 ? sizeof phdr.p64 : sizeof phdr.p32;
    uint64_t addr;
    if (!cf_add_u64(image->phdrs, index * bytes, &addr) ||
        !cf_mem_read(image->mem, addr, &phdr, bytes))
        return false;
    out->type = image->is_64 ? phdr.p64.p_type : phdr.p32.p_type;
    out->vaddr = image->is_64 ? phdr.p64.p_vaddr : phdr.p32.p_vaddr;
    out->bytes = image->is_64 ? phdr.p64.p_filesz : phdr.p32.p_filesz;
    return true;
}

/* The image's first byte is at the page of its first PT_LOAD. */
static bool find_bias(struct image *image) {
    for (unsigned i = 0; i < image->nr_phdrs; i++) {
        struct phdr phdr;
        if (!read_phdr(image, i, &phdr))
            return false;
        if (phdr.type != PT_LOAD)
            continue;
        image->bias = image->base - cf_align_down(phdr.vaddr, cf_mem_page_bytes(image->mem));
        return true;
    }
    return false;
}

/* Notes are three words and then name and descriptor, each padded to four bytes. */
static size_t find_in_notes(const unsigned char *notes, size_t bytes, unsigned char *out,
                            size_t out_max) {
    size_t at = 0;
    while (bytes - at >= 12) {
        uint32_t words[3];
        memcpy(words, notes + at, sizeof words);
        uint64_t name_bytes = ((uint64_t)words[0] + 3) & ~3ull;
        uint64_t desc_bytes = ((uint64_t)words[1] + 3) & ~3ull;
        if (name_bytes + desc_bytes > bytes - at - 12)
            return 0;
        const unsigned char *name = notes + at + 12;
        bool is_gnu = words[0] == 4 && memcmp(name, "GNU", 4) == 0;
        if (is_gnu && words[2] == NT_GNU_BUILD_ID && words[1] > 0 && words[1] <= out_max) {
            memcpy(out, name + name_bytes, words[1]);
            return words[1];
        }
        at += 12 + (size_t)(name_bytes + desc_bytes);
    }
    return 0;
}

size_t cf_elf_build_id(const struct cf_mem *mem, uint64_t base, unsigned char *out,
                       size_t out_max) {
    struct image image = {.mem = mem, .base = base};
    if (!cf_elf_is_image(mem, base) || !read_header(&image) || !find_bias(&image))
        return 0;
    for (unsigned i = 0; i < image.nr_phdrs; i++) {
        struct phdr phdr;
        unsigned char notes[MAX_NOTE_BYTES];
        if (!read_phdr(&image, i, &phdr))
            return 0;
        if (phdr.type != PT_NOTE || phdr.bytes > sizeof notes ||
            !cf_mem_read(mem, image.bias + phdr.vaddr, notes, (size_t)phdr.bytes))
            continue;
        size_t found = find_in_notes(notes, (size_t)phdr.bytes, out, out_max);
        if (found > 0)
            return found;
    }
    return 0;
}
