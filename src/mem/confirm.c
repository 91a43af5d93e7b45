/*
 * When a smaps makes residency exact. In a kernel's core without trusted holes the pages with
 * content are in memory, and those full of zeros are taken for absent, of which some may have been
 * in memory all the same. So in each mapping the kernel's count is at least ours, and where it is
 * not one page more there was no such page: the two sets are equal, not only their sizes.
 *
 * That holds under conditions, and each is asked for. A page in swap is content in the core and not
 * in Rss, so that it could make up for a page of zeros: nothing may be swapped out. Both must be of
 * one moment: any mapping that is not the same, or whose count differs, shows that they are not, or
 * that a page of zeros was in memory, and which of the two it is nobody can tell. A process that
 * went on between the two and ended with as many pages in each of its mappings is not found out.
 */
#include <stddef.h>

#include "mem/mem_private.h"

static bool has_all(const struct cf_smaps *smaps) {
    const uint32_t needed = 1u << CF_SMAPS_RSS | 1u << CF_SMAPS_ANONYMOUS | 1u << CF_SMAPS_SWAP;
    for (size_t i = 0; i < smaps->rows.len; i++)
        if ((smaps->rows.items[i].known & needed) != needed)
            return false;
    return !smaps->is_rollup && smaps->rows.len > 0;
}

/* The segment that holds `addr` is one mapping of smaps, from end to end. */
static const struct cf_smaps_mapping *same_mapping(const struct cf_mem *mem,
                                                   const struct cf_smaps *smaps,
                                                   const struct cf_region *region) {
    const struct cf_segment *segment = cf_core_segment(mem->core, region->segment);
    const struct cf_smaps_mapping *row = cf_smaps_find(smaps, segment->vaddr);
    bool is_same = row != NULL && row->start == segment->vaddr &&
                   row->end - row->start == segment->mem_bytes;
    return is_same ? row : NULL;
}

static const char *compare_regions(const struct cf_mem *mem, const struct cf_smaps *smaps) {
    for (size_t i = 0; i < mem->regions.len; i++) {
        const struct cf_region *region = &mem->regions.items[i];
        uint64_t ours = 0;
        if (region->kind == CF_REGION_UNKNOWN)
            return "the core does not tell anonymous memory from files";
        if (!cf_mem_region_is_known(region))
            continue;
        const struct cf_smaps_mapping *row = same_mapping(mem, smaps, region);
        if (row == NULL)
            return "its mappings are not those of the core";
        if (!cf_mem_resident_bytes(mem, row->start, row->end, &ours))
            return "nothing is known of a mapping";
        if (row->bytes[CF_SMAPS_RSS] != ours)
            return "it counts other pages than the core shows";
    }
    return NULL;
}

/* What had content by the kernel's count is there, unless the process left it out. */
static bool core_has_all(const struct cf_mem *mem, const struct cf_smaps *smaps) {
    for (size_t i = 0; i < smaps->rows.len; i++) {
        const struct cf_smaps_mapping *row = &smaps->rows.items[i];
        const struct cf_region *region = cf_mem_find(mem, row->start);
        bool has_content = !row->is_shared && row->bytes[CF_SMAPS_ANONYMOUS] > 0;
        if (has_content && !row->is_dontdump &&
            (region == NULL || same_mapping(mem, smaps, region) != row))
            return false;
    }
    return true;
}

const char *cf_mem_confirm(struct cf_mem *mem, const struct cf_smaps *smaps) {
    if (mem->exact)
        return NULL;
    if (mem->source != CF_RESIDENCY_ZERO_PAGES)
        return "nothing in this core says which pages were in memory";
    if (cf_core_producer(mem->core) != CF_PRODUCER_KERNEL)
        return "the core is not the kernel's, which stores every page with content";
    if (!cf_core_complete(mem->core))
        return "the core is not complete";
    if (!has_all(smaps))
        return "it lacks the mappings, or figures of some";
    if (smaps->sum.bytes[CF_SMAPS_SWAP] > 0)
        return "pages were swapped out, which the core shows like those in memory";
    if (!core_has_all(mem, smaps))
        return "its mappings are not those of the core";
    const char *why = compare_regions(mem, smaps);
    if (why != NULL)
        return why;
    mem->source = CF_RESIDENCY_SMAPS;
    mem->exact = true;
    return NULL;
}
