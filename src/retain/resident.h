/*
 * Residency as the analysis sees it: for an address, whether its page was in memory when the core
 * was written, and how far that answer holds. Three answers, never two: a page of which the core
 * says nothing (not dumped, cut off, a file mapping, no source at all) is unknown, and a figure
 * that rests on unknown pages alone is absent, not 0.
 *
 * A plain value: two words that borrow their source. Tests put a table behind it.
 */
#ifndef CF_RETAIN_RESIDENT_H
#define CF_RETAIN_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"

enum cf_resident { CF_RESIDENT_UNKNOWN, CF_RESIDENT_NO, CF_RESIDENT_YES };

struct cf_residency {
    uint64_t page_bytes; /* a power of two */
    const void *source;  /* borrowed */
    /* The state of the page at `addr`; `*until` (above `addr`) is where that may change. */
    enum cf_resident (*at)(const void *source, uint64_t addr, uint64_t *until);
};

/* Bytes known to be resident; `known` is false where no page of the range says anything. */
struct cf_resident_bytes {
    uint64_t bytes;
    bool known;
};

/* Borrows `mem` for as long as the value is used. */
struct cf_residency cf_residency_of_mem(const struct cf_mem *mem);

/* Resident bytes of [start, end), pages clipped to the range; as cf_mem_resident_bytes(). An
 * empty range is known and 0. */
struct cf_resident_bytes cf_residency_count(const struct cf_residency *residency, uint64_t start,
                                            uint64_t end);

#endif
