#include "sym/dynsym.h"

#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "sym/image.h"

enum { DYNAMIC_MAX = 512, CHAIN_MAX = 1 << 16, TEXT_MAX = 128 };

struct tables {
    struct cf_image image;
    unsigned word;
    uint64_t symbols;
    uint64_t strings;
    uint64_t hash;
};

bool cf_mem_text_is(const struct cf_mem *mem, uint64_t addr, const char *text) {
    char copy[TEXT_MAX];
    size_t bytes = strlen(text) + 1;
    return bytes <= sizeof copy && cf_mem_read(mem, addr, copy, bytes) &&
           memcmp(copy, text, bytes) == 0;
}

/* ld.so of glibc rewrites the pointers of _DYNAMIC to addresses, that of musl does not. */
static uint64_t to_address(const struct tables *tables, uint64_t value) {
    return value < tables->image.bias ? value + tables->image.bias : value;
}

static void take_entry(struct tables *tables, uint64_t tag, uint64_t value) {
    if (tag == DT_SYMTAB)
        tables->symbols = to_address(tables, value);
    else if (tag == DT_STRTAB)
        tables->strings = to_address(tables, value);
    else if (tag == DT_GNU_HASH)
        tables->hash = to_address(tables, value);
}

static bool open_tables(const struct cf_mem *mem, uint64_t base, struct tables *out) {
    struct cf_image_phdr dynamic;
    *out = (struct tables){.word = cf_mem_word_bytes(mem)};
    if (!cf_image_open(mem, base, &out->image) || out->image.is_64 != (out->word == 8) ||
        !cf_image_find_phdr(&out->image, PT_DYNAMIC, &dynamic))
        return false;
    uint64_t at = out->image.bias + dynamic.vaddr;
    for (unsigned i = 0; i < DYNAMIC_MAX; i++, at += 2 * (uint64_t)out->word) {
        uint64_t tag, value;
        if (!cf_mem_word(mem, at, &tag) || !cf_mem_word(mem, at + out->word, &value))
            return false;
        if (tag == DT_NULL)
            break;
        take_entry(out, tag, value);
    }
    return out->symbols != 0 && out->strings != 0 && out->hash != 0;
}

static uint32_t gnu_hash(const char *name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Symbol `index` where it is defined here and bears `name`. */
static bool symbol_is(const struct tables *tables, uint64_t index, const char *name,
                      uint64_t *out) {
    union {
        Elf64_Sym s64;
        Elf32_Sym s32;
    } symbol;
    size_t bytes = tables->word == 8 ? sizeof symbol.s64 : sizeof symbol.s32;
    uint64_t at;
    if (!cf_mul_u64(index, bytes, &at) || !cf_add_u64(at, tables->symbols, &at) ||
        !cf_mem_read(tables->image.mem, at, &symbol, bytes))
        return false;
    uint64_t text = tables->word == 8 ? symbol.s64.st_name : symbol.s32.st_name;
    uint64_t value = tables->word == 8 ? symbol.s64.st_value : symbol.s32.st_value;
    unsigned section = tables->word == 8 ? symbol.s64.st_shndx : symbol.s32.st_shndx;
    if (section == SHN_UNDEF || !cf_mem_text_is(tables->image.mem, tables->strings + text, name))
        return false;
    *out = tables->image.bias + value;
    return true;
}

/*
 *     nbuckets | symoffset | bloom words | shift | bloom[] | buckets[nbuckets] | chains[]
 *
 * A bucket holds the first symbol's index; a chain's word is the hash, its lowest bit the end.
 */
bool cf_dynsym_find(const struct cf_mem *mem, uint64_t base, const char *name, uint64_t *out) {
    struct tables tables;
    uint32_t nr_buckets, first, nr_blooms, index, word;
    if (!open_tables(mem, base, &tables) || !cf_mem_u32(mem, tables.hash, &nr_buckets) ||
        !cf_mem_u32(mem, tables.hash + 4, &first) ||
        !cf_mem_u32(mem, tables.hash + 8, &nr_blooms) || nr_buckets == 0)
        return false;
    uint32_t hash = gnu_hash(name);
    uint64_t buckets = tables.hash + 16 + (uint64_t)nr_blooms * tables.word;
    uint64_t chains = buckets + 4 * (uint64_t)nr_buckets;
    if (!cf_mem_u32(mem, buckets + 4 * (uint64_t)(hash % nr_buckets), &index) || index < first)
        return false;
    for (unsigned i = 0; i < CHAIN_MAX; i++, index++) {
        if (!cf_mem_u32(mem, chains + 4 * (uint64_t)(index - first), &word))
            return false;
        if ((word | 1) == (hash | 1) && symbol_is(&tables, index, name, out))
            return true;
        if (word & 1)
            return false;
    }
    return false;
}
