#include "holders/owners.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"

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
