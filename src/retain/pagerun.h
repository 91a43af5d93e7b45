/*
 * Runs of like pages, for maps of a heap: neighbouring pages of one class and one residency
 * become one row. Filled span by span from cf_pages_sweep(), in address order.
 */
#ifndef CF_RETAIN_PAGERUN_H
#define CF_RETAIN_PAGERUN_H

#include <stddef.h>
#include <stdint.h>

#include "retain/pages.h"
#include "base/array.h"
#include "corefrag.h"

struct cf_page_run {
    uint64_t start; /* page-aligned */
    uint64_t pages;
    uint64_t live_bytes;
    uint32_t heap_id;
    uint8_t page_class; /* enum cf_page_class */
    uint8_t resident;   /* enum cf_resident */
};

/* All zero is empty; ends with cf_array_free(). */
struct cf_page_runs {
    CF_ARRAY(struct cf_page_run) runs;
    uint64_t page_bytes;
};

int cf_page_runs_add(struct cf_page_runs *runs, const struct cf_page_span *span,
                     struct cf_err *err);

#endif
