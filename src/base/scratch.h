/*
 * Room for tables that are too large for our own memory: a temporary file without a name, mapped.
 * It begins as zeros. The kernel may write its pages out and take them back whenever memory is
 * short, and the file is gone with its last user.
 */
#ifndef CF_BASE_SCRATCH_H
#define CF_BASE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "corefrag.h"

/* All zero is none. */
struct cf_scratch {
    void *at;
    size_t bytes;
};

/* In $TMPDIR, or /tmp. Room is reserved at once, and all of it counts as our memory until it is
 * dropped. CF_EOUTPUT: there is none; CF_ENOMEM. */
int cf_scratch_init(struct cf_scratch *scratch, size_t bytes, struct cf_err *err);
void cf_scratch_fini(struct cf_scratch *scratch);

/* Only our view of the pages goes; what was written stays. */
void cf_scratch_drop(const struct cf_scratch *scratch);

/* Bytes of files, of temporary ones and of others, whose pages count as our memory now; 0: nobody
 * knows. A system call: not for inner loops. */
size_t cf_scratch_resident(void);

/* The same for a table that is written from its beginning to its end, and how long it gets is not
 * known before: no page of it is ours until it is read. All zero is none. */
struct cf_scratch_writer {
    int fd;
    int code;             /* errno of the first write that failed; what follows is lost */
    uint64_t written;
    size_t used;          /* of the buffer */
    unsigned char *buffer;
};

enum { CF_SCRATCH_BUFFER = 1 << 18 };

/* CF_EOUTPUT, CF_ENOMEM. Ends with cf_scratch_finish() or cf_scratch_abandon(). */
int cf_scratch_begin(struct cf_scratch_writer *writer, struct cf_err *err);
/* `out` can be read; it has 8 bytes of zeros behind what was put. CF_EOUTPUT, CF_ENOMEM; the writer
 * is gone in any case. */
int cf_scratch_finish(struct cf_scratch_writer *writer, struct cf_scratch *out,
                      struct cf_err *err);
void cf_scratch_abandon(struct cf_scratch_writer *writer);

/* Copies what was put `bytes` bytes from `place` on. After a failed write it may be zeros. */
void cf_scratch_copy(const struct cf_scratch_writer *writer, uint64_t place, void *out,
                     size_t bytes);

/* Copies the last `bytes` bytes that were put, as cf_scratch_copy() does, and takes them back: what
 * is put next goes in their place. */
void cf_scratch_take_back(struct cf_scratch_writer *writer, void *out, size_t bytes);

/* Empties the buffer. */
void cf_scratch_flush(struct cf_scratch_writer *writer);

/* Up to CF_SCRATCH_BUFFER bytes. */
static inline void cf_scratch_put(struct cf_scratch_writer *writer, const void *bytes, size_t nr) {
    if (writer->used + nr > CF_SCRATCH_BUFFER)
        cf_scratch_flush(writer);
    memcpy(writer->buffer + writer->used, bytes, nr);
    writer->used += nr;
}

/* The same for `nr` bytes of 16 that can be read. */
static inline void cf_scratch_put_some(struct cf_scratch_writer *writer, const void *bytes,
                                       size_t nr) {
    if (writer->used + 16 > CF_SCRATCH_BUFFER)
        cf_scratch_flush(writer);
    memcpy(writer->buffer + writer->used, bytes, 16);
    writer->used += nr;
}

static inline void cf_scratch_put_u32(struct cf_scratch_writer *writer, uint32_t value) {
    cf_scratch_put(writer, &value, sizeof value);
}

/* Where the next byte goes. */
static inline uint64_t cf_scratch_place(const struct cf_scratch_writer *writer) {
    return writer->written + writer->used;
}

#endif
