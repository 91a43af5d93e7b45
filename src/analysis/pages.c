#include "analysis/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"

enum cf_page_class cf_page_span_class(const struct cf_page_span *span) {
    const uint64_t *parts = span->parts;
    uint64_t dead = parts[CF_PART_RELEASABLE] + parts[CF_PART_TOP] + parts[CF_PART_CACHED] +
                    parts[CF_PART_FREE];
    if (parts[CF_PART_LIVE] > 0)
        return dead > 0 ? CF_PAGES_MIXED : CF_PAGES_LIVE;
    if (dead == 0)
        return CF_PAGES_OVERHEAD;
    if (dead == parts[CF_PART_RELEASABLE] && parts[CF_PART_OVERHEAD] == 0)
        return CF_PAGES_RELEASABLE;
    return dead == parts[CF_PART_TOP] ? CF_PAGES_TOP : CF_PAGES_DEAD;
}

const char *cf_page_class_name(enum cf_page_class page_class) {
    static const char *const names[CF_NR_PAGE_CLASSES] = {
        "live", "mixed", "dead", "releasable", "top", "overhead",
    };
    return page_class < CF_NR_PAGE_CLASSES ? names[page_class] : "unknown";
}

uint64_t cf_page_span_pinned(const struct cf_page_span *span) {
    if (span->resident != CF_RESIDENT_YES || span->parts[CF_PART_LIVE] == 0)
        return 0;
    return span->parts[CF_PART_TOP] + span->parts[CF_PART_CACHED] + span->parts[CF_PART_FREE];
}

/* A live chunk that touches the page at hand. */
struct toucher {
    uint64_t addr;
    uint64_t bytes;
    uint64_t pinned;
};

struct sweep {
    const struct cf_chunkmap *map;
    const struct cf_residency *residency;
    const struct cf_trim *trim;
    const struct cf_page_visitor *visitor;
    uint64_t page_bytes;
    const struct cf_heap *heap;
    struct cf_page_span page; /* being filled; parts are zero on a page's first byte */
    uint64_t at;              /* the next byte to account */
    size_t range;             /* the first range of trim that ends above `at` */
    enum cf_resident resident;
    uint64_t resident_until;  /* `resident` holds for [at, here) */
    CF_ARRAY(struct toucher) touchers;
};

static enum cf_resident resident_at(struct sweep *s, uint64_t addr) {
    if (addr >= s->resident_until)
        s->resident = s->residency->at(s->residency->source, addr, &s->resident_until);
    return s->resident;
}

static int visit_span(struct sweep *s, const struct cf_page_span *span, struct cf_err *err) {
    return s->visitor->span == NULL ? CF_OK : s->visitor->span(s->visitor->user, span, err);
}

static void share_pinned(struct sweep *s, uint64_t pinned) {
    uint64_t nr = s->touchers.len;
    uint64_t share = pinned / nr, odd = pinned % nr;
    for (size_t i = 0; i < nr; i++)
        s->touchers.items[i].pinned += share + (i < odd ? 1 : 0);
}

/* Hands over the touchers that end at or before `end`; they are sorted, so that only the last
 * one can go on. */
static int settle_touchers(struct sweep *s, uint64_t end, struct cf_err *err) {
    size_t kept = 0;
    for (size_t i = 0; i < s->touchers.len; i++) {
        const struct toucher *toucher = &s->touchers.items[i];
        if (toucher->addr + toucher->bytes > end) {
            s->touchers.items[kept++] = *toucher;
            continue;
        }
        if (toucher->pinned == 0 || s->visitor->pin == NULL)
            continue;
        struct cf_chunk chunk = {.addr = toucher->addr, .bytes = toucher->bytes,
                                 .state = CF_CHUNK_LIVE, .heap_id = s->heap->id};
        int rc = s->visitor->pin(s->visitor->user, s->heap, &chunk, toucher->pinned, err);
        if (rc != CF_OK)
            return rc;
    }
    s->touchers.len = kept;
    return CF_OK;
}

/* The page at hand is complete up to s->at. */
static int finish_page(struct sweep *s, struct cf_err *err) {
    struct cf_page_span *page = &s->page;
    page->heap = s->heap;
    page->start = cf_align_down(s->at - 1, s->page_bytes);
    page->pages = 1;
    page->resident =
        resident_at(s, page->start < s->heap->start ? s->heap->start : page->start);
    int rc = visit_span(s, page, err);
    if (rc != CF_OK)
        return rc;
    uint64_t pinned = cf_page_span_pinned(page);
    if (pinned > 0 && s->touchers.len > 0)
        share_pinned(s, pinned);
    memset(page, 0, sizeof *page);
    return settle_touchers(s, s->at, err);
}

/* Bytes of `part` up to `end`, which is on the page at hand. */
static int fill_page(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    s->page.parts[part] += end - s->at;
    s->at = end;
    return (end & (s->page_bytes - 1)) == 0 ? finish_page(s, err) : CF_OK;
}

