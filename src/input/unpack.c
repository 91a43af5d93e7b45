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

enum { READ_BYTES = 1 << 16, NAMES_BYTES = 200, NESTING_MAX = 1 };

/* One pass over an archive. */
struct unpacking {
    const struct cf_context *ctx;
    const char *name;
    const char *beside;
    bool look_inside;      /* packed files inside are candidates too */
    uint64_t packed_bytes; /* 0: not known */
    struct archive *archive;
    struct cf_unpacked core;
    struct cf_unpacked packed; /* the largest file inside that may be an archive itself */
    char names[NAMES_BYTES];   /* of the files met, for the message that there is no core */
    bool damaged;
    char damage[256]; /* the archive's own words */
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

bool cf_is_core_magic(const unsigned char *bytes) {
    return memcmp(bytes, ELFMAG, SELFMAG) == 0 && bytes[EI_NIDENT] == ET_CORE &&
           bytes[EI_NIDENT + 1] == 0;
}

static bool is_packed_magic(const unsigned char *bytes) {
    static const struct {
        const char *bytes;
        size_t len;
    } magics[] = {
        {"\x1f\x8b", 2},
        {"\x28\xb5\x2f\xfd", 4},
        {"\xfd"
         "7zXZ",
         5},
        {"\x04\x22\x4d\x18", 4},
        {"BZh", 3},
        {"PK\x03\x04", 4},
    };
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (memcmp(bytes, magics[i].bytes, magics[i].len) == 0)
            return true;
    }
    return false;
}

void cf_unpacked_fini(struct cf_unpacked *unpacked) {
    cf_tempfile_close(&unpacked->file);
    free(unpacked->entry);
    *unpacked = nothing;
}

static void unpacking_fini(struct unpacking *unpacking) {
    if (unpacking->archive != NULL)
        (void)archive_read_free(unpacking->archive);
    cf_unpacked_fini(&unpacking->core);
    cf_unpacked_fini(&unpacking->packed);
}

static int start(struct unpacking *unpacking, int fd, struct cf_err *err) {
    struct archive *archive = archive_read_new();
    if (archive == NULL)
        return cf_err_nomem(err, READ_BYTES, "the archive");
    unpacking->archive = archive;
    (void)archive_read_support_filter_gzip(archive);
    (void)archive_read_support_filter_bzip2(archive);
    (void)archive_read_support_filter_xz(archive);
    (void)archive_read_support_filter_lzma(archive);
    (void)archive_read_support_filter_zstd(archive);
    (void)archive_read_support_filter_lz4(archive);
    (void)archive_read_support_format_tar(archive);
    (void)archive_read_support_format_zip(archive);
    (void)archive_read_support_format_raw(archive);
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        unpacking->packed_bytes = (uint64_t)st.st_size;
    if (archive_read_open_fd(archive, fd, READ_BYTES) != ARCHIVE_OK)
        return cf_err_set(err, CF_EINPUT, "%s: cannot be read: %s", unpacking->name,
                          archive_error_string(archive));
    return CF_OK;
}

