/*
 * Anonymous memory that nobody has claimed yet, as pieces in the order of addresses: private, no
 * file behind it, none of the kernel's own pages; modules' .bss is claimed by then. What finders of
 * runtimes and allocators look through, and all that a guess of theirs may take.
 */
#ifndef CF_SPACE_UNCLAIMED_H
#define CF_SPACE_UNCLAIMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/claims.h"
#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_piece {
    uint64_t start;
    uint64_t end;
    uint32_t flags; /* PF_R, PF_W, PF_X; none: address space only */
};

/* A walk; fill it with cf_unclaimed_from(). Borrows both for as long as it is used. */
struct cf_unclaimed {
    const struct cf_mem *mem;
    const struct cf_claims *claims; /* sealed */
    size_t region;
    size_t claim;
    uint64_t at;
};

/* Begins with the first piece that ends above `addr`. */
struct cf_unclaimed cf_unclaimed_from(const struct cf_mem *mem, const struct cf_claims *claims,
                                      uint64_t addr);
bool cf_unclaimed_next(struct cf_unclaimed *walk, struct cf_piece *out);

/* Pieces without a gap between them: what one reservation looks like. */
struct cf_run {
    uint64_t start;
    uint64_t end;
    uint64_t usable_bytes;  /* with any right */
    uint64_t reserve_bytes; /* with none */
    uint64_t code_bytes;    /* executable */
};

struct cf_runs {
    CF_ARRAY(struct cf_run) rows;
};

/* All runs; with `across_files`, mapped files between two pieces join them (and count nothing).
 * `runs` starts all zero and ends with cf_runs_fini(). CF_ENOMEM only. */
int cf_runs_find(struct cf_runs *runs, const struct cf_mem *mem, const struct cf_claims *claims,
                 bool across_files, struct cf_err *err);
void cf_runs_fini(struct cf_runs *runs);

/* Claims in `out` the unclaimed pieces of [start, end). CF_ENOMEM only. */
int cf_unclaimed_take(const struct cf_mem *mem, const struct cf_claims *claims, uint64_t start,
                      uint64_t end, const struct cf_claimant *who, struct cf_claims *out,
                      struct cf_err *err);

/* Claims the rest of a reservation whose used part ends at `end`: the unclaimed memory without
 * rights there, if there is some. CF_ENOMEM only. */
int cf_unclaimed_take_reserve(const struct cf_mem *mem, const struct cf_claims *claims,
                              uint64_t end, const struct cf_claimant *who,
                              struct cf_claims *out, struct cf_err *err);

#endif
