/*
 * Live chunks in classes that are told apart by their edges (reach/kinds.h): objects by their type,
 * what holds bytes of others' (buffers, texts, arrays, what has no name) by type and size.
 */
#ifndef CF_TYPES_CLASSES_H
#define CF_TYPES_CLASSES_H

#include <stdint.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/ranks.h"
#include "types/types.h"

/* All zero is none. End with cf_classes_fini(). */
struct cf_classes {
    const uint16_t *by_rank; /* 0: those beyond what can be numbered */
    struct cf_scratch file;
};

/* CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp). */
int cf_classes_find(const struct cf_context *ctx, const struct cf_types *types,
                    const struct cf_ranks *ranks, struct cf_classes *out, struct cf_err *err);
void cf_classes_fini(struct cf_classes *classes);

#endif
