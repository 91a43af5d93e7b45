/*
 * What stands at an address, by name: the second witness beside the bytes of the core, never the
 * first. For each module, when it is first asked about, the best table that can be had and trusted
 * is read: .symtab of the file or of its debug file, else .dynsym of the file, else .dynsym in the
 * core itself. sym/findfile.h says where files are looked for and why a wrong one is never used.
 *
 * Owns the files; borrows the address space and the modules. Looking up reads files, so one object
 * belongs to one thread at a time. Memory is bounded: 16 bytes a symbol, at most 4 million.
 */
#ifndef CF_SYM_SYMBOLS_H
#define CF_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "mem/mem.h"
#include "sym/elf_file.h"
#include "sym/module.h"

struct cf_symbols;

/* Where a module's symbols come from, or why it has none. */
enum cf_symbols_state {
    CF_SYMBOLS_SYMTAB,     /* .symtab of the file */
    CF_SYMBOLS_DEBUG,      /* .symtab of its debug file */
    CF_SYMBOLS_DYNSYM,     /* .dynsym of the file: exported names only */
    CF_SYMBOLS_CORE,       /* .dynsym in the core */
    CF_SYMBOLS_STRIPPED,   /* the file is here and has no symbols */
    CF_SYMBOLS_OTHER_FILE, /* a file of that name is here and is another one */
    CF_SYMBOLS_NO_FILE,    /* no file was found */
    CF_SYMBOLS_NO_ID,      /* the core has no build id of it: no file can be trusted */
    CF_SYMBOLS_NOT_ELF,    /* no program or library */
};

struct cf_symbols_source {
    enum cf_symbols_state state;
    const char *file;       /* the module's own file, or NULL; where state is OTHER_FILE, that */
    const char *debug_file; /* its debug file, or NULL */
    bool unverified;        /* the file was named by --exe, and no build id could be compared */
};

/* Strings are borrowed from the symbols, and live as long as they do. */
struct cf_symbol {
    const struct cf_module *module; /* NULL: the kernel's vdso, which is no file */
    const char *name;               /* as in the file; cf_demangle() makes it readable */
    uint64_t addr;                  /* of its first byte, in the process */
    uint64_t bytes;                 /* its size */
};

/* Reads no file yet. `options` is borrowed: exe, sysroot, debuginfo, debuginfod. CF_EINPUT: one of
 * these is not there. Caller frees. */
int cf_symbols_open(const struct cf_context *ctx, const struct cf_mem *mem,
                    const struct cf_modules *modules, const struct cf_options *options,
                    struct cf_symbols **out, struct cf_err *err);
void cf_symbols_free(struct cf_symbols *symbols);

/* The function or variable that `addr` lies in. False: none is known there. */
bool cf_symbols_lookup(struct cf_symbols *symbols, uint64_t addr, struct cf_symbol *out);

/* A function or variable of `module` by its name; one that other modules cannot see, too. */
bool cf_symbols_find(struct cf_symbols *symbols, const struct cf_module *module, const char *name,
                     struct cf_symbol *out);
/* Where a thread-local variable of `module` stands within the module's block. */
bool cf_symbols_find_tls(struct cf_symbols *symbols, const struct cf_module *module,
                         const char *name, uint64_t *offset);

/* What is known of a module's files; looks for them, but does not read their symbols. */
struct cf_symbols_source cf_symbols_source(struct cf_symbols *symbols,
                                           const struct cf_module *module);
/* "symtab", "debug", "dynsym", "core", "stripped" ...: short and static. */
const char *cf_symbols_state_name(enum cf_symbols_state state);
/* Whether the state means that there are symbols. */
bool cf_symbols_state_is_good(enum cf_symbols_state state);

/* The module's own file and that with the most about it (its debug file, else its own); NULL when
 * there is none. Borrowed. */
const struct cf_elf_file *cf_symbols_file(struct cf_symbols *symbols,
                                          const struct cf_module *module);
const struct cf_elf_file *cf_symbols_debug_file(struct cf_symbols *symbols,
                                                const struct cf_module *module);
/* What to add to an address of the module's file to get one of the process; false: not known. */
bool cf_symbols_bias(struct cf_symbols *symbols, const struct cf_module *module, uint64_t *out);

/* A question that memory was too short for is answered as if there were no file, and one about
 * a file that could not be read as if zeros stood there. This says so, as CF_ENOMEM or CF_EINPUT
 * with the error of the first one: whoever asked checks it before the answers count. */
int cf_symbols_status(const struct cf_symbols *symbols, struct cf_err *err);

const struct cf_modules *cf_symbols_modules(const struct cf_symbols *symbols);

#endif
