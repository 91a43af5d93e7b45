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
    *scratch = (struct cf_scratch){at, bytes};
    return CF_OK;
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
