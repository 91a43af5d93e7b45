/*
 * What a person calls a root, a chunk, and the path from one to the other: a variable by its
 * symbol, a stack by its thread and function, an object by its runtime's word for it, a chunk by
 * its type and size. Borrows everything. Names may hold bytes from the core: emitters escape them.
 * The first words of a text, as they stand in a live chunk, are the only place where bytes of the
 * process come out as they are, and only when somebody asked for them.
 */
#ifndef CF_HOLDERS_LABELS_H
#define CF_HOLDERS_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holders/belong.h"
#include "holders/holders.h"
#include "holders/naming.h"
#include "reach/reach.h"
#include "runtime/runtimes.h"
#include "types/types.h"

enum {
    CF_LABEL_BYTES = 256,
    CF_SUMMARY_BYTES = 2 * CF_LABEL_BYTES,
    CF_PREVIEW_CHARS = 64,
    CF_PREVIEW_MIN = 4,
};

struct cf_labels {
    const struct cf_reach *reach;
    struct cf_types *types;
    const struct cf_naming *naming;
    const struct cf_objects *objects;
};

/* "g_sessions (libfoo.so)", "libfoo.so+0x4010", "thread 4711, frame handle_request": the word of a
 * root that a path begins with. `hop` is of a root. */
void cf_label_root(const struct cf_labels *labels, const struct cf_hop *hop, char *out,
                   size_t bytes);
/* The hop of the path with this index: a root as above, or "Session, 96 bytes, at +16". */
void cf_label_hop(const struct cf_labels *labels, const struct cf_path *path, size_t index,
                  char *out, size_t bytes);
/* "global g_sessions (prog) -> HashTable, 8.0 KiB -> 2 more": the path without the asked chunk. */
void cf_label_path(const struct cf_labels *labels, const struct cf_path *path, char *out,
                   size_t bytes);

/* "global g_sessions (prog)", "java.nio.DirectByteBuffer (Java)", "V8 heap (node)": whose memory
 * hangs on the word at `addr` of `root`. */
enum cf_belong_name cf_label_owner(const struct cf_labels *labels, const struct cf_root *root,
                                   uint64_t addr, char *out, size_t bytes);

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
