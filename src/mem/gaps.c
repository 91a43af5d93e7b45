/*
 * Whether a createdump left out the pages that were not resident. A full dump that does so covers
 * files in part: every module's last mapping (its data, which relocation wrote to) has some pages,
 * and some mapping has some but not all. A full dump of an older createdump has all or nothing of
 * a mapping; a heap or mini dump has no data of most modules. Only the first is believed.
 */
#include <string.h>

#include "base/checked.h"
#include "mem/mem_private.h"

enum { MODULE_MAPPINGS = 4, NEEDED_MODULES = 3 };

static uint64_t covered_bytes(const struct cf_mem *mem, const struct mem_file_range *range) {
    uint64_t total = 0;
    for (size_t i = cf_mem_lower_bound(mem, range->start); i < mem->regions.len; i++) {
        const struct cf_region *region = &mem->regions.items[i];
        if (region->start >= range->end)
            break;
        total +=
            cf_overlap(region->start, region->start + region->data_bytes, range->start, range->end);
    }
    return total;
}

static bool same_file(const struct cf_mem *mem, size_t a, size_t b) {
    const struct mem_file_range *ranges = mem->files.items;
    return strcmp(cf_core_file(mem->core, (size_t)ranges[a].file)->path,
                  cf_core_file(mem->core, (size_t)ranges[b].file)->path) == 0;
}

bool cf_mem_has_gaps(const struct cf_mem *mem) {
    if (cf_core_producer(mem->core) != CF_PRODUCER_CREATEDUMP)
        return false;
    size_t partly = 0;
    size_t modules = 0;
    size_t mappings = 0;
    for (size_t i = 0; i < mem->files.len; i++) {
        const struct mem_file_range *range = &mem->files.items[i];
        uint64_t covered = covered_bytes(mem, range);
        partly += covered > 0 && covered < range->end - range->start;
        mappings++;
        if (i + 1 < mem->files.len && same_file(mem, i, i + 1))
            continue;
        bool is_module = mappings >= MODULE_MAPPINGS;
        if (is_module && covered == 0)
            return false;
        modules += is_module;
        mappings = 0;
    }
    return partly > 0 && modules >= NEEDED_MODULES;
}
