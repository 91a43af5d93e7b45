/*
 * The core's file in our memory: mapped once for reading, with a guard over it for what cannot be
 * read (bus_guard.h) and our own zeros over its holes (extents.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "core/core_private.h"

static int examine_file(struct cf_core *core, struct cf_err *err) {
    struct stat st;
    if (fstat(core->fd, &st) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be examined", core->name);
    if (!S_ISREG(st.st_mode))
        return cf_err_set(err, CF_EINPUT, "%s: is not a regular file", core->name);
    if (st.st_size == 0)
        return cf_err_set(err, CF_EINPUT,
                          "%s: is empty; look at ulimit -c, the disk's free space and core_pattern",
                          core->name);
    if ((uint64_t)st.st_size > SIZE_MAX)
        return cf_err_set(err, CF_EINPUT, "%s: is too large for this machine", core->name);
    core->map_bytes = (uint64_t)st.st_size;
    core->usable_bytes = core->map_bytes;
    core->modified = st.st_mtim;
    return CF_OK;
}

int cf_core_map(struct cf_core *core, struct cf_err *err) {
    int status = examine_file(core, err);
    if (status != CF_OK)
        return status;
    void *map = mmap(NULL, (size_t)core->map_bytes, PROT_READ, MAP_PRIVATE, core->fd, 0);
    if (map == MAP_FAILED)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be mapped", core->name);
    core->map = map;
    status = cf_bus_guard_add(core->map, core->map_bytes, &core->guard, err);
    if (status == CF_OK)
        status = cf_core_find_extents(core, err);
    if (status == CF_OK)
        status = cf_core_cover_holes(core, err);
    /* What was cut off meanwhile looked like a hole. */
    return status == CF_OK ? cf_core_read_status(core, err) : status;
}

void cf_core_unmap(struct cf_core *core) {
    cf_bus_guard_remove(core->guard);
    if (core->map != NULL)
        (void)munmap(core->map, (size_t)core->map_bytes);
    cf_array_free(&core->extents);
    cf_array_free(&core->copies);
}

/* The file is asked once more for what it did not give, since it knows why. */
static int read_failed(const struct cf_core *core, uint64_t offset, struct cf_err *err) {
    unsigned char byte;
    ssize_t got = pread(core->fd, &byte, 1, (off_t)offset);
    unsigned long long at = offset;
    if (got < 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be read at offset %llu", core->name,
                            at);
    if (got == 0)
        return cf_err_set(err, CF_EINPUT,
                          "%s: became shorter while it was read: there is nothing at offset %llu "
                          "any more; is it still being written or copied?",
                          core->name, at);
    return cf_err_set(err, CF_EINPUT,
                      "%s: could not be read at offset %llu; the disk or the file system failed "
                      "(see the kernel's log)",
                      core->name, at);
}

int cf_core_read_status(const struct cf_core *core, struct cf_err *err) {
    uint64_t offset;
    struct stat st;
    if (cf_bus_guard_was_hit(core->guard, &offset))
        return read_failed(core, offset, err);
    if (fstat(core->fd, &st) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be examined", core->name);
    if ((uint64_t)st.st_size < core->map_bytes)
        return read_failed(core, (uint64_t)st.st_size, err);
    if ((uint64_t)st.st_size != core->map_bytes || st.st_mtim.tv_sec != core->modified.tv_sec ||
        st.st_mtim.tv_nsec != core->modified.tv_nsec)
        return cf_err_set(err, CF_EINPUT,
                          "%s: was changed while it was read (%llu bytes at first, %llu now); is "
                          "it still being written or copied?",
                          core->name, (unsigned long long)core->map_bytes,
                          (unsigned long long)st.st_size);
    return CF_OK;
}
