/*
 * From top downwards: each live chunk is a pin, what is dead between two is the hole below the
 * upper one, and what its release unlocks is all from the lowest chunk of that hole up.
 * heap_trim()'s loop (heapchain.h) says what becomes of heaps that are empty then.
 */
#include "retain/toppin.h"

#include <stdlib.h>

#include "retain/freeing.h"
#include "retain/heapchain.h"
#include "base/err.h"

/*
 * The list of one arena while it is made. Residency is counted piece by piece as the walk goes
 * down: `part` is the part of [at, edge) of the heap at hand, and each heap is counted whole once,
 * when it is first dropped.
 */
struct lister {
    struct cf_top_pins *pins;
    const struct cf_residency *residency;
    struct cf_heap_chain chain;
    uint32_t rank;
    uint64_t at;
    struct cf_resident_bytes part;
    size_t nr_dropped;
    struct cf_resident_bytes dropped; /* of the first nr_dropped heaps */
    struct cf_top_rest last;          /* what `last_resident` was counted for; top 0: nothing */
    struct cf_resident_bytes last_resident;
    size_t end_heap;                   /* `end_part` is the part of [end_at, the heap's end) */
    uint64_t end_at;
    struct cf_resident_bytes end_part;
    bool cache_stands;                 /* a cached chunk holds the top down, whatever is freed */
    uint64_t returned_now;             /* by free(), with no pin freed */
    struct cf_resident_bytes returned; /* beyond that, with all pins so far freed */
};

static struct cf_resident_bytes add(struct cf_resident_bytes a, struct cf_resident_bytes b) {
    return (struct cf_resident_bytes){.bytes = a.bytes + b.bytes, .known = a.known || b.known};
}

static uint64_t edge_of(const struct cf_heap_chain *chain, size_t index) {
    const struct cf_heap *heap = cf_heap_chain_at(chain, index);
    return index == 0 ? heap->top : heap->chunks_end;
}

/* Residency of [start, end), of which [l->at, end) was counted before. */
static struct cf_resident_bytes count_down(struct lister *l, uint64_t start) {
    if (start < l->at)
        l->part = add(l->part, cf_residency_count(l->residency, start, l->at));
    l->at = start;
    return l->part;
}

static struct cf_resident_bytes count_dropped(struct lister *l, size_t nr) {
    while (l->nr_dropped < nr) {
        const struct cf_heap *heap = cf_heap_chain_at(&l->chain, l->nr_dropped++);
        l->dropped = add(l->dropped, cf_residency_count(l->residency, heap->start, heap->end));
    }
    return l->dropped;
}

/* What stays at the end of a dropped or abandoned heap joins the top; in the heap that has the
 * top only what is below it. */
static void unlock(struct lister *l, size_t index, uint64_t start, struct cf_top_pin *pin) {
    struct cf_resident_bytes here = count_down(l, start);
    struct cf_top_rest rest = cf_heap_chain_settle(&l->chain, index, start, true);
    pin->unlocked_bytes = rest.dropped_bytes + (edge_of(&l->chain, rest.heap) - rest.top);
    if (rest.heap != index && (rest.heap != l->last.heap || rest.top != l->last.top)) {
        l->last = rest;
        l->last_resident =
            cf_residency_count(l->residency, rest.top, edge_of(&l->chain, rest.heap));
    }
    if (rest.heap != index)
        here = l->last_resident;
    pin->unlocked_resident = rest.heap > 0 ? add(here, count_dropped(l, rest.heap)) : here;
}

/* What free() gives back once all above `start` in heap `index` is dead. */
static struct cf_resident_bytes returned_from(struct lister *l, size_t index, uint64_t start) {
    struct cf_top_rest rest = cf_heap_chain_settle(&l->chain, index, start, false);
    const struct cf_heap *heap = cf_heap_chain_at(&l->chain, rest.heap);
    uint64_t bytes = cf_freeing_top_bytes(l->chain.rule, heap, rest.top);
    if (bytes == 0 && rest.heap == 0)
        return (struct cf_resident_bytes){.known = true};
    if (l->end_at == 0 || l->end_heap != rest.heap) {
        l->end_heap = rest.heap;
        l->end_at = heap->chunks_end;
        l->end_part = (struct cf_resident_bytes){0};
    }
    if (heap->chunks_end - bytes < l->end_at) {
        struct cf_resident_bytes more =
            cf_residency_count(l->residency, heap->chunks_end - bytes, l->end_at);
        l->end_part = add(l->end_part, more);
        l->end_at = heap->chunks_end - bytes;
    }
    return rest.heap > 0 ? add(l->end_part, count_dropped(l, rest.heap)) : l->end_part;
}

