/*
 * heap_info: the first words of every heap of a thread arena, at HEAP_MAX alignment.
 *
 *     | ar_ptr | prev | size | mprotect_size | [pagesize] | malloc_state or first chunk ...
 *
 * HEAP_MAX is 64 MiB (1 MiB on 32-bit), except with the hugetlb tunable in 2.35 to 2.41, where it
 * is four huge pages. The arena's own heap stands right before its malloc_state and names it: that
 * is what every other heap is checked against. The scan needs no ring, so it also finds the heaps
 * of arenas whose ring is damaged or not in the core.
 */
#include "base/checked.h"
#include "base/err.h"
#include "libc/found.h"

#include <stdlib.h>

enum { SAMPLE_ARENAS = 256, ODD_SHIFT_MIN = 17, ODD_SHIFT_MAX = 34 };

uint64_t cf_heap_of_arena(const struct cf_malloc *m, uint64_t arena) {
    uint64_t page = cf_mem_page_bytes(m->mem);
    for (size_t i = 0; i < cf_nr_heap_info_layouts; i++) {
        const struct cf_heap_info_layout *layout = &cf_heap_info_layouts[i];
        uint64_t ar_ptr;
        uint64_t heap = arena - layout->bytes;
        if (layout->word_bytes == m->word && arena > layout->bytes && heap % page == 0 &&
            cf_mem_word(m->mem, heap, &ar_ptr) && ar_ptr == arena)
            return heap;
    }
    return 0;
}

/* ---- HEAP_MAX ---- */

/* Arenas whose top lies in a heap of theirs, if heaps were aligned to `max`. */
static unsigned tops_that_fit(const struct cf_malloc *m, uint64_t max, unsigned *nr_arenas) {
    unsigned fit = 0;
    *nr_arenas = 0;
    for (size_t i = 0; i < m->arenas.len && *nr_arenas < SAMPLE_ARENAS; i++) {
        const struct cf_arena_ref *arena = &m->arenas.items[i];
        if (arena->is_main)
            continue;
        ++*nr_arenas;
        uint64_t ar_ptr;
        uint64_t top = cf_state_word(m, arena->addr, m->state->top);
        if (cf_mem_word(m->mem, cf_align_down(top, max), &ar_ptr) && ar_ptr == arena->addr)
            fit++;
    }
    return fit;
}

uint64_t cf_usual_heap_max(const struct cf_malloc *m) {
    return m->word == 8 ? UINT64_C(64) << 20 : UINT64_C(1) << 20;
}

/* The usual one, unless four huge pages fit more arenas (a tie means that they cannot be told
 * apart, and 2.42 went back to the usual). Where nothing fits, any power of two may. */
static uint64_t choose_heap_max(const struct cf_malloc *m) {
    uint64_t usual = cf_usual_heap_max(m);
    if (m->state == NULL)
        return usual;
    unsigned nr;
    unsigned best_fit = tops_that_fit(m, usual, &nr);
    uint64_t best = usual;
    uint64_t huge;
    if (m->namespaces.len > 0 && cf_mul_u64(m->namespaces.items[0].par.hp_pagesize, 4, &huge) &&
        cf_is_power_of_two(huge) && tops_that_fit(m, huge, &nr) > best_fit)
        return huge;
    if (best_fit > 0 || nr == 0)
        return usual;
    for (unsigned shift = ODD_SHIFT_MAX; shift >= ODD_SHIFT_MIN; shift--) {
        unsigned fit = tops_that_fit(m, UINT64_C(1) << shift, &nr);
        if (fit > best_fit) {
            best_fit = fit;
            best = UINT64_C(1) << shift;
        }
    }
    return best;
}

/* ---- the heaps ---- */

/* The arena lies where the layouts put one, and its own heap names it. Where that heap cannot be
 * read (the core is cut), its place alone must do. */
static bool arena_agrees(const struct cf_malloc *m, uint64_t ar_ptr) {
    uint64_t home = cf_align_down(ar_ptr, m->heap_max);
    uint64_t back;
    bool placed = false;
    for (size_t i = 0; i < cf_nr_heap_info_layouts; i++)
        placed |= cf_heap_info_layouts[i].word_bytes == m->word &&
                  ar_ptr - home == cf_heap_info_layouts[i].bytes;
    return placed && home != 0 && (!cf_mem_word(m->mem, home, &back) || back == ar_ptr);
}

static bool prev_agrees(const struct cf_malloc *m, const struct cf_heap_info *heap) {
    uint64_t home = cf_align_down(heap->ar_ptr, m->heap_max);
    if (heap->addr == home || heap->prev == 0)
        return heap->addr == home && heap->prev == 0;
    uint64_t ar_ptr;
    return heap->prev % m->heap_max == 0 && heap->prev != heap->addr &&
           (!cf_mem_word(m->mem, heap->prev, &ar_ptr) || ar_ptr == heap->ar_ptr);
}

