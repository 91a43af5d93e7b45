/*
 * The reading side of every command that is given a core: the file, the core, its address space,
 * its modules, malloc, and the heaps walked. Each object borrows from those above it in the
 * struct. All zero is empty; cf_reading_fini() frees whatever there is.
 */
#ifndef CF_LIB_READING_H
#define CF_LIB_READING_H

#include <stdbool.h>

#include "core/core.h"
#include "corefrag.h"
#include "input/input.h"
#include "libc/malloc.h"
#include "libc/witness.h"
#include "mem/mem.h"
#include "ptmalloc/heap.h"
#include "sym/module.h"
#include "sym/symbols.h"

struct cf_reading {
    struct cf_input *input;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_modules *modules;
    struct cf_symbols *symbols;
    struct cf_malloc *found;
    struct cf_witness witness;
    struct cf_ptmalloc *pt;
};

/* Everything up to the walk. `path` "-" is standard input, also from a pipe. `options` is borrowed
 * until the end of the reading. */
int cf_reading_open(const struct cf_context *ctx, const char *path,
                    const struct cf_options *options, struct cf_reading *reading,
                    struct cf_err *err);
/* The same without malloc: up to the modules and their symbols. */
int cf_reading_open_memory(const struct cf_context *ctx, const char *path,
                           const struct cf_options *options, struct cf_reading *reading,
                           struct cf_err *err);
void cf_reading_fini(struct cf_reading *reading);

/* `status`; or CF_EINPUT where the core's file could not be read to the end or was changed
 * meanwhile, whatever was made of the zeros that were read instead. */
int cf_reading_settle(const struct cf_reading *reading, int status, struct cf_err *err);

/* The walk met what no sound heap has, where the core is complete. */
bool cf_reading_is_corrupt(const struct cf_reading *reading);
bool cf_reading_has_heap(const struct cf_reading *reading);
/*
 * How the core is to be judged. Corruption is said first: it is the more surprising; it is there
 * too where malloc itself saw it and stopped the program, whatever the walk finds. Without a
 * heap, an incomplete core may just have lost it.
 */
enum cf_outcome cf_reading_outcome(const struct cf_reading *reading);

/*
 * The module that malloc's data stands in: libc, or a static program. The debug-malloc preload
 * has malloc's data too, but is not the libc. NULL: not known.
 */
const struct cf_module *cf_reading_libc(const struct cf_reading *reading);

#endif
