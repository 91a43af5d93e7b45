#include "analysis/scan.h"

enum { PIECE_BYTES = 65536 };

/* The end of what cannot be read at `addr`. */
static uint64_t unreadable_until(const struct cf_mem *mem, uint64_t addr, uint64_t end) {
    size_t index = cf_mem_lower_bound(mem, addr);
    if (index == cf_mem_nr_regions(mem))
        return end;
    const struct cf_region *region = cf_mem_region(mem, index);
    uint64_t next = region->start > addr ? region->start : region->end;
    return next < end ? next : end;
}

bool cf_scan_next(struct cf_scan *scan, const unsigned char **bytes, size_t *nr_words) {
    unsigned word = cf_mem_word_bytes(scan->mem);
    uint64_t addr = (scan->addr + word - 1) & ~(uint64_t)(word - 1);
    while (addr < scan->end && scan->end - addr >= word) {
        uint64_t avail;
        *bytes = cf_mem_span(scan->mem, addr, &avail);
        if (*bytes == NULL) {
            uint64_t next = unreadable_until(scan->mem, addr, scan->end);
            scan->unreadable_bytes += next - addr;
            addr = (next + word - 1) & ~(uint64_t)(word - 1);
            continue;
        }
        avail = avail < scan->end - addr ? avail : scan->end - addr;
        avail = avail < PIECE_BYTES ? avail : PIECE_BYTES;
        *nr_words = (size_t)(avail / word);
        scan->addr = addr + (avail > word ? avail : word);
        if (*nr_words > 0)
            return true;
        addr = scan->addr;
    }
    scan->addr = scan->end;
    return false;
}
