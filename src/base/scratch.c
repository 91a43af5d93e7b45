#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* A file that nobody else can open and that is gone with its last user. */
static int open_nameless(struct cf_err *err) {
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0)
        return fd;
    CF_CLEANUP_FREE char *name = NULL;
    if (asprintf(&name, "%s/corefrag-XXXXXX", folder) < 0) {
        name = NULL;
        (void)cf_err_nomem(err, 64, "the name of a temporary file");
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        (void)cf_err_errno(err, CF_EOUTPUT, errno, "%s: no temporary file can be made", folder);
    else
        (void)unlink(name);
    return fd;
}

/* Room is reserved first: a full disk must be an error, not a signal. */
int cf_scratch_init(struct cf_scratch *scratch, size_t bytes, struct cf_err *err) {
    CF_CLEANUP_CLOSE int fd = open_nameless(err);
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

size_t cf_scratch_resident(void) {
    char text[128];
    unsigned long pages = 0;
    CF_CLEANUP_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    if (sscanf(text, "%*u %*u %lu", &pages) != 1)
        return 0;
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int cf_scratch_begin(struct cf_scratch_writer *writer, struct cf_err *err) {
    CF_CLEANUP_FREE unsigned char *buffer = malloc(CF_SCRATCH_BUFFER);
    if (buffer == NULL)
        return cf_err_nomem(err, CF_SCRATCH_BUFFER, "a temporary file");
    int fd = open_nameless(err);
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
