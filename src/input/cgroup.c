/*
 * Version 1 and 2 of the memory controller name the same figures differently; two tables say which
 * file and which row of memory.stat is which. What they do not name is an event counter, or newer
 * than this, and is passed over.
 */
#include "input/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/texts.h"
#include "input/lines.h"

#define REMEDY "pass /sys/fs/cgroup/GROUP, or a copy of its memory.stat, memory.max, memory.current"
#define V1_UNLIMITED (1ull << 62) /* LONG_MAX rounded down to a page */

/* Files that hold one number. `v1` stands for version 1's name. */
static const struct {
    const char *file;
    const char *v1;
    const char *name;
    bool is_limit;
} singles[] = {
    {"memory.current", "memory.usage_in_bytes", "memory.current", false},
    {"memory.peak", "memory.max_usage_in_bytes", "memory.peak", false},
    {"memory.max", "memory.limit_in_bytes", "memory.max", true},
    {"memory.high", "memory.soft_limit_in_bytes", "memory.high", true},
    {"memory.swap.current", NULL, "memory.swap.current", false},
    {"memory.swap.max", NULL, "memory.swap.max", true},
    {NULL, "memory.kmem.usage_in_bytes", "kernel", false},
    {NULL, "memory.kmem.tcp.usage_in_bytes", "sock", false},
};

/* Rows of memory.stat that are sizes. Version 1 has them for the group alone and, as total_...,
 * with the groups below it: as version 2 counts. */
static const struct {
    const char *name;
    const char *v1;
} rows[] = {
    {"anon", "total_rss"},
    {"file", "total_cache"},
    {"kernel", NULL},
    {"kernel_stack", NULL},
    {"pagetables", NULL},
    {"percpu", NULL},
    {"sock", NULL},
    {"vmalloc", NULL},
    {"shmem", "total_shmem"},
    {"zswap", NULL},
    {"file_mapped", "total_mapped_file"},
    {"file_dirty", "total_dirty"},
    {"file_writeback", "total_writeback"},
    {"swapcached", NULL},
    {"anon_thp", "total_rss_huge"},
    {"slab_reclaimable", NULL},
    {"slab_unreclaimable", NULL},
    {"slab", NULL},
    {"swap", "total_swap"},
    {"oom_kill", "oom_kill"}, /* of memory.events, memory.oom_control */
};

enum { NR_SINGLES = sizeof singles / sizeof singles[0], NR_ROWS = sizeof rows / sizeof rows[0] };

static int add(struct cf_cgroup *cgroup, const struct cf_cgroup_figure *figure,
               struct cf_err *err) {
    if (cf_cgroup_find(cgroup, figure->name) != NULL)
        return CF_OK;
    struct cf_cgroup_figure *slot = cf_array_push(&cgroup->figures);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "the figures of the cgroup");
    *slot = *figure;
    return CF_OK;
}

/* "max", a number, and nothing behind it. */
static bool parse_amount(const char *text, struct cf_cgroup_figure *figure) {
    if (figure->is_limit && strcmp(text, "max") == 0) {
        figure->is_unlimited = true;
        return true;
    }
    if (!cf_digits(&text, 10, &figure->bytes) || *text != '\0')
        return false;
    if (figure->is_limit && figure->bytes >= V1_UNLIMITED) {
        figure->is_unlimited = true;
        figure->bytes = 0;
    }
    return true;
}

static int read_single(struct cf_cgroup *cgroup, size_t which, struct cf_lines *lines,
                       struct cf_err *err) {
    struct cf_cgroup_figure figure = {.name = singles[which].name,
                                      .is_limit = singles[which].is_limit};
    bool more;
    int status = cf_lines_next(lines, &more, err);
    if (status != CF_OK)
        return status;
    if (!more || !parse_amount(lines->text, &figure))
        return cf_lines_fault(lines, err, "'%.60s' is no number of bytes; " REMEDY, lines->text);
    return add(cgroup, &figure, err);
}

/* "anon 1234"; a name that is not kept is a counter, or newer than this table. */
static int take_row(struct cf_cgroup *cgroup, const struct cf_lines *lines, struct cf_err *err) {
    const char *space = strchr(lines->text, ' ');
    size_t length = space == NULL ? 0 : (size_t)(space - lines->text);
    struct cf_cgroup_figure figure = {0};
    if (length == 0 || strspn(lines->text, "abcdefghijklmnopqrstuvwxyz_0123456789") != length ||
        !parse_amount(space + 1, &figure))
        return cf_lines_fault(lines, err, "'%.60s' is no row of memory.stat; " REMEDY,
                              lines->text);
    if (strncmp(lines->text, "anon ", 5) == 0)
        cgroup->version = 2;
    else if (strncmp(lines->text, "cache ", 6) == 0)
        cgroup->version = 1;
    for (size_t i = 0; i < NR_ROWS; i++) {
        bool is_v2 = strlen(rows[i].name) == length && !strncmp(rows[i].name, lines->text, length);
        bool is_v1 = rows[i].v1 != NULL && strlen(rows[i].v1) == length &&
                     !strncmp(rows[i].v1, lines->text, length);
        /* Version 1 names some of its own rows as version 2 does, without the groups below. */
        if (is_v1 || (is_v2 && cgroup->version != 1)) {
            figure.name = rows[i].name;
            figure.is_count = strcmp(figure.name, "oom_kill") == 0;
            return add(cgroup, &figure, err);
        }
    }
    return CF_OK;
}

