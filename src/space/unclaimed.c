/* Regions and claims are both sorted, so a walk goes over both at once and never looks back. */
#include "space/unclaimed.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/texts.h"

enum {
    VSYSCALL_PAGES = 0xa00000, /* below the end of the address space */
};

static bool is_anonymous(const struct cf_mem *mem, size_t index) {
    const struct cf_region *region = cf_mem_region(mem, index);
    return region->kind == CF_REGION_ANONYMOUS && region->file < 0 &&
           region->start < UINT64_MAX - VSYSCALL_PAGES;
}

struct cf_unclaimed cf_unclaimed_from(const struct cf_mem *mem, const struct cf_claims *claims,
                                      uint64_t addr) {
    return (struct cf_unclaimed){
        .mem = mem,
        .claims = claims,
        .region = cf_mem_lower_bound(mem, addr),
        .claim = cf_claims_above(claims, addr),
        .at = addr,
    };
}

static const struct cf_claim *next_claim(struct cf_unclaimed *walk) {
    while (walk->claim < walk->claims->rows.len &&
           walk->claims->rows.items[walk->claim].end <= walk->at)
        walk->claim++;
    return walk->claim < walk->claims->rows.len ? &walk->claims->rows.items[walk->claim] : NULL;
}

bool cf_unclaimed_next(struct cf_unclaimed *walk, struct cf_piece *out) {
    while (walk->region < cf_mem_nr_regions(walk->mem)) {
        const struct cf_region *region = cf_mem_region(walk->mem, walk->region);
        if (walk->at < region->start)
            walk->at = region->start;
        if (walk->at >= region->end || !is_anonymous(walk->mem, walk->region)) {
            walk->region++;
            continue;
        }
        const struct cf_claim *claim = next_claim(walk);
        if (claim != NULL && claim->start <= walk->at) {
            walk->at = claim->end;
            continue;
        }
        uint64_t end = claim != NULL && claim->start < region->end ? claim->start : region->end;
        *out = (struct cf_piece){.start = walk->at, .end = end, .flags = region->flags};
        walk->at = end;
        return true;
    }
    return false;
}

/* [start, end) is mapped without a gap, and none of it is claimed but as a module's .bss. */
static bool only_files_between(const struct cf_mem *mem, const struct cf_claims *claims,
                               uint64_t start, uint64_t end) {
    for (size_t i = cf_claims_above(claims, start);
         i < claims->rows.len && claims->rows.items[i].start < end; i++)
        if (claims->rows.items[i].kind != CF_CLAIM_MODULE_BSS)
            return false;
    for (size_t i = cf_mem_lower_bound(mem, start); start < end; i++) {
        if (i >= cf_mem_nr_regions(mem) || cf_mem_region(mem, i)->start > start)
            return false;
        start = cf_mem_region(mem, i)->end;
    }
    return true;
}

static void add_piece(struct cf_run *run, const struct cf_piece *piece) {
    uint64_t bytes = piece->end - piece->start;
    run->end = piece->end;
    if (piece->flags == 0)
        run->reserve_bytes += bytes;
    else
        run->usable_bytes += bytes;
    if (piece->flags & PF_X)
        run->code_bytes += bytes;
}

int cf_runs_find(struct cf_runs *runs, const struct cf_mem *mem, const struct cf_claims *claims,
                 bool across_files, struct cf_err *err) {
    struct cf_unclaimed walk = cf_unclaimed_from(mem, claims, 0);
    struct cf_piece piece;
    struct cf_run *run = NULL;
    while (cf_unclaimed_next(&walk, &piece)) {
        bool joins = run != NULL && (run->end == piece.start ||
                                     (across_files && only_files_between(mem, claims, run->end,
                                                                         piece.start)));
        if (!joins) {
            run = cf_array_push(&runs->rows);
            if (run == NULL)
                return cf_err_nomem(err, sizeof *run, "runs of anonymous memory");
            run->start = piece.start;
        }
        add_piece(run, &piece);
    }
    return CF_OK;
}

void cf_runs_fini(struct cf_runs *runs) {
    cf_array_free(&runs->rows);
}

int cf_unclaimed_take(const struct cf_mem *mem, const struct cf_claims *claims, uint64_t start,
                      uint64_t end, const struct cf_claimant *who, struct cf_claims *out,
                      struct cf_err *err) {
    struct cf_unclaimed walk = cf_unclaimed_from(mem, claims, start);
    struct cf_piece piece;
    while (cf_unclaimed_next(&walk, &piece) && piece.start < end) {
        uint64_t until = piece.end < end ? piece.end : end;
        int status = cf_claims_add_for(out, who, piece.start, until, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

int cf_unclaimed_take_reserve(const struct cf_mem *mem, const struct cf_claims *claims,
                              uint64_t end, const struct cf_claimant *who,
                              struct cf_claims *out, struct cf_err *err) {
    struct cf_unclaimed walk = cf_unclaimed_from(mem, claims, end);
    struct cf_piece piece;
    if (!cf_unclaimed_next(&walk, &piece) || piece.start != end || piece.flags != 0)
        return CF_OK;
    return cf_claims_add_for(out, who, end, piece.end, err);
}
