/*
 * Layers of pull: each asks the one below for bytes and hands on what it unpacked. A layer ends
 * whole, cut or damaged, and that is asked of all of them from the outermost in, when all bytes
 * have been read: the checksum stands at the end. gzip is unpacked by zlib here, since libarchive
 * does not compare its CRC; what else libarchive unpacks it verifies through the formats' own
 * libraries.
 */
#include "input/stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/err.h"

enum { PIECE_BYTES = 1 << 18, LAYERS_MAX = 4, TAIL_BYTES = 4 };

/* One layer: the file itself, or a compression over the layer below. */
struct cf_stream {
    struct cf_stream *below; /* owned */
    size_t (*read)(struct cf_stream *stream, const unsigned char **out);
    const unsigned char *ahead; /* what was looked at and not yet taken */
    size_t ahead_bytes;
    unsigned char *buffer; /* PIECE_BYTES, for those who fill one */
    enum cf_stream_end end;
    char words[160];
    bool checked;
    int fd;
    uint64_t consumed;
    z_stream z;
    bool has_z;
    bool between; /* behind a member of a gzip file */
    unsigned char tail[TAIL_BYTES]; /* the last bytes that came from below */
    struct archive *archive;
};

static void set_end(struct cf_stream *stream, enum cf_stream_end end, const char *words) {
    stream->end = end;
    (void)snprintf(stream->words, sizeof stream->words, "%s",
                   words == NULL ? "not in a form that is known" : words);
}

static size_t take(struct cf_stream *stream, const unsigned char **out) {
    size_t bytes = stream->ahead_bytes;
    if (bytes == 0)
        return stream->read(stream, out);
    *out = stream->ahead;
    stream->ahead_bytes = 0;
    return bytes;
}

/* ---- the file ---- */

static size_t read_file(struct cf_stream *stream, const unsigned char **out) {
    size_t filled = 0;
    while (filled < PIECE_BYTES) {
        ssize_t got = read(stream->fd, stream->buffer + filled, PIECE_BYTES - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            char words[sizeof stream->words];
            (void)snprintf(words, sizeof words, "it cannot be read at offset %llu: %s",
                           (unsigned long long)(stream->consumed + filled), strerror(errno));
            set_end(stream, CF_STREAM_DAMAGED, words);
        }
        if (got <= 0)
            break;
        filled += (size_t)got;
    }
    stream->consumed += filled;
    *out = stream->buffer;
    return filled;
}

/* ---- gzip ---- */

static void keep_tail(struct cf_stream *stream, const unsigned char *data, size_t bytes) {
    size_t part = bytes < TAIL_BYTES ? bytes : TAIL_BYTES;
    memmove(stream->tail, stream->tail + part, TAIL_BYTES - part);
    memcpy(stream->tail + TAIL_BYTES - part, data + bytes - part, part);
}

/* More of the file for zlib; false at its end. */
static bool feed(struct cf_stream *stream) {
    const unsigned char *data;
    size_t bytes = take(stream->below, &data);
    if (bytes == 0)
        return false;
    keep_tail(stream, data, bytes);
    stream->z.next_in = (Bytef *)(uintptr_t)data;
    stream->z.avail_in = (uInt)bytes;
    return true;
}

/* A file that was cut ends in anything. One that is whole ends in the length of what was packed;
 * if about so much came out, then bits of it were changed so that its end was not seen. */
static bool ends_in_its_length(const struct cf_stream *stream) {
    enum { NEAR = 1 << 16 };
    const unsigned char *tail = stream->tail;
    uint32_t length = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 |
                      (uint32_t)tail[3] << 24;
    uint32_t more = length - (uint32_t)stream->z.total_out;
    uint32_t less = (uint32_t)stream->z.total_out - length;
    uint32_t near = NEAR + (uint32_t)(stream->z.total_out / 64);
    return more <= near || less <= near;
}

static void end_early(struct cf_stream *stream) {
    const struct cf_stream *below = stream->below;
    if (below->end != CF_STREAM_WHOLE)
        set_end(stream, below->end, below->words);
    else if (ends_in_its_length(stream))
        set_end(stream, CF_STREAM_DAMAGED, "gzip's data do not end where the file does");
    else
        set_end(stream, CF_STREAM_CUT, "truncated gzip input");
}

