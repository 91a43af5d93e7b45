/*
 * The bytes of a file under its compression: gzip, zstd, xz, lzma, lz4 or bzip2, also one inside
 * the other. Its first bytes say which one it is. All checksums that the formats have are verified:
 * gzip's by zlib, since libarchive passes over it, the others by their own libraries. So how the
 * stream ended is known only at its end, and before that nothing may be believed.
 */
#ifndef CF_INPUT_STREAM_H
#define CF_INPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"

struct cf_stream;

enum cf_stream_end {
    CF_STREAM_WHOLE,
    CF_STREAM_CUT,     /* the file ends before the stream does */
    CF_STREAM_DAMAGED, /* it contradicts itself or its checksum, or cannot be read */
};

/* The stream of `fd` (borrowed) from where it stands. CF_ENOMEM. */
int cf_stream_open(int fd, struct cf_stream **out, struct cf_err *err);
void cf_stream_free(struct cf_stream *stream);

/* The next bytes, borrowed until the next call; 0: the end, for one reason or another. */
size_t cf_stream_next(struct cf_stream *stream, const unsigned char **out);
/* The next bytes, which are not taken by that; 0: there are none. */
size_t cf_stream_peek(struct cf_stream *stream, const unsigned char **out);
/* Reads what is left, since the checksum stands at the end; then says how it ended, in `words`
 * (static or of the stream) why. */
enum cf_stream_end cf_stream_finish(struct cf_stream *stream, const char **words);

/* How many compressions lie over the bytes. */
unsigned cf_stream_layers(const struct cf_stream *stream);
/* One of them has a checksum over all bytes. */
bool cf_stream_is_checked(const struct cf_stream *stream);
/* Bytes of the file that have been read. */
uint64_t cf_stream_consumed(const struct cf_stream *stream);

/* These first bytes are those of a compression that is known. */
bool cf_is_compressed(const unsigned char *bytes, size_t len);

#endif
