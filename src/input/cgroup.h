/*
 * Figures of the memory controller of a cgroup, version 1 or 2, saved beside a core: one file
 * (memory.stat, memory.max, memory.current, ...), or a folder with some of them. They count all
 * processes of the cgroup, and what the kernel holds for them.
 *
 * The names are those of version 2, whatever the file's: `anon` is version 1's rss, `file` its
 * cache, memory.max its memory.limit_in_bytes. Sizes are kept, and of events the kills for memory.
 */
#ifndef CF_INPUT_CGROUP_H
#define CF_INPUT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"

struct cf_cgroup_figure {
    const char *name; /* "anon", "sock", "memory.max" ...; static */
    bool is_limit;
    bool is_unlimited; /* a limit that is not set; `bytes` is 0 */
    bool is_count;     /* `bytes` are events: oom_kill */
    uint64_t bytes;
};

struct cf_cgroup {
    int version; /* 1 or 2; 0: the files do not tell */
    CF_ARRAY(struct cf_cgroup_figure) figures; /* in the order of the manual, each once */
};

/*
 * Reads `path`, a file or a folder. `cgroup` starts all zero and ends with cf_cgroup_fini(), also
 * after a failure. CF_EINPUT: nothing there is a file of the memory controller, or one of them is
 * damaged (the text names file and line, and what to pass); CF_ENOMEM.
 */
int cf_cgroup_read(struct cf_cgroup *cgroup, const char *path, struct cf_err *err);
/* Adds one file that is open: the end of `name` says which of them it is, as in
 * cf_cgroup_file_name(). What stands in `cgroup` already is kept. */
int cf_cgroup_read_fd(struct cf_cgroup *cgroup, int fd, const char *name, struct cf_err *err);

/* The names of the controller's files that are read, of both versions; NULL behind the last. */
const char *cf_cgroup_file(size_t index);
/* The part of a base name that is the kernel's name of such a file ("memory.max"), all of it or
 * behind a dot; NULL: it is none. Borrowed from `name`. */
const char *cf_cgroup_file_name(const char *name);
void cf_cgroup_fini(struct cf_cgroup *cgroup);

const struct cf_cgroup_figure *cf_cgroup_find(const struct cf_cgroup *cgroup, const char *name);

#endif
