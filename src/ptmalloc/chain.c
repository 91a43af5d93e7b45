/*
 * Headers one behind the other: what a chain of chunks may consist of, and how it may end. Sizes
 * are judged as _int_free and sysmalloc keep them (2.17 to 2.44); a chain ends at its arena's
 * top, at its heap's limit, or at fences that sysmalloc wrote when it left a piece: two headers
 * of two words in main arena, in a heap_info one whose size is 0 behind one that may be missing.
 */
#include "ptmalloc/state.h"

#include <stdarg.h>
#include <stdio.h>

#include "ptmalloc/planes.h"

void cf_anomalies_add(struct cf_anomalies *anomalies, const struct cf_anomaly *where,
                      const char *format, ...) {
    anomalies->seen++;
    if (anomalies->rows.len >= CF_ANOMALIES_MAX)
        return;
    struct cf_anomaly *row = cf_array_push(&anomalies->rows);
    if (row == NULL)
        return;
    *row = *where;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(row->detail, sizeof row->detail, format, args);
    va_end(args);
}

void cf_anomalies_join(struct cf_anomalies *anomalies, const struct cf_anomalies *more) {
    for (size_t i = 0; i < more->rows.len; i++)
        cf_anomalies_add(anomalies, &more->rows.items[i], "%s", more->rows.items[i].detail);
    anomalies->seen += more->seen - more->rows.len;
}

/* Reads on from view->keep where it stands near before `addr` in one span with it. */
static bool read_on(struct cf_word_view *view, uint64_t addr) {
    enum { NEAR_BYTES = CF_CORE_READER_BYTES / 2 };
    uint64_t from = view->keep != 0 && addr - view->keep <= NEAR_BYTES ? view->keep : addr;
    uint64_t offset, avail, got;
    if (!cf_mem_locate(view->mem, from, &offset, &avail) || avail <= addr - from) {
        from = addr;
        if (!cf_mem_locate(view->mem, from, &offset, &avail))
            return false;
    }
    uint64_t least = addr - from + 4 * view->word_bytes;
    const unsigned char *data = cf_core_reader_at(view->reader, offset,
                                                  least < avail ? least : avail, &got);
    if (data == NULL)
        return false;
    view->data = data;
    view->start = from;
    view->bytes = got < avail ? got : avail;
    return true;
}

bool cf_word_view_refill(struct cf_word_view *view, uint64_t addr) {
    if (view->reader != NULL)
        return read_on(view, addr);
    uint64_t avail;
    const unsigned char *data = cf_mem_span(view->mem, addr, &avail);
    if (data == NULL)
        return false;
    view->data = data;
    view->start = addr;
    view->bytes = avail;
    return true;
}

uint64_t cf_readable_from(const struct cf_mem *mem, uint64_t addr, uint64_t limit) {
    for (size_t i = cf_mem_lower_bound(mem, addr); i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->start >= limit)
            break;
        uint64_t from = addr > region->start ? addr : region->start;
        if (region->data_bytes > 0 && from - region->start < region->data_bytes)
            return from;
    }
    return UINT64_MAX;
}

uint64_t cf_next_present_page(const struct cf_mem *mem, uint64_t addr, uint64_t page) {
    uint64_t start, end;
    if (!cf_mem_next_resident(mem, addr, &start, &end))
        return ~(page - 1);
    return start <= addr ? addr : start & ~(page - 1);
}

struct cf_bin_shape cf_bin_shape_of(const struct cf_ptmalloc *pt, const struct cf_arena *arena) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(pt->malloc_found);
    return (struct cf_bin_shape){
        .first_head = arena->addr + layout->bins - 2 * pt->word_bytes,
        .word_bytes = pt->word_bytes,
        .alignment_shift = (unsigned)__builtin_ctz(pt->alignment),
    };
}

uint64_t cf_chunk_from(const struct cf_ptmalloc *pt, uint64_t addr) {
    uint64_t header = 2 * pt->word_bytes;
    uint64_t mask = pt->alignment - 1;
    return ((addr + header + mask) & ~mask) - header;
}

static bool is_fence(const struct cf_ptmalloc *pt, uint64_t word) {
    return (word & ~(uint64_t)PREV_INUSE) == 2 * pt->word_bytes;
}

