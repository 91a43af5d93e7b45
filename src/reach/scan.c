/*
 * A range is cut three times: where memory is known to have been absent, where the core has
 * nothing, and where its bytes do not follow each other in the file. What is left comes in pieces
 * small enough that the caller can give pages back behind them.
 */
#include "reach/scan.h"

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

/*
 * The first run of [addr, end) that is worth reading: pages that are known to be absent from
 * memory read as zeros, which point nowhere, and looking at them costs more than knowing. Past
 * the run's end nothing is said yet. An empty run at `end`: nothing is.
 */
static void find_run(const struct cf_mem *mem, uint64_t addr, uint64_t end, uint64_t *run_start,
                 uint64_t *run_end) {
    *run_start = addr;
    *run_end = end;
    const struct cf_region *region = cf_mem_find(mem, addr);
    if (region == NULL || region->data_bytes == 0 ||
        cf_mem_residency_source(mem) == CF_RESIDENCY_NONE ||
        (region->kind != CF_REGION_ANONYMOUS && region->kind != CF_REGION_UNKNOWN))
        return;
    uint64_t limit = region->end < end ? region->end : end;
    uint64_t start, stop;
    if (!cf_mem_next_resident(mem, addr, &start, &stop) || start >= limit) {
        *run_start = *run_end = limit;
        return;
    }
    *run_start = start > addr ? start : addr;
    *run_end = stop < limit ? stop : limit;
}

static uint64_t align_word(uint64_t addr, unsigned word) {
    return (addr + word - 1) & ~(uint64_t)(word - 1);
}

bool cf_scan_next(struct cf_scan *scan, const unsigned char **bytes, size_t *nr_words) {
    unsigned word = cf_mem_word_bytes(scan->mem);
    uint64_t addr = align_word(scan->addr, word);
    while (addr < scan->end && scan->end - addr >= word) {
        uint64_t run_end, avail;
        find_run(scan->mem, addr, scan->end, &addr, &run_end);
        if (addr == run_end)
            continue;
        *bytes = cf_mem_span(scan->mem, addr, &avail);
        if (*bytes == NULL) {
            uint64_t next = unreadable_until(scan->mem, addr, scan->end);
            scan->unreadable_bytes += next - addr;
            addr = align_word(next, word);
            continue;
        }
        avail = avail < run_end - addr ? avail : run_end - addr;
        avail = avail < PIECE_BYTES ? avail : PIECE_BYTES;
        *nr_words = (size_t)(avail / word);
        scan->addr = align_word(addr + avail, word);
        if (*nr_words > 0)
            return true;
        addr = scan->addr;
    }
    scan->addr = scan->end;
    return false;
}
