/*
 * Names for addresses in modules, for the passes that name types and holders: what symbols say,
 * else the module's name and the offset in it. Borrows the reading.
 */
#ifndef CF_LIB_NAMING_H
#define CF_LIB_NAMING_H

#include "analysis/types.h"
#include "lib/reading.h"
#include "sym/symbols.h"

/* All zero is empty. Must not move once initialised: the namer points into it. */
struct cf_naming {
    const struct cf_reading *reading;
    struct cf_symbols *symbols;
    struct cf_namer namer;
};

/* Reads no file yet; `options` is borrowed. CF_ENOMEM only. */
int cf_naming_init(struct cf_naming *naming, const struct cf_context *ctx,
                   const struct cf_reading *reading, const struct cf_options *options,
                   struct cf_err *err);
void cf_naming_fini(struct cf_naming *naming);

#endif
