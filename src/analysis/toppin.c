#include "analysis/toppin.h"

#include <stdlib.h>

#include "analysis/heapchain.h"
#include "base/err.h"

/* What stays at the end of a dropped or abandoned heap joins the top; in the heap that has the
 * top only what is below it. */
static uint64_t unlocked_bytes(const struct cf_heap_chain *chain, size_t index, uint64_t start) {
    struct cf_top_rest rest = cf_heap_chain_settle(chain, index, start, true);
    const struct cf_heap *heap = cf_heap_chain_at(chain, rest.heap);
    uint64_t edge = rest.heap == 0 ? heap->top : heap->chunks_end;
    return rest.dropped_bytes + (edge - rest.top);
}

/* The pins of one heap of the chain; `*more` tells whether the heap below can go on the list. */
static int find_in_heap(struct cf_top_pins *pins, const struct cf_heap_chain *chain, size_t index,
                        uint32_t *rank, bool *more, struct cf_err *err) {
    const struct cf_heap *heap = cf_heap_chain_at(chain, index);
    struct cf_down down;
    cf_down_init(&down, chain->map, heap, cf_heap_chain_tail(chain, index, true));
    struct cf_chunk chunk;
    *more = false;
    while (*rank < CF_TOP_PINS_MAX) {
        if (!cf_down_prev(&down, &chunk)) {
            *more = true;
            return CF_OK;
        }
        if (chunk.state != CF_CHUNK_LIVE)
            return CF_OK;
        struct cf_top_pin *pin = cf_array_push(&pins->pins);
        if (pin == NULL)
            return cf_err_nomem(err, sizeof *pin, "a top pin");
        uint64_t start = cf_down_dead(&down, true);
        *pin = (struct cf_top_pin){
            .arena_id = heap->arena_id, .heap_id = heap->id, .rank = ++*rank,
            .addr = chunk.addr, .bytes = chunk.bytes, .hole_below_bytes = chunk.addr - start,
            .unlocked_bytes = unlocked_bytes(chain, index, start),
        };
    }
    return CF_OK;
}

static int find_in_chain(struct cf_top_pins *pins, const struct cf_heap_chain *chain,
                         struct cf_err *err) {
    uint32_t rank = 0;
    bool more = true;
    for (size_t i = 0; i < chain->heaps.len && more; i++) {
        int rc = find_in_heap(pins, chain, i, &rank, &more, err);
        if (rc != CF_OK)
            return rc;
    }
    return CF_OK;
}

static uint64_t topmost_live(const struct cf_chunkmap *map, const struct cf_heap *heap) {
    struct cf_down down;
    struct cf_chunk chunk;
    cf_down_init(&down, map, heap, heap->chunks_end);
    while (cf_down_prev(&down, &chunk))
        if (chunk.state == CF_CHUNK_LIVE)
            return chunk.addr;
    return 0;
}

static int compare_pins(const void *a, const void *b) {
    const struct cf_top_pin *left = a, *right = b;
    if (left->arena_id != right->arena_id)
        return left->arena_id < right->arena_id ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

int cf_top_pins_find(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                     struct cf_top_pins *out, struct cf_err *err) {
    struct cf_top_pins pins = {.nr_heaps = cf_chunkmap_nr_heaps(map)};
    pins.heap_pins = calloc(pins.nr_heaps + 1, sizeof *pins.heap_pins);
    if (pins.heap_pins == NULL)
        return cf_err_nomem(err, pins.nr_heaps * sizeof *pins.heap_pins, "the top pins");
    struct cf_heap_chain chain = {0};
    int rc = CF_OK;
    for (size_t i = 0; i < pins.nr_heaps && rc == CF_OK; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        pins.heap_pins[i] = topmost_live(map, heap);
        if (heap->top == 0)
            continue;
        rc = cf_heap_chain_build(&chain, map, rule, heap, err);
        if (rc == CF_OK)
            rc = find_in_chain(&pins, &chain, err);
    }
    cf_heap_chain_fini(&chain);
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
    free(pins->heap_pins);
    pins->heap_pins = NULL;
}
