/*
 * An answer holds up to the next run of resident pages, the end of the region, or the end of its
 * data, whichever comes first; so a pass asks once for each of these, not for each page.
 */
#include "retain/resident.h"

#include "base/checked.h"

/* Where the part of `region` that holds `addr` ends: its data, what was cut off, or the rest. A
 * page that is data only in part is data. */
static uint64_t part_end(const struct cf_region *region, uint64_t addr, uint64_t page_bytes) {
    uint64_t end;
    if (!cf_add_u64(region->start, region->data_bytes, &end) ||
        !cf_align_up(end, page_bytes, &end) || end > region->end)
        end = region->end;
    if (addr < end)
        return end;
    if (!cf_add_u64(region->start, region->data_bytes, &end) ||
        !cf_add_u64(end, region->cut_bytes, &end) || !cf_align_up(end, page_bytes, &end) ||
        end > region->end || end <= addr)
        return region->end;
    return end;
}

static enum cf_resident mem_at(const void *source, uint64_t addr, uint64_t *until) {
    const struct cf_mem *mem = source;
    uint64_t run_start = UINT64_MAX, run_end = UINT64_MAX;
    bool found = cf_mem_next_resident(mem, addr, &run_start, &run_end);
    if (found && run_start <= addr) {
        *until = run_end;
        return CF_RESIDENT_YES;
    }
    uint64_t limit = found ? run_start : UINT64_MAX;
    const struct cf_region *region = cf_mem_find(mem, addr);
    uint64_t end = UINT64_MAX;
    if (region != NULL)
        end = part_end(region, addr, cf_mem_page_bytes(mem));
    else if (cf_mem_lower_bound(mem, addr) < cf_mem_nr_regions(mem))
        end = cf_mem_region(mem, cf_mem_lower_bound(mem, addr))->start;
    *until = end < limit ? end : limit;
    return cf_mem_page_state(mem, addr) == CF_PAGE_NOT_RESIDENT ? CF_RESIDENT_NO
                                                                : CF_RESIDENT_UNKNOWN;
}

struct cf_residency cf_residency_of_mem(const struct cf_mem *mem) {
    return (struct cf_residency){
        .page_bytes = cf_mem_page_bytes(mem), .source = mem, .at = mem_at};
}

struct cf_resident_bytes cf_residency_count(const struct cf_residency *residency, uint64_t start,
                                            uint64_t end) {
    struct cf_resident_bytes sum = {.known = start >= end};
    while (start < end) {
        uint64_t until;
        enum cf_resident state = residency->at(residency->source, start, &until);
        uint64_t stop = until < end ? until : end;
        if (state == CF_RESIDENT_YES)
            sum.bytes += stop - start;
        if (state != CF_RESIDENT_UNKNOWN)
            sum.known = true;
        start = stop;
    }
    return sum;
}
