/*
 * Takes the ELF core out of a packed stream; one that is packed once more inside an archive too
 * (a core.zst in a zip), where no plain one stands beside. Several cores are an error that names
 * them. All that has a checksum is verified to the end before a core is handed out: what is damaged
 * would be taken for damage in the process.
 */
#ifndef CF_INPUT_UNPACK_H
#define CF_INPUT_UNPACK_H

#include <stdbool.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "input/sides.h"

struct cf_unpacked {
    struct cf_tempfile file; /* fd -1: nothing */
    char *entry;    /* its name in the archive, NULL for a plain compressed stream; owned */
    bool is_sparse; /* the archive knew the holes */
    bool truncated; /* the archive ended early */
    bool is_packed; /* false: it came as it is, through a pipe */
    bool is_checked; /* a checksum over all of the core was there, and agrees with it */
};

/* "name(entry)", or a copy of `name` where `entry` is NULL; the caller frees it. NULL: no memory */
char *cf_entry_name(const char *name, const char *entry);

/*
 * Reads `fd` from where it stands to the end of what is needed. `name` is for messages, `beside`
 * as in cf_tempfile_open(). What an archive holds beside the core that is named like a side file
 * goes to `sides`. CF_EINPUT: no core in it, several, or damaged.
 */
int cf_unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
              struct cf_sides *sides, struct cf_unpacked *out, struct cf_err *err);
void cf_unpacked_fini(struct cf_unpacked *unpacked);

#endif
