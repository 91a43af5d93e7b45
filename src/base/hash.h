/*
 * The one hash table: open addressing over rows that stand in an array of their own. It knows the
 * rows' numbers and 32 bits of their hashes, so that it can grow without looking at a row; what
 * makes two keys equal is the caller's expression. Rows are never taken out.
 *
 *     struct cf_hash table = {0};                              all zero is empty
 *     uint64_t hash = cf_hash_mix(key);
 *     uint32_t row = cf_hash_find(&table, hash, i, rows.items[i].key == key);
 *     if (row == CF_HASH_NONE && !cf_hash_add(&table, hash, number_of_a_new_row)) memory is out
 *
 * At most half of the slots are taken, 8 bytes each. Keys that come from a core may be chosen to
 * collide: then a search is as long as the table, and no longer.
 */
#ifndef CF_BASE_HASH_H
#define CF_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No row has this key. */
#define CF_HASH_NONE UINT32_MAX

struct cf_hash_slot {
    uint32_t row; /* its number plus 1; 0: an empty slot */
    uint32_t hash;
};

/* All zero is empty. */
struct cf_hash {
    struct cf_hash_slot *slots;
    size_t nr_slots; /* 0, or a power of two */
    size_t nr_rows;
};

/* Every bit of `key` affects every bit of the result (the finalizer of splitmix64). */
static inline uint64_t cf_hash_mix(uint64_t key) {
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ull;
    key = (key ^ key >> 27) * 0x94d049bb133111ebull;
    return key ^ key >> 31;
}

/* Puts one more row in, whose key must not be there yet. False: memory is out (or there are 2^31
 * rows), with nothing changed. */
bool cf_hash_add(struct cf_hash *table, uint64_t hash, size_t row);

void cf_hash_fini(struct cf_hash *table);

/* The number `i` of the row with this hash (`mixed`) for which `is_same` is true, or CF_HASH_NONE.
 * The macro declares `i`, a uint32_t. */
#define cf_hash_find(in, mixed, i, is_same)                                                       \
    ({                                                                                            \
        const struct cf_hash *table_ = (in);                                                      \
        uint32_t hash_ = (uint32_t)(mixed), found_ = CF_HASH_NONE;                                \
        size_t mask_ = table_->nr_slots - 1;                                                      \
        for (size_t at_ = hash_ & mask_; table_->nr_slots > 0 && table_->slots[at_].row != 0;     \
             at_ = (at_ + 1) & mask_) {                                                           \
            uint32_t i = table_->slots[at_].row - 1;                                              \
            if (table_->slots[at_].hash == hash_ && (is_same)) {                                  \
                found_ = i;                                                                       \
                break;                                                                            \
            }                                                                                     \
        }                                                                                         \
        found_;                                                                                   \
    })

#endif
