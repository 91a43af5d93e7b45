/*
 * What the kernel itself counted of a process: its smaps and the files of its cgroup, as the
 * options name them or as they were found with the core (input/sides.h). What is named must be
 * right, or the call fails; what was only found, and is damaged or of another process, is not used,
 * and a note says why. All zero is nothing.
 */
#ifndef CF_LIB_COUNTED_H
#define CF_LIB_COUNTED_H

#include <stdbool.h>

#include "base/array.h"
#include "input/cgroup.h"
#include "input/input.h"
#include "input/smaps.h"
#include "mem/mem.h"
#include "space/budget.h"

/* One side file, used or not. */
struct cf_side_note {
    const char *kind; /* smaps, smaps_rollup, cgroup; static */
    char *name;       /* owned; of a cgroup's files "PREFIXmemory.*" */
    bool found;       /* false: an option names it */
    bool in_archive;
    char *refused; /* why it is not used, owned; NULL: it is */
};

struct cf_counted {
    struct cf_smaps smaps;
    struct cf_cgroup cgroup;
    CF_ARRAY(struct cf_side_note) notes;
};

/* Reads what the options name. CF_EINPUT, CF_ENOMEM. */
int cf_counted_open(struct cf_counted *counted, const struct cf_options *options,
                    struct cf_err *err);
/* Looks for what they do not name, once the core is open; the output at `db_path` may be none of
 * them (CF_EUSAGE). CF_ENOMEM. */
int cf_counted_find(const struct cf_context *ctx, struct cf_counted *counted,
                    struct cf_input *input, const struct cf_mem *mem, const char *db_path,
                    struct cf_err *err);
/* Lets go of a cgroup that was found and is another's: all its processes never had what this one
 * alone has in memory. CF_ENOMEM. */
int cf_counted_judge_cgroup(struct cf_counted *counted, const struct cf_budget *budget,
                            struct cf_err *err);
void cf_counted_fini(struct cf_counted *counted);

#endif
