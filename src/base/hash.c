/*
 * Linear probing over slots of 8 bytes, half of them empty at the least. The hash is kept in the
 * slot: growing moves slots without looking at a row, and most unequal keys are told apart there.
 */
#include "base/hash.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 256 };

static void put(struct cf_hash_slot *slots, size_t nr_slots, struct cf_hash_slot slot) {
    size_t at = slot.hash & (nr_slots - 1);
    while (slots[at].row != 0)
        at = (at + 1) & (nr_slots - 1);
    slots[at] = slot;
}

static bool grow(struct cf_hash *table) {
    size_t nr = table->nr_slots == 0 ? FIRST_SLOTS : table->nr_slots * 2;
    struct cf_hash_slot *slots = nr > UINT32_MAX ? NULL : calloc(nr, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < table->nr_slots; i++)
        if (table->slots[i].row != 0)
            put(slots, nr, table->slots[i]);
    free(table->slots);
    table->slots = slots;
    table->nr_slots = nr;
    return true;
}

bool cf_hash_add(struct cf_hash *table, uint64_t hash, size_t row) {
    if (row >= CF_HASH_NONE || (table->nr_rows * 2 >= table->nr_slots && !grow(table)))
        return false;
    put(table->slots, table->nr_slots, (struct cf_hash_slot){(uint32_t)row + 1, (uint32_t)hash});
    table->nr_rows++;
    return true;
}

void cf_hash_fini(struct cf_hash *table) {
    free(table->slots);
    *table = (struct cf_hash){0};
}
