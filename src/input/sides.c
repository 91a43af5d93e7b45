/*
 * In an archive every file that may be a side file of some core is kept while it goes by, since the
 * core's own name and process id are known only at the end. A folder may hold a million files: the
 * few names that count are tried one by one instead of reading it.
 */
#include "input/sides.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/texts.h"
#include "input/cgroup.h"

enum { RANK_CORE, RANK_PID, RANK_BARE, RANK_NONE, NAME_MAX_BYTES = 1024, DOTS_MAX = 4 };

static bool ends_behind_dot(const char *base, const char *name, size_t *prefix) {
    size_t bytes = strlen(base), length = strlen(name);
    if (bytes < length || strcmp(base + bytes - length, name) != 0)
        return false;
    *prefix = bytes - length;
    return *prefix == 0 || base[*prefix - 1] == '.';
}

/* `*prefix`: what stands before the kernel's name, its dot included. */
static bool kind_of(const char *base, enum cf_side_kind *kind, size_t *prefix) {
    const char *cgroup = cf_cgroup_file_name(base);
    *kind = CF_SIDE_SMAPS;
    if (ends_behind_dot(base, "smaps", prefix))
        return true;
    *kind = CF_SIDE_ROLLUP;
    if (ends_behind_dot(base, "smaps_rollup", prefix))
        return true;
    *kind = CF_SIDE_CGROUP;
    *prefix = cgroup == NULL ? 0 : (size_t)(cgroup - base);
    return cgroup != NULL;
}

bool cf_side_is_named(const char *path) {
    enum cf_side_kind kind;
    size_t prefix;
    return kind_of(cf_base_name(path), &kind, &prefix);
}

/* Whose name stands before the kernel's: the dot behind it is the prefix's last byte. */
static unsigned rank_of(const char *base, size_t prefix, const char *core, uint32_t pid) {
    char digits[16];
    size_t length = prefix - 1;
    (void)snprintf(digits, sizeof digits, "%u", pid);
    if (prefix == 0)
        return RANK_BARE;
    if (length <= strlen(core) && memcmp(base, core, length) == 0 &&
        (core[length] == '.' || core[length] == '\0'))
        return RANK_CORE;
    return pid != 0 && strlen(digits) == length && memcmp(base, digits, length) == 0 ? RANK_PID
                                                                                     : RANK_NONE;
}

