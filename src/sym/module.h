/*
 * Modules: the files that the process had mapped, from the core's NT_FILE, with the GNU build id
 * that the module's own first page names. Rows of one file that follow each other are one module;
 * a row at offset 0 begins a new one, since a library can be there twice (dlmopen). Paths are the
 * container's and may name other files here: only a build id tells. Immutable; borrows the
 * address space. Where the core has no NT_FILE, the modules are the objects that ld.so lists
 * (sym/linkmap.h).
 */
#ifndef CF_SYM_MODULE_H
#define CF_SYM_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "mem/mem.h"

enum { CF_BUILD_ID_MAX = 64 };

enum cf_module_kind {
    CF_MODULE_UNKNOWN, /* its first page is not in the core */
    CF_MODULE_ELF,
    CF_MODULE_FILE, /* readable, and no ELF header */
};

struct cf_module {
    uint64_t start;
    uint64_t end;
    uint64_t mapped_bytes; /* the sum of its rows: there may be gaps between */
    const char *path;      /* borrowed from the core or the modules */
    uint32_t flags;        /* PF_R, PF_W, PF_X of its mappings together */
    enum cf_module_kind kind;
    size_t build_id_bytes; /* 0: none, or not in the core */
    unsigned char build_id[CF_BUILD_ID_MAX];
};

struct cf_modules;

int cf_modules_new(const struct cf_mem *mem, struct cf_modules **out, struct cf_err *err);
void cf_modules_free(struct cf_modules *modules);

/* In the order of NT_FILE (of addresses in every sound core), or by address. */
size_t cf_modules_nr(const struct cf_modules *modules);
const struct cf_module *cf_modules_get(const struct cf_modules *modules, size_t index);

/* The module of a row of NT_FILE, by its index in the core. */
const struct cf_module *cf_modules_of_file(const struct cf_modules *modules, size_t file);

/* The module with a mapping at `addr`, or NULL. */
const struct cf_module *cf_modules_find(const struct cf_modules *modules, uint64_t addr);
/* The first ELF module that looks like libc by its file's name, or NULL. */
const struct cf_module *cf_modules_find_libc(const struct cf_modules *modules);
/* The first module whose file's name begins with `prefix`, or NULL. */
const struct cf_module *cf_modules_find_prefix(const struct cf_modules *modules,
                                               const char *prefix);
/* The program's own file: the module that holds its entry point or program headers, or NULL. */
const struct cf_module *cf_modules_find_exe(const struct cf_modules *modules);

/* The build id in hex; "" when there is none. */
void cf_module_build_id_text(const struct cf_module *module, char out[2 * CF_BUILD_ID_MAX + 1]);

/*
 * The release of glibc that the core itself names: "2.36" from the banner in the module's bytes
 * ("GNU C Library ... stable release version 2.36"), where they were dumped, or from a path like
 * libc-2.31.so. False: neither. `module` may be NULL.
 */
bool cf_module_glibc_release(const struct cf_mem *mem, const struct cf_module *module, char *out,
                             size_t out_bytes);
/* The same from a file's bytes, by its banner. */
bool cf_glibc_banner(const unsigned char *span, size_t bytes, char *out, size_t out_bytes);

#endif
