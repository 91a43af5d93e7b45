/*
 * One pass over the symbols keeps 16 bytes of each that is a place, sorted by address; where
 * several share one, the best is kept by the order that the header gives. A look-up is one binary
 * search, and a few steps down past symbols that lie within another one.
 */
#include "sym/symtab.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/err.h"

enum {
    BYTES_MAX = (1 << 30) - 1,
    GUESSED_BYTES_MAX = 4096, /* of a function that does not say its size */
    NESTED_MAX = 8,           /* symbols within one that are stepped over */
};

struct symbol {
    uint32_t name;
    uint8_t type, binding;
    uint16_t section;
    uint64_t value, bytes;
};

static size_t nr_symbols(const struct cf_symbol_bytes *source) {
    return (size_t)(source->symbol_bytes / (source->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)));
}

static bool read_symbol(const struct cf_symbol_bytes *source, size_t index, struct symbol *out) {
    size_t each = source->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    struct cf_cursor at =
        cf_cursor_make(source->symbols + index * each, each, source->is_64 ? 8 : 4);
    uint64_t info, other;
    bool read = cf_cursor_u32(&at, &out->name);
    if (!source->is_64)
        read = read && cf_cursor_word(&at, &out->value) && cf_cursor_word(&at, &out->bytes);
    read = read && cf_cursor_uint(&at, 1, &info) && cf_cursor_uint(&at, 1, &other) &&
           cf_cursor_u16(&at, &out->section);
    if (source->is_64)
        read = read && cf_cursor_word(&at, &out->value) && cf_cursor_word(&at, &out->bytes);
    if (!read || out->name >= source->name_bytes)
        return false;
    out->type = ELF64_ST_TYPE(info);
    out->binding = ELF64_ST_BIND(info);
    return true;
}

static bool is_place(const struct cf_symbol_bytes *source, const struct symbol *symbol) {
    if (symbol->section == SHN_UNDEF || symbol->section == SHN_ABS || symbol->value == 0 ||
        source->names[symbol->name] == '\0')
        return false;
    switch (symbol->type) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return true;
    case STT_OBJECT:
    case STT_NOTYPE:
        return symbol->bytes > 0;
    default:
        return false;
    }
}

static unsigned rank_of(const struct symbol *symbol) {
    return symbol->binding == STB_LOCAL ? 2 : symbol->binding == STB_WEAK ? 1 : 0;
}

static bool add(struct cf_symtab *symtab, const struct symbol *symbol) {
    struct cf_symtab_entry *entry = cf_array_push(&symtab->entries);
    if (entry == NULL)
        return false;
    entry->value = symbol->value;
    entry->bytes = symbol->bytes < BYTES_MAX ? (uint32_t)symbol->bytes : BYTES_MAX;
    entry->rank = rank_of(symbol) & 3;
    entry->name = symbol->name;
    return true;
}

/* "malloc" before "__libc_malloc", "raise" before "gsignal": what a person would call it. */
static int compare_names(const char *a, const char *b) {
    size_t a_lines = strspn(a, "_"), b_lines = strspn(b, "_");
    if (a_lines != b_lines)
        return a_lines < b_lines ? -1 : 1;
    size_t a_bytes = strlen(a), b_bytes = strlen(b);
    if (a_bytes != b_bytes)
        return a_bytes < b_bytes ? -1 : 1;
    return strcmp(a, b);
}

static int compare(const void *left, const void *right, void *names) {
    const struct cf_symtab_entry *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if ((a->bytes == 0) != (b->bytes == 0))
        return a->bytes == 0 ? 1 : -1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return compare_names((const char *)names + a->name, (const char *)names + b->name);
}

/* One for each address; a function without a size reaches to its neighbour, but not far. */
static void settle(struct cf_symtab *symtab) {
    struct cf_symtab_entry *items = symtab->entries.items;
    size_t kept = 0;
    for (size_t i = 0; i < symtab->entries.len; i++)
        if (kept == 0 || items[kept - 1].value != items[i].value)
            items[kept++] = items[i];
    symtab->entries.len = kept;
    for (size_t i = 0; i < kept; i++) {
        uint64_t gap = i + 1 < kept ? items[i + 1].value - items[i].value : GUESSED_BYTES_MAX;
        if (items[i].bytes == 0)
            items[i].bytes = gap < GUESSED_BYTES_MAX ? (uint32_t)gap : GUESSED_BYTES_MAX;
    }
}

/* Cuts the names behind their last terminator: then every offset within starts a string. */
static void terminate(struct cf_symbol_bytes *source) {
    while (source->name_bytes > 0 && source->names[source->name_bytes - 1] != '\0')
        source->name_bytes--;
}

int cf_symtab_read(struct cf_symtab *symtab, const struct cf_symbol_bytes *source, size_t max,
                   struct cf_err *err) {
    symtab->source = *source;
    terminate(&symtab->source);
    size_t nr = nr_symbols(source);
    for (size_t i = 0; i < nr && symtab->entries.len < max; i++) {
        struct symbol symbol;
        if (!read_symbol(&symtab->source, i, &symbol) || !is_place(&symtab->source, &symbol))
            continue;
        if (!add(symtab, &symbol)) {
            cf_symtab_fini(symtab);
            return cf_err_nomem(err, nr * sizeof(struct cf_symtab_entry), "symbols");
        }
    }
    if (symtab->entries.len > 0)
        qsort_r(symtab->entries.items, symtab->entries.len, sizeof *symtab->entries.items, compare,
                (void *)symtab->source.names);
    settle(symtab);
    return CF_OK;
}

void cf_symtab_fini(struct cf_symtab *symtab) {
    cf_array_free(&symtab->entries);
    symtab->source = (struct cf_symbol_bytes){0};
}

/* How many entries start at or below `value`. */
static size_t nr_below(const struct cf_symtab *symtab, uint64_t value) {
    return cf_bound(symtab->entries.len, i, symtab->entries.items[i].value > value);
}

const struct cf_symtab_entry *cf_symtab_at(const struct cf_symtab *symtab, uint64_t value) {
    size_t below = nr_below(symtab, value);
    for (size_t i = 0; i < NESTED_MAX && i < below; i++) {
        const struct cf_symtab_entry *entry = &symtab->entries.items[below - 1 - i];
        if (value - entry->value < entry->bytes)
            return entry;
    }
    return NULL;
}

const char *cf_symtab_name(const struct cf_symtab *symtab, const struct cf_symtab_entry *entry) {
    return symtab->source.names + entry->name;
}

bool cf_symtab_find(const struct cf_symbol_bytes *source, const char *name, unsigned type,
                    uint64_t *value, uint64_t *bytes) {
    struct cf_symbol_bytes sound = *source;
    struct symbol found = {0};
    bool is_found = false;
    terminate(&sound);
    size_t nr = nr_symbols(source);
    for (size_t i = 0; i < nr && !(is_found && found.binding != STB_LOCAL); i++) {
        struct symbol symbol;
        if (!read_symbol(&sound, i, &symbol) || symbol.type != type ||
            symbol.section == SHN_UNDEF || strcmp(sound.names + symbol.name, name) != 0 ||
            (is_found && symbol.binding == STB_LOCAL))
            continue;
        found = symbol;
        is_found = true;
    }
    if (!is_found)
        return false;
    *value = found.value;
    *bytes = found.bytes;
    return true;
}
