#include "holders/owners.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/err.h"
#include "sym/symbols.h"

/* All that is known of the stack of a thread, whose registers count with it. */
static void take_stack(const struct cf_roots *roots, int32_t thread, struct cf_held *held) {
    held->thread = thread;
    held->start = held->end = 0;
    for (size_t i = 0; i < roots->rows.len; i++) {
        const struct cf_root *row = &roots->rows.items[i];
        if (row->kind != CF_ROOT_STACK || row->thread != thread)
            continue;
        held->start = row->start;
        held->end = row->end;
    }
}

/* A variable as a whole, where symbols tell how far it goes; a stack with its thread's registers;
 * a runtime's whole heap; a mapping; else the word alone. */
static struct cf_held held_by(const struct cf_labels *labels, const struct cf_hop *hop) {
    const struct cf_root *root = hop->root;
    struct cf_held held = {.kind = root->kind, .start = hop->addr, .thread = -1};
    struct cf_symbol symbol;
    held.end = hop->addr + cf_mark_resolver(labels->reach->mark)->word_bytes;
    switch (root->kind) {
    case CF_ROOT_GLOBAL:
        if (cf_symbols_lookup(labels->naming->symbols, hop->addr, &symbol) &&
            hop->addr - symbol.addr < symbol.bytes) {
            held.start = symbol.addr;
            held.end = symbol.addr + symbol.bytes;
        }
        return held;
    case CF_ROOT_STACK:
    case CF_ROOT_REGISTER:
        take_stack(&labels->reach->roots, root->thread, &held);
        return held;
    case CF_ROOT_MAPPING:
        held.start = root->start;
        held.end = root->end;
        held.heap = cf_objects_heap(labels->objects, hop->addr);
        held.claims = labels->objects->input.claims;
        return held;
    default:
        return held;
    }
}

static bool is_same(const struct cf_held *a, const struct cf_held *b) {
    bool is_thread = a->thread >= 0 && a->thread == b->thread;
    bool is_heap = a->heap != NULL && b->heap != NULL && cf_held_is_heap(a, b->heap);
    return is_thread || is_heap || (a->thread < 0 && b->thread < 0 && a->start == b->start);
}

/* The answer's weight goes to its root. */
static int weigh(struct cf_owners *owners, const struct cf_owners_input *input,
                 const struct cf_asked *asked, struct cf_err *err) {
    const struct cf_path *path = cf_holders_path(input->holders, asked->addr);
    if (path == NULL || path->length == 0)
        return CF_OK;
    struct cf_held held = held_by(input->labels, &path->hops.items[0]);
    struct cf_owner *row = NULL;
    for (size_t i = 0; i < owners->rows.len && row == NULL; i++)
        if (is_same(&owners->rows.items[i].held, &held))
            row = &owners->rows.items[i];
    if (row == NULL) {
        row = cf_array_push(&owners->rows);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "a holder");
        *row = (struct cf_owner){.held = held, .hop = path->hops.items[0]};
    }
    if (asked->weight > row->weight)
        row->weight = asked->weight;
    return CF_OK;
}

static int compare_weights(const void *a, const void *b) {
    const struct cf_owner *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight > right->weight ? -1 : 1;
    return left->held.start < right->held.start ? -1 : left->held.start > right->held.start;
}

static void keep_weightiest(struct cf_owners *owners) {
    if (owners->rows.len > 1)
        qsort(owners->rows.items, owners->rows.len, sizeof *owners->rows.items, compare_weights);
    if (owners->rows.len > CF_OWNERS_MAX)
        owners->rows.len = CF_OWNERS_MAX;
}

/* Each costs a search of its own: few. */
static int count(const struct cf_context *ctx, const struct cf_owners_input *input,
                 struct cf_owners *owners, struct cf_err *err) {
    struct cf_held_marks marks = {.mem = input->mem, .reach = input->labels->reach};
    int status = CF_OK;
    for (size_t i = 0; i < owners->rows.len && status == CF_OK; i++) {
        status = cf_progress(ctx, "counting what is held", i, owners->rows.len)
                     ? cf_err_cancelled(err)
                     : cf_held_count(ctx, &marks, &owners->rows.items[i].held, err);
    }
    cf_held_marks_fini(&marks);
    if (status != CF_EOUTPUT)
        return status;
    owners->rows.len = 0;
    cf_log(ctx, "what a holder keeps alive is not counted: %s",
           err != NULL ? err->text : "no room");
    return CF_OK;
}

int cf_owners_find(const struct cf_context *ctx, const struct cf_owners_input *input,
                   struct cf_owners *owners, struct cf_err *err) {
    if (!input->count)
        return CF_OK;
    for (size_t i = 0; i < input->asking->rows.len; i++) {
        int status = weigh(owners, input, &input->asking->rows.items[i], err);
        if (status != CF_OK)
            return status;
    }
    keep_weightiest(owners);
    return count(ctx, input, owners, err);
}

void cf_owners_fini(struct cf_owners *owners) {
    cf_array_free(&owners->rows);
}

void cf_owner_label(const struct cf_labels *labels, const struct cf_owner *owner, char *out,
                    size_t bytes) {
    struct cf_hop hop = owner->hop;
    if (owner->held.heap != NULL) {
        (void)snprintf(out, bytes, "%s", owner->held.heap->label);
        return;
    }
    if (owner->held.kind == CF_ROOT_GLOBAL)
        hop.addr = owner->held.start;
    cf_label_root(labels, &hop, out, bytes);
}
