/*
 * Room for a mapped table is reserved before it is mapped, since a write through a mapping that
 * finds the file system full is a signal and no error. A file that write() fills needs no such
 * promise: a full disk is an error there.
 */
#include "base/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/err.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

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

static int open_nameless(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : make_and_unlink(folder);
}


static int open_scratch(struct cf_err *err) {
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    int fd = open_nameless(folder);
    if (fd < 0)
        (void)cf_err_errno(err, CF_EOUTPUT, errno,
                           "%s: no temporary file can be made there (TMPDIR chooses the folder)",
                           folder);
    return fd;
}

/* Pages of files are the third number of statm. */
uint64_t cf_resident_file_bytes(void) {
    char text[128], *at = text;
    CF_CLEANUP_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    (void)strtoull(at, &at, 10);
    (void)strtoull(at, &at, 10);
    return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- mapped tables ---- */

int cf_scratch_init(struct cf_scratch *scratch, size_t bytes, struct cf_err *err) {
    CF_CLEANUP_CLOSE int fd = open_scratch(err);
    if (fd < 0)
        return err != NULL ? err->status : CF_EOUTPUT;
    int code = posix_fallocate(fd, 0, (off_t)bytes);
    if (code != 0)
        return cf_err_errno(err, CF_EOUTPUT, code, "%zu bytes of temporary file (TMPDIR)", bytes);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return cf_err_errno(err, CF_ENOMEM, errno, "%zu bytes of temporary file", bytes);
    /* All pages in one go: a fault each would cost several times as much. Older kernels do not
     * know how, and then it costs that. */
    (void)madvise(at, bytes, MADV_POPULATE_WRITE);
    *scratch = (struct cf_scratch){at, bytes};
    return CF_OK;
}

int cf_scratch_begin(struct cf_scratch_writer *writer, struct cf_err *err) {
    CF_CLEANUP_FREE unsigned char *buffer = malloc(CF_SCRATCH_BUFFER);
    if (buffer == NULL)
        return cf_err_nomem(err, CF_SCRATCH_BUFFER, "a temporary file");
    int fd = open_scratch(err);
    if (fd < 0)
        return err != NULL ? err->status : CF_EOUTPUT;
    *writer = (struct cf_scratch_writer){.fd = fd, .buffer = cf_take(&buffer)};
    return CF_OK;
}

void cf_scratch_flush(struct cf_scratch_writer *writer) {
    for (size_t at = 0; at < writer->used && writer->code == 0;) {
        ssize_t n = pwrite(writer->fd, writer->buffer + at, writer->used - at,
                           (off_t)(writer->written + at));
        if (n < 0 && errno != EINTR)
            writer->code = errno;
        at += n > 0 ? (size_t)n : 0;
    }
    writer->written += writer->used;
    writer->used = 0;
}

void cf_scratch_copy(const struct cf_scratch_writer *writer, uint64_t place, void *out,
                     size_t bytes) {
    unsigned char *to = out;
    while (bytes > 0 && place < writer->written) {
        size_t most = writer->written - place < bytes ? (size_t)(writer->written - place) : bytes;
        ssize_t n = pread(writer->fd, to, most, (off_t)place);
        if (n <= 0) {
            memset(to, 0, most);
            n = (ssize_t)most;
        }
        to += n;
        place += (uint64_t)n;
        bytes -= (size_t)n;
    }
    memcpy(to, writer->buffer + (place - writer->written), bytes);
}

void cf_scratch_take_back(struct cf_scratch_writer *writer, void *out, size_t bytes) {
    cf_scratch_copy(writer, writer->written + writer->used - bytes, out, bytes);
    size_t of_buffer = bytes < writer->used ? bytes : writer->used;
    writer->used -= of_buffer;
    writer->written -= bytes - of_buffer;
}

int cf_scratch_finish(struct cf_scratch_writer *writer, struct cf_scratch *out,
                      struct cf_err *err) {
    static const uint64_t end = 0;
    cf_scratch_put(writer, &end, sizeof end);
    cf_scratch_flush(writer);
    size_t bytes = (size_t)writer->written;
    void *at = MAP_FAILED;
    int code = writer->code;
    if (code == 0) {
        at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, writer->fd, 0);
        code = at == MAP_FAILED ? errno : 0;
    }
    int status = writer->code != 0 ? CF_EOUTPUT : CF_ENOMEM;
    cf_scratch_abandon(writer);
    if (at == MAP_FAILED)
        return cf_err_errno(err, status, code, "%zu bytes of temporary file (TMPDIR)", bytes);
    *out = (struct cf_scratch){at, bytes};
    return CF_OK;
}

void cf_scratch_abandon(struct cf_scratch_writer *writer) {
    if (writer->buffer == NULL)
        return;
    (void)close(writer->fd);
    free(writer->buffer);
    *writer = (struct cf_scratch_writer){0};
}

void cf_scratch_fini(struct cf_scratch *scratch) {
    if (scratch->at != NULL)
        (void)munmap(scratch->at, scratch->bytes);
    *scratch = (struct cf_scratch){0};
}

void cf_scratch_drop(const struct cf_scratch *scratch) {
    if (scratch->at != NULL)
        (void)madvise(scratch->at, scratch->bytes, MADV_DONTNEED);
}

/* ---- a sparse file ---- */

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

static int open_in(const char *folder, struct cf_tempfile *out, struct cf_err *err) {
    struct cf_tempfile file = {.fd = -1, .reserve_bytes = RESERVE_BYTES};
    if (strlen(folder) >= sizeof file.folder)
        return cf_err_set(err, CF_EINPUT, "the path of the folder for temporary files is too long");
    memcpy(file.folder, folder, strlen(folder) + 1);
    file.fd = open_nameless(folder);
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
