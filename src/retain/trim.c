/*
 * malloc_trim(0) simulated over the planes (trim.h has the rule). malloc_consolidate takes fast
 * chunks one by one and merges each with its neighbours; the result does not depend on their
 * order: a run of dead chunks falls apart exactly between two free ones, since only a fast chunk
 * ever merges with what stands beside it. So one pass in the order of addresses finds the chunks
 * that mtrim() will see (2.17 to 2.44).
 */
#include "retain/trim.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"
#include "ptmalloc/planes.h"

const char *cf_trim_how_name(enum cf_trim_how how) {
    return how == CF_TRIM_BRK ? "brk" : "madvise";
}

/* One pass's state: the chunk that consolidation has made so far, open at its upper end. */
struct trimmer {
    const struct cf_trim_rule *rule;
    const struct cf_residency *residency;
    struct cf_trim *trim;
    const struct cf_trim_change *change; /* NULL: none */
    const struct cf_heap *heap;
    bool open;
    bool last_fast; /* the open chunk's last part came from a fastbin, or is given back */
    uint64_t start;
    uint64_t end;
};

static void add_resident(struct cf_resident_bytes *sum, bool first, struct cf_resident_bytes part) {
    sum->bytes += part.bytes;
    sum->known = first ? part.known : sum->known || part.known;
}

static void add_to_sum(struct cf_trim_sum *sum, const struct cf_trim_range *range) {
    add_resident(&sum->resident, sum->ranges == 0, range->resident);
    if (range->how == CF_TRIM_BRK) {
        add_resident(&sum->top_resident, sum->top_bytes == 0, range->resident);
        sum->top_bytes += range->bytes;
    }
    sum->ranges++;
    sum->bytes += range->bytes;
}

static int add_range(struct trimmer *t, uint64_t addr, uint64_t bytes, enum cf_trim_how how,
                     struct cf_err *err) {
    struct cf_trim_range *range = cf_array_push(&t->trim->ranges);
    if (range == NULL)
        return cf_err_nomem(err, sizeof *range, "a range of malloc_trim");
    *range = (struct cf_trim_range){
        .addr = addr, .bytes = bytes, .arena_id = t->heap->arena_id, .how = how,
        .resident = cf_residency_count(t->residency, addr, addr + bytes),
    };
    add_to_sum(&t->trim->arenas[t->heap->arena_id], range);
    add_to_sum(&t->trim->all, range);
    return CF_OK;
}

/* mtrim()'s range of the chunk that is open; closes it. */
static int close_chunk(struct trimmer *t, struct cf_err *err) {
    if (!t->open)
        return CF_OK;
    t->open = false;
    uint64_t page = t->rule->page_bytes;
    uint64_t struct_bytes = 6 * (uint64_t)t->rule->word_bytes; /* sizeof (struct malloc_chunk) */
    uint64_t size = t->end - t->start;
    uint64_t addr;
    if (size <= page - 1 + struct_bytes || !cf_align_up(t->start + struct_bytes, page, &addr))
        return CF_OK;
    uint64_t bytes = cf_align_down(size - (addr - t->start), page);
    bytes = cf_trim_accepted_bytes(t->rule, addr, bytes);
    return bytes == 0 ? CF_OK : add_range(t, addr, bytes, CF_TRIM_MADVISE, err);
}

/* The top chunk grows downwards over an open chunk whose upper part is fast; any other open
 * chunk stays in its bin. */
static int trim_top(struct trimmer *t, const struct cf_chunk *top, struct cf_err *err) {
    uint64_t start = top->addr;
    if (t->open && t->last_fast && t->end == top->addr) {
        start = t->start;
        t->open = false;
    }
    t->trim->arenas[t->heap->arena_id].top_start = start;
    int rc = close_chunk(t, err);
    if (rc != CF_OK || !t->rule->arenas[t->heap->arena_id].by_brk)
        return rc;
    uint64_t end = top->addr + top->bytes;
    uint64_t bytes = cf_trim_top_bytes(t->rule, end - start, 0);
    return bytes == 0 ? CF_OK : add_range(t, end - bytes, bytes, CF_TRIM_BRK, err);
}

static int take_chunk(struct trimmer *t, const struct cf_chunk *chunk, struct cf_err *err) {
    bool fast = chunk->state == CF_CHUNK_FAST;
    if (chunk->state == CF_CHUNK_TOP)
        return trim_top(t, chunk, err);
    if (!fast && chunk->state != CF_CHUNK_FREE)
        return close_chunk(t, err);
    /* Chunks between that are not dead end the open one, too. */
    if (!t->open || t->end != chunk->addr || !(fast || t->last_fast)) {
        int rc = close_chunk(t, err);
        if (rc != CF_OK)
            return rc;
        t->open = true;
        t->start = chunk->addr;
    }
    t->end = chunk->addr + chunk->bytes;
    t->last_fast = fast;
    return CF_OK;
}

/* The chunk that starts at `unit`, which is dead or given back (`joins`: merges with all that is
 * dead beside it). */
static struct cf_chunk dead_chunk(const struct cf_planes *planes, const struct cf_heap *heap,
                                  struct cf_heap_unit unit, size_t units, bool joins,
                                  const struct cf_odd **odd) {
    size_t next = cf_planes_next_start(planes, heap, unit.index + 1, units);
    struct cf_chunk chunk = {
        .addr = cf_planes_addr(planes, heap, unit),
        .bytes = (uint64_t)(next - unit.index) << planes->unit_shift,
        .heap_id = heap->id,
    };
    chunk.state = joins ? CF_CHUNK_FAST : CF_CHUNK_FREE;
    if (*odd < planes->odds + planes->nr_odds && (*odd)->addr == chunk.addr)
        chunk.state = (*odd)++->state;
    return chunk;
}

