/*
 * One pass over an archive: each of its files is looked at by its first bytes, what is a core goes
 * into a sparse temporary file, and what is packed once more is unpacked in its turn, one level
 * deep. The core is handed out only when the end was reached and no checksum contradicts, and if it
 * was the only one: which of two is meant nobody can tell.
 */
#include "input/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "input/sides.h"
#include "input/signature.h"
#include "input/stream.h"

enum { MAGIC_BYTES = EI_NIDENT + 2 }; /* up to and with e_type */
enum { READ_BYTES = 1 << 16, NAMES_BYTES = 300, NESTING_MAX = 1 };

struct names {
    unsigned count;
    char text[NAMES_BYTES];
};

/* One pass over an archive. */
struct unpacking {
    const struct cf_context *ctx;
    const char *name;
    const char *beside;
    unsigned depth;
    uint64_t packed_bytes; /* 0: not known */
    struct cf_stream *stream;
    struct archive *archive;
    bool is_raw; /* no archive in it, but one file's bytes */
    struct cf_sides *sides;
    struct cf_unpacked core;
    struct cf_unpacked inner; /* out of a packed file inside */
    struct cf_err inner_err;  /* why none came out of such a file; status 0: there was none */
    const char *other;        /* what one of the files is; NULL: not known */
    struct names files;       /* met */
    struct names cores;
    struct names inner_cores;
    bool cut;
    bool damaged;
    char words[256]; /* the archive's own */
};

char *cf_entry_name(const char *name, const char *entry) {
    size_t bytes = strlen(name) + (entry == NULL ? 0 : strlen(entry) + 2) + 1;
    char *joined = malloc(bytes);
    if (joined != NULL && entry != NULL)
        (void)snprintf(joined, bytes, "%s(%s)", name, entry);
    else if (joined != NULL)
        memcpy(joined, name, bytes);
    return joined;
}

static const struct cf_unpacked nothing = {.file = {.fd = -1}};

/* Of either byte order: who reads the core says which it cannot read. */
static bool is_core_magic(const unsigned char *bytes) {
    bool is_big = bytes[EI_DATA] == ELFDATA2MSB;
    return memcmp(bytes, ELFMAG, SELFMAG) == 0 && bytes[EI_NIDENT + is_big] == ET_CORE &&
           bytes[EI_NIDENT + !is_big] == 0;
}

void cf_unpacked_fini(struct cf_unpacked *unpacked) {
    cf_tempfile_close(&unpacked->file);
    free(unpacked->entry);
    *unpacked = nothing;
}

static void unpacking_fini(struct unpacking *unpacking) {
    if (unpacking->archive != NULL)
        (void)archive_read_free(unpacking->archive);
    cf_stream_free(unpacking->stream);
    cf_unpacked_fini(&unpacking->core);
    cf_unpacked_fini(&unpacking->inner);
}

static la_ssize_t give(struct archive *archive, void *user, const void **out) {
    const unsigned char *data = NULL;
    size_t bytes = cf_stream_next(user, &data);
    (void)archive;
    *out = data;
    return (la_ssize_t)bytes;
}

/* A file is best left to libarchive itself, which reads a zip's directory at its end; what is
 * compressed or comes through a pipe is a stream. */
static int open_archive(struct unpacking *unpacking, int fd, struct cf_err *err) {
    struct archive *archive = unpacking->archive;
    struct stat st;
    bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (is_file)
        unpacking->packed_bytes = (uint64_t)st.st_size;
    bool direct = is_file && cf_stream_layers(unpacking->stream) == 0;
    if (direct)
        (void)lseek(fd, 0, SEEK_SET);
    int got = direct ? archive_read_open_fd(archive, fd, READ_BYTES)
                     : archive_read_open(archive, unpacking->stream, NULL, give, NULL);
    if (got != ARCHIVE_OK)
        return cf_err_set(err, CF_EINPUT, "%s: cannot be read: %s", unpacking->name,
                          archive_error_string(archive));
    return CF_OK;
}

/* Other dumps are refused by their names, packed or not, also where a reader of archives would see
 * an empty one in their zeros. */
static int refuse_others(const struct unpacking *unpacking, struct cf_err *err) {
    const unsigned char *head;
    size_t len = cf_stream_peek(unpacking->stream, &head);
    const char *what = len == 0 ? NULL : cf_signature(head, len);
    return what == NULL ? CF_OK
                        : cf_err_set(err, CF_EINPUT, "%s: is no core, but %s", unpacking->name,
                                     what);
}

