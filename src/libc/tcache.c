/*
 * Thread caches by their content. A struct is told from other user memory of its size by its bins:
 * where a bin has a count it has a list of just so many chunks of the bin's size. It is sought
 * where tcache_init (2.26+) makes it: TLS names it, else it is among the first chunks of a heap.
 */
#include "libc/malloc.h"

#include "base/err.h"
#include "core/drop.h"
#include "libc/found.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLACK_BYTES = 0x20, /* by which the struct's chunk may be bigger: 2.43 rounds twice */
    STRUCT_BYTES_MAX = 760,
    LIST_STEPS_MAX = 256,
    WALK_STEPS_MAX = 4096,
    LAYOUTS_MAX = 32,
};

/* ---- bins ---- */

static size_t nr_bins_of(const struct cf_tcache_layout *layout) {
    return (size_t)layout->nr_small + layout->nr_large;
}

size_t cf_tcache_nr_bins(const struct cf_malloc *m) {
    return m->tcache == NULL ? 0 : nr_bins_of(m->tcache);
}

/* Large bin j holds sizes from 1024 << j, except that small sizes end just above 1024. */
static void bin_range(const struct cf_malloc *m, const struct cf_tcache_layout *layout,
                      size_t index, struct cf_tcache_bin *out) {
    if (index < layout->nr_small) {
        out->min_bytes = cf_min_chunk_bytes(m) + index * m->alignment;
        out->max_bytes = out->min_bytes;
        return;
    }
    size_t power = index - layout->nr_small;
    out->min_bytes = power == 0 ? cf_min_chunk_bytes(m) + (uint64_t)layout->nr_small * m->alignment
                                : UINT64_C(1024) << power;
    out->max_bytes = (UINT64_C(2048) << power) - 1;
}

static uint64_t load_count(const unsigned char *bytes, const struct cf_tcache_layout *layout,
                           size_t index) {
    if (layout->count_bytes == 1)
        return bytes[index];
    uint16_t count;
    memcpy(&count, bytes + 2 * index, 2);
    return count;
}

/* The slots of an empty bin: mp_.tcache_count; without mp_ the most that any bin has left. */
static uint64_t full_slots(const struct cf_malloc *m, const unsigned char *bytes,
                           const struct cf_tcache_layout *layout) {
    const struct cf_namespace *ns = m->namespaces.len > 0 ? &m->namespaces.items[0] : NULL;
    if (ns != NULL && ns->par.addr != 0 && ns->par.layout->tcache_count != CF_ABSENT)
        return ns->par.tcache_count;
    uint64_t most = 0;
    for (size_t i = 0; i < nr_bins_of(layout); i++) {
        uint64_t slots = load_count(bytes, layout, i);
        most = slots > most ? slots : most;
    }
    return most;
}

static void load_bin(const struct cf_malloc *m, const unsigned char *bytes,
                     const struct cf_tcache_layout *layout, size_t index,
                     struct cf_tcache_bin *out) {
    uint64_t count = load_count(bytes, layout, index);
    if (layout->counts_are_slots) {
        uint64_t full = full_slots(m, bytes, layout);
        /* More slots than there can be: no list has that many chunks either. */
        count = count <= full ? full - count : UINT16_MAX;
    }
    uint64_t head = 0;
    memcpy(&head, bytes + layout->entries + index * m->word, m->word);
    *out = (struct cf_tcache_bin){.head = head, .count = count};
    bin_range(m, layout, index, out);
}

bool cf_tcache_bin(const struct cf_malloc *m, uint64_t tcache, size_t index,
                   struct cf_tcache_bin *out) {
    unsigned char bytes[STRUCT_BYTES_MAX];
    if (index >= cf_tcache_nr_bins(m) || m->tcache->bytes > sizeof bytes ||
        !cf_mem_read(m->mem, tcache, bytes, m->tcache->bytes))
        return false;
    load_bin(m, bytes, m->tcache, index, out);
    return true;
}

/* ---- is it one? ---- */

bool cf_tcache_list_is_sound(const struct cf_malloc *m, const struct cf_tcache_bin *bin,
                             bool mangled) {
    uint64_t user = bin->head;
    for (uint64_t steps = 0; steps < bin->count && steps < LIST_STEPS_MAX; steps++) {
        uint64_t size;
        uint64_t stored;
        if (user < 2 * m->word || user % m->alignment != 0 ||
            !cf_chunk_size_at(m, user - 2 * m->word, &size) || size < bin->min_bytes ||
            size > bin->max_bytes || !cf_mem_word(m->mem, user, &stored))
            return false;
        user = mangled ? stored ^ user >> 12 : stored;
    }
    return bin->count > LIST_STEPS_MAX || user == 0;
}

static bool list_is_sound(const struct cf_malloc *m, const struct cf_tcache_bin *bin) {
    if (m->links_decided)
        return cf_tcache_list_is_sound(m, bin, m->safe_linking);
    return cf_tcache_list_is_sound(m, bin, true) || cf_tcache_list_is_sound(m, bin, false);
}

