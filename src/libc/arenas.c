/*
 * From bins arrays to arenas: which state layout, which rings of `next`, which ring is whose.
 *
 * Where to look is decided so: libc's .data is a small file-backed writable region, and heaps
 * stand at HEAP_MAX alignment. Those are scanned first. All of writable memory is scanned only
 * when that leaves something open: no main arena (a static program without NT_FILE, data in
 * anonymous memory), a ring that does not close, or a heap_info whose arena is in no ring. A
 * program whose malloc is another library's, with a glibc up to 2.41 (main_arena is zero until
 * used), thus costs one pass over its memory.
 */
#include "base/checked.h"
#include "base/context.h"
#include "base/err.h"
#include "libc/found.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL_REGION_BYTES = 8 << 20,
    FILE_REGION_BYTES = 64 << 20,
    THREADS_MANY = 64 << 10, /* that one arena may have */
    STRAY_STEPS = 64, /* of `next` from an arena outside the rings to a ring */
};

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_bins(const void *a, const void *b) {
    return compare_u64(&((const struct cf_bins *)a)->addr, &((const struct cf_bins *)b)->addr);
}

static int compare_places(const void *a, const void *b) {
    return compare_u64(&((const struct cf_arena_place *)a)->addr,
                       &((const struct cf_arena_place *)b)->addr);
}

static int compare_in_order(const void *a, const void *b) {
    size_t x = ((const struct cf_arena_place *)a)->index;
    size_t y = ((const struct cf_arena_place *)b)->index;
    int by_addr = compare_places(a, b);
    return by_addr != 0 ? by_addr : (x > y) - (x < y);
}

const struct cf_arena_ref *cf_arenas_lookup(const struct cf_malloc *m, uint64_t addr) {
    if (m->places.len == 0)
        return NULL;
    struct cf_arena_place key = {.addr = addr};
    const struct cf_arena_place *place =
        bsearch(&key, m->places.items, m->places.len, sizeof key, compare_places);
    return place == NULL ? NULL : &m->arenas.items[place->index];
}

/* `next` stands at one distance behind the bins in every layout. */
static bool next_of_bins(const struct cf_malloc *m, uint64_t bins, uint64_t *out) {
    return cf_mem_word(m->mem, bins + (uint64_t)CF_BIN_WORDS * m->word + 16, out) && *out != 0;
}

/* In a damaged array two places can fit equally well; the right one's `next` names an arena. */
static bool leads_on(const struct cf_malloc *m, uint64_t bins) {
    uint64_t next;
    if (!next_of_bins(m, bins, &next))
        return false;
    for (size_t i = 0; i < cf_nr_state_layouts; i++) {
        const struct cf_state_layout *layout = &cf_state_layouts[i];
        uint64_t next_bins = next + layout->bins;
        if (layout->word_bytes == m->word &&
            (next_bins == bins || cf_bins_valid(m->mem, next_bins) == CF_NR_BINS))
            return true;
    }
    return false;
}

static void settle_damaged(const struct cf_malloc *m, struct cf_bins *bins) {
    for (unsigned up = 0; up < CF_NR_BINS - CF_BINS_ENOUGH; up++) {
        uint64_t base = bins->addr + (uint64_t)up * 2 * m->word;
        if (cf_bins_valid(m->mem, base) == bins->valid && leads_on(m, base)) {
            bins->addr = base;
            return;
        }
    }
}

/* ---- the layout ---- */

/* 2.17-2.22 against 2.23 on: the word behind next_free is system_mem, or a count of threads. In a
 * static program system_mem is no multiple of pages: its break is used before malloc is. */
static int votes_for_threads_field(const struct cf_malloc *m, uint64_t bins) {
    uint64_t first;
    uint64_t second;
    uint64_t after_next_free = bins + (uint64_t)CF_BIN_WORDS * m->word + 16 + 2 * m->word;
    uint64_t page = cf_mem_page_bytes(m->mem);
    if (!cf_mem_word(m->mem, after_next_free, &first) ||
        !cf_mem_word(m->mem, after_next_free + m->word, &second))
        return 0;
    if (first != 0)
        return (first % page == 0 || first >= THREADS_MANY) && first <= second ? -1 : 1;
    return second != 0 && second % page == 0 ? 1 : 0;
}

