/*
 * The symbols of one module: functions and variables sorted by address, 16 bytes each; their names
 * stay where they are, in the mapped file or the core, and have to outlive the table. Values are
 * the file's: whoever asks takes the module's bias off first. Where several symbols share an
 * address, one is kept: sized before unsized, global before weak before local, then the plainest
 * name.
 */
#ifndef CF_SYM_SYMTAB_H
#define CF_SYM_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"

/* The two halves of a symbol table as they stand in a file or in the core. */
struct cf_symbol_bytes {
    const unsigned char *symbols;
    uint64_t symbol_bytes;
    const char *names;
    uint64_t name_bytes;
    bool is_64;
};

struct cf_symtab_entry {
    uint64_t value;
    uint32_t bytes : 30; /* clipped */
    uint32_t rank : 2;   /* the binding, best first */
    uint32_t name;       /* offset in the names */
};

struct cf_symtab {
    CF_ARRAY(struct cf_symtab_entry) entries;
    struct cf_symbol_bytes source;
};

/*
 * Reads at most `max` symbols of `source` (borrowed) into an empty table. Fails only for lack of
 * memory; what does not make sense is left out.
 */
int cf_symtab_read(struct cf_symtab *symtab, const struct cf_symbol_bytes *source, size_t max,
                   struct cf_err *err);
void cf_symtab_fini(struct cf_symtab *symtab);

/* The symbol that `value` lies in, or NULL. */
const struct cf_symtab_entry *cf_symtab_at(const struct cf_symtab *symtab, uint64_t value);
const char *cf_symtab_name(const struct cf_symtab *symtab, const struct cf_symtab_entry *entry);

/* A symbol of that name and type (STT_...), global ones first; reads the source, so also those
 * that the table leaves out (STT_TLS). */
bool cf_symtab_find(const struct cf_symbol_bytes *source, const char *name, unsigned type,
                    uint64_t *value, uint64_t *bytes);

#endif
