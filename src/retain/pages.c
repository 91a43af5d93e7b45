/*
 * One sweep over the chunks, one page in hand. A chunk that ends inside the page at hand adds to
 * a sum of that page and, if live, a row to its pinners; only a chunk that reaches over the
 * page's end, or to a range of malloc_trim, takes the long way. At the page's end its pinned
 * bytes are shared out (pages.h), and of the pinners only the last can reach into the next page.
 * So a page costs its chunks, and a chunk of many pages the runs of like residency in it.
 */
#include "retain/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "ptmalloc/planes.h"

static enum cf_page_class class_of(const struct cf_page_span *span) {
    const uint64_t *parts = span->parts;
    uint64_t dead = parts[CF_PART_RELEASABLE] + parts[CF_PART_TOP] + parts[CF_PART_TCACHE] +
                    parts[CF_PART_FAST] + parts[CF_PART_FREE];
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
    return span->parts[CF_PART_TOP] + span->parts[CF_PART_TCACHE] + span->parts[CF_PART_FAST] +
           span->parts[CF_PART_FREE];
}

/*
 * Most chunks lie inside one page, so that their way is short: a sum and, if live, a row in
 * `pinners`. Everything else (a page's end, a range of malloc_trim, chunks of many pages) goes
 * through fill().
 */
struct sweep {
    const struct cf_planes *planes;
    const struct cf_residency *residency;
    const struct cf_page_visitor *visitor;
    uint64_t page_bytes;
    const struct cf_heap *heap;
    struct cf_page_span page; /* being filled; parts are zero on a page's first byte */
    uint64_t at;              /* the next byte to account */
    uint64_t page_end;        /* the first page boundary above `at` */
    uint64_t limit;           /* chunks that end below it go the short way */
    const struct cf_trim_range *range; /* the first that ends above `at`; a sentinel ends them */
    const struct cf_trim_range *ranges_end;
    uint64_t joins_from; /* dead bytes from here on merge with the top; UINT64_MAX: none */
    enum cf_resident resident;
    uint64_t resident_until;   /* `resident` holds for [at, here) */
    struct cf_pinner *pinners; /* live chunks that touch the page; only the last can go on */
    size_t nr_pinners;
    bool pinning;              /* some of them have a share */
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
    uint64_t nr = s->nr_pinners;
    uint64_t share = pinned / nr, odd = pinned % nr;
    for (size_t i = 0; i < odd; i++)
        s->pinners[i].pinned_bytes += share + 1;
    for (size_t i = odd; i < nr; i++)
        s->pinners[i].pinned_bytes += share;
    s->pinning = true;
}

/* Hands over the pinners that end at or before `end`: all, or all but the last. */
static int settle_pinners(struct sweep *s, uint64_t end, struct cf_err *err) {
    size_t nr = s->nr_pinners;
    if (nr == 0)
        return CF_OK;
    struct cf_pinner last = s->pinners[nr - 1];
    bool goes_on = last.addr + last.bytes > end;
    nr -= goes_on;
    int status = CF_OK;
    if (nr > 0 && s->pinning && s->visitor->pins != NULL)
        status = s->visitor->pins(s->visitor->user, s->heap, s->pinners, nr, err);
    s->pinners[0] = last;
    s->nr_pinners = goes_on;
    s->pinning = goes_on && last.pinned_bytes > 0;
    return status;
}

/* The page at hand is complete up to s->at. */
static int finish_page(struct sweep *s, struct cf_err *err) {
    struct cf_page_span *page = &s->page;
    page->heap = s->heap;
    page->start = cf_align_down(s->at - 1, s->page_bytes);
    page->pages = 1;
    page->joins_top = s->at > s->joins_from;
    page->resident =
        resident_at(s, page->start < s->heap->start ? s->heap->start : page->start);
    int status = visit_span(s, page, err);
    if (status != CF_OK)
        return status;
    uint64_t pinned = cf_page_span_pinned(page);
    if (pinned > 0 && s->nr_pinners > 0)
        share_pinned(s, pinned);
    s->page_end = page->start + 2 * s->page_bytes;
    memset(page, 0, sizeof *page);
    return settle_pinners(s, s->at, err);
}