/* Whole pages of one part, from a page's start; a span for each stretch of like residency. */
static int fill_pages(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    while (s->at < end) {
        struct cf_page_span span = {.heap = s->heap, .start = s->at};
        span.resident = resident_at(s, s->at);
        uint64_t stop = end;
        if (s->resident_until < end)
            stop = cf_align_down(s->resident_until, s->page_bytes);
        if (stop <= s->at)
            stop = s->at + s->page_bytes;
        span.pages = (stop - s->at) / s->page_bytes;
        span.parts[part] = stop - s->at;
        s->at = stop;
        int rc = visit_span(s, &span, err);
        if (rc == CF_OK)
            rc = settle_touchers(s, stop, err);
        if (rc != CF_OK)
            return rc;
    }
    return CF_OK;
}

/* Accounts [s->at, end) as `part`. */
static int fill(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    while (s->at < end) {
        uint64_t page_end = cf_align_down(s->at, s->page_bytes) + s->page_bytes;
        uint64_t stop = cf_align_down(end, s->page_bytes);
        int rc;
        if ((s->at & (s->page_bytes - 1)) == 0 && stop > s->at)
            rc = fill_pages(s, stop, part, err);
        else
            rc = fill_page(s, end < page_end ? end : page_end, part, err);
        if (rc != CF_OK)
            return rc;
    }
    return CF_OK;
}

/* Accounts dead bytes up to `end`: those inside a range of malloc_trim are releasable. */
static int fill_dead(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    while (s->at < end) {
        const struct cf_trim_range *range = NULL;
        while (s->range < s->trim->ranges.len) {
            range = &s->trim->ranges.items[s->range];
            if (range->addr + range->bytes > s->at)
                break;
            range = NULL;
            s->range++;
        }
        bool inside = range != NULL && range->addr <= s->at;
        uint64_t stop = end;
        if (range != NULL) {
            uint64_t turn = inside ? range->addr + range->bytes : range->addr;
            stop = turn < end ? turn : end;
        }
        int rc = fill(s, stop, inside ? CF_PART_RELEASABLE : part, err);
        if (rc != CF_OK)
            return rc;
    }
    return CF_OK;
}

static int fill_live(struct sweep *s, const struct cf_chunk *chunk, struct cf_err *err) {
    struct toucher *toucher = cf_array_push(&s->touchers);
    if (toucher == NULL)
        return cf_err_nomem(err, sizeof *toucher, "the live chunks of a page");
    toucher->addr = chunk->addr;
    toucher->bytes = chunk->bytes;
    return fill(s, chunk->addr + chunk->bytes, CF_PART_LIVE, err);
}

static int fill_chunk(struct sweep *s, const struct cf_chunk *chunk, struct cf_err *err) {
    uint64_t end = chunk->addr + chunk->bytes;
    switch (chunk->state) {
    case CF_CHUNK_LIVE:
        return fill_live(s, chunk, err);
    case CF_CHUNK_FREE:
        return fill_dead(s, end, CF_PART_FREE, err);
    case CF_CHUNK_FAST:
    case CF_CHUNK_TCACHE:
        return fill_dead(s, end, CF_PART_CACHED, err);
    case CF_CHUNK_TOP:
        return fill_dead(s, end, CF_PART_TOP, err);
    default:
        return fill(s, end, CF_PART_OVERHEAD, err);
    }
}

static int sweep_heap(struct sweep *s, const struct cf_heap *heap, struct cf_err *err) {
    s->heap = heap;
    s->at = heap->start;
    s->resident_until = 0;
    s->range = cf_trim_lower_bound(s->trim, heap->start);
    s->touchers.len = 0;
    struct cf_chunk_iter iter;
    struct cf_chunk chunk;
    cf_chunk_iter_init(&iter, s->map, heap, heap->start);
    while (cf_chunk_iter_next(&iter, &chunk)) {
        int rc = fill(s, chunk.addr, CF_PART_OVERHEAD, err);
        if (rc == CF_OK)
            rc = fill_chunk(s, &chunk, err);
        if (rc != CF_OK)
            return rc;
    }
    int rc = fill(s, heap->end, CF_PART_OVERHEAD, err);
    if (rc != CF_OK || heap->start == heap->end || (s->at & (s->page_bytes - 1)) == 0)
        return rc;
    return finish_page(s, err);
}

int cf_pages_sweep(const struct cf_chunkmap *map, const struct cf_residency *residency,
                   const struct cf_trim *trim, const struct cf_page_visitor *visitor,
                   struct cf_err *err) {
    struct sweep s = {.map = map, .residency = residency, .trim = trim, .visitor = visitor,
                      .page_bytes = residency->page_bytes};
    int rc = CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && rc == CF_OK; i++)
        rc = sweep_heap(&s, cf_chunkmap_heap(map, i), err);
    cf_array_free(&s.touchers);
    return rc;
}
