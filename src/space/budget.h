/*
 * The whole address space by what it is used for: a row for each kind and label, whose bytes sum
 * to all that the core's segments map, exactly (uses.h). The largest anonymous mappings stand
 * alone, named by their neighbours.
 *
 * Resident bytes are the core's (mem.h), which does not know those of file mappings and shared
 * memory; with a smaps what the core leaves open is the kernel's count. Pages of
 * private file mappings that the process wrote count as Anonymous for the kernel: a core does not
 * tell which those are, only which mappings have some.
 */
#ifndef CF_SPACE_BUDGET_H
#define CF_SPACE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/claims.h"
#include "retain/resident.h"
#include "libc/stacks.h"
#include "base/array.h"
#include "corefrag.h"
#include "input/smaps.h"
#include "mem/mem.h"
#include "ptmalloc/heap.h"

struct cf_budget_row {
    enum cf_claim_kind kind;
    char label[CF_CLAIM_LABEL_BYTES];
    uint8_t runtime; /* as in struct cf_claimant */
    enum cf_claim_area area;
    bool is_anonymous; /* what the kernel's Anonymous counts */
    uint64_t mappings; /* pieces of mappings */
    uint64_t mapped_bytes;
    struct cf_resident_bytes resident;
    uint64_t copied_max_bytes; /* of a file's private pages, those that may have been written */
};

struct cf_budget {
    CF_ARRAY(struct cf_budget_row) rows; /* by kind, then the largest first */
    uint64_t mapped_bytes;               /* of the core; equals the rows' sum */
    uint64_t anonymous_resident_bytes;   /* sum of the anonymous rows' known ones */
    uint64_t rss_bytes;                  /* of all rows but huge pages, what is known */
    uint64_t copied_max_bytes;           /* sum of the rows' */
    uint64_t nr_copied;                  /* mappings that these are of, each with a page at least */
};

/* malloc's own memory, and the stacks. CF_ENOMEM only. */
int cf_budget_claim_malloc(struct cf_claims *claims, const struct cf_ptmalloc *pt,
                           struct cf_err *err);
int cf_budget_claim_stacks(struct cf_claims *claims, const struct cf_stacks *stacks,
                           struct cf_err *err);

/* The .bss of modules (sym/bss.h): after malloc and the stacks, and before whoever looks through
 * anonymous memory. Where its end is not known the label says that it is a guess. */
int cf_budget_claim_bss(struct cf_claims *claims, const struct cf_mem *mem, struct cf_err *err);

/*
 * Divides the address space by `claims` (sealed). `budget` starts all zero. With `smaps` (NULL:
 * none), which has to be of this process, what it counts beyond the core is a row of its own
 * without address space, CF_CLAIM_UNPLACED: pages of zeros, and mappings that the core lacks.
 * CF_ENOMEM only.
 */
int cf_budget_make(struct cf_budget *budget, const struct cf_mem *mem,
                   const struct cf_claims *claims, const struct cf_smaps *smaps,
                   struct cf_err *err);
void cf_budget_fini(struct cf_budget *budget);

#endif
