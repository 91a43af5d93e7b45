#include "retain/pagerun.h"

#include "base/err.h"

int cf_page_runs_add(struct cf_page_runs *runs, const struct cf_page_span *span,
                     struct cf_err *err) {
    enum cf_page_class page_class = cf_page_span_class(span);
    struct cf_page_run *last =
        runs->runs.len > 0 ? &runs->runs.items[runs->runs.len - 1] : NULL;
    if (last == NULL || last->heap_id != span->heap->id || last->page_class != page_class ||
        last->resident != span->resident ||
        last->start + last->pages * runs->page_bytes != span->start) {
        last = cf_array_push(&runs->runs);
        if (last == NULL)
            return cf_err_nomem(err, sizeof *last, "a run of pages");
        *last = (struct cf_page_run){.start = span->start, .heap_id = span->heap->id,
                                     .page_class = (uint8_t)page_class,
                                     .resident = (uint8_t)span->resident};
    }
    last->pages += span->pages;
    last->live_bytes += span->parts[CF_PART_LIVE];
    return CF_OK;
}
