/*
 * /proc/PID/smaps or smaps_rollup, saved beside a core: what the kernel itself counted, mapping
 * by mapping or in one sum. A text file from somewhere: read line by line, every line must be one
 * that the kernel writes, and a figure that a kernel does not have is absent, not 0.
 *
 * Figures are bytes (the file has kB, which are KiB).
 */
#ifndef CF_INPUT_SMAPS_H
#define CF_INPUT_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"

/* The figures that are kept; the names are the file's own. */
enum cf_smaps_figure {
    CF_SMAPS_RSS,
    CF_SMAPS_PSS,
    CF_SMAPS_SHARED_CLEAN,
    CF_SMAPS_SHARED_DIRTY,
    CF_SMAPS_ANONYMOUS,
    CF_SMAPS_LAZY_FREE,
    CF_SMAPS_ANON_HUGE,
    CF_SMAPS_SHMEM_HUGE,
    CF_SMAPS_SHARED_HUGETLB,
    CF_SMAPS_PRIVATE_HUGETLB,
    CF_SMAPS_SWAP,
    CF_SMAPS_LOCKED,
    CF_NR_SMAPS_FIGURES,
};

const char *cf_smaps_figure_name(enum cf_smaps_figure figure); /* "Rss" ...; static */

struct cf_smaps_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t bytes[CF_NR_SMAPS_FIGURES];
    uint32_t known; /* a bit for each figure */
    bool is_shared;   /* MAP_SHARED */
    bool is_dontdump; /* VmFlags has dd: MADV_DONTDUMP, no core has it */
};

struct cf_smaps {
    bool is_rollup;                         /* the sum only: one row */
    CF_ARRAY(struct cf_smaps_mapping) rows; /* sorted by address, not overlapping */
    struct cf_smaps_mapping sum;            /* of all rows, saturating */
};

/* The mapping that holds `addr`, or NULL. */
const struct cf_smaps_mapping *cf_smaps_find(const struct cf_smaps *smaps, uint64_t addr);

/*
 * Reads the file at `path`. `smaps` starts all zero and ends with cf_smaps_fini(), also after a
 * failure. CF_EINPUT: it cannot be read or is something else (the text names file and line, and
 * how to get the right one); CF_ENOMEM.
 */
int cf_smaps_read(struct cf_smaps *smaps, const char *path, struct cf_err *err);
/* The same of an open file; `name` is for messages. */
int cf_smaps_read_fd(struct cf_smaps *smaps, int fd, const char *name, struct cf_err *err);
void cf_smaps_fini(struct cf_smaps *smaps);

#endif
