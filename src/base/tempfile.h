/*
 * Temporary files without a name: created as such, or unlinked at once, so that nothing is left
 * behind by whatever ends the process. There are three kinds: room for a table that is too large
 * for our own memory (cf_scratch), the same for a table that is written from front to back
 * (cf_scratch_writer), and a sparse copy of a file that was packed (cf_tempfile).
 */
#ifndef CF_BASE_TEMPFILE_H
#define CF_BASE_TEMPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "corefrag.h"

/* Bytes of files, of temporary ones and of others, whose pages count as our memory now; 0: nobody
 * knows (no /proc). A few system calls: not for inner loops. */
uint64_t cf_resident_file_bytes(void);

/* ---- mapped tables ---- */

/* A file that is mapped, zeros at first. The kernel may write its pages out and take them back
 * whenever memory is short. All zero is none. */
struct cf_scratch {
    void *at;
    size_t bytes;
};

/* In $TMPDIR, or /tmp. Room is reserved at once, and all of it counts as our memory until it is
 * dropped. CF_EOUTPUT: there is none; CF_ENOMEM. */
int cf_scratch_init(struct cf_scratch *scratch, size_t bytes, struct cf_err *err);
void cf_scratch_fini(struct cf_scratch *scratch);

/* Gives the pages back; the file keeps its content. */
void cf_scratch_drop(const struct cf_scratch *scratch);

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

/* ---- a sparse file ---- */

/* Ranges that nobody wrote are holes. Writing stops with an error before the file system is full,
 * since others live there too. */
enum { CF_TEMPFILE_FOLDER_MAX = 4096 };

struct cf_tempfile {
    int fd; /* -1: none */
    char folder[CF_TEMPFILE_FOLDER_MAX];
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