/* At `addr` there is no sound chunk: is it one of glibc's ends? */
static enum cf_chain_end end_at(struct cf_word_view *view, const struct cf_ptmalloc *pt,
                                const struct cf_chain *chain, uint64_t addr, uint64_t word,
                                uint64_t *out_end) {
    uint64_t header = 2 * pt->word_bytes, second;
    *out_end = addr;
    if (!chain->is_main && word == PREV_INUSE && header <= chain->limit - addr) {
        *out_end = addr + header;
        return CF_CHAIN_ZERO_FENCE;
    }
    if (!is_fence(pt, word) || chain->limit - addr < 2 * header ||
        !cf_word_view_get(view, addr + header + pt->word_bytes, &second))
        return CF_CHAIN_BROKEN;
    bool ends = chain->is_main ? second == (header | PREV_INUSE) : second == PREV_INUSE;
    if (!ends)
        return CF_CHAIN_BROKEN;
    *out_end = addr + 2 * header;
    return chain->is_main ? CF_CHAIN_FENCES : CF_CHAIN_ZERO_FENCE;
}

enum cf_chain_end cf_chain_probe(struct cf_word_view *view, const struct cf_ptmalloc *pt,
                                 const struct cf_chain *chain, uint64_t addr, uint64_t max_steps,
                                 uint64_t *out_end) {
    struct cf_header_rule rule =
        cf_header_rule_make(pt->word_bytes, pt->alignment, chain->is_main);
    uint64_t word, previous_size = 0;
    for (uint64_t step = 0;; step++) {
        *out_end = addr;
        if (chain->top != 0 && addr == chain->top)
            return CF_CHAIN_TOP;
        if (addr == chain->limit)
            return CF_CHAIN_LIMIT;
        if (addr > chain->limit || (chain->top != 0 && addr > chain->top &&
                                    addr - previous_size < chain->top))
            return CF_CHAIN_BROKEN;
        if (step == max_steps)
            return CF_CHAIN_STEPS;
        if (!cf_word_view_get(view, addr + pt->word_bytes, &word))
            return CF_CHAIN_BROKEN;
        uint64_t prev_size;
        if (previous_size != 0 && !(word & PREV_INUSE) &&
            (!cf_word_view_get(view, addr, &prev_size) || prev_size != previous_size))
            return CF_CHAIN_BROKEN;
        if (!cf_header_can_be(rule, word, chain->limit - addr))
            return end_at(view, pt, chain, addr, word, out_end);
        previous_size = word & ~(uint64_t)SIZE_FLAGS;
        addr += previous_size;
    }
}

bool cf_chain_is_sound(struct cf_word_view *view, const struct cf_ptmalloc *pt,
                       const struct cf_chain *chain, uint64_t addr) {
    enum { SOUND_STEPS = 16 };
    uint64_t word, end;
    if (!cf_word_view_get(view, addr + pt->word_bytes, &word) || !(word & PREV_INUSE))
        return addr == chain->top;
    return cf_chain_probe(view, pt, chain, addr, SOUND_STEPS, &end) != CF_CHAIN_BROKEN;
}

bool cf_walked_chunk(const struct cf_ptmalloc *pt, uint64_t addr, uint32_t arena_id,
                     const struct cf_heap **out) {
    const struct cf_heap *heap = cf_chunkmap_find_heap(pt->map, addr);
    if (heap == NULL || addr >= heap->chunks_end ||
        (arena_id != UINT32_MAX && heap->arena_id != arena_id) ||
        !cf_chunkmap_is_start(pt->map, heap, addr))
        return false;
    *out = heap;
    return true;
}

bool cf_is_absent(const struct cf_ptmalloc *pt, uint64_t addr) {
    enum cf_page_state state = cf_mem_page_state(pt->mem, addr);
    if (!cf_core_complete(cf_mem_core(pt->mem)) || state == CF_PAGE_CUT_OFF ||
        state == CF_PAGE_NOT_DUMPED)
        return true;
    uint64_t word;
    return cf_chunkmap_find_heap(pt->map, addr) != NULL && !cf_mem_word(pt->mem, addr, &word);
}

bool cf_is_binned(const struct cf_ptmalloc *pt, uint64_t addr) {
    uint64_t bk, forth;
    return cf_mem_word(pt->mem, addr + 3 * pt->word_bytes, &bk) &&
           cf_mem_word(pt->mem, bk + 2 * pt->word_bytes, &forth) && forth == addr;
}

bool cf_chunk_size(const struct cf_ptmalloc *pt, uint64_t addr, uint64_t *out) {
    uint64_t word;
    if (!cf_mem_word(pt->mem, addr + pt->word_bytes, &word))
        return false;
    *out = word & ~(uint64_t)SIZE_FLAGS;
    return true;
}