/* Behind a member: another one, or the end. What else stands there is no data, as for gzip. */
static bool next_member(struct cf_stream *stream) {
    if (stream->z.avail_in == 0 && !feed(stream))
        return false;
    if (stream->z.next_in[0] != 0x1f)
        return false;
    stream->between = false;
    return inflateReset(&stream->z) == Z_OK;
}

static size_t read_gzip(struct cf_stream *stream, const unsigned char **out) {
    z_stream *z = &stream->z;
    z->next_out = stream->buffer;
    z->avail_out = PIECE_BYTES;
    while (z->avail_out > 0 && stream->end == CF_STREAM_WHOLE) {
        if (stream->between && !next_member(stream))
            break;
        if (z->avail_in == 0 && !feed(stream)) {
            end_early(stream);
            break;
        }
        int got = inflate(z, Z_NO_FLUSH);
        if (got == Z_STREAM_END)
            stream->between = true;
        else if (got != Z_OK && got != Z_BUF_ERROR)
            set_end(stream, CF_STREAM_DAMAGED, z->msg != NULL ? z->msg : zError(got));
    }
    *out = stream->buffer;
    return PIECE_BYTES - z->avail_out;
}

static bool start_gzip(struct cf_stream *stream) {
    enum { GZIP_ONLY = 16 };
    stream->read = read_gzip;
    stream->has_z = inflateInit2(&stream->z, MAX_WBITS + GZIP_ONLY) == Z_OK;
    return stream->has_z;
}

/* ---- what libarchive unpacks ---- */

static la_ssize_t give_archive(struct archive *archive, void *user, const void **out) {
    struct cf_stream *below = user;
    const unsigned char *data;
    size_t bytes = take(below, &data);
    *out = data;
    if (bytes > 0 || below->end != CF_STREAM_DAMAGED)
        return (la_ssize_t)bytes;
    archive_set_error(archive, EIO, "%s", below->words);
    return -1;
}

/* liblzma says only that it gets no further, which means that its input has ended. */
static void end_archive(struct cf_stream *stream) {
    const char *words = archive_error_string(stream->archive);
    bool is_cut = words != NULL && (strcasestr(words, "truncated") != NULL ||
                                    strstr(words, "No progress is possible") != NULL);
    if (stream->below->end != CF_STREAM_WHOLE)
        set_end(stream, stream->below->end, stream->below->words);
    else
        set_end(stream, is_cut ? CF_STREAM_CUT : CF_STREAM_DAMAGED, words);
}

static size_t read_archive(struct cf_stream *stream, const unsigned char **out) {
    const void *data;
    size_t bytes = 0;
    int64_t offset;
    while (bytes == 0 && stream->end == CF_STREAM_WHOLE) {
        int got = archive_read_data_block(stream->archive, &data, &bytes, &offset);
        if (got == ARCHIVE_EOF)
            return 0;
        if (got != ARCHIVE_OK) {
            end_archive(stream);
            return 0;
        }
        *out = data;
    }
    return bytes;
}

static bool start_archive(struct cf_stream *stream, int (*support)(struct archive *archive)) {
    struct archive_entry *entry;
    stream->read = read_archive;
    stream->archive = archive_read_new();
    if (stream->archive == NULL)
        return false;
    (void)support(stream->archive);
    (void)archive_read_support_format_raw(stream->archive);
    (void)archive_read_support_format_empty(stream->archive);
    if (archive_read_open(stream->archive, stream->below, NULL, give_archive, NULL) !=
            ARCHIVE_OK ||
        archive_read_next_header(stream->archive, &entry) != ARCHIVE_OK)
        end_archive(stream);
    return true;
}

/* ---- which it is ---- */

/* Checksums over the content that the first frame announces. */
static bool zstd_is_checked(const unsigned char *head) {
    return (head[4] & 4) != 0;
}

static bool xz_is_checked(const unsigned char *head) {
    return (head[7] & 15) != 0;
}

/* Of each block, or of all. */
static bool lz4_is_checked(const unsigned char *head) {
    return (head[4] & 4) != 0 || (head[4] & 16) != 0;
}

static bool always_checked(const unsigned char *head) {
    (void)head;
    return true;
}

static bool never_checked(const unsigned char *head) {
    (void)head;
    return false;
}

enum { HEAD_BYTES = 8 };