/* How well a layout fits one bins array: the bins of the arena that `next` names must be sound at
 * just that distance (the next layout's distance loses a few), and so must its own heap_info. */
static unsigned layout_fit(const struct cf_malloc *m, const struct cf_state_layout *layout,
                           const struct cf_bins *bins) {
    uint64_t next;
    uint64_t arena = bins->addr - layout->bins;
    unsigned fit = cf_heap_of_arena(m, arena) != 0 ? CF_NR_BINS : 0;
    if (next_of_bins(m, bins->addr, &next))
        fit += next == arena ? CF_NR_BINS : cf_bins_valid(m->mem, next + layout->bins);
    uint32_t mutex;
    uint32_t flags;
    bool is_head = cf_mem_u32(m->mem, arena, &mutex) && cf_mem_u32(m->mem, arena + 4, &flags) &&
                   mutex <= 2 && flags <= 7;
    return 2 * fit + is_head;
}

static bool has_threads_field(const struct cf_malloc *m) {
    int votes = 0;
    for (size_t i = 0; i < m->bins.len; i++)
        votes += votes_for_threads_field(m, m->bins.items[i].addr);
    return votes >= 0;
}

/* Where nothing but the head's zeros speaks, the layout that was longest in use stands. */
static void choose_state_layout(struct cf_malloc *m) {
    uint64_t best = 0;
    bool threads_field = has_threads_field(m);
    for (size_t i = 0; i < cf_nr_state_layouts; i++) {
        const struct cf_state_layout *layout = &cf_state_layouts[i];
        if (layout->word_bytes != m->word)
            continue;
        uint64_t fit = 0;
        for (size_t k = 0; k < m->bins.len; k++)
            fit += layout_fit(m, layout, &m->bins.items[k]);
        if (fit == 0)
            continue;
        fit = 4 * fit + 2 * (threads_field == (layout->attached_threads != CF_ABSENT)) +
              (layout->have_fastchunks != CF_ABSENT);
        if (fit > best) {
            best = fit;
            m->state = layout;
        }
    }
}

/* ---- the rings ---- */

/* An arena of a ring may be damaged, if its heap_info vouches for it. */
static bool is_arena(const struct cf_malloc *m, uint64_t addr) {
    return addr != 0 && addr % m->word == 0 &&
           (cf_bins_valid(m->mem, addr + m->state->bins) > 0 || cf_heap_of_arena(m, addr) != 0);
}

static uint64_t next_arena(const struct cf_malloc *m, uint64_t addr) {
    return cf_state_word(m, addr, m->state->next);
}

static bool is_main(const struct cf_malloc *m, uint64_t addr) {
    for (size_t i = 0; i < m->namespaces.len; i++)
        if (m->namespaces.items[i].main_arena == addr)
            return true;
    return false;
}

/* Where a thread arena stands in its first heap; holds also if the heap_info is damaged. */
static bool is_placed_in_heap(const struct cf_malloc *m, uint64_t arena) {
    for (size_t i = 0; i < cf_nr_heap_info_layouts; i++)
        if (cf_heap_info_layouts[i].word_bytes == m->word &&
            (arena - cf_heap_info_layouts[i].bytes) % cf_usual_heap_max(m) == 0)
            return true;
    return false;
}

/* Main arenas: bins in no heap. One whose array is damaged must have a sound `next`. */
static bool collect_mains(struct cf_malloc *m) {
    for (size_t i = 0; i < m->bins.len && m->namespaces.len < CF_NAMESPACES_MAX; i++) {
        const struct cf_bins *bins = &m->bins.items[i];
        uint64_t arena = bins->addr - m->state->bins;
        if (cf_heap_of_arena(m, arena) != 0 || is_placed_in_heap(m, arena))
            continue;
        if (bins->valid < CF_NR_BINS && !is_arena(m, next_arena(m, arena)))
            continue;
        struct cf_namespace *ns = cf_array_push(&m->namespaces);
        if (ns == NULL)
            return false;
        uint64_t top = cf_state_word(m, arena, m->state->top);
        ns->main_arena = arena;
        ns->used = cf_state_word(m, arena, m->state->system_mem) != 0 ||
                   (top != 0 && top != bins->addr - 2 * m->word);
    }
    return true;
}