static int start(struct unpacking *unpacking, int fd, struct cf_err *err) {
    int status = cf_stream_open(fd, &unpacking->stream, err);
    if (status == CF_OK)
        status = refuse_others(unpacking, err);
    if (status != CF_OK)
        return status;
    struct archive *archive = archive_read_new();
    if (archive == NULL)
        return cf_err_nomem(err, READ_BYTES, "the archive");
    unpacking->archive = archive;
    (void)archive_read_support_format_tar(archive);
    (void)archive_read_support_format_zip(archive);
    (void)archive_read_support_format_raw(archive);
    return open_archive(unpacking, fd, err);
}

/* Where the archive ends early, it was cut; all else is damage. The stream knows better than the
 * archive over it, and is asked at the end. */
static void note_failure(struct unpacking *unpacking) {
    const char *words = archive_error_string(unpacking->archive);
    bool is_cut = words != NULL && strcasestr(words, "truncated") != NULL;
    unpacking->cut = unpacking->cut || is_cut;
    unpacking->damaged = unpacking->damaged || !is_cut;
    (void)snprintf(unpacking->words, sizeof unpacking->words, "%s",
                   words == NULL ? "not in a form that is known" : words);
}

/* Names inside an archive are hostile: what does not print becomes '?'. */
static char *printable_name(struct archive_entry *entry) {
    const char *name = archive_entry_pathname(entry);
    if (name == NULL)
        name = archive_entry_pathname_utf8(entry);
    char *copy = strdup(name == NULL ? "?" : name);
    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
    return copy;
}

static void remember_name(struct names *names, const char *name) {
    size_t used = strlen(names->text);
    names->count++;
    if (used + strlen(name) + 3 <= sizeof names->text)
        (void)snprintf(names->text + used, sizeof names->text - used, "%s%s",
                       used > 0 ? ", " : "", name);
}

/* The first bytes of a file, which may come in pieces. */
struct head {
    unsigned char bytes[MAGIC_BYTES];
    size_t len;
};

static void head_feed(struct head *head, const void *data, size_t bytes, int64_t offset) {
    if (offset != (int64_t)head->len || head->len == sizeof head->bytes)
        return;
    size_t left = sizeof head->bytes - head->len;
    size_t part = bytes < left ? bytes : left;
    memcpy(head->bytes + head->len, data, part);
    head->len += part;
}

enum entry_kind { KIND_UNKNOWN, KIND_CORE, KIND_PACKED, KIND_OTHER, KIND_SIDE };

/* `start` is what its name says of a file whose bytes say nothing. */
static enum entry_kind kind_of(const struct unpacking *unpacking, const struct head *head,
                               enum entry_kind start) {
    if (head->len < sizeof head->bytes)
        return start;
    if (is_core_magic(head->bytes))
        return KIND_CORE;
    bool is_packed = cf_is_compressed(head->bytes, head->len) ||
                     memcmp(head->bytes, "PK\x03\x04", 4) == 0;
    if (is_packed && !unpacking->is_raw && unpacking->depth < NESTING_MAX)
        return KIND_PACKED;
    return start == KIND_SIDE ? KIND_SIDE : KIND_OTHER;
}

static uint64_t consumed_bytes(const struct unpacking *unpacking) {
    int64_t consumed = archive_filter_bytes(unpacking->archive, -1);
    if (cf_stream_layers(unpacking->stream) > 0)
        return cf_stream_consumed(unpacking->stream);
    return consumed < 0 ? 0 : (uint64_t)consumed;
}

/* Writes the entry's data into `file` until they end, or until it is known that they are not
 * wanted. */
static int copy_data(struct unpacking *unpacking, struct cf_unpacked *into, enum entry_kind *kind,
                     struct cf_err *err) {
    struct head head = {.len = 0};
    const enum entry_kind start = *kind;
    const void *data;
    size_t bytes;
    int64_t offset;
    int got;
    while ((got = archive_read_data_block(unpacking->archive, &data, &bytes, &offset)) ==
           ARCHIVE_OK) {
        if (bytes == 0)
            continue;
        if (offset < 0)
            offset = INT64_MAX;
        head_feed(&head, data, bytes, offset);
        *kind = kind_of(unpacking, &head, start);
        uint64_t room = cf_sides_room(unpacking->sides);
        if (*kind == KIND_SIDE && (bytes > room || (uint64_t)offset > room - bytes))
            *kind = KIND_OTHER;
        if (*kind == KIND_OTHER && unpacking->other == NULL)
            unpacking->other = cf_signature(head.bytes, head.len);
        if (*kind == KIND_OTHER || (*kind == KIND_CORE && unpacking->cores.count > 0))
            return CF_OK;
        int status =
            cf_tempfile_write(&into->file, (uint64_t)offset, data, bytes, !into->is_sparse, err);
        if (status != CF_OK)
            return status;
        if (cf_progress(unpacking->ctx, "unpack", consumed_bytes(unpacking),
                        unpacking->packed_bytes))
            return cf_err_cancelled(err);
    }
    if (got != ARCHIVE_EOF) {
        note_failure(unpacking);
        into->truncated = true;
    }
    return CF_OK;
}

