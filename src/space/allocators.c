/*
 * Other allocators give themselves away by their library's file name or by a symbol that only they
 * export; a program's own malloc by exporting malloc itself.
 */
#include "space/allocators.h"

#include <elf.h>
#include <string.h>

#include "base/texts.h"
#include "space/unclaimed.h"
#include "sym/dynamic.h"

/* Libraries, by the front of their file's name. */
static const struct {
    const char *prefix;
    const char *name;
} libraries[] = {
    {"libjemalloc", "jemalloc"}, {"libtcmalloc", "tcmalloc"}, {"libmimalloc", "mimalloc"},
    {"libsnmalloc", "snmalloc"}, {"libscudo", "scudo"},       {"libhoard", "Hoard"},
    {"librpmalloc", "rpmalloc"}, {"ld-musl-", "musl malloc"}, {"libtbbmalloc_proxy", "TBB malloc"},
    {"libasan.so", "AddressSanitizer"},   {"libclang_rt.asan", "AddressSanitizer"},
    {"libhwasan.so", "HWAddressSanitizer"}, {"libclang_rt.hwasan", "HWAddressSanitizer"},
    {"libtsan.so", "ThreadSanitizer"},    {"libclang_rt.tsan", "ThreadSanitizer"},
    {"libefence", "Electric Fence"},      {"libdmalloc", "dmalloc"},
    {"libumem", "libumem"},               {"vgpreload_memcheck", "valgrind's memcheck"},
    {"vgpreload_massif", "valgrind's massif"}, {"vgpreload_dhat", "valgrind's dhat"},
    {"vgpreload_helgrind", "valgrind's helgrind"}, {"vgpreload_drd", "valgrind's drd"},
};

/* What a program that brings its own malloc exports. */
static const struct {
    const char *symbol;
    const char *name;
} symbols[] = {
    {"mallctl", "jemalloc"},          {"_rjem_mallctl", "jemalloc"}, {"je_mallctl", "jemalloc"},
    {"tc_malloc", "tcmalloc"},        {"mi_malloc", "mimalloc"},     {"rpmalloc", "rpmalloc"},
    {"malloc", "the program's own malloc"},
};

static bool find_library(const struct cf_modules *modules, struct cf_allocator *out) {
    for (size_t i = 0; i < cf_modules_nr(modules); i++) {
        const char *path = cf_modules_get(modules, i)->path;
        const char *name = NULL;
        for (size_t j = 0; j < sizeof libraries / sizeof libraries[0]; j++)
            if (strncmp(cf_base_name(path), libraries[j].prefix, strlen(libraries[j].prefix)) == 0)
                name = libraries[j].name;
        if (strstr(path, "musl") != NULL && strcmp(cf_base_name(path), "libc.so") == 0)
            name = "musl malloc";
        if (name != NULL) {
            *out = (struct cf_allocator){.name = name, .evidence = path};
            return true;
        }
    }
    return false;
}

static bool find_symbol(const struct cf_mem *mem, const struct cf_modules *modules,
                        struct cf_allocator *out) {
    const struct cf_module *exe = cf_modules_find_exe(modules);
    uint64_t addr;
    for (size_t i = 0; exe != NULL && i < sizeof symbols / sizeof symbols[0]; i++)
        if (cf_dynsym_find(mem, exe->start, symbols[i].symbol, &addr)) {
            *out = (struct cf_allocator){.name = symbols[i].name, .evidence = symbols[i].symbol};
            return true;
        }
    return false;
}

/*
 * mallocng, musl's malloc since 1.2.1: pages of metadata, each group of slots pointing back to
 * its meta (meta.h there):
 *
 *     page:  check | next page | nr of slots | slots: prev, next, mem, masks, ...
 *     mem:   meta | ...
 */
static bool is_mallocng_page(const struct cf_mem *mem, uint64_t page) {
    enum { SLOTS_MAX = 128, PROOFS = 2 };
    unsigned word = cf_mem_word_bytes(mem), proofs = 0;
    uint64_t slot = page + 3 * (uint64_t)word, slot_bytes = 3 * (uint64_t)word + 8 + word;
    uint64_t check, next, group, back;
    uint32_t nr_slots;
    if (!cf_mem_word(mem, page, &check) || check == 0 || !cf_mem_word(mem, page + word, &next) ||
        next % 0x1000 != 0 || !cf_mem_u32(mem, page + 2 * (uint64_t)word, &nr_slots) ||
        nr_slots == 0 || nr_slots > SLOTS_MAX)
        return false;
    for (uint32_t i = 0; i < nr_slots; i++, slot += slot_bytes)
        if (cf_mem_word(mem, slot + 2 * (uint64_t)word, &group) && group != 0 &&
            cf_mem_word(mem, group, &back) && back == slot)
            proofs++;
    return proofs >= PROOFS;
}

static bool find_structure(const struct cf_mem *mem, struct cf_allocator *out) {
    static const struct cf_claims nothing;
    struct cf_unclaimed walk = cf_unclaimed_from(mem, &nothing, 0);
    struct cf_piece piece;
    while (cf_unclaimed_next(&walk, &piece)) {
        if ((piece.flags & PF_W) == 0)
            continue;
        /* Only where the core has bytes: most of the address space may be reserved. */
        for (uint64_t page = piece.start; cf_mem_next_data(mem, &page, piece.end); page += 0x1000)
            if (is_mallocng_page(mem, page)) {
                *out = (struct cf_allocator){.name = "musl malloc",
                                             .evidence = "its structure in memory"};
                return true;
            }
        cf_mem_drop(mem, piece.start, piece.end);
    }
    return false;
}

bool cf_allocator_find(const struct cf_mem *mem, const struct cf_modules *modules, bool search,
                       struct cf_allocator *out) {
    return find_library(modules, out) || find_symbol(mem, modules, out) ||
           (search && cf_modules_find_libc(modules) == NULL && find_structure(mem, out));
}

int cf_allocator_claim(const struct cf_allocator *allocator, const struct cf_mem *mem,
                       const struct cf_claims *taken, struct cf_claims *out, struct cf_err *err) {
    const struct cf_claimant who = {.kind = CF_CLAIM_ALLOCATOR, .label = allocator->name};
    return cf_unclaimed_take(mem, taken, 0, UINT64_MAX, &who, out, err);
}

bool cf_anonymous_is_dumped(const struct cf_mem *mem) {
    size_t nr_left_out = 0;
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->kind == CF_REGION_FILE || region->kind == CF_REGION_SHARED ||
            (region->flags & PF_W) == 0)
            continue;
        if (region->data_bytes > 0 || region->cut_bytes > 0)
            return true;
        nr_left_out++;
    }
    return nr_left_out == 0;
}
