/*
 * The core's file in our memory: mapped once for reading, with a guard over it for what cannot be
 * read (base/bus_guard.h), and what is data in it asked once, before anything is read through the
 * mapping.
 *
 * A hole must never be read through it: tmpfs answers with pages that belong to the file from then
 * on, so that the file grows and the next look finds data there. So pages of zeros of our own lie
 * over the holes. Each costs the process one or two mappings, of which it may have 65,530. Where
 * the holes are more than STRETCHES_MAX, those with the least data between them are joined, and
 * that data is copied. File systems on disks read holes without keeping them; there what would need
 * a copy is left to the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/err.h"
#include "core/core_private.h"

enum { STRETCHES_MAX = 12000 };

/* All that the file system knows to be data. Where it cannot tell, or stops telling, the rest is
 * data: an error is no hole. */
static bool find_data(struct cf_core *core, uint64_t at, struct cf_core_extent *out) {
    off_t data = lseek(core->fd, (off_t)at, SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        return false;
    bool knows = data >= 0 && (uint64_t)data >= at;
    off_t hole = knows ? lseek(core->fd, data, SEEK_HOLE) : -1;
    out->start = knows ? (uint64_t)data : at;
    out->end = hole < 0 || (uint64_t)hole > core->map_bytes ? core->map_bytes : (uint64_t)hole;
    if (out->start >= out->end)
        *out = (struct cf_core_extent){at, core->map_bytes};
    return true;
}

static int find_extents(struct cf_core *core, struct cf_err *err) {
    struct cf_core_extent extent = {0, 0};
    while (extent.end < core->map_bytes && find_data(core, extent.end, &extent)) {
        struct cf_core_extent *slot = cf_array_push(&core->extents);
        if (slot == NULL)
            return cf_err_nomem(err, (core->extents.len + 1) * sizeof extent,
                                "the file's extents");
        *slot = extent;
    }
    return CF_OK;
}

/* One stretch of the mapping that is ours: a hole, or several with the data between them. */
struct stretches {
    struct cf_core_extent *items;
    size_t len;
    size_t cap;
};

/* Whole pages of the hole between two extents; false: there is none. */
static bool add_hole(struct stretches *holes, uint64_t start, uint64_t end, uint64_t page) {
    if (!cf_align_up(start, page, &start) || start >= cf_align_down(end, page))
        return true;
    struct cf_core_extent *slot = cf_array_push(holes);
    if (slot != NULL)
        *slot = (struct cf_core_extent){start, cf_align_down(end, page)};
    return slot != NULL;
}

static bool collect_holes(const struct cf_core *core, struct stretches *holes, uint64_t page) {
    uint64_t at = 0;
    uint64_t map_end = core->map_bytes;
    (void)cf_align_up(core->map_bytes, page, &map_end);
    for (size_t i = 0; i < core->extents.len; i++) {
        if (!add_hole(holes, at, core->extents.items[i].start, page))
            return false;
        at = core->extents.items[i].end;
    }
    return at >= core->map_bytes || add_hole(holes, at, map_end, page);
}

static int compare_sizes(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

static uint64_t gap_before(const struct stretches *holes, size_t i) {
    return holes->items[i].start - holes->items[i - 1].end;
}

/* The largest amount of data between two holes that has to be copied; 0: none has. */
static bool find_limit(const struct stretches *holes, uint64_t *limit) {
    *limit = 0;
    if (holes->len <= STRETCHES_MAX)
        return true;
    size_t nr_gaps = holes->len - 1;
    uint64_t *gaps = calloc(nr_gaps, sizeof *gaps);
    if (gaps == NULL)
        return false;
    for (size_t i = 0; i < nr_gaps; i++)
        gaps[i] = gap_before(holes, i + 1);
    qsort(gaps, nr_gaps, sizeof *gaps, compare_sizes);
    *limit = gaps[holes->len - STRETCHES_MAX - 1];
    free(gaps);
    return true;
}

/* Joins the holes that have at most `limit` between them until few enough are left; or, where
 * nothing is to be copied, drops them. */
static void reduce(struct stretches *holes, uint64_t limit, bool copy) {
    size_t kept = 0;
    size_t excess = holes->len - STRETCHES_MAX;
    for (size_t i = 0; i < holes->len; i++) {
        struct cf_core_extent hole = holes->items[i];
        if (i > 0 && excess > 0 && gap_before(holes, i) <= limit) {
            excess--;
            if (copy)
                holes->items[kept - 1].end = hole.end;
            continue;
        }
        holes->items[kept++] = hole;
    }
    holes->len = kept;
}

static int copy_data(const struct cf_core *core, struct cf_core_extent data, struct cf_err *err) {
    while (data.start < data.end) {
        ssize_t got = pread(core->fd, core->map + data.start, (size_t)(data.end - data.start),
                            (off_t)data.start);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be read at offset %llu",
                                core->name, (unsigned long long)data.start);
        if (got == 0)
            return cf_err_set(err, CF_EINPUT,
                              "%s: became shorter while it was read: there is nothing at offset "
                              "%llu any more",
                              core->name, (unsigned long long)data.start);
        data.start += (uint64_t)got;
    }
    return CF_OK;
}

/* Index of the first extent that ends above `offset`. */
static size_t extent_above(const struct cf_core *core, uint64_t offset) {
    size_t low = 0;
    size_t high = core->extents.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->extents.items[middle].end > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int fill(struct cf_core *core, struct cf_core_extent stretch, struct cf_err *err) {
    size_t bytes = (size_t)(stretch.end - stretch.start);
    bool has_data = false;
    int status = CF_OK;
    for (size_t i = extent_above(core, stretch.start); status == CF_OK && i < core->extents.len;
         i++) {
        struct cf_core_extent data = core->extents.items[i];
        if (data.start >= stretch.end)
            break;
        if (!has_data && mprotect(core->map + stretch.start, bytes, PROT_READ | PROT_WRITE) != 0)
            return cf_err_nomem(err, bytes, "parts of the core between holes");
        has_data = true;
        data.start = data.start > stretch.start ? data.start : stretch.start;
        data.end = data.end < stretch.end ? data.end : stretch.end;
        status = copy_data(core, data, err);
    }
    if (!has_data || status != CF_OK)
        return status;
    struct cf_core_extent *copied = cf_array_push(&core->copies);
    if (copied == NULL || mprotect(core->map + stretch.start, bytes, PROT_READ) != 0)
        return cf_err_nomem(err, sizeof *copied, "parts of the core between holes");
    *copied = stretch;
    return CF_OK;
}

static int cover(struct cf_core *core, const struct stretches *holes, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < holes->len; i++) {
        struct cf_core_extent hole = holes->items[i];
        if (mmap(core->map + hole.start, (size_t)(hole.end - hole.start), PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
            return cf_err_errno(err, CF_ENOMEM, errno, "%s: a hole of the file cannot be mapped",
                                core->name);
        status = fill(core, hole, err);
    }
    return status;
}

/* Reading a hole of a file on these leaves the file as it is. */
static bool keeps_holes(int fd) {
    static const unsigned long types[] = {
        0xef53,     /* ext2, ext3, ext4 */
        0x58465342, /* xfs */
        0x9123683e, /* btrfs */
        0xf2f52010, /* f2fs */
        0x2fc12fc1, /* zfs */
        0x6969,     /* nfs */
    };
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if ((unsigned long)fs.f_type == types[i])
            return true;
    }
    return false;
}

static int cover_holes(struct cf_core *core, struct cf_err *err) {
    struct stretches holes = {0};
    uint64_t limit;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    int status = CF_OK;
    if (!collect_holes(core, &holes, page) || !find_limit(&holes, &limit))
        status = cf_err_nomem(err, (holes.len + 1) * sizeof *holes.items, "the file's holes");
    if (status == CF_OK && limit > 0)
        reduce(&holes, limit, !keeps_holes(core->fd));
    if (status == CF_OK)
        status = cover(core, &holes, err);
    cf_array_free(&holes);
    return status;
}

/* The last bytes of the file that are data. */
uint64_t cf_core_end_of_data(const struct cf_core *core) {
    return core->extents.len == 0 ? 0 : core->extents.items[core->extents.len - 1].end;
}

size_t cf_core_nr_extents(const struct cf_core *core) {
    return core->extents.len;
}

const struct cf_core_extent *cf_core_extent(const struct cf_core *core, size_t index) {
    return &core->extents.items[index];
}

/* ---- mapping ---- */

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
        status = find_extents(core, err);
    if (status == CF_OK)
        status = cover_holes(core, err);
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

int cf_core_read_status(const struct cf_core *core, struct cf_err *err) {
    uint64_t offset;
    struct stat st;
    if (cf_bus_guard_was_hit(core->guard, &offset))
        return cf_bus_guard_error(core->fd, core->name, offset, err);
    if (fstat(core->fd, &st) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be examined", core->name);
    if ((uint64_t)st.st_size < core->map_bytes)
        return cf_bus_guard_error(core->fd, core->name, (uint64_t)st.st_size, err);
    if ((uint64_t)st.st_size != core->map_bytes || st.st_mtim.tv_sec != core->modified.tv_sec ||
        st.st_mtim.tv_nsec != core->modified.tv_nsec)
        return cf_err_set(err, CF_EINPUT,
                          "%s: was changed while it was read (%llu bytes at first, %llu now); is "
                          "it still being written or copied?",
                          core->name, (unsigned long long)core->map_bytes,
                          (unsigned long long)st.st_size);
    return CF_OK;
}
