/*
 * Words of one place mostly follow each other, so the row that was asked for last is tried before
 * the table. Threads are told apart by their number, since their registers lie nowhere; claims of
 * a runtime's heap by runtime and area, since one heap has many mappings.
 */
#include "holders/owners.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
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

/* The answer's weight goes to its root. */
static int weigh(struct cf_owners *owners, const struct cf_owners_input *input,
                 const struct cf_asked *asked, struct cf_err *err) {
    const struct cf_path *path = cf_holders_path(input->holders, asked->addr);
    if (path == NULL || path->length == 0)
        return CF_OK;
    const struct cf_hop *hop = &path->hops.items[0];
    uint32_t place = cf_places_of(input->places, input->labels, hop->root, hop->addr);
    if (place == UINT32_MAX)
        return cf_err_nomem(err, sizeof(struct cf_place), "a holder");
    struct cf_owner *row = NULL;
    for (size_t i = 0; i < owners->rows.len && row == NULL; i++)
        if (owners->rows.items[i].number == place)
            row = &owners->rows.items[i];
    if (row == NULL) {
        row = cf_array_push(&owners->rows);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "a holder");
        *row = (struct cf_owner){.place = input->places->rows.items[place], .number = place,
                                 .hop = *hop};
    }
    if (asked->weight > row->weight)
        row->weight = asked->weight;
    return CF_OK;
}

static int compare_weights(const void *a, const void *b) {
    const struct cf_owner *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight > right->weight ? -1 : 1;
    return left->place.start < right->place.start ? -1 : left->place.start > right->place.start;
}

static void keep_weightiest(struct cf_owners *owners) {
    if (owners->rows.len > 1)
        qsort(owners->rows.items, owners->rows.len, sizeof *owners->rows.items, compare_weights);
    if (owners->rows.len > CF_OWNERS_MAX)
        owners->rows.len = CF_OWNERS_MAX;
}

int cf_owners_find(const struct cf_owners_input *input, struct cf_owners *owners,
                   struct cf_err *err) {
    for (size_t i = 0; i < input->asking->rows.len; i++) {
        int status = weigh(owners, input, &input->asking->rows.items[i], err);
        if (status != CF_OK)
            return status;
    }
    keep_weightiest(owners);
    for (size_t i = 0; i < owners->rows.len; i++) {
        struct cf_owner *row = &owners->rows.items[i];
        struct cf_vertex vertex = cf_dominators_of_group(input->dominators, row->number);
        if (vertex.index != 0)
            row->kept = cf_dominators_kept(input->dominators, vertex);
    }
    return CF_OK;
}

void cf_owners_fini(struct cf_owners *owners) {
    cf_array_free(&owners->rows);
}

void cf_owner_label(const struct cf_labels *labels, const struct cf_owner *owner, char *out,
                    size_t bytes) {
    struct cf_hop hop = owner->hop;
    if (owner->place.heap != NULL) {
        (void)snprintf(out, bytes, "%s", owner->place.heap->label);
        return;
    }
    if (owner->place.kind == CF_ROOT_GLOBAL)
        hop.addr = owner->place.start;
    cf_label_root(labels, &hop, out, bytes);
}
