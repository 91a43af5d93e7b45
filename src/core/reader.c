/*
 * One buffer over a part of the file. It begins small, and each read that goes on where the last
 * one ended may take twice as much: a jump costs one page, a long run the fewest calls.
 */
#include "core/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/core_private.h"

bool cf_core_reader_init(struct cf_core_reader *reader, const struct cf_core *core) {
    *reader = (struct cf_core_reader){.core = core, .buffer = malloc(CF_CORE_READER_BYTES)};
    return reader->buffer != NULL;
}

void cf_core_reader_fini(struct cf_core_reader *reader) {
    free(reader->buffer);
    *reader = (struct cf_core_reader){0};
}

/* Fills the buffer from `offset` with up to `bytes`. */
static void fill(struct cf_core_reader *reader, uint64_t offset, uint64_t bytes) {
    reader->start = offset;
    reader->bytes = 0;
    while (reader->bytes < bytes) {
        ssize_t got = pread(reader->core->fd, reader->buffer + reader->bytes,
                            (size_t)(bytes - reader->bytes), (off_t)(offset + reader->bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) { /* the file was that long when it was opened */
            cf_bus_guard_hit(reader->core->guard, offset + reader->bytes);
            return;
        }
        reader->bytes += (uint64_t)got;
    }
}

const unsigned char *cf_core_reader_at(struct cf_core_reader *reader, uint64_t offset,
                                       uint64_t bytes, uint64_t *avail) {
    uint64_t at = offset - reader->start;
    if (at > reader->bytes || reader->bytes - at < bytes) {
        bool goes_on = at <= reader->bytes + reader->step;
        uint64_t most = goes_on ? 2 * reader->step : CF_CORE_READER_LEAST;
        most = most > bytes ? most : bytes;
        reader->step = most < CF_CORE_READER_BYTES ? most : CF_CORE_READER_BYTES;
        fill(reader, offset, cf_core_present(reader->core, offset, reader->step));
        at = 0;
    }
    if (reader->bytes - at < bytes)
        return NULL;
    *avail = reader->bytes - at;
    return reader->buffer + at;
}
