/*
 * A module's data ends in the middle of a page or at its end, and .bss follows as anonymous memory,
 * which the kernel may have merged with a neighbour's (brk's first heap, another mapping of the
 * same rights). Only the program headers say where the one ends; they stand in the module's first
 * page.
 */
#include "sym/bss.h"

#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "base/texts.h"
#include "sym/image.h"

enum { IMAGE_ROWS_MAX = 64 };

/* The row of NT_FILE with the file's beginning: the few rows of an image follow each other. */
static const struct cf_core_file *first_row(const struct cf_core *core, size_t file) {
    const struct cf_core_file *row = cf_core_file(core, file);
    for (size_t steps = 0; steps <= file && steps < IMAGE_ROWS_MAX; steps++) {
        const struct cf_core_file *below = cf_core_file(core, file - steps);
        if (strcmp(below->path, row->path) != 0)
            return NULL;
        if (below->offset_bytes == 0)
            return below;
    }
    return NULL;
}

bool cf_region_is_elf(const struct cf_mem *mem, size_t index) {
    const struct cf_region *region = cf_mem_region(mem, index);
    if (region->file < 0)
        return false;
    const struct cf_core *core = cf_mem_core(mem);
    const struct cf_core_file *first = first_row(core, (size_t)region->file);
    unsigned char magic[SELFMAG];
    if (first != NULL && cf_mem_read(mem, first->start, magic, sizeof magic))
        return memcmp(magic, ELFMAG, SELFMAG) == 0;
    const char *path = cf_core_file(core, (size_t)region->file)->path;
    return strstr(cf_base_name(path), ".so") != NULL || strstr(path, "/bin/") != NULL;
}

/* The end of the last segment of the image at `base`. */
static bool image_end(const struct cf_mem *mem, uint64_t base, uint64_t *out) {
    struct cf_image image;
    struct cf_image_phdr phdr;
    uint64_t end = 0;
    if (!cf_image_open(mem, base, &image))
        return false;
    for (unsigned i = 0; i < image.nr_phdrs; i++) {
        uint64_t addr;
        if (!cf_image_phdr(&image, i, &phdr))
            return false;
        if (phdr.type == PT_LOAD && cf_add_u64(image.bias + phdr.vaddr, phdr.mem_bytes, &addr) &&
            addr > end)
            end = addr;
    }
    return end > base && cf_align_up(end, cf_mem_page_bytes(mem), out);
}

enum cf_bss cf_bss_of(const struct cf_mem *mem, size_t index, uint64_t *end) {
    const struct cf_region *region = cf_mem_region(mem, index);
    if (index == 0 || region->kind != CF_REGION_ANONYMOUS || region->file >= 0)
        return CF_BSS_NONE;
    const struct cf_region *below = cf_mem_region(mem, index - 1);
    if (below->end != region->start || below->kind != CF_REGION_FILE ||
        (below->flags & PF_W) == 0 || !cf_region_is_elf(mem, index - 1))
        return CF_BSS_NONE;
    const struct cf_core_file *first = first_row(cf_mem_core(mem), (size_t)below->file);
    uint64_t known;
    *end = region->end;
    if (first == NULL || !image_end(mem, first->start, &known))
        return CF_BSS_UNKNOWN;
    if (known < *end)
        *end = known > region->start ? known : region->start;
    return CF_BSS_KNOWN;
}

uint64_t cf_bss_end(const struct cf_mem *mem, uint64_t end) {
    size_t index = cf_mem_lower_bound(mem, end);
    uint64_t out = end;
    if (index < cf_mem_nr_regions(mem) && cf_mem_region(mem, index)->start == end)
        (void)cf_bss_of(mem, index, &out);
    return out;
}