static bool push_arena(struct cf_malloc *m, uint64_t addr, size_t ns, bool main, bool in_ring) {
    struct cf_arena_ref *ref = cf_array_push(&m->arenas);
    if (ref == NULL)
        return false;
    *ref = (struct cf_arena_ref){
        .addr = addr, .ns = (uint32_t)ns, .is_main = main, .in_ring = in_ring};
    return true;
}

/* Appends the ring of one main arena. `closed` is cleared when it does not lead back. A cycle
 * that leaves the main arena out is found by Brent's rule: a mark that moves at each power of 2. */
static bool walk_ring(struct cf_malloc *m, size_t ns, bool *closed) {
    uint64_t head = m->namespaces.items[ns].main_arena;
    if (!push_arena(m, head, ns, true, true))
        return false;
    uint64_t mark = head;
    uint64_t addr = next_arena(m, head);
    for (size_t steps = 1; addr != head; steps++) {
        if (addr == mark || steps >= CF_MALLOC_ARENAS_MAX || is_main(m, addr) ||
            !is_arena(m, addr)) {
            *closed = false;
            return true;
        }
        if (!push_arena(m, addr, ns, false, true))
            return false;
        if (cf_is_power_of_two(steps))
            mark = addr;
        addr = next_arena(m, addr);
    }
    return true;
}

static uint64_t ring_system_mem(const struct cf_malloc *m, uint64_t head) {
    uint64_t sum = 0;
    uint64_t addr = head;
    for (size_t steps = 0; addr != 0 && steps < CF_MALLOC_ARENAS_MAX; steps++) {
        if (!cf_add_u64(sum, cf_state_word(m, addr, m->state->system_mem), &sum))
            return UINT64_MAX;
        addr = next_arena(m, addr);
        if (addr == head || !is_arena(m, addr))
            break;
    }
    return sum;
}

/* The program's libc comes first: a used main arena, one that grows by brk (a second libc never
 * does), the most memory. */
static void sort_namespaces(struct cf_malloc *m) {
    uint64_t weight[CF_NAMESPACES_MAX];
    for (size_t i = 0; i < m->namespaces.len; i++) {
        const struct cf_namespace *ns = &m->namespaces.items[i];
        uint32_t flags = 0;
        (void)cf_mem_u32(m->mem, ns->main_arena + 4, &flags);
        uint64_t system_mem = ring_system_mem(m, ns->main_arena) & (UINT64_MAX >> 2);
        weight[i] = (uint64_t)ns->used << 63 | (uint64_t)((flags & 2) == 0) << 62 | system_mem;
    }
    for (size_t i = 1; i < m->namespaces.len; i++) {
        for (size_t k = i; k > 0 && weight[k] > weight[k - 1]; k--) {
            struct cf_namespace ns = m->namespaces.items[k];
            m->namespaces.items[k] = m->namespaces.items[k - 1];
            m->namespaces.items[k - 1] = ns;
            uint64_t w = weight[k];
            weight[k] = weight[k - 1];
            weight[k - 1] = w;
        }
    }
}

static bool index_arenas(struct cf_malloc *m) {
    m->places.len = 0;
    for (size_t i = 0; i < m->arenas.len; i++) {
        if (m->arenas.items[i].addr == 0)
            continue;
        struct cf_arena_place *slot = cf_array_push(&m->places);
        if (slot == NULL)
            return false;
        *slot = (struct cf_arena_place){.addr = m->arenas.items[i].addr, .index = i};
    }
    if (m->places.len > 1)
        qsort(m->places.items, m->places.len, sizeof *m->places.items, compare_in_order);
    return true;
}

