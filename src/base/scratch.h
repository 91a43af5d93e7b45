/*
 * Room for tables that are too large for our own memory: a temporary file without a name, mapped.
 * It begins as zeros. The kernel may write its pages out and take them back whenever memory is
 * short, and the file is gone with its last user.
 */
#ifndef CF_BASE_SCRATCH_H
#define CF_BASE_SCRATCH_H

#include <stddef.h>

#include "corefrag.h"

/* All zero is none. */
struct cf_scratch {
    void *at;
    size_t bytes;
};

/* In $TMPDIR, or /tmp. Room is reserved at once. CF_EOUTPUT: there is none; CF_ENOMEM. */
int cf_scratch_init(struct cf_scratch *scratch, size_t bytes, struct cf_err *err);
void cf_scratch_fini(struct cf_scratch *scratch);

/* Only our view of the pages goes; what was written stays. */
void cf_scratch_drop(const struct cf_scratch *scratch);

#endif