static int read_stat(struct cf_cgroup *cgroup, struct cf_lines *lines, struct cf_err *err) {
    int status = CF_OK;
    bool more = true;
    while (status == CF_OK && more) {
        status = cf_lines_next(lines, &more, err);
        if (status == CF_OK && more)
            status = take_row(cgroup, lines, err);
    }
    if (status == CF_OK && lines->number == 1)
        return cf_lines_fault(lines, err, "the file is empty; " REMEDY);
    return status;
}

static const char *const tables[] = {"memory.stat", "memory.events", "memory.oom_control"};
enum { NR_TABLES = sizeof tables / sizeof tables[0] };

/* The end of `name` that is `file`: all of it, or behind a dot. NULL: it has none. */
static const char *end_named(const char *name, const char *file) {
    size_t bytes = strlen(name), length = file == NULL ? 0 : strlen(file);
    if (length == 0 || bytes < length || strcmp(name + bytes - length, file) != 0)
        return NULL;
    const char *at = name + bytes - length;
    return at == name || at[-1] == '.' ? at : NULL;
}

/* Which of the files with one number it is, by its name; -1: none. */
static int which_single(const char *name) {
    for (int i = 0; i < NR_SINGLES; i++)
        if (end_named(name, singles[i].file) != NULL || end_named(name, singles[i].v1) != NULL)
            return i;
    return -1;
}

const char *cf_cgroup_file(size_t index) {
    if (index < NR_TABLES)
        return tables[index];
    for (size_t i = 0, left = index - NR_TABLES; i < NR_SINGLES; i++) {
        const char *const names[] = {singles[i].file, singles[i].v1};
        for (size_t j = 0; j < 2; j++)
            if (names[j] != NULL && left-- == 0)
                return names[j];
    }
    return NULL;
}

const char *cf_cgroup_file_name(const char *name) {
    const char *at = NULL, *file;
    for (size_t i = 0; at == NULL && (file = cf_cgroup_file(i)) != NULL; i++)
        at = end_named(name, file);
    return at;
}

static int read_lines(struct cf_cgroup *cgroup, struct cf_lines *lines, struct cf_err *err) {
    const char *name = cf_base_name(lines->path);
    int which = which_single(name);
    if (which < 0)
        return read_stat(cgroup, lines, err);
    if (cgroup->version == 0 && strstr(name, "in_bytes") != NULL)
        cgroup->version = 1;
    return read_single(cgroup, (size_t)which, lines, err);
}

static int read_file(struct cf_cgroup *cgroup, const char *path, struct cf_err *err) {
    CF_CLEANUP(cf_lines_close) struct cf_lines lines;
    int status = cf_lines_open(&lines, path, err);
    return status == CF_OK ? read_lines(cgroup, &lines, err) : status;
}

int cf_cgroup_read_fd(struct cf_cgroup *cgroup, int fd, const char *name, struct cf_err *err) {
    CF_CLEANUP(cf_lines_close) struct cf_lines lines;
    int status = cf_lines_open_fd(&lines, fd, name, err);
    return status == CF_OK ? read_lines(cgroup, &lines, err) : status;
}

static int read_if_there(struct cf_cgroup *cgroup, const char *folder, const char *name,
                         struct cf_err *err) {
    CF_CLEANUP_FREE char *path = NULL;
    struct stat about;
    if (name == NULL)
        return CF_OK;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        return cf_err_nomem(err, strlen(folder), "a path");
    }
    return stat(path, &about) == 0 ? read_file(cgroup, path, err) : CF_OK;
}

static int read_folder(struct cf_cgroup *cgroup, const char *folder, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < NR_TABLES && status == CF_OK; i++)
        status = read_if_there(cgroup, folder, tables[i], err);
    for (int i = 0; i < NR_SINGLES && status == CF_OK; i++) {
        status = read_if_there(cgroup, folder, singles[i].file, err);
        if (status == CF_OK)
            status = read_if_there(cgroup, folder, singles[i].v1, err);
    }
    if (status == CF_OK && cgroup->figures.len == 0)
        return cf_err_set(err, CF_EINPUT, "%s holds no file of the memory controller; " REMEDY,
                          folder);
    return status;
}

int cf_cgroup_read(struct cf_cgroup *cgroup, const char *path, struct cf_err *err) {
    struct stat about;
    if (stat(path, &about) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s cannot be opened", path);
    if (S_ISDIR(about.st_mode))
        return read_folder(cgroup, path, err);
    int status = read_file(cgroup, path, err);
    if (status == CF_OK && cgroup->figures.len == 0)
        return cf_err_set(err, CF_EINPUT, "%s has no size of the memory controller in it; " REMEDY,
                          path);
    return status;
}

void cf_cgroup_fini(struct cf_cgroup *cgroup) {
    cf_array_free(&cgroup->figures);
}

const struct cf_cgroup_figure *cf_cgroup_find(const struct cf_cgroup *cgroup, const char *name) {
    for (size_t i = 0; i < cgroup->figures.len; i++)
        if (strcmp(cgroup->figures.items[i].name, name) == 0)
            return &cgroup->figures.items[i];
    return NULL;
}