/* A sparse file may end in a hole, for which no data come. */
static int finish_size(struct cf_unpacked *into, struct archive_entry *entry, struct cf_err *err) {
    uint64_t bytes = into->file.end;
    if (!into->truncated && archive_entry_size_is_set(entry) &&
        archive_entry_size(entry) > (int64_t)bytes)
        bytes = (uint64_t)archive_entry_size(entry);
    return cf_tempfile_resize(&into->file, bytes, err);
}

static int unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
                  unsigned depth, struct cf_sides *sides, struct cf_unpacked *out,
                  struct cf_err *err);

static int take_core(struct unpacking *unpacking, struct archive_entry *entry, const char *name,
                     struct cf_unpacked *into, struct cf_err *err) {
    remember_name(&unpacking->cores, name);
    if (unpacking->cores.count > 1)
        return CF_OK;
    int status = finish_size(into, entry, err);
    if (status != CF_OK)
        return status;
    if (!unpacking->is_raw) {
        into->entry = strdup(name);
        if (into->entry == NULL)
            return cf_err_nomem(err, strlen(name) + 1, "a name in the archive");
    }
    unpacking->core = *into;
    *into = nothing;
    return CF_OK;
}

/* A packed file inside, in its turn: only so is it known whether a core is in it. */
static int take_packed(struct unpacking *unpacking, const char *name, struct cf_unpacked *packed,
                       struct cf_err *err) {
    CF_CLEANUP_FREE char *whole_name = cf_entry_name(unpacking->name, name);
    if (whole_name == NULL)
        return cf_err_nomem(err, strlen(unpacking->name), "a name in the archive");
    (void)lseek(packed->file.fd, 0, SEEK_SET);
    struct cf_unpacked inner = nothing;
    struct cf_err inner_err = {.text = ""};
    int status = unpack(unpacking->ctx, packed->file.fd, whole_name, unpacking->beside,
                        unpacking->depth + 1, unpacking->sides, &inner, &inner_err);
    if (status == CF_EINPUT && unpacking->inner_err.status == CF_OK)
        unpacking->inner_err = inner_err;
    if (status != CF_OK) {
        if (status != CF_EINPUT && err != NULL)
            *err = inner_err;
        return status == CF_EINPUT ? CF_OK : status;
    }
    inner.truncated = inner.truncated || packed->truncated;
    if (inner.entry == NULL)
        inner.entry = strdup(name); /* Only for messages: without it they say less. */
    remember_name(&unpacking->inner_cores, name);
    if (unpacking->inner_cores.count == 1)
        unpacking->inner = inner;
    else
        cf_unpacked_fini(&inner);
    return CF_OK;
}

static int look_at_entry(struct unpacking *unpacking, struct archive_entry *entry,
                         struct cf_err *err) {
    if (archive_entry_filetype(entry) != AE_IFREG)
        return CF_OK;
    CF_CLEANUP_FREE char *name = printable_name(entry);
    if (name == NULL)
        return cf_err_nomem(err, 0, "a name in the archive");
    remember_name(&unpacking->files, name);
    unpacking->is_raw = archive_format(unpacking->archive) == ARCHIVE_FORMAT_RAW;
    CF_CLEANUP(cf_unpacked_fini) struct cf_unpacked into = nothing;
    enum entry_kind kind = cf_side_is_named(name) ? KIND_SIDE : KIND_UNKNOWN;
    into.is_sparse = archive_entry_sparse_count(entry) > 0;
    int status = cf_tempfile_open(unpacking->beside, &into.file, err);
    if (status == CF_OK)
        status = copy_data(unpacking, &into, &kind, err);
    if (status == CF_OK && kind == KIND_CORE)
        status = take_core(unpacking, entry, name, &into, err);
    if (status == CF_OK && kind == KIND_PACKED)
        status = take_packed(unpacking, name, &into, err);
    if (status == CF_OK && kind == KIND_SIDE && !into.truncated)
        status = cf_sides_take(unpacking->sides, name, &into.file, err);
    return status;
}