/* The walk notices a cycle only some rounds later: of each arena the first meeting stays. */
static bool drop_repeats(struct cf_malloc *m) {
    if (!index_arenas(m))
        return false;
    for (size_t i = 1; i < m->places.len; i++)
        if (m->places.items[i].addr == m->places.items[i - 1].addr)
            m->arenas.items[m->places.items[i].index].addr = 0;
    size_t kept = 0;
    for (size_t i = 0; i < m->arenas.len; i++)
        if (m->arenas.items[i].addr != 0)
            m->arenas.items[kept++] = m->arenas.items[i];
    m->arenas.len = kept;
    return index_arenas(m);
}

/* An arena beside the rings. Its own `next` may still lead into one, which tells its libc. */
static bool adopt(struct cf_malloc *m, uint64_t addr) {
    if (cf_arenas_lookup(m, addr) != NULL || m->arenas.len >= CF_MALLOC_ARENAS_MAX)
        return true;
    const struct cf_arena_ref *met = NULL;
    uint64_t way = addr;
    for (unsigned steps = 0; met == NULL && way != 0 && steps < STRAY_STEPS; steps++) {
        way = next_arena(m, way);
        met = cf_arenas_lookup(m, way);
    }
    return push_arena(m, addr, met == NULL ? 0 : met->ns, false, false);
}

/* Without any main arena in the core (a dump that leaves libc's data out) what is there makes a
 * namespace of its own; its main arena comes first if at least its heap was found. */
static bool found_without_main(struct cf_malloc *m) {
    bool has_main = cf_bare_heap_find(m);
    if (!has_main && (m->heaps.len == 0 || m->arenas.len == 0))
        return true;
    struct cf_namespace *ns = cf_array_push(&m->namespaces);
    if (ns == NULL)
        return false;
    ns->used = true;
    if (!has_main)
        return true;
    if (!push_arena(m, 0, 0, true, false))
        return false;
    struct cf_arena_ref main_arena = m->arenas.items[m->arenas.len - 1];
    memmove(m->arenas.items + 1, m->arenas.items,
            (m->arenas.len - 1) * sizeof *m->arenas.items);
    m->arenas.items[0] = main_arena;
    return index_arenas(m);
}

/* Heaps name their arenas, and a scan may have met bins of more. */
int cf_arenas_adopt(struct cf_malloc *m, struct cf_err *err) {
    bool fine = true;
    for (size_t i = 0; m->state != NULL && fine && i < m->heaps.len; i++) {
        const struct cf_heap_info *heap = &m->heaps.items[i];
        if (heap->prev == 0 && heap->addr == cf_heap_of_arena(m, heap->ar_ptr) &&
            cf_bins_valid(m->mem, heap->ar_ptr + m->state->bins) > 0)
            fine = adopt(m, heap->ar_ptr);
    }
    fine = fine && index_arenas(m);
    for (size_t i = 0; m->state != NULL && fine && i < m->bins.len; i++) {
        uint64_t arena = m->bins.items[i].addr - m->state->bins;
        if (cf_heap_of_arena(m, arena) != 0)
            fine = adopt(m, arena);
    }
    fine = fine && index_arenas(m);
    if (fine && m->namespaces.len == 0)
        fine = found_without_main(m);
    return fine ? CF_OK : cf_err_nomem(err, m->arenas.len * sizeof *m->arenas.items, "arenas");
}

/* ---- where to look ---- */

static bool is_writable(const struct cf_region *region) {
    return cf_region_is_writable(region);
}

/* Regions where a libc's data may be: backed by a file, right behind one (.bss), or small where
 * the core does not tell files from anonymous memory. */
static bool is_likely(const struct cf_mem *mem, size_t index) {
    const struct cf_region *region = cf_mem_region(mem, index);
    if (!is_writable(region) || region->data_bytes == 0)
        return false;
    if (region->kind == CF_REGION_FILE)
        return region->data_bytes <= FILE_REGION_BYTES;
    if (region->data_bytes > SMALL_REGION_BYTES)
        return false;
    if (region->kind == CF_REGION_UNKNOWN)
        return true;
    const struct cf_region *before = index > 0 ? cf_mem_region(mem, index - 1) : NULL;
    return before != NULL && before->end == region->start && before->kind == CF_REGION_FILE;
}

