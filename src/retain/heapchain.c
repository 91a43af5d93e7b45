/*
 * heap_trim()'s loop (arena.c, 2.17 to 2.44) over the map instead of over memory: while top is
 * all that its heap holds, the heap goes and the free tail of the one below, with its fences, is
 * top. Chunks are found downwards by the planes' last start below an address, since prev_size is
 * only there where the chunk before is free.
 */
#include "retain/heapchain.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

int cf_heap_chain_build(struct cf_heap_chain *chain, const struct cf_chunkmap *map,
                        const struct cf_trim_rule *rule, const struct cf_heap *newest,
                        struct cf_err *err) {
    chain->map = map;
    chain->rule = rule;
    chain->heaps.len = 0;
    uint32_t id = newest->id;
    while (id < cf_chunkmap_nr_heaps(map) && chain->heaps.len < cf_chunkmap_nr_heaps(map)) {
        if (cf_chunkmap_heap(map, id)->arena_id != newest->arena_id)
            break;
        if (chain->heaps.len > 0 && id == newest->id)
            break;
        uint32_t *slot = cf_array_push(&chain->heaps);
        if (slot == NULL)
            return cf_err_nomem(err, sizeof *slot, "a chain of heaps");
        *slot = id;
        id = id < rule->nr_heaps ? rule->heaps[id].prev : UINT32_MAX;
    }
    return CF_OK;
}

void cf_heap_chain_fini(struct cf_heap_chain *chain) {
    cf_array_free(&chain->heaps);
}

const struct cf_heap *cf_heap_chain_at(const struct cf_heap_chain *chain, size_t index) {
    return cf_chunkmap_heap(chain->map, chain->heaps.items[index]);
}

void cf_down_init(struct cf_down *down, const struct cf_chunkmap *map, const struct cf_heap *heap,
                  uint64_t addr) {
    const struct cf_planes *planes = cf_chunkmap_planes(map);
    size_t at = cf_bound(planes->nr_odds, i, planes->odds[i].addr >= addr);
    *down = (struct cf_down){.planes = planes, .heap = heap, .addr = addr, .odd = at};
}

static enum cf_chunk_state state_at(struct cf_down *down, struct cf_heap_unit unit, uint64_t addr) {
    const struct cf_planes *planes = down->planes;
    while (down->odd > 0 && planes->odds[down->odd - 1].addr > addr)
        down->odd--;
    if (down->odd > 0 && planes->odds[down->odd - 1].addr == addr)
        return planes->odds[--down->odd].state;
    if (cf_planes_is_live(planes, down->heap, unit))
        return CF_CHUNK_LIVE;
    return cf_plane_bit(planes->states, down->heap->plane_word, unit) ? CF_CHUNK_FREE
                                                                      : CF_CHUNK_TCACHE;
}

bool cf_down_prev(struct cf_down *down, struct cf_chunk *out) {
    const struct cf_heap *heap = down->heap;
    if (down->addr <= heap->first_chunk || down->addr <= cf_planes_base(down->planes, heap))
        return false;
    struct cf_heap_unit unit = cf_planes_unit(down->planes, heap, down->addr - 1);
    unit = cf_planes_prev_start(down->planes, heap, unit);
    if (!cf_is_unit(unit))
        return false;
    uint64_t addr = cf_planes_addr(down->planes, heap, unit);
    if (addr < heap->first_chunk)
        return false;
    *out = (struct cf_chunk){.addr = addr, .bytes = down->addr - addr, .heap_id = heap->id,
                             .state = state_at(down, unit, addr)};
    down->addr = addr;
    return true;
}

uint64_t cf_down_dead(struct cf_down *down, bool cached) {
    for (;;) {
        struct cf_down next = *down;
        struct cf_chunk chunk;
        if (!cf_down_prev(&next, &chunk))
            return down->addr;
        if (chunk.state != CF_CHUNK_FREE && !(cached && chunk.state == CF_CHUNK_TCACHE))
            return down->addr;
        *down = next;
    }
}

static void skip_fences(struct cf_down *down) {
    for (;;) {
        struct cf_down next = *down;
        struct cf_chunk chunk;
        if (!cf_down_prev(&next, &chunk) || chunk.state != CF_CHUNK_FENCE)
            return;
        *down = next;
    }
}

uint64_t cf_heap_chain_tail(const struct cf_heap_chain *chain, size_t index, bool cached) {
    const struct cf_heap *heap = cf_heap_chain_at(chain, index);
    struct cf_down down;
    cf_down_init(&down, chain->map, heap, index == 0 ? heap->top : heap->chunks_end);
    if (index > 0)
        skip_fences(&down);
    return cf_down_dead(&down, cached);
}

/* heap_trim()'s question before it drops heap `index`: would the heap below have room for a top? */
static bool has_room(const struct cf_heap_chain *chain, size_t index, uint64_t tail) {
    const struct cf_trim_rule *rule = chain->rule;
    const struct cf_heap *below = cf_heap_chain_at(chain, index + 1);
    uint64_t size = rule->heaps[below->id].size_bytes;
    uint64_t used = tail - below->start;
    if (rule->heap_max_bytes == 0 || used > rule->heap_max_bytes || used > size)
        return true;
    uint64_t room = rule->heap_max_bytes - used; /* tail, and HEAP_MAX - size */
    uint64_t page = rule->heaps[chain->heaps.items[index]].page_bytes;
    uint64_t least;
    if (__builtin_add_overflow(rule->top_pad, cf_trim_min_chunk(rule) + page, &least))
        return false;
    return room >= least;
}

struct cf_top_rest cf_heap_chain_settle(const struct cf_heap_chain *chain, size_t index,
                                        uint64_t start, bool cached) {
    size_t at = 0;
    uint64_t dropped = 0;
    uint64_t top = index == 0 ? start : cf_heap_chain_at(chain, 0)->first_chunk;
    while (at + 1 < chain->heaps.len && top == cf_heap_chain_at(chain, at)->first_chunk) {
        uint64_t tail;
        if (at + 1 < index)
            tail = cf_heap_chain_at(chain, at + 1)->first_chunk;
        else
            tail = at + 1 == index ? start : cf_heap_chain_tail(chain, at + 1, cached);
        if (!has_room(chain, at, tail))
            break;
        const struct cf_heap *gone = cf_heap_chain_at(chain, at);
        dropped += gone->end - gone->start;
        top = tail;
        at++;
    }
    return (struct cf_top_rest){.heap = at, .top = top, .dropped_bytes = dropped};
}
