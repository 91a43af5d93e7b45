/*
 * The first words of a text, as they stand in a live chunk: the only place where bytes of the
 * process come out as they are, and only when somebody asked for them.
 */
#ifndef CF_HOLDERS_PREVIEW_H
#define CF_HOLDERS_PREVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "reach/resolve.h"
#include "corefrag.h"

enum { CF_PREVIEW_CHARS = 64, CF_PREVIEW_MIN = 4 };

struct cf_preview {
    uint64_t addr;  /* of the chunk's header */
    uint64_t bytes; /* of the chunk */
    char text[CF_PREVIEW_CHARS + 1];
};

/* The printable ASCII at the start of the payload of the live chunk whose header is at `addr`,
 * ended by a zero. False: there is no such chunk, it cannot be read, or that is less than
 * CF_PREVIEW_MIN characters. */
bool cf_preview_at(const struct cf_resolver *resolver, uint64_t addr, struct cf_preview *out);

#endif