static bool heap_at(const struct cf_malloc *m, uint64_t addr, struct cf_heap_info *out) {
    struct cf_heap_info heap = {.addr = addr};
    uint64_t page = cf_mem_page_bytes(m->mem);
    if (!cf_mem_word(m->mem, addr, &heap.ar_ptr) || heap.ar_ptr == 0 ||
        !cf_mem_word(m->mem, addr + m->word, &heap.prev) ||
        !cf_mem_word(m->mem, addr + 2 * m->word, &heap.size) ||
        !cf_mem_word(m->mem, addr + 3 * m->word, &heap.mprotect_size))
        return false;
    if (heap.size == 0 || heap.size % page != 0 || heap.mprotect_size % page != 0 ||
        heap.size > heap.mprotect_size || heap.mprotect_size > m->heap_max)
        return false;
    if (!arena_agrees(m, heap.ar_ptr) || !prev_agrees(m, &heap))
        return false;
    *out = heap;
    return true;
}

static bool scan_region(struct cf_malloc *m, const struct cf_region *region) {
    uint64_t end = region->start + region->data_bytes;
    uint64_t addr;
    if (!cf_align_up(region->start, m->heap_max, &addr))
        return true;
    while (addr < end) {
        struct cf_heap_info heap;
        if (heap_at(m, addr, &heap)) {
            struct cf_heap_info *slot = cf_array_push(&m->heaps);
            if (slot == NULL)
                return false;
            *slot = heap;
        }
        if (!cf_add_u64(addr, m->heap_max, &addr))
            break;
    }
    return true;
}

/* ---- the layout ---- */

static bool layout_fits(const struct cf_malloc *m, const struct cf_heap_info_layout *layout,
                        const struct cf_heap_info *heap) {
    uint64_t home = cf_align_down(heap->ar_ptr, m->heap_max);
    uint64_t pagesize = 0;
    if (heap->ar_ptr - home != layout->bytes)
        return false;
    bool has_pagesize = cf_mem_word(m->mem, heap->addr + 4 * m->word, &pagesize) &&
                        cf_is_power_of_two(pagesize) &&
                        pagesize >= cf_mem_page_bytes(m->mem);
    return has_pagesize == (layout->pagesize != CF_ABSENT);
}

/* Without heaps it does not matter; the age of the other structs tells. */
static bool layout_is_of_age(const struct cf_malloc *m, const struct cf_heap_info_layout *layout) {
    const struct cf_par_layout *par =
        m->namespaces.len > 0 ? m->namespaces.items[0].par.layout : NULL;
    bool has_pagesize = par != NULL ? par->thp_pagesize != CF_ABSENT
                                    : m->state != NULL && m->state->span.first >= 35;
    if (has_pagesize != (layout->pagesize != CF_ABSENT))
        return false;
    return has_pagesize || m->word == 8 || (layout->bytes == 24) == (m->alignment == 16);
}

static void choose_layout(struct cf_malloc *m) {
    size_t best = 0;
    m->heap_info = NULL;
    for (size_t i = 0; i < cf_nr_heap_info_layouts; i++) {
        const struct cf_heap_info_layout *layout = &cf_heap_info_layouts[i];
        if (layout->word_bytes != m->word)
            continue;
        size_t fit = layout_is_of_age(m, layout);
        for (size_t k = 0; k < m->heaps.len; k++)
            fit += 2 * (size_t)layout_fits(m, layout, &m->heaps.items[k]);
        if (m->heap_info == NULL || fit > best) {
            best = fit;
            m->heap_info = layout;
        }
    }
}

static int compare_heaps(const void *a, const void *b) {
    uint64_t x = ((const struct cf_heap_info *)a)->addr;
    uint64_t y = ((const struct cf_heap_info *)b)->addr;
    return (x > y) - (x < y);
}

int cf_heaps_find(struct cf_malloc *m, struct cf_err *err) {
    m->heaps.len = 0;
    m->heap_max = choose_heap_max(m);
    for (size_t i = 0; i < cf_mem_nr_regions(m->mem); i++) {
        const struct cf_region *region = cf_mem_region(m->mem, i);
        if (region->data_bytes > 0 && cf_region_is_writable(region) && !scan_region(m, region))
            return cf_err_nomem(err, m->heaps.len * sizeof *m->heaps.items, "heaps");
    }
    if (m->heaps.len > 1)
        qsort(m->heaps.items, m->heaps.len, sizeof *m->heaps.items, compare_heaps);
    choose_layout(m);
    for (size_t i = 0; i < m->heaps.len; i++) {
        struct cf_heap_info *heap = &m->heaps.items[i];
        if (m->heap_info->pagesize == CF_ABSENT ||
            !cf_mem_word(m->mem, heap->addr + m->heap_info->pagesize, &heap->pagesize))
            heap->pagesize = 0;
    }
    return CF_OK;
}