/* `start`: where the hole below the pin begins, caches counted as given back; `strict`: not. */
static void give_back(struct lister *l, size_t index, uint64_t start, uint64_t strict,
                      struct cf_top_pin *pin) {
    if (!l->cache_stands) {
        struct cf_resident_bytes all = returned_from(l, index, strict);
        l->returned.known = all.known;
        l->returned.bytes = all.bytes > l->returned_now ? all.bytes - l->returned_now : 0;
    }
    l->cache_stands = l->cache_stands || strict != start;
    pin->returned = l->returned;
}

/* The pins of one heap of the chain; `*more` tells whether the heap below can go on the list. */
static int list_heap(struct lister *l, size_t index, bool *more, struct cf_err *err) {
    const struct cf_heap *heap = cf_heap_chain_at(&l->chain, index);
    struct cf_down down;
    uint64_t tail = cf_heap_chain_tail(&l->chain, index, true);
    cf_down_init(&down, l->chain.map, heap, tail);
    l->cache_stands = l->cache_stands || tail != cf_heap_chain_tail(&l->chain, index, false);
    l->at = edge_of(&l->chain, index);
    l->part = (struct cf_resident_bytes){0};
    struct cf_chunk chunk;
    *more = false;
    while (l->rank < CF_TOP_PINS_MAX) {
        if (!cf_down_prev(&down, &chunk)) {
            *more = true;
            return CF_OK;
        }
        if (chunk.state != CF_CHUNK_LIVE)
            return CF_OK;
        struct cf_top_pin *pin = cf_array_push(&l->pins->pins);
        if (pin == NULL)
            return cf_err_nomem(err, sizeof *pin, "a top pin");
        struct cf_down strict = down;
        uint64_t start = cf_down_dead(&down, true);
        *pin = (struct cf_top_pin){
            .arena_id = heap->arena_id, .heap_id = heap->id, .rank = ++l->rank,
            .addr = chunk.addr, .bytes = chunk.bytes, .hole_below_bytes = chunk.addr - start,
        };
        unlock(l, index, start, pin);
        give_back(l, index, start, cf_down_dead(&strict, false), pin);
    }
    return CF_OK;
}

static int list_arena(struct lister *l, const struct cf_heap *newest, struct cf_err *err) {
    int rc = cf_heap_chain_build(&l->chain, l->chain.map, l->chain.rule, newest, err);
    l->rank = 0;
    l->nr_dropped = 0;
    l->dropped = (struct cf_resident_bytes){0};
    l->last = (struct cf_top_rest){0};
    l->cache_stands = false;
    l->end_at = 0;
    l->returned = (struct cf_resident_bytes){.known = true};
    l->returned_now = 0;
    if (rc == CF_OK)
        l->returned_now = returned_from(l, 0, cf_heap_chain_tail(&l->chain, 0, false)).bytes;
    bool more = true;
    for (size_t i = 0; i < l->chain.heaps.len && more && rc == CF_OK; i++)
        rc = list_heap(l, i, &more, err);
    return rc;
}

static int compare_pins(const void *a, const void *b) {
    const struct cf_top_pin *left = a, *right = b;
    if (left->arena_id != right->arena_id)
        return left->arena_id < right->arena_id ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

int cf_top_pins_find(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                     const struct cf_residency *residency, struct cf_top_pins *out,
                     struct cf_err *err) {
    struct cf_top_pins pins = {0};
    struct lister l = {.pins = &pins, .residency = residency,
                       .chain = {.map = map, .rule = rule}};
    int rc = CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && rc == CF_OK; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        if (heap->top != 0)
            rc = list_arena(&l, heap, err);
    }
    cf_heap_chain_fini(&l.chain);
    if (rc != CF_OK) {
        cf_top_pins_fini(&pins);
        return rc;
    }
    if (pins.pins.len > 0)
        qsort(pins.pins.items, pins.pins.len, sizeof *pins.pins.items, compare_pins);
    *out = pins;
    return CF_OK;
}

void cf_top_pins_fini(struct cf_top_pins *pins) {
    cf_array_free(&pins->pins);
}