static int take_dead(struct trimmer *t, const struct cf_planes *planes, size_t word,
                     uint64_t dead, uint64_t joining, const struct cf_odd **odd,
                     struct cf_err *err) {
    size_t units = cf_planes_units(planes, t->heap);
    for (; dead != 0; dead &= dead - 1) {
        int bit = __builtin_ctzll(dead);
        struct cf_heap_unit unit = {(word << 6) + (size_t)bit};
        if (unit.index >= units)
            break;
        struct cf_chunk chunk =
            dead_chunk(planes, t->heap, unit, units, joining >> bit & 1, odd);
        int rc = take_chunk(t, &chunk, err);
        if (rc != CF_OK)
            return rc;
    }
    return CF_OK;
}

/* Of a word's starts those of fast chunks and of what the change gives back. */
static uint64_t joining_of(const struct trimmer *t, const struct cf_planes *planes, size_t word) {
    size_t at = t->heap->plane_word + word;
    uint64_t starts = planes->starts[at];
    uint64_t second = planes->states[at] >> 1 | planes->states[at + 1] << 63;
    uint64_t joining = starts & planes->states[at] & second; /* fast */
    if (t->change != NULL && t->change->caches)
        joining |= starts & ~planes->states[at] & second; /* tcache */
    if (t->change != NULL && t->change->freed != NULL)
        joining |= starts & t->change->freed[at];
    return joining;
}

/*
 * Live chunks and cached ones (tcache) have no dead bit: the planes step over them, word by word.
 * Of free chunks most are stepped over too. One whose successor starts in the same word has less
 * than a page, so it is of interest only where a fast chunk beside it may join it; else only the
 * last start of a word counts. Words with a top, a fence or a gap take the long way.
 */
static int trim_heap(struct trimmer *t, const struct cf_planes *planes, struct cf_err *err) {
    const uint64_t *starts = planes->starts + t->heap->plane_word;
    const uint64_t *states = planes->states + t->heap->plane_word;
    const struct cf_odd *odd = planes->odds + t->heap->odd_first;
    size_t units = cf_planes_units(planes, t->heap);
    bool by_word = ((uint64_t)64 << planes->unit_shift) < t->rule->page_bytes;
    uint64_t next_odd = odd < planes->odds + planes->nr_odds ? odd->addr : UINT64_MAX;
    for (size_t word = 0; word << 6 < units; word++) {
        uint64_t joining = joining_of(t, planes, word);
        uint64_t dead = (starts[word] & states[word]) | joining;
        if (dead == 0)
            continue;
        uint64_t end = cf_planes_base(planes, t->heap) +
                       ((uint64_t)(word + 1) << 6 << planes->unit_shift);
        if (by_word && joining == 0 && !(t->open && t->last_fast) && next_odd >= end)
            dead &= 1ull << (63 - __builtin_clzll(starts[word]));
        int rc = take_dead(t, planes, word, dead, joining, &odd, err);
        if (rc != CF_OK)
            return rc;
        next_odd = odd < planes->odds + planes->nr_odds ? odd->addr : UINT64_MAX;
    }
    return close_chunk(t, err);
}

int cf_trim_simulate_if(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                        const struct cf_residency *residency, const struct cf_trim_change *change,
                        struct cf_trim *out, struct cf_err *err) {
    struct cf_trim trim = {.nr_arenas = rule->nr_arenas};
    trim.arenas = calloc(rule->nr_arenas + 1, sizeof *trim.arenas);
    if (trim.arenas == NULL)
        return cf_err_nomem(err, rule->nr_arenas * sizeof *trim.arenas, "malloc_trim's sums");
    for (size_t i = 0; i < rule->nr_arenas; i++)
        trim.arenas[i].resident.known = trim.arenas[i].top_resident.known = true;
    trim.all.resident.known = trim.all.top_resident.known = true;

    struct trimmer t = {
        .rule = rule, .residency = residency, .trim = &trim, .change = change,
    };
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++) {
        t.heap = cf_chunkmap_heap(map, i);
        if (t.heap->arena_id >= rule->nr_arenas || !rule->arenas[t.heap->arena_id].trimmed)
            continue;
        int rc = trim_heap(&t, cf_chunkmap_planes(map), err);
        if (rc != CF_OK) {
            cf_trim_fini(&trim);
            return rc;
        }
    }
    *out = trim;
    return CF_OK;
}

int cf_trim_simulate(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                     const struct cf_residency *residency, struct cf_trim *out,
                     struct cf_err *err) {
    return cf_trim_simulate_if(map, rule, residency, NULL, out, err);
}

void cf_trim_fini(struct cf_trim *trim) {
    cf_array_free(&trim->ranges);
    free(trim->arenas);
    trim->arenas = NULL;
}

size_t cf_trim_lower_bound(const struct cf_trim *trim, uint64_t addr) {
    const struct cf_trim_range *ranges = trim->ranges.items;
    return cf_bound(trim->ranges.len, i, ranges[i].addr + ranges[i].bytes > addr);
}

struct cf_resident_bytes cf_trim_resident_within(const struct cf_trim *trim,
                                                 const struct cf_residency *residency,
                                                 uint64_t start, uint64_t end) {
    struct cf_resident_bytes sum = {.known = true};
    bool first = true;
    for (size_t i = cf_trim_lower_bound(trim, start); i < trim->ranges.len; i++) {
        const struct cf_trim_range *range = &trim->ranges.items[i];
        if (range->addr >= end)
            break;
        uint64_t from = range->addr > start ? range->addr : start;
        uint64_t to = range->addr + range->bytes < end ? range->addr + range->bytes : end;
        add_resident(&sum, first, cf_residency_count(residency, from, to));
        first = false;
    }
    return sum;
}