static void note_damage(struct unpacking *unpacking) {
    const char *words = archive_error_string(unpacking->archive);
    unpacking->damaged = true;
    (void)snprintf(unpacking->damage, sizeof unpacking->damage, "%s",
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

static void remember_name(struct unpacking *unpacking, const char *name) {
    size_t used = strlen(unpacking->names);
    if (used + strlen(name) + 3 > sizeof unpacking->names)
        return;
    (void)snprintf(unpacking->names + used, sizeof unpacking->names - used, "%s%s",
                   used > 0 ? ", " : "", name);
}

/* The first bytes of a file, which may come in pieces. */
struct head {
    unsigned char bytes[CF_CORE_MAGIC_BYTES];
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

/* Which of the two results a file of these first bytes is a candidate for; NULL: neither. */
static struct cf_unpacked *slot_of(struct unpacking *unpacking, const struct head *head) {
    if (head->len < sizeof head->bytes)
        return NULL;
    if (cf_is_core_magic(head->bytes))
        return &unpacking->core;
    return unpacking->look_inside && is_packed_magic(head->bytes) ? &unpacking->packed : NULL;
}

/* Writes the entry's data into `file` until they end, or until it is known that they are not
 * wanted: then `slot` is NULL. */
static int copy_data(struct unpacking *unpacking, struct cf_unpacked *into,
                     struct cf_unpacked **slot, struct cf_err *err) {
    struct head head = {.len = 0};
    const void *data;
    size_t bytes;
    int64_t offset;
    int got;
    while ((got = archive_read_data_block(unpacking->archive, &data, &bytes, &offset)) ==
               ARCHIVE_OK ||
           got == ARCHIVE_WARN) {
        if (bytes == 0)
            continue;
        if (offset < 0)
            offset = INT64_MAX;
        head_feed(&head, data, bytes, offset);
        *slot = slot_of(unpacking, &head);
        if (head.len == sizeof head.bytes && *slot == NULL)
            return CF_OK;
        int status =
            cf_tempfile_write(&into->file, (uint64_t)offset, data, bytes, !into->is_sparse, err);
        if (status != CF_OK)
            return status;
        int64_t consumed = archive_filter_bytes(unpacking->archive, -1);
        if (cf_progress(unpacking->ctx, "unpack", consumed < 0 ? 0 : (uint64_t)consumed,
                        unpacking->packed_bytes))
            return cf_err_cancelled(err);
    }
    if (got != ARCHIVE_EOF) {
        note_damage(unpacking);
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

static int take_entry(struct unpacking *unpacking, struct archive_entry *entry, char *name,
                      struct cf_unpacked *into, struct cf_err *err) {
    struct cf_unpacked *slot = NULL;
    into->is_sparse = archive_entry_sparse_count(entry) > 0;
    int status = cf_tempfile_open(unpacking->beside, &into->file, err);
    if (status == CF_OK)
        status = copy_data(unpacking, into, &slot, err);
    if (status == CF_OK && slot != NULL)
        status = finish_size(into, entry, err);
    if (status != CF_OK || slot == NULL || into->file.end <= slot->file.end)
        return status;
    if (archive_format(unpacking->archive) != ARCHIVE_FORMAT_RAW) {
        into->entry = strdup(name);
        if (into->entry == NULL)
            return cf_err_nomem(err, strlen(name) + 1, "a name in the archive");
    }
    cf_unpacked_fini(slot);
    *slot = *into;
    *into = nothing;
    return CF_OK;
}

static int look_at_entry(struct unpacking *unpacking, struct archive_entry *entry,
                         struct cf_err *err) {
    if (archive_entry_filetype(entry) != AE_IFREG)
        return CF_OK;
    /* A core that is no larger than the best so far need not be unpacked. */
    if (unpacking->core.file.fd >= 0 && archive_entry_size_is_set(entry) &&
        archive_entry_size(entry) <= (int64_t)unpacking->core.file.end)
        return CF_OK;
    CF_CLEANUP_FREE char *name = printable_name(entry);
    if (name == NULL)
        return cf_err_nomem(err, 0, "a name in the archive");
    remember_name(unpacking, name);
    struct cf_unpacked into = nothing;
    int status = take_entry(unpacking, entry, name, &into, err);
    cf_unpacked_fini(&into);
    return status;
}

static int look_at_entries(struct unpacking *unpacking, struct cf_err *err) {
    struct archive_entry *entry;
    while (!unpacking->damaged) {
        int got = archive_read_next_header(unpacking->archive, &entry);
        if (got == ARCHIVE_EOF)
            return CF_OK;
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
            note_damage(unpacking);
            return CF_OK;
        }
        int status = look_at_entry(unpacking, entry, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static int no_core(const struct unpacking *unpacking, struct cf_err *err) {
    struct archive *archive = unpacking->archive;
    if (unpacking->damaged)
        return cf_err_set(err, CF_EINPUT, "%s: no core could be unpacked: %s", unpacking->name,
                          unpacking->damage);
    if (archive_format(archive) == ARCHIVE_FORMAT_RAW && archive_filter_count(archive) == 1)
        return cf_err_set(err, CF_EINPUT,
                          "%s: is neither an ELF core nor packed as gzip, zstd, xz, lz4, bzip2, "
                          "tar or zip",
                          unpacking->name);
    return cf_err_set(err, CF_EINPUT, "%s: holds no ELF core (%s)", unpacking->name,
                      unpacking->names[0] == '\0' ? "no files" : unpacking->names);
}

static int unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
                  unsigned depth, struct cf_unpacked *out, struct cf_err *err);

/* The archive's largest packed file, in its turn. */
static int unpack_inner(const struct unpacking *unpacking, unsigned depth, struct cf_unpacked *out,
                        struct cf_err *err) {
    const struct cf_unpacked *packed = &unpacking->packed;
    CF_CLEANUP_FREE char *name = cf_entry_name(unpacking->name, packed->entry);
    if (name == NULL)
        return cf_err_nomem(err, strlen(unpacking->name), "a name in the archive");
    (void)lseek(packed->file.fd, 0, SEEK_SET);
    struct cf_unpacked inner = nothing;
    int status =
        unpack(unpacking->ctx, packed->file.fd, name, unpacking->beside, depth + 1, &inner, err);
    if (status != CF_OK)
        return status;
    inner.truncated = inner.truncated || packed->truncated;
    if (inner.entry == NULL && packed->entry != NULL)
        inner.entry = strdup(packed->entry); /* Only for messages: without it they say less. */
    *out = inner;
    return CF_OK;
}

static int unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
                  unsigned depth, struct cf_unpacked *out, struct cf_err *err) {
    CF_CLEANUP(unpacking_fini)
    struct unpacking unpacking = {
        .ctx = ctx,
        .name = name,
        .beside = beside,
        .look_inside = depth < NESTING_MAX,
        .core = nothing,
        .packed = nothing,
    };
    int status = start(&unpacking, fd, err);
    if (status == CF_OK)
        status = look_at_entries(&unpacking, err);
    if (status != CF_OK)
        return status;
    if (unpacking.core.file.fd >= 0) {
        if (unpacking.core.truncated)
            cf_log(ctx, "the archive is damaged or cut off; the core is what came out before");
        *out = unpacking.core;
        unpacking.core = nothing;
        return CF_OK;
    }
    if (unpacking.packed.file.fd >= 0)
        return unpack_inner(&unpacking, depth, out, err);
    return no_core(&unpacking, err);
}

int cf_unpack(const struct cf_context *ctx, int fd, const char *name, const char *beside,
              struct cf_unpacked *out, struct cf_err *err) {
    return unpack(ctx, fd, name, beside, 0, out, err);
}
