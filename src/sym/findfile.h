/*
 * Finds the files of a module: the file that was mapped, and the file of its debug symbols. A
 * path in a core is the container's and may name anything on this machine, so only the build id
 * tells: a file is used if its build id is the one that the core has for the module, and not
 * otherwise. The one exception is `exe`, which the user names: where the core has no build id to
 * compare, it is taken if its headers do not contradict the core, and is called unverified.
 *
 * Where it looks, in this order (what is not given is left out):
 *
 *     the file    exe; sysroot + path; sysroot + base name; debuginfo's .build-id; path
 *     its debug   debuginfo, sysroot and this machine: .build-id/xx/yyyy.debug as it stands and
 *                 below usr/lib/debug; usr/lib/debug + path + ".debug"
 *     both        a debuginfod server, only if asked for
 *
 * Paths lose " (deleted)"; of an overlay's layer (.../diff/usr/lib/x.so) the end is tried too.
 * Only plain files are opened, and a sysroot's symbolic links stay within it.
 */
#ifndef CF_SYM_FINDFILE_H
#define CF_SYM_FINDFILE_H

#include <stdbool.h>

#include "corefrag.h"
#include "mem/mem.h"
#include "sym/elf_file.h"
#include "sym/module.h"

enum { CF_FILES_PATH_MAX = 512 };

struct cf_files {
    const struct cf_options *options; /* exe, sysroot, debuginfo, debuginfod */
    const struct cf_mem *mem;
    const struct cf_module *exe; /* the program's module, or NULL */
};

struct cf_found_file {
    struct cf_elf_file *file; /* NULL: none; owned by the caller */
    bool unverified;          /* by `exe` alone: there was no build id to compare */
    /* A file that stands where the module's file should and is another one; "" when none does. */
    char other[CF_FILES_PATH_MAX];
};

/* Opens a plain file for reading, below `root` where that is not NULL; -1 for all else, also for
 * files that the kernel makes up (/proc, /sys), by whatever name. */
int cf_open_plain(const char *root, const char *path);

/* Fail only for lack of memory; that nothing is found is no failure. `out` is overwritten. */
int cf_files_find(const struct cf_files *files, const struct cf_module *module,
                  struct cf_found_file *out, struct cf_err *err);
int cf_files_find_debug(const struct cf_files *files, const struct cf_module *module,
                        struct cf_found_file *out, struct cf_err *err);

#endif
