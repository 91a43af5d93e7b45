#include "holders/places.h"

#include <stdlib.h>

#include "sym/symbols.h"

/* What tells it from others; of a stack not yet where it lies. */
static struct cf_place place_of(const struct cf_labels *labels, const struct cf_root *root,
                                uint64_t addr) {
    struct cf_place place = {.kind = root->kind, .start = addr, .thread = -1};
    struct cf_symbol symbol;
    place.end = addr + cf_mark_resolver(labels->reach->mark)->word_bytes;
    switch (root->kind) {
    case CF_ROOT_GLOBAL:
        if (cf_symbols_lookup(labels->naming->symbols, addr, &symbol) &&
            addr - symbol.addr < symbol.bytes) {
            place.start = symbol.addr;
            place.end = symbol.addr + symbol.bytes;
        }
        return place;
    case CF_ROOT_STACK:
    case CF_ROOT_REGISTER:
        place.thread = root->thread;
        place.start = place.end = 0;
        return place;
    case CF_ROOT_MAPPING:
        place.start = root->start;
        place.end = root->end;
        place.heap = cf_objects_heap(labels->objects, addr);
        return place;
    default:
        return place;
    }
}

/* Whether both are claims of one heap: the same area of the same runtime. */
static bool is_same_heap(const struct cf_claim *a, const struct cf_claim *b) {
    return a->kind == b->kind && a->runtime == b->runtime && a->area == b->area;
}

static bool is_same(const struct cf_place *a, const struct cf_place *b) {
    if (a->heap != NULL || b->heap != NULL)
        return a->heap != NULL && b->heap != NULL && is_same_heap(a->heap, b->heap);
    return a->thread == b->thread && a->start == b->start;
}

static uint64_t hash_of(const struct cf_place *place) {
    if (place->heap != NULL)
        return cf_hash_mix((uint64_t)place->heap->runtime << 32 | (uint64_t)place->heap->area);
    return cf_hash_mix(place->start ^ (uint64_t)(uint32_t)place->thread << 32);
}

/* All that is known of the stack of a thread, whose registers count with it. */
static void take_stack(const struct cf_roots *roots, struct cf_place *place) {
    for (size_t i = 0; i < roots->rows.len; i++) {
        const struct cf_root *row = &roots->rows.items[i];
        if (row->kind != CF_ROOT_STACK || row->thread != place->thread)
            continue;
        place->start = row->start;
        place->end = row->end;
    }
}

/* Threads are told apart by their number alone. */
static bool is_row(const struct cf_place *row, const struct cf_place *place) {
    struct cf_place key = *row;
    if (key.thread >= 0)
        key.start = 0;
    return is_same(&key, place);
}

uint32_t cf_places_of(struct cf_places *places, const struct cf_labels *labels,
                      const struct cf_root *root, uint64_t addr) {
    struct cf_place place = place_of(labels, root, addr);
    if (places->rows.len > 0 && is_row(&places->rows.items[places->last], &place))
        return places->last;
    uint64_t hash = hash_of(&place);
    uint32_t row = cf_hash_find(&places->table, hash, i, is_row(&places->rows.items[i], &place));
    if (row != CF_HASH_NONE)
        return places->last = row;
    row = (uint32_t)places->rows.len;
    struct cf_place *added = cf_array_push(&places->rows);
    if (added == NULL || !cf_hash_add(&places->table, hash, row))
        return UINT32_MAX;
    if (place.thread >= 0)
        take_stack(&labels->reach->roots, &place);
    *added = place;
    return places->last = row;
}

void cf_places_fini(struct cf_places *places) {
    cf_array_free(&places->rows);
    cf_hash_fini(&places->table);
}
