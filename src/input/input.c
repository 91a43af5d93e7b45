/*
 * Whether the named thing is a core that can be read where it lies, an archive or a stream that is
 * unpacked first, or nothing of the kind. The first bytes decide, never the name.
 */
#include "input/input.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "input/sides.h"
#include "input/unpack.h"

struct cf_input {
    int fd;
    char *name;
    char *path;  /* NULL: standard input */
    char *entry; /* the core's name in an archive of files; NULL: it is no such archive */
    struct cf_sides sides;
    bool holes_are_evidence;
    bool truncated;
    bool is_packed;
    bool is_checked;
};

static void cleanup_input(struct cf_input **input) {
    cf_input_free(*input);
}

void cf_input_free(struct cf_input *input) {
    if (input == NULL)
        return;
    if (input->fd >= 0)
        (void)close(input->fd);
    cf_sides_fini(&input->sides);
    free(input->entry);
    free(input->path);
    free(input->name);
    free(input);
}

/* Opening a pipe without O_NONBLOCK would wait for somebody to write into it. */
static int open_path(struct cf_input *input, const char *path, struct stat *st,
                     struct cf_err *err) {
    input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (input->fd < 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be opened", path);
    if (fstat(input->fd, st) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be examined", path);
    if (S_ISDIR(st->st_mode))
        return cf_err_set(err, CF_EINPUT, "%s: is a folder; name the core in it", path);
    if (!S_ISREG(st->st_mode))
        return cf_err_set(err, CF_EINPUT,
                          "%s: is not a regular file; a pipe goes to standard input, as \"-\"",
                          path);
    if (st->st_size == 0)
        return cf_err_set(err, CF_EINPUT,
                          "%s: is empty; look at ulimit -c, the disk's free space and core_pattern",
                          path);
    return CF_OK;
}

static int open_standard_input(struct cf_input *input, struct stat *st, struct cf_err *err) {
    input->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (input->fd < 0 || fstat(input->fd, st) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "standard input: cannot be read");
    if (S_ISDIR(st->st_mode))
        return cf_err_set(err, CF_EINPUT, "standard input: is a folder");
    if (isatty(input->fd))
        return cf_err_set(err, CF_EINPUT,
                          "standard input: is a terminal; send the core into it, or name a file");
    return CF_OK;
}

/* An ELF file that can be read where it lies; the core's reader says what kind it is. */
static bool is_plain(const struct cf_input *input, const struct stat *st) {
    unsigned char magic[SELFMAG];
    return S_ISREG(st->st_mode) &&
           pread(input->fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static int set_name(struct cf_input *input, const char *name, const char *entry,
                    struct cf_err *err) {
    input->name = cf_entry_name(name, entry);
    return input->name != NULL ? CF_OK : cf_err_nomem(err, strlen(name), "the input's name");
}

static int unpack_input(const struct cf_context *ctx, struct cf_input *input, const char *name,
                        const char *beside, struct cf_err *err) {
    struct cf_unpacked unpacked;
    /* A file on standard input is read from its beginning too, since libarchive seeks in it. */
    (void)lseek(input->fd, 0, SEEK_SET);
    int status = cf_unpack(ctx, input->fd, name, beside, &input->sides, &unpacked, err);
    if (status != CF_OK)
        return status;
    (void)close(input->fd);
    input->fd = unpacked.file.fd;
    unpacked.file.fd = -1;
    input->holes_are_evidence = unpacked.is_sparse;
    input->truncated = unpacked.truncated;
    input->is_packed = unpacked.is_packed;
    input->is_checked = unpacked.is_checked;
    status = set_name(input, name, unpacked.entry, err);
    input->entry = cf_take(&unpacked.entry);
    cf_unpacked_fini(&unpacked);
    return status;
}

int cf_input_open(const struct cf_context *ctx, const char *path, struct cf_input **out,
                  struct cf_err *err) {
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    CF_CLEANUP(cleanup_input) struct cf_input *input = calloc(1, sizeof *input);
    if (input == NULL)
        return cf_err_nomem(err, sizeof *input, "the input");
    input->fd = -1;
    input->holes_are_evidence = true;
    if (!is_stdin) {
        input->path = strdup(path);
        if (input->path == NULL)
            return cf_err_nomem(err, strlen(path) + 1, "the input's name");
    }
    struct stat st;
    int status = is_stdin ? open_standard_input(input, &st, err) : open_path(input, path, &st, err);
    if (status != CF_OK)
        return status;
    if (is_plain(input, &st))
        status = set_name(input, name, NULL, err);
    else
        status = unpack_input(ctx, input, name, is_stdin ? NULL : path, err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&input);
    return CF_OK;
}

int cf_input_find_sides(struct cf_input *input, uint32_t pid, const struct cf_sides **out,
                        struct cf_err *err) {
    int status = CF_OK;
    if (input->entry != NULL)
        cf_sides_choose(&input->sides, input->entry, pid);
    else if (input->path != NULL)
        status = cf_sides_look(&input->sides, input->path, pid, err);
    if (status == CF_OK)
        *out = &input->sides;
    return status;
}

bool cf_input_is_archive(const struct cf_input *input) {
    return input->entry != NULL;
}

int cf_input_fd(const struct cf_input *input) {
    return input->fd;
}

const char *cf_input_name(const struct cf_input *input) {
    return input->name;
}

bool cf_input_holes_are_evidence(const struct cf_input *input) {
    return input->holes_are_evidence;
}

bool cf_input_truncated(const struct cf_input *input) {
    return input->truncated;
}

bool cf_input_is_packed(const struct cf_input *input) {
    return input->is_packed;
}

bool cf_input_is_checked(const struct cf_input *input) {
    return input->is_checked;
}
