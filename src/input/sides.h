/*
 * Side files that were saved with a core and found without being asked for: smaps, smaps_rollup and
 * the files of a cgroup's memory controller, in the core's folder or in its archive.
 *
 * A side file is named as the kernel names it (smaps, memory.max), or so behind a dot: behind the
 * process id, or behind the core's name, whole or up to one of its dots ("core.smaps" and
 * "core.17.smaps" of core.17.zst). Files of a cgroup may also stand in a folder "cgroup" beside the
 * core. What has the core's name comes before what has its process id, and that before what has
 * neither; of a kind only files of one such name, from one folder, are taken.
 *
 * Only regular files of a bounded size are taken, and no link is followed: whoever analyzes a core
 * named that core alone.
 */
#ifndef CF_INPUT_SIDES_H
#define CF_INPUT_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/tempfile.h"
#include "corefrag.h"

enum cf_side_kind { CF_SIDE_SMAPS, CF_SIDE_ROLLUP, CF_SIDE_CGROUP, CF_NR_SIDE_KINDS };

struct cf_side {
    enum cf_side_kind kind;
    unsigned rank; /* 0: it has the core's name, 1: the process id, 2: neither */
    char *name;    /* its path, or its name in the archive; owned */
    int fd;
};

/* Sorted by kind, rank, and name. All zero is empty. */
struct cf_sides {
    CF_ARRAY(struct cf_side) items;
    uint64_t bytes; /* of those out of an archive: they take up room in $TMPDIR */
};

/* Of one file beside a core, and of all out of one archive. */
enum { CF_SIDE_BYTES_MAX = 256 << 20, CF_SIDES_MAX = 256 };

/* Whether a path's last part is named like a side file of any core. */
bool cf_side_is_named(const char *path);

/* How much larger a file out of an archive may be. */
uint64_t cf_sides_room(const struct cf_sides *sides);
/* Takes what came out of an archive; CF_ENOMEM, with `file` untouched. More than CF_SIDES_MAX are
 * dropped. */
int cf_sides_take(struct cf_sides *sides, const char *name, struct cf_tempfile *file,
                  struct cf_err *err);

/* Of what came out of an archive, keeps what goes with the core of that name and `pid`. */
void cf_sides_choose(struct cf_sides *sides, const char *core_name, uint32_t pid);

/* Looks beside the core at `core_path`. CF_ENOMEM only: what cannot be opened is not there. */
int cf_sides_look(struct cf_sides *sides, const char *core_path, uint32_t pid, struct cf_err *err);

void cf_sides_fini(struct cf_sides *sides);

#endif
