#include "sym/dynamic.h"

#include <elf.h>

#include "sym/image.h"

enum { MAX_ENTRIES = 512, MAX_SYMBOLS = 1 << 22 };

struct dynamic {
    const struct cf_mem *mem;
    struct cf_image image;
    uint64_t symbols, names, name_bytes, hash, gnu_hash;
};

/* ld.so writes the process's addresses over the file's (elf_get_dynamic_info); nobody does it for
 * the vdso. */
static uint64_t address_of(const struct dynamic *dynamic, uint64_t value) {
    return value < dynamic->image.bias ? dynamic->image.bias + value : value;
}

static void take(struct dynamic *dynamic, uint64_t tag, uint64_t value) {
    switch (tag) {
    case DT_SYMTAB:
        dynamic->symbols = address_of(dynamic, value);
        break;
    case DT_STRTAB:
        dynamic->names = address_of(dynamic, value);
        break;
    case DT_STRSZ:
        dynamic->name_bytes = value;
        break;
    case DT_HASH:
        dynamic->hash = address_of(dynamic, value);
        break;
    case DT_GNU_HASH:
        dynamic->gnu_hash = address_of(dynamic, value);
        break;
    default:
        break;
    }
}

static void read_entries(struct dynamic *dynamic, uint64_t addr, uint64_t bytes) {
    unsigned word = cf_mem_word_bytes(dynamic->mem);
    for (uint64_t i = 0; i < MAX_ENTRIES && (i + 1) * 2 * word <= bytes; i++) {
        uint64_t tag, value;
        if (!cf_mem_word(dynamic->mem, addr + i * 2 * word, &tag) ||
            !cf_mem_word(dynamic->mem, addr + (i * 2 + 1) * word, &value) || tag == DT_NULL)
            return;
        take(dynamic, tag, value);
    }
}

/* A chain ends at the first hash whose lowest bit is set. */
static uint64_t end_of_chain(const struct dynamic *dynamic, uint64_t chains, uint32_t first,
                             uint64_t symbol) {
    for (; symbol < MAX_SYMBOLS; symbol++) {
        uint32_t hash;
        if (!cf_mem_u32(dynamic->mem, chains + 4 * (symbol - first), &hash))
            return 0;
        if ((hash & 1) != 0)
            return symbol + 1;
    }
    return 0;
}

/* DT_GNU_HASH: buckets, first hashed symbol, words of the Bloom filter, shift; then the filter,
 * the buckets, and a hash for each symbol. The last chain ends at the last symbol. */
static uint64_t count_gnu(const struct dynamic *dynamic) {
    uint32_t nr_buckets, first, bloom, last = 0;
    if (!cf_mem_u32(dynamic->mem, dynamic->gnu_hash, &nr_buckets) ||
        !cf_mem_u32(dynamic->mem, dynamic->gnu_hash + 4, &first) ||
        !cf_mem_u32(dynamic->mem, dynamic->gnu_hash + 8, &bloom) || nr_buckets > MAX_SYMBOLS ||
        bloom > MAX_SYMBOLS)
        return 0;
    uint64_t buckets = dynamic->gnu_hash + 16 + (uint64_t)bloom * cf_mem_word_bytes(dynamic->mem);
    for (uint32_t i = 0; i < nr_buckets; i++) {
        uint32_t symbol;
        if (!cf_mem_u32(dynamic->mem, buckets + 4ull * i, &symbol))
            return 0;
        last = symbol > last ? symbol : last;
    }
    if (last < first)
        return first < MAX_SYMBOLS ? first : 0;
    return end_of_chain(dynamic, buckets + 4ull * nr_buckets, first, last);
}

static uint64_t count(const struct dynamic *dynamic) {
    uint32_t nr_chains;
    if (dynamic->hash != 0 && cf_mem_u32(dynamic->mem, dynamic->hash + 4, &nr_chains) &&
        nr_chains < MAX_SYMBOLS)
        return nr_chains;
    return dynamic->gnu_hash != 0 ? count_gnu(dynamic) : 0;
}

bool cf_dynamic_symbols(const struct cf_mem *mem, uint64_t base, struct cf_symbol_bytes *out) {
    struct dynamic dynamic = {.mem = mem};
    struct cf_image_phdr table;
    uint64_t avail_symbols, avail_names;
    if (!cf_image_open(mem, base, &dynamic.image) ||
        !cf_image_find_phdr(&dynamic.image, PT_DYNAMIC, &table))
        return false;
    read_entries(&dynamic, dynamic.image.bias + table.vaddr, table.bytes);
    if (dynamic.symbols == 0 || dynamic.names == 0)
        return false;
    bool is_64 = cf_mem_word_bytes(mem) == 8;
    uint64_t symbol_bytes = count(&dynamic) * (is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    const unsigned char *symbols = cf_mem_span(mem, dynamic.symbols, &avail_symbols);
    const unsigned char *names = cf_mem_span(mem, dynamic.names, &avail_names);
    if (symbol_bytes == 0 || symbols == NULL || names == NULL || avail_symbols < symbol_bytes ||
        avail_names < dynamic.name_bytes)
        return false;
    *out = (struct cf_symbol_bytes){
        .symbols = symbols,
        .symbol_bytes = symbol_bytes,
        .names = (const char *)names,
        .name_bytes = dynamic.name_bytes,
        .is_64 = is_64,
    };
    return true;
}
