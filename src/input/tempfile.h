/*
 * A sparse temporary file without a name: created as such, or unlinked at once, so that nothing is
 * left behind by whatever ends the process. Writing stops with an error before the file system is
 * full, since others live there too. Ranges that nobody wrote are holes.
 */
#ifndef CF_INPUT_TEMPFILE_H
#define CF_INPUT_TEMPFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"

struct cf_tempfile {
    int fd; /* -1: none */
    char folder[PATH_MAX];
    uint64_t end;             /* behind the last byte that was written or skipped */
    uint64_t reserve_bytes;   /* of the file system, never used */
    uint64_t unchecked_bytes; /* written since the room was last looked at */
};

/*
 * In $TMPDIR, or, where that is not set, in that one of /tmp, /var/tmp and the folder of the file
 * `beside` (may be NULL) which has the most room. CF_EINPUT when none can be written.
 */
int cf_tempfile_open(const char *beside, struct cf_tempfile *out, struct cf_err *err);
void cf_tempfile_close(struct cf_tempfile *file);

/* Writes at `offset`; with `punch`, zeros are skipped, so that they become holes. */
int cf_tempfile_write(struct cf_tempfile *file, uint64_t offset, const void *data, size_t bytes,
                      bool punch, struct cf_err *err);
/* Makes the file as long as `bytes`. */
int cf_tempfile_resize(struct cf_tempfile *file, uint64_t bytes, struct cf_err *err);

#endif
