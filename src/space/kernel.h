/*
 * The kernel's own figures (smaps, cgroup) beside ours: what of ours can be compared with each, and
 * what explains the difference. A whole smaps also tells of each mapping how much of it
 * was resident.
 *
 * The kernel counted at another moment than the core was written; only whoever saved the files
 * knows how far apart the two are.
 */
#ifndef CF_SPACE_KERNEL_H
#define CF_SPACE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/budget.h"
#include "space/claims.h"
#include "base/array.h"
#include "corefrag.h"
#include "input/cgroup.h"
#include "input/smaps.h"
#include "mem/mem.h"

struct cf_kernel_row {
    const char *source; /* "smaps", "smaps_rollup", "cgroup", "cgroup v1"; static */
    const char *name;   /* the kernel's own; static */
    bool has_bytes;     /* false: a limit that is not set */
    bool is_count;      /* `bytes` are events */
    uint64_t bytes;
    bool has_ours; /* there is a figure of ours to compare with */
    uint64_t ours_bytes;
    /* Written pages of files' private mappings, which ours lacks: within bounds, or as smaps tells
     * them; then what the kernel still counts more or less. Each only where it is known. */
    struct cf_resident_bytes copied_least, copied_most, copied, more, less;
    struct cf_resident_bytes room; /* below a limit */
};

/* One mapping of smaps and what it is used for, by most of its bytes. */
struct cf_kernel_mapping {
    uint64_t start;
    uint64_t end;
    enum cf_claim_kind kind;
    const char *label; /* borrowed from the claims */
    bool in_core;      /* the core has some of it */
    bool is_anonymous; /* some of it counts so */
    uint64_t rss_bytes;
    uint64_t anonymous_bytes;
    uint64_t swap_bytes;
    uint64_t shared_bytes; /* of rss_bytes, mapped by other processes too */
    bool is_dontdump; /* MADV_DONTDUMP */
    struct cf_resident_bytes ours; /* of the parts that count as anonymous */
};

struct cf_kernel {
    CF_ARRAY(struct cf_kernel_row) rows;
    CF_ARRAY(struct cf_kernel_mapping) mappings;
};

/* Whether a smaps is of this process; a sum alone always may be. False: none of its mappings begins
 * where one of the core's does. */
bool cf_kernel_fits(const struct cf_smaps *smaps, const struct cf_mem *mem);

/* The same for a smaps that nobody named, and that may be any process's: half of the pieces of
 * memory that the core has must stand in its mappings; of a sum, both ends must be the core's. */
bool cf_kernel_covers(const struct cf_smaps *smaps, const struct cf_mem *mem);

/* Adds what `smaps` says (or `cgroup`). CF_ENOMEM only. `kernel` starts all zero and ends with
 * cf_kernel_fini(). */
int cf_kernel_add_smaps(struct cf_kernel *kernel, const struct cf_smaps *smaps,
                        const struct cf_mem *mem, const struct cf_claims *claims,
                        const struct cf_budget *budget, struct cf_err *err);
int cf_kernel_add_cgroup(struct cf_kernel *kernel, const struct cf_cgroup *cgroup,
                         const struct cf_budget *budget, struct cf_err *err);
void cf_kernel_fini(struct cf_kernel *kernel);

#endif