static int look_at_entries(struct unpacking *unpacking, struct cf_err *err) {
    struct archive_entry *entry;
    while (!unpacking->damaged && !unpacking->cut) {
        int got = archive_read_next_header(unpacking->archive, &entry);
        if (got == ARCHIVE_EOF)
            return CF_OK;
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
            note_failure(unpacking);
            return CF_OK;
        }
        int status = look_at_entry(unpacking, entry, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* The end of the stream, where its checksum is. */
static void look_at_end(struct unpacking *unpacking) {
    const char *words;
    if (cf_stream_layers(unpacking->stream) == 0 && unpacking->packed_bytes > 0)
        return; /* libarchive read the file itself */
    enum cf_stream_end end = cf_stream_finish(unpacking->stream, &words);
    if (end == CF_STREAM_WHOLE)
        return;
    unpacking->cut = end == CF_STREAM_CUT;
    unpacking->damaged = end == CF_STREAM_DAMAGED;
    (void)snprintf(unpacking->words, sizeof unpacking->words, "%s", words);
    if (unpacking->is_raw)
        unpacking->core.truncated = true;
}

static int no_core(const struct unpacking *unpacking, struct cf_err *err) {
    if (unpacking->cut)
        return cf_err_set(err, CF_EINPUT, "%s: no core could be unpacked: %s", unpacking->name,
                          unpacking->words);
    if (unpacking->inner_err.status != CF_OK)
        return cf_err_set(err, CF_EINPUT, "%s", unpacking->inner_err.text);
    if (unpacking->is_raw && cf_stream_layers(unpacking->stream) == 0)
        return cf_err_set(err, CF_EINPUT,
                          "%s: is neither an ELF core nor packed as gzip, zstd, xz, lz4, bzip2, "
                          "tar or zip",
                          unpacking->name);
    return cf_err_set(err, CF_EINPUT, "%s: holds no ELF core (%s)%s%s", unpacking->name,
                      unpacking->files.count == 0 ? "no files" : unpacking->files.text,
                      unpacking->other == NULL ? "" : ", but ",
                      unpacking->other == NULL ? "" : unpacking->other);
}

/* The one core, or why there is none that can be relied on. */
static int choose(struct unpacking *unpacking, struct cf_unpacked **out, struct cf_err *err) {
    const struct names *cores =
        unpacking->cores.count > 0 ? &unpacking->cores : &unpacking->inner_cores;
    if (unpacking->damaged)
        return cf_err_set(err, CF_EINPUT,
                          "%s: the archive is damaged: %s; copy it or make it again",
                          unpacking->name, unpacking->words);
    if (cores->count == 0)
        return no_core(unpacking, err);
    if (cores->count > 1)
        return cf_err_set(err, CF_EINPUT, "%s: holds %u cores (%s): unpack the one that is meant",
                          unpacking->name, cores->count, cores->text);
    *out = unpacking->cores.count > 0 ? &unpacking->core : &unpacking->inner;
    return CF_OK;
}

static void judge_checksum(const struct unpacking *unpacking, struct cf_unpacked *core) {
    bool is_zip = (archive_format(unpacking->archive) & ARCHIVE_FORMAT_BASE_MASK) ==
                  (ARCHIVE_FORMAT_ZIP & ARCHIVE_FORMAT_BASE_MASK);
    bool has_one = is_zip || cf_stream_is_checked(unpacking->stream);
    core->is_packed =
        core->is_packed || !unpacking->is_raw || cf_stream_layers(unpacking->stream) > 0;
    core->is_checked = !core->truncated && (core->is_checked || (has_one && !unpacking->cut));
}

static int unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
                  unsigned depth, struct cf_sides *sides, struct cf_unpacked *out,
                  struct cf_err *err) {
    CF_CLEANUP(unpacking_fini)
    struct unpacking unpacking = {
        .ctx = ctx,
        .name = name,
        .beside = beside,
        .depth = depth,
        .sides = sides,
        .core = nothing,
        .inner = nothing,
    };
    struct cf_unpacked *chosen = NULL;
    int status = start(&unpacking, fd, err);
    if (status == CF_OK)
        status = look_at_entries(&unpacking, err);
    if (status != CF_OK)
        return status;
    look_at_end(&unpacking);
    status = choose(&unpacking, &chosen, err);
    if (status != CF_OK)
        return status;
    judge_checksum(&unpacking, chosen);
    if (chosen->truncated)
        cf_log(ctx, "the archive is cut off; the core is what came out before");
    *out = *chosen;
    *chosen = nothing;
    return CF_OK;
}

int cf_unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
              struct cf_sides *sides, struct cf_unpacked *out, struct cf_err *err) {
    return unpack(ctx, fd, name, beside, 0, sides, out, err);
}