static int by_kind_and_rank(const void *left, const void *right) {
    const struct cf_side *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void drop(struct cf_side *side) {
    free(side->name);
    (void)close(side->fd);
}

static void sort(struct cf_sides *sides) {
    if (sides->items.len > 1)
        qsort(sides->items.items, sides->items.len, sizeof *sides->items.items, by_kind_and_rank);
}

uint64_t cf_sides_room(const struct cf_sides *sides) {
    return sides->bytes < CF_SIDE_BYTES_MAX ? CF_SIDE_BYTES_MAX - sides->bytes : 0;
}

int cf_sides_take(struct cf_sides *sides, const char *name, struct cf_tempfile *file,
                  struct cf_err *err) {
    enum cf_side_kind kind;
    size_t prefix;
    if (sides->items.len == CF_SIDES_MAX || !kind_of(cf_base_name(name), &kind, &prefix))
        return CF_OK;
    char *copy = strdup(name);
    struct cf_side *side = copy == NULL ? NULL : cf_array_push(&sides->items);
    if (side == NULL) {
        free(copy);
        return cf_err_nomem(err, strlen(name) + 1, "a side file's name");
    }
    *side = (struct cf_side){.kind = kind, .rank = RANK_NONE, .name = copy, .fd = file->fd};
    sides->bytes += file->end;
    file->fd = -1;
    return CF_OK;
}

void cf_sides_choose(struct cf_sides *sides, const char *core_name, uint32_t pid) {
    size_t kept = 0;
    for (size_t i = 0; i < sides->items.len; i++) {
        struct cf_side side = sides->items.items[i];
        const char *base = cf_base_name(side.name);
        size_t prefix = 0;
        (void)kind_of(base, &side.kind, &prefix);
        side.rank = rank_of(base, prefix, cf_base_name(core_name), pid);
        if (side.rank == RANK_NONE)
            drop(&side);
        else
            sides->items.items[kept++] = side;
    }
    sides->items.len = kept;
    sort(sides);
}

/* ---- beside the core ---- */

struct looking {
    struct cf_sides *sides;
    int folder;
    const char *path; /* of the folder, ends in a slash or is empty */
    unsigned rank;
    char prefix[NAME_MAX_BYTES]; /* ends in a dot or is empty */
};

/* Opening a pipe without O_NONBLOCK would wait for somebody to write into it. */
static int open_side(int folder, const char *base) {
    struct stat st;
    int fd = openat(folder, base, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
                    st.st_size > CF_SIDE_BYTES_MAX)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int try_name(struct looking *looking, enum cf_side_kind kind, const char *name,
                    struct cf_err *err) {
    char base[2 * NAME_MAX_BYTES];
    (void)snprintf(base, sizeof base, "%s%s", looking->prefix, name);
    int fd = open_side(looking->folder, base);
    if (fd < 0)
        return CF_OK;
    struct cf_side *side = cf_array_push(&looking->sides->items);
    if (side == NULL) {
        (void)close(fd);
        return cf_err_nomem(err, sizeof *side, "the side files");
    }
    *side = (struct cf_side){.kind = kind, .rank = looking->rank, .fd = fd};
    if (asprintf(&side->name, "%s%s", looking->path, base) < 0) {
        side->name = NULL;
        return cf_err_nomem(err, strlen(base), "a side file's name");
    }
    return CF_OK;
}

static int try_cgroup(struct looking *looking, struct cf_err *err) {
    int status = CF_OK;
    const char *name;
    for (size_t i = 0; status == CF_OK && (name = cf_cgroup_file(i)) != NULL; i++)
        status = try_name(looking, CF_SIDE_CGROUP, name, err);
    return status;
}

static int try_all(struct looking *looking, struct cf_err *err) {
    int status = try_name(looking, CF_SIDE_SMAPS, "smaps", err);
    if (status == CF_OK)
        status = try_name(looking, CF_SIDE_ROLLUP, "smaps_rollup", err);
    return status == CF_OK ? try_cgroup(looking, err) : status;
}

/* The core's name, whole and up to its last few dots. */
static int try_core_names(struct looking *looking, const char *core, struct cf_err *err) {
    size_t length = strlen(core);
    int status = CF_OK;
    looking->rank = RANK_CORE;
    for (int i = 0; i <= DOTS_MAX && length > 0 && status == CF_OK; i++) {
        if (length + 2 <= sizeof looking->prefix) {
            (void)snprintf(looking->prefix, sizeof looking->prefix, "%.*s.", (int)length, core);
            status = try_all(looking, err);
        }
        const char *dot = memrchr(core, '.', length);
        length = dot == NULL ? 0 : (size_t)(dot - core);
    }
    return status;
}

static int look_into_cgroup(struct looking *looking, struct cf_err *err) {
    CF_CLEANUP_FREE char *path = NULL;
    CF_CLEANUP_CLOSE int folder =
        openat(looking->folder, "cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0)
        return CF_OK;
    if (asprintf(&path, "%scgroup/", looking->path) < 0) {
        path = NULL;
        return cf_err_nomem(err, strlen(looking->path), "a folder's name");
    }
    struct looking inside = {.sides = looking->sides, .folder = folder, .path = path,
                             .rank = RANK_BARE};
    return try_cgroup(&inside, err);
}

int cf_sides_look(struct cf_sides *sides, const char *core_path, uint32_t pid,
                  struct cf_err *err) {
    const char *core = cf_base_name(core_path);
    CF_CLEANUP_FREE char *path = strndup(core_path, (size_t)(core - core_path));
    if (path == NULL)
        return cf_err_nomem(err, strlen(core_path), "a folder's name");
    CF_CLEANUP_CLOSE int folder =
        open(*path == '\0' ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return CF_OK;
    struct looking looking = {.sides = sides, .folder = folder, .path = path};
    int status = try_core_names(&looking, core, err);
    looking.rank = RANK_PID;
    (void)snprintf(looking.prefix, sizeof looking.prefix, "%u.", pid);
    if (status == CF_OK && pid != 0)
        status = try_all(&looking, err);
    looking.rank = RANK_BARE;
    looking.prefix[0] = '\0';
    if (status == CF_OK)
        status = try_all(&looking, err);
    if (status == CF_OK)
        status = look_into_cgroup(&looking, err);
    sort(sides);
    return status;
}

void cf_sides_fini(struct cf_sides *sides) {
    for (size_t i = 0; i < sides->items.len; i++)
        drop(&sides->items.items[i]);
    cf_array_free(&sides->items);
}