/* Its links were overwritten further on: no other struct has such heads. */
static bool list_begins(const struct cf_malloc *m, const struct cf_tcache_bin *bin) {
    uint64_t size;
    return bin->head >= 2 * m->word && bin->head % m->alignment == 0 &&
           cf_chunk_size_at(m, bin->head - 2 * m->word, &size) && size >= bin->min_bytes &&
           size <= bin->max_bytes;
}

static struct cf_tcache_verdict judge(const struct cf_malloc *m,
                                      const struct cf_tcache_layout *layout, uint64_t tcache) {
    struct cf_tcache_verdict verdict = {0};
    unsigned char bytes[STRUCT_BYTES_MAX];
    if (layout->bytes > sizeof bytes || !cf_mem_read(m->mem, tcache, bytes, layout->bytes)) {
        verdict.nr_bad = 1;
        return verdict;
    }
    for (size_t i = 0; i < nr_bins_of(layout); i++) {
        struct cf_tcache_bin bin;
        load_bin(m, bytes, layout, i, &bin);
        if (bin.head == 0 && bin.count == 0)
            continue;
        bool has_both = bin.head != 0 && bin.count != 0;
        if (has_both && list_is_sound(m, &bin)) {
            verdict.nr_good++;
            continue;
        }
        verdict.nr_bad++;
        verdict.nr_begun += has_both && list_begins(m, &bin);
        if (verdict.nr_bad > 8 && verdict.nr_good == 0)
            return verdict;
    }
    verdict.slots_full = layout->counts_are_slots && verdict.nr_bad == 0 &&
                         full_slots(m, bytes, layout) > 0;
    return verdict;
}

static bool layout_fits(const struct cf_malloc *m, const struct cf_tcache_layout *layout,
                        uint64_t chunk_bytes) {
    return layout->word_bytes == m->word && (m->tcache == NULL || m->tcache == layout) &&
           chunk_bytes >= layout->chunk_bytes && chunk_bytes - layout->chunk_bytes <= SLACK_BYTES;
}

/* The layout whose struct a chunk of this size would hold, or NULL. */
static const struct cf_tcache_layout *layout_of(const struct cf_malloc *m,
                                                   uint64_t chunk_bytes) {
    for (size_t i = 0; i < cf_nr_tcache_layouts; i++)
        if (layout_fits(m, &cf_tcache_layouts[i], chunk_bytes))
            return &cf_tcache_layouts[i];
    return NULL;
}

bool cf_tcache_fits(const struct cf_malloc *m, uint64_t chunk_bytes) {
    return layout_of(m, chunk_bytes) != NULL;
}

struct cf_tcache_verdict cf_tcache_judge(const struct cf_malloc *m, uint64_t tcache,
                                         uint64_t chunk_bytes) {
    const struct cf_tcache_layout *layout = layout_of(m, chunk_bytes);
    if (layout == NULL || tcache % m->alignment != 0)
        return (struct cf_tcache_verdict){.nr_bad = 1};
    return judge(m, layout, tcache);
}

/* One damaged list in a full cache is what a crash often is about; more make it something else. */
bool cf_tcache_plausible(const struct cf_malloc *m, uint64_t tcache, uint64_t chunk_bytes) {
    struct cf_tcache_verdict verdict = cf_tcache_judge(m, tcache, chunk_bytes);
    return verdict.slots_full || (verdict.nr_good > 0 && 4 * verdict.nr_bad <= verdict.nr_good);
}

/* ---- finding them ---- */

static bool push_tcache(struct cf_malloc *m, uint64_t addr, int32_t thread) {
    struct cf_tcache_ref *slot = cf_array_push(&m->tcaches);
    if (slot == NULL)
        return false;
    *slot = (struct cf_tcache_ref){.addr = addr, .thread = thread};
    return true;
}

/* The layout that most of the structs named by TLS have, by the sizes of their chunks; of equals
 * the first. */
