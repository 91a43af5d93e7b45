/*
 * The address space as pieces, each of one mapping and one use: what a claim says of it, or else
 * the mapping's own nature (module, file, shared memory, anonymous ...). The pieces come in the
 * order of addresses and cover every mapped byte once: whatever is summed over them is complete.
 */
#ifndef CF_SPACE_USES_H
#define CF_SPACE_USES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/claims.h"
#include "mem/mem.h"

struct cf_use {
    uint64_t start;
    uint64_t end;
    size_t region;
    enum cf_claim_kind kind;
    const char *label; /* the claim's, or ""; borrowed from the claims */
    uint8_t runtime;   /* the claim's, or 0 */
    enum cf_claim_area area;
    bool is_anonymous; /* the kernel counts its resident pages as Anonymous */
    bool is_copied;    /* private pages of a file that the process wrote: some of its pages count
                          as Anonymous, and the core does not tell which */
};

/* A walk; fill it with cf_uses_from(). Borrows both for as long as it is used. */
struct cf_uses {
    const struct cf_mem *mem;
    const struct cf_claims *claims; /* sealed */
    uint64_t vdso;
    size_t region;
    size_t claim;
    uint64_t at;
};

/* Begins with the piece that holds `addr`, from there on. */
struct cf_uses cf_uses_from(const struct cf_mem *mem, const struct cf_claims *claims,
                            uint64_t addr);
bool cf_uses_next(struct cf_uses *walk, struct cf_use *out);

#endif