static const struct compression {
    const char *magic;
    size_t magic_bytes;
    int (*support)(struct archive *archive); /* NULL: gzip */
    bool (*is_checked)(const unsigned char *head); /* HEAD_BYTES */
} compressions[] = {
    {"\x1f\x8b", 2, NULL, always_checked},
    {"\x28\xb5\x2f\xfd", 4, archive_read_support_filter_zstd, zstd_is_checked},
    {"\xfd\x37zXZ", 5, archive_read_support_filter_xz, xz_is_checked},
    {"\x04\x22\x4d\x18", 4, archive_read_support_filter_lz4, lz4_is_checked},
    {"BZh", 3, archive_read_support_filter_bzip2, always_checked},
    {"\x5d\0\0", 3, archive_read_support_filter_lzma, never_checked},
};

static const struct compression *find_compression(const unsigned char *bytes, size_t len) {
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        const struct compression *one = &compressions[i];
        if (len >= HEAD_BYTES && memcmp(bytes, one->magic, one->magic_bytes) == 0)
            return one;
    }
    return NULL;
}

bool cf_is_compressed(const unsigned char *bytes, size_t len) {
    return find_compression(bytes, len) != NULL;
}

static const struct compression *look_ahead(struct cf_stream *stream) {
    if (stream->ahead_bytes == 0)
        stream->ahead_bytes = stream->read(stream, &stream->ahead);
    return find_compression(stream->ahead, stream->ahead_bytes);
}

static struct cf_stream *new_layer(struct cf_stream *below, bool has_buffer) {
    CF_CLEANUP_FREE struct cf_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->fd = -1;
    if (has_buffer) {
        stream->buffer = malloc(PIECE_BYTES);
        if (stream->buffer == NULL)
            return NULL;
    }
    stream->below = below;
    return cf_take(&stream);
}

static int no_memory(struct cf_err *err) {
    return cf_err_nomem(err, PIECE_BYTES, "unpacking");
}

/* Puts the compression that is found over `*stream`. */
static int add_layer(struct cf_stream **stream, const struct compression *compression,
                     struct cf_err *err) {
    bool is_gzip = compression->support == NULL;
    bool checked = compression->is_checked((*stream)->ahead);
    struct cf_stream *layer = new_layer(*stream, is_gzip);
    if (layer == NULL)
        return no_memory(err);
    *stream = layer;
    layer->checked = checked;
    if (is_gzip ? start_gzip(layer) : start_archive(layer, compression->support))
        return CF_OK;
    return no_memory(err);
}

int cf_stream_open(int fd, struct cf_stream **out, struct cf_err *err) {
    struct cf_stream *stream = new_layer(NULL, true);
    if (stream == NULL)
        return no_memory(err);
    stream->fd = fd;
    stream->read = read_file;
    const struct compression *compression;
    int status = CF_OK;
    for (unsigned i = 0; status == CF_OK && i < LAYERS_MAX &&
                         (compression = look_ahead(stream)) != NULL;
         i++)
        status = add_layer(&stream, compression, err);
    if (status == CF_OK)
        *out = stream;
    else
        cf_stream_free(stream);
    return status;
}

void cf_stream_free(struct cf_stream *stream) {
    while (stream != NULL) {
        struct cf_stream *below = stream->below;
        if (stream->archive != NULL)
            (void)archive_read_free(stream->archive);
        if (stream->has_z)
            (void)inflateEnd(&stream->z);
        free(stream->buffer);
        free(stream);
        stream = below;
    }
}

size_t cf_stream_next(struct cf_stream *stream, const unsigned char **out) {
    return take(stream, out);
}

size_t cf_stream_peek(struct cf_stream *stream, const unsigned char **out) {
    (void)look_ahead(stream);
    *out = stream->ahead;
    return stream->ahead_bytes;
}

enum cf_stream_end cf_stream_finish(struct cf_stream *stream, const char **words) {
    const unsigned char *data;
    *words = "";
    for (; stream != NULL; stream = stream->below) {
        while (take(stream, &data) > 0)
            continue;
        *words = stream->words;
        if (stream->end != CF_STREAM_WHOLE)
            return stream->end;
    }
    return CF_STREAM_WHOLE;
}

unsigned cf_stream_layers(const struct cf_stream *stream) {
    unsigned layers = 0;
    for (; stream->below != NULL; stream = stream->below)
        layers++;
    return layers;
}

bool cf_stream_is_checked(const struct cf_stream *stream) {
    for (; stream != NULL; stream = stream->below) {
        if (stream->checked)
            return true;
    }
    return false;
}

uint64_t cf_stream_consumed(const struct cf_stream *stream) {
    while (stream->below != NULL)
        stream = stream->below;
    return stream->consumed;
}