/* Whole pages of one part, from a page's start; a span for each stretch of like residency. */
static int fill_pages(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    while (s->at < end) {
        struct cf_page_span span = {
            .heap = s->heap, .start = s->at, .joins_top = s->at >= s->joins_from,
        };
        span.resident = resident_at(s, s->at);
        uint64_t stop = end;
        if (s->resident_until < end)
            stop = cf_align_down(s->resident_until, s->page_bytes);
        if (stop <= s->at)
            stop = s->at + s->page_bytes;
        span.pages = (stop - s->at) / s->page_bytes;
        span.parts[part] = stop - s->at;
        s->at = stop;
        s->page_end = stop + s->page_bytes;
        int status = visit_span(s, &span, err);
        if (status == CF_OK)
            status = settle_pinners(s, stop, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* Accounts [s->at, end) as `part`. */
static int fill(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    while (s->at < end) {
        uint64_t pages_end = cf_align_down(end, s->page_bytes);
        int status = CF_OK;
        if ((s->at & (s->page_bytes - 1)) == 0 && pages_end > s->at) {
            status = fill_pages(s, pages_end, part, err);
        } else {
            uint64_t stop = end < s->page_end ? end : s->page_end;
            s->page.parts[part] += stop - s->at;
            s->at = stop;
            if (stop == s->page_end)
                status = finish_page(s, err);
        }
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* Up to where chunks can go the short way: the page's end, or the next released byte. */
static void set_limit(struct sweep *s) {
    while (s->range < s->ranges_end && s->range->addr + s->range->bytes <= s->at)
        s->range++;
    s->limit = s->page_end;
    if (s->range < s->ranges_end && s->range->addr < s->limit)
        s->limit = s->range->addr;
}

/* Accounts dead bytes up to `end`: those inside a range of malloc_trim are releasable. */
static int fill_dead(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    while (s->at < end) {
        set_limit(s);
        uint64_t turn = UINT64_MAX;
        bool inside = false;
        if (s->range < s->ranges_end) {
            inside = s->range->addr <= s->at;
            turn = inside ? s->range->addr + s->range->bytes : s->range->addr;
        }
        int status = fill(s, turn < end ? turn : end, inside ? CF_PART_RELEASABLE : part, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* Accounts a chunk that reaches over its page's end or may be released in part. */
static int fill_chunk(struct sweep *s, uint64_t end, enum cf_page_part part, struct cf_err *err) {
    int status = part == CF_PART_LIVE || part == CF_PART_OVERHEAD ? fill(s, end, part, err)
                                                                  : fill_dead(s, end, part, err);
    set_limit(s);
    return status;
}

static inline int take_chunk(struct sweep *s, const struct cf_chunk *chunk, struct cf_err *err) {
    static const uint8_t parts[CF_NR_CHUNK_STATES] = {
        [CF_CHUNK_LIVE] = CF_PART_LIVE,    [CF_CHUNK_FREE] = CF_PART_FREE,
        [CF_CHUNK_FAST] = CF_PART_FAST,    [CF_CHUNK_TCACHE] = CF_PART_TCACHE,
        [CF_CHUNK_TOP] = CF_PART_TOP,      [CF_CHUNK_FENCE] = CF_PART_OVERHEAD,
        [CF_CHUNK_GAP] = CF_PART_OVERHEAD, [CF_CHUNK_MMAPPED] = CF_PART_OVERHEAD,
    };
    /* States alternate at random in a fragmented heap: no branch on them here. */
    s->pinners[s->nr_pinners] = (struct cf_pinner){.addr = chunk->addr, .bytes = chunk->bytes};
    s->nr_pinners += chunk->state == CF_CHUNK_LIVE;
    uint64_t end = chunk->addr + chunk->bytes;
    if (end >= s->limit)
        return fill_chunk(s, end, parts[chunk->state], err);
    s->page.parts[parts[chunk->state]] += chunk->bytes;
    s->at = end;
    return CF_OK;
}

static int take_chunks(struct sweep *s, struct cf_err *err) {
    struct cf_planes_walk walk = cf_planes_walk(s->planes, s->heap);
    struct cf_chunk chunk;
    set_limit(s);
    while (cf_planes_walk_next(&walk, &chunk)) {
        int status = CF_OK;
        if (chunk.addr > s->at)
            status = fill_chunk(s, chunk.addr, CF_PART_OVERHEAD, err);
        if (status == CF_OK)
            status = take_chunk(s, &chunk, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static int sweep_heap(struct sweep *s, const struct cf_trim *trim, const struct cf_heap *heap,
                      struct cf_err *err) {
    s->heap = heap;
    s->at = heap->start;
    s->page_end = cf_align_down(heap->start, s->page_bytes) + s->page_bytes;
    s->resident_until = 0;
    s->joins_from = UINT64_MAX;
    if (heap->top != 0 && heap->arena_id < trim->nr_arenas) {
        uint64_t top_start = trim->arenas[heap->arena_id].top_start;
        if (top_start >= heap->start && top_start <= heap->top)
            s->joins_from = top_start;
    }
    s->range = s->ranges_end = trim->ranges.items;
    if (trim->ranges.len > 0) {
        s->range += cf_trim_lower_bound(trim, heap->start);
        s->ranges_end += trim->ranges.len;
    }
    s->nr_pinners = 0;
    s->pinning = false;
    int status = take_chunks(s, err);
    if (status == CF_OK)
        status = fill(s, heap->end, CF_PART_OVERHEAD, err);
    if (status != CF_OK || heap->start == heap->end || (s->at & (s->page_bytes - 1)) == 0)
        return status;
    return finish_page(s, err);
}

int cf_pages_sweep(const struct cf_chunkmap *map, const struct cf_residency *residency,
                   const struct cf_trim *trim, const struct cf_page_visitor *visitor,
                   struct cf_err *err) {
    struct sweep s = {.planes = cf_chunkmap_planes(map), .residency = residency,
                      .visitor = visitor, .page_bytes = residency->page_bytes};
    /* A chunk has a unit at least; one more can reach in from the page before, and one slot is
     * written before it is known whether it counts. */
    size_t most = (size_t)(s.page_bytes / cf_chunkmap_unit_bytes(map)) + 3;
    CF_CLEANUP_FREE struct cf_pinner *pinners = calloc(most, sizeof *pinners);
    if (pinners == NULL)
        return cf_err_nomem(err, most * sizeof *pinners, "the live chunks of a page");
    s.pinners = pinners;
    int status = CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && status == CF_OK; i++)
        status = sweep_heap(&s, trim, cf_chunkmap_heap(map, i), err);
    return status;
}

int cf_page_runs_add(struct cf_page_runs *runs, const struct cf_page_span *span,
                     struct cf_err *err) {
    enum cf_page_class page_class = class_of(span);
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
