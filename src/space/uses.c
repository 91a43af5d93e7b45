/*
 * Regions and claims walked together. A private mapping of a file has an anon_vma, and is dumped
 * whole, once one of its pages was written (vma_dump_size() in fs/coredump.c): may_be_copied()
 * stands on that.
 */
#include "space/uses.h"

#include <elf.h>

#include "sym/bss.h"

#define VSYSCALL 0xffffffffff600000u

static enum cf_claim_kind nature(const struct cf_uses *walk, size_t index) {
    const struct cf_region *region = cf_mem_region(walk->mem, index);
    if ((walk->vdso >= region->start && walk->vdso < region->end) || region->start >= VSYSCALL)
        return CF_CLAIM_KERNEL;
    switch (region->kind) {
    case CF_REGION_FILE:
        if (!cf_region_is_elf(walk->mem, index))
            return CF_CLAIM_FILE;
        return region->flags & PF_W ? CF_CLAIM_MODULE_DATA : CF_CLAIM_MODULE;
    case CF_REGION_SHARED:
        return CF_CLAIM_SHARED;
    case CF_REGION_UNKNOWN:
        return CF_CLAIM_UNATTRIBUTED;
    default:
        break;
    }
    if (region->file >= 0)
        return CF_CLAIM_HUGE; /* "/anon_hugepage (deleted)" */
    return CF_CLAIM_ANONYMOUS;
}

/* A runtime's heap can be shared memory (ZGC) or a file's (an archive of classes). */
static bool counts_as_anonymous(const struct cf_region *region, enum cf_claim_kind kind) {
    switch (kind) {
    case CF_CLAIM_MODULE_DATA:
    case CF_CLAIM_MODULE:
    case CF_CLAIM_FILE:
    case CF_CLAIM_SHARED:
    case CF_CLAIM_KERNEL:
    case CF_CLAIM_UNPLACED:
    case CF_CLAIM_HUGE: /* hugetlbfs is accounted apart */
        return false;
    default:
        return region->kind == CF_REGION_ANONYMOUS || region->kind == CF_REGION_UNKNOWN;
    }
}

static bool is_writable_file(const struct cf_region *region) {
    return region->kind == CF_REGION_FILE && (region->flags & PF_W) != 0;
}

/*
 * The kernel dumps a private file mapping whole once one of its pages was written (it then has an
 * anon_vma; vma_dump_size()). Relocated constants (RELRO) are such, though they cannot be written
 * any more: they stand right below the writable data of their file, and are not its first page,
 * which is dumped for the header's sake. Whether a mapping is shared
 * the core does not say; shared ones are left out under the default coredump_filter.
 */
static bool may_be_copied(const struct cf_mem *mem, size_t index) {
    const struct cf_region *region = cf_mem_region(mem, index);
    if (region->kind != CF_REGION_FILE || region->data_bytes + region->cut_bytes == 0)
        return false;
    if (is_writable_file(region))
        return true;
    bool is_header = cf_core_file(cf_mem_core(mem), (size_t)region->file)->offset_bytes == 0;
    if ((region->flags & PF_X) != 0 || is_header || index + 1 >= cf_mem_nr_regions(mem))
        return false;
    const struct cf_region *above = cf_mem_region(mem, index + 1);
    return above->start == region->end && is_writable_file(above) &&
           cf_region_is_elf(mem, index) && cf_region_is_elf(mem, index + 1);
}

struct cf_uses cf_uses_from(const struct cf_mem *mem, const struct cf_claims *claims,
                            uint64_t addr) {
    struct cf_uses walk = {
        .mem = mem,
        .claims = claims,
        .region = cf_mem_lower_bound(mem, addr),
        .claim = cf_claims_above(claims, addr),
        .at = addr,
    };
    (void)cf_core_auxv(cf_mem_core(mem), AT_SYSINFO_EHDR, &walk.vdso);
    return walk;
}

bool cf_uses_next(struct cf_uses *walk, struct cf_use *out) {
    size_t nr_regions = cf_mem_nr_regions(walk->mem);
    while (walk->region < nr_regions && cf_mem_region(walk->mem, walk->region)->end <= walk->at)
        walk->region++;
    if (walk->region == nr_regions)
        return false;
    const struct cf_region *region = cf_mem_region(walk->mem, walk->region);
    if (walk->at < region->start)
        walk->at = region->start;
    while (walk->claim < walk->claims->rows.len &&
           walk->claims->rows.items[walk->claim].end <= walk->at)
        walk->claim++;
    const struct cf_claim *claim = walk->claim < walk->claims->rows.len
                                       ? &walk->claims->rows.items[walk->claim]
                                       : NULL;
    uint64_t end = region->end;
    if (claim != NULL && claim->start > walk->at) {
        end = claim->start < end ? claim->start : end;
        claim = NULL;
    } else if (claim != NULL && claim->end < end) {
        end = claim->end;
    }
    enum cf_claim_kind kind = claim != NULL ? claim->kind : nature(walk, walk->region);
    *out = (struct cf_use){
        .start = walk->at,
        .end = end,
        .region = walk->region,
        .kind = kind,
        .label = claim != NULL ? claim->label : "",
        .runtime = claim != NULL ? claim->runtime : 0,
        .area = claim != NULL ? claim->area : CF_AREA_NONE,
        .is_anonymous = counts_as_anonymous(region, kind),
        .is_copied = may_be_copied(walk->mem, walk->region),
    };
    walk->at = end;
    return true;
}
