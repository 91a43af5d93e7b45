#include "input/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/err.h"

enum {
    RESERVE_BYTES = 16 << 20,
    CHECK_EVERY = 8 << 20,
    PUNCH_BYTES = 4096, /* a run of zeros of this size, aligned, is worth a hole */
};

static uint64_t room_in(const char *folder) {
    struct statvfs fs;
    uint64_t bytes;
    if (statvfs(folder, &fs) != 0 || !cf_mul_u64(fs.f_bavail, fs.f_frsize, &bytes))
        return 0;
    return bytes;
}

/* The folder part of a path, "." without one; false when it does not fit. */
static bool folder_of(const char *path, char *out, size_t out_bytes) {
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    if (len + 1 > out_bytes)
        return false;
    memcpy(out, slash == NULL ? "." : path, len);
    out[len] = '\0';
    return true;
}

/* Some file systems have no files without a name. Signals wait until the name is gone. */
static int make_and_unlink(const char *folder) {
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/corefrag-XXXXXX", folder);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int fd = mkostemp(path, O_CLOEXEC);
    int error = errno;
    if (fd >= 0)
        (void)unlink(path);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return fd;
}

static int make_in(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : make_and_unlink(folder);
}

static int open_in(const char *folder, struct cf_tempfile *out, struct cf_err *err) {
    struct cf_tempfile file = {.fd = -1, .reserve_bytes = RESERVE_BYTES};
    if (strlen(folder) >= sizeof file.folder)
        return cf_err_set(err, CF_EINPUT, "the path of the folder for temporary files is too long");
    memcpy(file.folder, folder, strlen(folder) + 1);
    file.fd = make_in(folder);
    if (file.fd < 0)
        return cf_err_errno(err, CF_EINPUT, errno,
                            "%s: no temporary file can be made there (TMPDIR chooses the folder)",
                            folder);
    file.unchecked_bytes = CHECK_EVERY;
    *out = file;
    return CF_OK;
}

int cf_tempfile_open(const char *beside, struct cf_tempfile *out, struct cf_err *err) {
    const char *chosen = getenv("TMPDIR");
    if (chosen != NULL && chosen[0] != '\0')
        return open_in(chosen, out, err);
    char own_folder[PATH_MAX];
    const char *folders[] = {"/tmp", "/var/tmp", NULL};
    if (beside != NULL && folder_of(beside, own_folder, sizeof own_folder))
        folders[2] = own_folder;
    size_t best = 0;
    for (size_t i = 1; i < sizeof folders / sizeof *folders; i++) {
        if (folders[i] != NULL && access(folders[i], W_OK) == 0 &&
            room_in(folders[i]) > room_in(folders[best]))
            best = i;
    }
    return open_in(folders[best], out, err);
}

void cf_tempfile_close(struct cf_tempfile *file) {
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
}

static int no_room(const struct cf_tempfile *file, struct cf_err *err) {
    return cf_err_set(err, CF_EINPUT,
                      "%s: too little room to unpack the core (%llu MiB of it so far); set TMPDIR "
                      "to a folder with more",
                      file->folder, (unsigned long long)(file->end >> 20));
}

static int check_room(struct cf_tempfile *file, size_t bytes, struct cf_err *err) {
    file->unchecked_bytes += bytes;
    if (file->unchecked_bytes < CHECK_EVERY)
        return CF_OK;
    uint64_t needed;
    if (!cf_add_u64(file->reserve_bytes, bytes, &needed) || room_in(file->folder) < needed)
        return no_room(file, err);
    file->unchecked_bytes = 0;
    return CF_OK;
}

static int write_all(struct cf_tempfile *file, uint64_t offset, const char *data, size_t bytes,
                     struct cf_err *err) {
    int status = check_room(file, bytes, err);
    while (status == CF_OK && bytes > 0) {
        ssize_t written = pwrite(file->fd, data, bytes, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == ENOSPC || errno == EDQUOT))
            return no_room(file, err);
        if (written < 0)
            return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot write the temporary file",
                                file->folder);
        data += written;
        offset += (uint64_t)written;
        bytes -= (size_t)written;
    }
    return status;
}

static bool is_zero(const char *data, size_t bytes) {
    return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

/* Bytes from `offset` to the end of its aligned block, at most `bytes`. */
static size_t block_at(uint64_t offset, size_t bytes) {
    size_t left = PUNCH_BYTES - (size_t)(offset % PUNCH_BYTES);
    return left < bytes ? left : bytes;
}

/* Length of the run of blocks at `data` that are all zeros, or all not. */
static size_t run_length(uint64_t offset, const char *data, size_t bytes, bool zeros) {
    size_t run = 0;
    while (run < bytes) {
        size_t block = block_at(offset + run, bytes - run);
        if (is_zero(data + run, block) != zeros)
            break;
        run += block;
    }
    return run;
}

static int write_punched(struct cf_tempfile *file, uint64_t offset, const char *data, size_t bytes,
                         struct cf_err *err) {
    while (bytes > 0) {
        size_t skip = run_length(offset, data, bytes, true);
        size_t run = run_length(offset + skip, data + skip, bytes - skip, false);
        int status = write_all(file, offset + skip, data + skip, run, err);
        if (status != CF_OK)
            return status;
        offset += skip + run;
        data += skip + run;
        bytes -= skip + run;
    }
    return CF_OK;
}

int cf_tempfile_write(struct cf_tempfile *file, uint64_t offset, const void *data, size_t bytes,
                      bool punch, struct cf_err *err) {
    uint64_t end;
    if (!cf_add_u64(offset, bytes, &end) || end > INT64_MAX)
        return cf_err_set(err, CF_EINPUT, "bytes at offset %llu cannot be in a file",
                          (unsigned long long)offset);
    int status = punch ? write_punched(file, offset, data, bytes, err)
                       : write_all(file, offset, data, bytes, err);
    if (status == CF_OK && end > file->end)
        file->end = end;
    return status;
}

int cf_tempfile_resize(struct cf_tempfile *file, uint64_t bytes, struct cf_err *err) {
    if (bytes > INT64_MAX || ftruncate(file->fd, (off_t)bytes) != 0)
        return cf_err_errno(err, CF_EINPUT, bytes > INT64_MAX ? EFBIG : errno,
                            "%s: a temporary file of %llu bytes cannot be made", file->folder,
                            (unsigned long long)bytes);
    file->end = bytes;
    return CF_OK;
}