/* Anonymous memory as far as the file stores it: the holes of a sparse core cost nothing. */
static bool scan_region(struct cf_malloc *m, const struct cf_region *region) {
    uint64_t end = region->start + region->data_bytes;
    if (region->kind != CF_REGION_ANONYMOUS && region->kind != CF_REGION_UNKNOWN)
        return cf_bins_scan(m, region->start, end);
    uint64_t addr = region->start;
    uint64_t from;
    uint64_t to;
    while (addr < end && cf_mem_next_resident(m->mem, addr, &from, &to) && from < end) {
        from = from > addr ? from : addr;
        to = to < end ? to : end;
        if (!cf_bins_scan(m, from, to))
            return false;
        addr = to;
    }
    return true;
}

static bool scan_likely(struct cf_malloc *m) {
    for (size_t i = 0; i < cf_mem_nr_regions(m->mem); i++)
        if (is_likely(m->mem, i) && !scan_region(m, cf_mem_region(m->mem, i)))
            return false;
    return true;
}

static int no_room(const struct cf_malloc *m, struct cf_err *err) {
    return cf_err_nomem(err, m->bins.len * sizeof *m->bins.items, "arenas");
}

static int scan_everything(const struct cf_context *ctx, struct cf_malloc *m, bool writable,
                           struct cf_err *err) {
    size_t nr = cf_mem_nr_regions(m->mem);
    for (size_t i = 0; i < nr; i++) {
        const struct cf_region *region = cf_mem_region(m->mem, i);
        if (cf_progress(ctx, "arenas", i, nr))
            return cf_err_cancelled(err);
        if (region->data_bytes > 0 && is_writable(region) == writable && !scan_region(m, region))
            return no_room(m, err);
    }
    return CF_OK;
}

/* ---- all together ---- */

static void sort_bins(struct cf_malloc *m) {
    if (m->bins.len < 2)
        return;
    qsort(m->bins.items, m->bins.len, sizeof *m->bins.items, compare_bins);
    size_t kept = 1;
    for (size_t i = 1; i < m->bins.len; i++)
        if (m->bins.items[i].addr != m->bins.items[kept - 1].addr)
            m->bins.items[kept++] = m->bins.items[i];
    m->bins.len = kept;
}

/* Makes namespaces and arenas from m->bins. `closed` says whether every ring is whole. */
static bool build(struct cf_malloc *m, bool *closed) {
    m->namespaces.len = 0;
    m->arenas.len = 0;
    m->places.len = 0;
    m->state = NULL;
    *closed = false;
    sort_bins(m);
    for (size_t i = 0; i < m->bins.len; i++)
        if (m->bins.items[i].valid < CF_NR_BINS)
            settle_damaged(m, &m->bins.items[i]);
    choose_state_layout(m);
    if (m->state == NULL)
        return true;
    if (!collect_mains(m))
        return false;
    sort_namespaces(m);
    *closed = m->namespaces.len > 0;
    for (size_t i = 0; i < m->namespaces.len; i++)
        if (!walk_ring(m, i, closed))
            return false;
    return drop_repeats(m);
}

/* True when a heap at the usual alignment belongs to an arena that no ring has. */
static bool has_stray_heap(const struct cf_malloc *m) {
    for (size_t i = 0; i < m->heaps.len; i++) {
        if (cf_arenas_lookup(m, m->heaps.items[i].ar_ptr) == NULL)
            return true;
    }
    return false;
}

int cf_arenas_find(const struct cf_context *ctx, struct cf_malloc *m, struct cf_err *err) {
    bool closed;
    if (!scan_likely(m) || !build(m, &closed))
        return no_room(m, err);
    int status = cf_heaps_find(m, err);
    if (status != CF_OK)
        return status;
    if (closed && !has_stray_heap(m))
        return CF_OK;
    m->bins.len = 0;
    status = scan_everything(ctx, m, true, err);
    if (status == CF_OK && m->bins.len == 0)
        status = scan_everything(ctx, m, false, err);
    if (status == CF_OK && !build(m, &closed))
        status = no_room(m, err);
    return status;
}