static void choose_layout(struct cf_malloc *m) {
    const struct cf_core *core = cf_mem_core(m->mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    size_t votes[LAYOUTS_MAX] = {0}, best = 0;
    size_t nr = cf_nr_tcache_layouts < LAYOUTS_MAX ? cf_nr_tcache_layouts : LAYOUTS_MAX;
    for (size_t k = 0; k < m->tcaches.len; k++) {
        uint64_t size;
        cf_rss_guard_step(&guard);
        if (!cf_chunk_size_at(m, m->tcaches.items[k].addr - 2 * m->word, &size))
            continue;
        for (size_t i = 0; i < nr; i++)
            votes[i] += layout_fits(m, &cf_tcache_layouts[i], size);
    }
    for (size_t i = 1; i < nr; i++)
        if (votes[i] > votes[best])
            best = i;
    m->tcache = votes[best] > 0 ? &cf_tcache_layouts[best] : NULL;
}

static bool is_first_and_empty(const struct cf_malloc *m, uint64_t tcache, uint64_t chunk_bytes) {
    const struct cf_namespace *ns = m->namespaces.len > 0 ? &m->namespaces.items[0] : NULL;
    if (ns == NULL || ns->par.addr == 0 || ns->par.layout->tcache_count == CF_ABSENT)
        return false;
    struct cf_tcache_verdict verdict = cf_tcache_judge(m, tcache, chunk_bytes);
    return verdict.nr_good + verdict.nr_bad == 0;
}

/* Up to 2.42 the cache is the first thing that a thread allocates, so it stands among the first
 * chunks of a heap, and if the very first is all zero and of its size, that is an empty one.
 * Looks at the chunks from `addr` on that are in use and of the right size. */
static bool walk_for_tcaches(struct cf_malloc *m, uint64_t addr) {
    for (unsigned steps = 0; addr != 0 && steps < WALK_STEPS_MAX; steps++) {
        uint64_t size;
        uint64_t next_size;
        if (!cf_chunk_size_at(m, addr, &size) ||
            !cf_mem_word(m->mem, addr + size + m->word, &next_size))
            return true;
        uint64_t user = addr + 2 * m->word;
        if ((next_size & 1) != 0 && cf_tcache_fits(m, size) &&
            (cf_tcache_plausible(m, user, size) ||
             (steps == 0 && is_first_and_empty(m, user, size))) &&
            !push_tcache(m, user, -1))
            return false;
        addr += size;
    }
    return true;
}

/* The main arenas' first chunks stand before those of the threads' heaps. 0: it has none. */
static uint64_t first_chunk_of(const struct cf_malloc *m, size_t index) {
    if (index < m->namespaces.len) {
        uint64_t base = m->namespaces.items[index].par.sbrk_base;
        return base == 0 ? 0 : cf_first_chunk_at(m, base);
    }
    const struct cf_heap_info *heap = &m->heaps.items[index - m->namespaces.len];
    return cf_first_chunk_at(m, heap->prev == 0 ? heap->ar_ptr + m->state->bytes
                                                : heap->addr + m->heap_info->bytes);
}

bool cf_tcache_is_first(const struct cf_malloc *m, uint64_t tcache) {
    for (size_t i = 0; i < m->namespaces.len + m->heaps.len; i++)
        if (first_chunk_of(m, i) == tcache - 2 * m->word)
            return true;
    return false;
}

static bool walk_heap_starts(struct cf_malloc *m) {
    const struct cf_core *core = cf_mem_core(m->mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t i = 0; i < m->namespaces.len + m->heaps.len; i++) {
        cf_rss_guard_step(&guard);
        if (!walk_for_tcaches(m, first_chunk_of(m, i)))
            return false;
    }
    return true;
}

static int compare_tcaches(const void *a, const void *b) {
    const struct cf_tcache_ref *x = a;
    const struct cf_tcache_ref *y = b;
    if (x->addr != y->addr)
        return x->addr > y->addr ? 1 : -1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Sorts; of equal addresses one stays: a thread's rather than nobody's, then the first thread's. */
static void sort_tcaches(struct cf_malloc *m) {
    if (m->tcaches.len < 2)
        return;
    qsort(m->tcaches.items, m->tcaches.len, sizeof *m->tcaches.items, compare_tcaches);
    size_t kept = 0;
    for (size_t i = 1; i < m->tcaches.len; i++) {
        if (m->tcaches.items[i].addr != m->tcaches.items[kept].addr)
            m->tcaches.items[++kept] = m->tcaches.items[i];
        else if (m->tcaches.items[kept].thread < 0)
            m->tcaches.items[kept] = m->tcaches.items[i];
    }
    m->tcaches.len = kept + 1;
}

int cf_tcaches_find(struct cf_malloc *m, struct cf_err *err) {
    bool fine = true;
    for (size_t i = 0; fine && i < m->threads.len; i++)
        if (m->threads.items[i].tcache != 0)
            fine = push_tcache(m, m->threads.items[i].tcache, (int32_t)i);
    if (fine && m->tcaches.len > 0)
        choose_layout(m);
    else if (fine && m->state != NULL)
        fine = walk_heap_starts(m);
    if (!fine)
        return cf_err_nomem(err, m->tcaches.len * sizeof *m->tcaches.items, "tcaches");
    if (m->tcache == NULL)
        choose_layout(m);
    /* 2.43 on makes the cache late and anywhere, but there is only one layout left by then. */
    for (size_t i = 0; m->tcache == NULL && m->state != NULL && m->state->tcache_is_late &&
                       i < cf_nr_tcache_layouts;
         i++)
        if (cf_tcache_layouts[i].word_bytes == m->word && cf_tcache_layouts[i].counts_are_slots)
            m->tcache = &cf_tcache_layouts[i];
    sort_tcaches(m);
    return CF_OK;
}
