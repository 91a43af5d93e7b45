#include "sym/build_id.h"

#include <elf.h>
#include <string.h>

#include "sym/image.h"

enum { MAX_NOTE_BYTES = 4096 };

/* Notes are three words and then name and descriptor, each padded to four bytes. */
size_t cf_notes_build_id(const unsigned char *notes, size_t bytes, unsigned char *out,
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
    struct cf_image image;
    if (!cf_image_open(mem, base, &image))
        return 0;
    for (unsigned i = 0; i < image.nr_phdrs; i++) {
        struct cf_image_phdr phdr;
        unsigned char notes[MAX_NOTE_BYTES];
        if (!cf_image_phdr(&image, i, &phdr))
            return 0;
        if (phdr.type != PT_NOTE || phdr.bytes > sizeof notes ||
            !cf_mem_read(mem, image.bias + phdr.vaddr, notes, (size_t)phdr.bytes))
            continue;
        size_t found = cf_notes_build_id(notes, (size_t)phdr.bytes, out, out_max);
        if (found > 0)
            return found;
    }
    return 0;
}
