/*
 * Words of one place mostly follow each other, so the row that was asked for last is tried before
 * the table. Threads are told apart by their number, since their registers lie nowhere; claims of
 * a runtime's heap by runtime and area, since one heap has many mappings.
 */
#include "holders/places.h"

#include <stdio.h>
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
        place.is_named = labels->naming != NULL &&
                         cf_symbols_lookup(labels->naming->symbols, addr, &symbol) &&
                         addr - symbol.addr < symbol.bytes;
        if (place.is_named) {
            place.start = symbol.addr;
            place.end = symbol.addr + symbol.bytes;
        }
        return place;
    case CF_ROOT_STACK:
    case CF_ROOT_REGISTER:
    case CF_ROOT_TLS:
        place.thread = root->thread;
        if (root->kind == CF_ROOT_TLS && root->thread < 0)
            return place;
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
    return a->thread == b->thread && a->start == b->start &&
           (a->kind == CF_ROOT_TLS) == (b->kind == CF_ROOT_TLS);
}

static uint64_t hash_of(const struct cf_place *place) {
    if (place->heap != NULL)
        return cf_hash_mix((uint64_t)place->heap->runtime << 32 | (uint64_t)place->heap->area);
    return cf_hash_mix(place->start ^ (uint64_t)(uint32_t)place->thread << 32 ^
                       (place->kind == CF_ROOT_TLS));
}

static uint64_t bytes_of(const struct cf_reach *reach, uint32_t rank) {
    const struct cf_resolver *resolver = reach->ranks.resolver;
    struct cf_chunk_number number = cf_ranks_number(&reach->ranks, (struct cf_rank){rank});
    return cf_resolver_chunk(resolver, cf_resolver_extent_of(resolver, number), number).bytes;
}

/* The row of a variable without a name that a word belongs to as well: one of the words just before
 * it leads to the same chunk (the ends of a vector), or its neighbour to one of the same size (the
 * ends of a list, an array). CF_HASH_NONE: it is the first. */
static uint32_t join(struct cf_places *places, const struct cf_labels *labels,
                     const struct cf_root_word *word) {
    unsigned width = cf_mark_resolver(labels->reach->mark)->word_bytes;
    const struct cf_unnamed_word unnamed = {*word, bytes_of(labels->reach, word->rank), 0};
    uint32_t row = CF_HASH_NONE;
    for (size_t i = 0; i < CF_UNNAMED_WORDS && row == CF_HASH_NONE; i++) {
        const struct cf_unnamed_word *other =
            &places->unnamed[(places->nr_unnamed - 1 - i) % CF_UNNAMED_WORDS];
        uint64_t distance = word->addr - other->word.addr;
        if (i < places->nr_unnamed && other->word.root == word->root &&
            ((other->word.rank == word->rank && distance <= CF_UNNAMED_WORDS * width) ||
             (other->bytes == unnamed.bytes && distance == width)))
            row = other->row;
    }
    places->unnamed[places->nr_unnamed % CF_UNNAMED_WORDS] = unnamed;
    places->unnamed[places->nr_unnamed++ % CF_UNNAMED_WORDS].row =
        row != CF_HASH_NONE ? row : (uint32_t)places->rows.len;
    if (row != CF_HASH_NONE)
        places->rows.items[row].end = word->addr + width;
    return row;
}

uint32_t cf_places_of(struct cf_places *places, const struct cf_labels *labels,
                      const struct cf_root_word *word) {
    const struct cf_root *root = &labels->reach->roots.rows.items[word->root];
    struct cf_place place = place_of(labels, root, word->addr);
    if (places->rows.len > 0 && is_same(&places->rows.items[places->last], &place))
        return places->last;
    uint64_t hash = hash_of(&place);
    uint32_t row = place.kind == CF_ROOT_GLOBAL && !place.is_named
                       ? join(places, labels, word)
                       : cf_hash_find(&places->table, hash, i,
                                      is_same(&places->rows.items[i], &place));
    if (row != CF_HASH_NONE)
        return places->last = row;
    row = (uint32_t)places->rows.len;
    struct cf_place *added = cf_array_push(&places->rows);
    if (added == NULL || !cf_hash_add(&places->table, hash, row))
        return UINT32_MAX;
    place.root = word->root;
    *added = place;
    return places->last = row;
}

struct cf_place cf_place_where(const struct cf_roots *roots, const struct cf_place *place) {
    struct cf_place where = *place;
    enum cf_root_kind kind = place->kind == CF_ROOT_TLS ? CF_ROOT_TLS : CF_ROOT_STACK;
    for (size_t i = 0; i < roots->rows.len && place->thread >= 0; i++) {
        const struct cf_root *row = &roots->rows.items[i];
        if (row->kind != kind || row->thread != place->thread)
            continue;
        where.start = row->start;
        where.end = row->end;
    }
    return where;
}

void cf_places_fini(struct cf_places *places) {
    cf_array_free(&places->rows);
    cf_hash_fini(&places->table);
}

void cf_place_label(const struct cf_labels *labels, const struct cf_place *place,
                    const struct cf_root_word *word, char *out, size_t bytes) {
    bool is_variable = place->kind == CF_ROOT_GLOBAL || word == NULL;
    const struct cf_hop hop = {
        .root = &labels->reach->roots.rows.items[word == NULL ? place->root : word->root],
        .addr = is_variable ? place->start : word->addr,
    };
    if (place->heap != NULL)
        (void)snprintf(out, bytes, "%s", place->heap->label);
    else
        cf_label_root(labels, &hop, out, bytes);
}
