/*
 * The size of a dynamic symbol table is nowhere written: it is told by the hash table over it, by
 * DT_HASH's number of chains or by the end of the last chain of DT_GNU_HASH:
 *
 *     nbuckets | symoffset | bloom words | shift | bloom[] | buckets[nbuckets] | chains[]
 *
 * A bucket holds the first symbol's index; a chain's word is the hash, its lowest bit the end.
 */
#include "sym/dynamic.h"

#include <elf.h>

#include "base/checked.h"
#include "sym/image.h"

enum { MAX_SYMBOLS = 1 << 22, CHAIN_MAX = 1 << 16 };

/* Addresses; a hash table that the image does not have is 0. */
struct tables {
    struct cf_image image;
    unsigned word;
    uint64_t symbols, strings, hash, gnu_hash;
};

static bool open_tables(const struct cf_mem *mem, uint64_t base, struct tables *out) {
    *out = (struct tables){.word = cf_mem_word_bytes(mem)};
    if (!cf_image_open(mem, base, &out->image) ||
        !cf_image_dynamic_address(&out->image, DT_SYMTAB, &out->symbols) ||
        !cf_image_dynamic_address(&out->image, DT_STRTAB, &out->strings))
        return false;
    (void)cf_image_dynamic_address(&out->image, DT_HASH, &out->hash);
    (void)cf_image_dynamic_address(&out->image, DT_GNU_HASH, &out->gnu_hash);
    return true;
}

/* ---- the whole table ---- */

/* A chain ends at the first hash whose lowest bit is set. */
static uint64_t end_of_chain(const struct tables *tables, uint64_t chains, uint32_t first,
                             uint64_t symbol) {
    for (; symbol < MAX_SYMBOLS; symbol++) {
        uint32_t hash;
        if (!cf_mem_u32(tables->image.mem, chains + 4 * (symbol - first), &hash))
            return 0;
        if ((hash & 1) != 0)
            return symbol + 1;
    }
    return 0;
}

/* The last chain ends at the last symbol. */
static uint64_t count_gnu(const struct tables *tables) {
    uint32_t nr_buckets, first, bloom, last = 0;
    if (!cf_mem_u32(tables->image.mem, tables->gnu_hash, &nr_buckets) ||
        !cf_mem_u32(tables->image.mem, tables->gnu_hash + 4, &first) ||
        !cf_mem_u32(tables->image.mem, tables->gnu_hash + 8, &bloom) || nr_buckets > MAX_SYMBOLS ||
        bloom > MAX_SYMBOLS)
        return 0;
    uint64_t buckets = tables->gnu_hash + 16 + (uint64_t)bloom * tables->word;
    for (uint32_t i = 0; i < nr_buckets; i++) {
        uint32_t symbol;
        if (!cf_mem_u32(tables->image.mem, buckets + 4ull * i, &symbol))
            return 0;
        last = symbol > last ? symbol : last;
    }
    if (last < first)
        return first < MAX_SYMBOLS ? first : 0;
    return end_of_chain(tables, buckets + 4ull * nr_buckets, first, last);
}

static uint64_t count(const struct tables *tables) {
    uint32_t nr_chains;
    if (tables->hash != 0 && cf_mem_u32(tables->image.mem, tables->hash + 4, &nr_chains) &&
        nr_chains < MAX_SYMBOLS)
        return nr_chains;
    return tables->gnu_hash != 0 ? count_gnu(tables) : 0;
}

bool cf_dynamic_symbols(const struct cf_mem *mem, uint64_t base, struct cf_symbol_bytes *out) {
    struct tables tables;
    uint64_t avail_symbols, avail_names, name_bytes;
    if (!open_tables(mem, base, &tables) ||
        !cf_image_dynamic(&tables.image, DT_STRSZ, &name_bytes))
        return false;
    bool is_64 = tables.word == 8;
    uint64_t symbol_bytes = count(&tables) * (is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    const unsigned char *symbols = cf_mem_span(mem, tables.symbols, &avail_symbols);
    const unsigned char *names = cf_mem_span(mem, tables.strings, &avail_names);
    if (symbol_bytes == 0 || symbols == NULL || names == NULL || avail_symbols < symbol_bytes ||
        avail_names < name_bytes)
        return false;
    *out = (struct cf_symbol_bytes){
        .symbols = symbols,
        .symbol_bytes = symbol_bytes,
        .names = (const char *)names,
        .name_bytes = name_bytes,
        .is_64 = is_64,
    };
    return true;
}

/* ---- one symbol ---- */

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

bool cf_dynsym_find(const struct cf_mem *mem, uint64_t base, const char *name, uint64_t *out) {
    struct tables tables;
    uint32_t nr_buckets, first, nr_blooms, index, word;
    if (!open_tables(mem, base, &tables) || tables.gnu_hash == 0 ||
        !cf_mem_u32(mem, tables.gnu_hash, &nr_buckets) ||
        !cf_mem_u32(mem, tables.gnu_hash + 4, &first) ||
        !cf_mem_u32(mem, tables.gnu_hash + 8, &nr_blooms) || nr_buckets == 0)
        return false;
    uint32_t hash = gnu_hash(name);
    uint64_t buckets = tables.gnu_hash + 16 + (uint64_t)nr_blooms * tables.word;
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
