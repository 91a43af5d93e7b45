/*
 * The whole address space by what it is used for: a row for each kind and label, whose bytes sum
 * to all that the core's segments map, exactly. What no claim covers falls to its mapping's own
 * nature: module, file, shared memory, anonymous; the largest anonymous mappings stand alone,
 * named by their neighbours.
 *
 * Resident bytes are the core's (mem.h); not known for file mappings and shared memory.
 */
#ifndef CF_ANALYSIS_BUDGET_H
#define CF_ANALYSIS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/claims.h"
#include "analysis/residency.h"
#include "analysis/stacks.h"
#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/heap.h"

struct cf_budget_row {
    enum cf_claim_kind kind;
    char label[CF_CLAIM_LABEL_BYTES];
    bool is_anonymous; /* what the kernel's Anonymous counts */
    uint64_t mappings; /* pieces of mappings */
    uint64_t mapped_bytes;
    struct cf_resident_bytes resident;
};

struct cf_budget {
    CF_ARRAY(struct cf_budget_row) rows; /* by kind, then the largest first */
    uint64_t mapped_bytes;               /* of the core; equals the rows' sum */
    uint64_t anonymous_resident_bytes;   /* sum of the anonymous rows' known ones */
};

/* malloc's own memory, and the stacks. */
int cf_budget_claim_malloc(struct cf_claims *claims, const struct cf_ptmalloc *pt,
                           struct cf_err *err);
int cf_budget_claim_stacks(struct cf_claims *claims, const struct cf_stacks *stacks,
                           struct cf_err *err);

/* Divides the address space by `claims` (sealed). `budget` starts all zero. CF_ENOMEM only. */
int cf_budget_make(struct cf_budget *budget, const struct cf_mem *mem,
                   const struct cf_claims *claims, struct cf_err *err);
void cf_budget_fini(struct cf_budget *budget);

#endif
