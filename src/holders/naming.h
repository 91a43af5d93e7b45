/*
 * Names for addresses in modules, for the passes that name types and holders: what symbols say,
 * else the module's name and the offset in it; for words of a stack the function that was there.
 * Borrows the symbols and the frames.
 */
#ifndef CF_HOLDERS_NAMING_H
#define CF_HOLDERS_NAMING_H

#include "runtime/runtimes.h"
#include "types/types.h"
#include "sym/frames.h"
#include "sym/symbols.h"

/* All zero is empty. Must not move once initialised: the namer points into it. */
struct cf_naming {
    struct cf_symbols *symbols;
    const struct cf_frames *frames;
    struct cf_namer namer;
};

/* Reads no file yet. */
void cf_naming_init(struct cf_naming *naming, struct cf_symbols *symbols,
                    const struct cf_frames *frames);

/* Variables by their names: the program's, else those of its libraries. */
struct cf_variables cf_naming_variables(const struct cf_naming *naming);

/* The function whose frame on the stack of `thread` has the word at `addr`. False: not known. */
bool cf_naming_frame(const struct cf_naming *naming, int32_t thread, uint64_t addr, char *out,
                     size_t bytes);

#endif
