/*
 * Growable arrays of plain values, for the small tables (segments, heaps, anomalies) beside the
 * bit planes. Declare one with CF_ARRAY(struct thing); all zero is empty; the items are owned by
 * the array, move when it grows, and end with cf_array_free().
 *
 *     CF_ARRAY(struct cf_region) regions;
 *     struct cf_region *slot = cf_array_push(&regions);   NULL when memory is out; slot is zeroed
 */
#ifndef CF_BASE_ARRAY_H
#define CF_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#define CF_ARRAY(type)                                                                            \
    struct {                                                                                      \
        type *items;                                                                              \
        size_t len;                                                                               \
        size_t cap;                                                                               \
    }

/* Room for one more item; false when memory is out, with nothing changed. */
bool cf_array_grow(void **items, size_t len, size_t *cap, size_t item_bytes);

void *cf_array_zeroed_slot(void *items, size_t index, size_t item_bytes);

#define cf_array_push(array)                                                                      \
    ((__typeof__((array)->items))(cf_array_grow((void **)&(array)->items, (array)->len,           \
                                                &(array)->cap, sizeof *(array)->items)            \
                                      ? cf_array_zeroed_slot((array)->items, (array)->len++,      \
                                                             sizeof *(array)->items)              \
                                      : NULL))

#define cf_array_free(array)                                                                      \
    do {                                                                                          \
        free((array)->items);                                                                     \
        (array)->items = NULL;                                                                    \
        (array)->len = (array)->cap = 0;                                                          \
    } while (0)

/*
 * The one binary search. Sorted things are cut in two by a question that is false for the first of
 * them and true from some index on; cf_bound() is that index, or `nr` where it is true for none.
 *
 *     cf_bound(heaps.len, i, heaps.items[i].end > addr)      the first that ends above addr
 *     cf_bound(rows.len, i, rows.items[i].addr >= addr)      the first at addr or above it
 *     cf_bound(rows.len, i, rows.items[i].addr > addr)       how many stand at addr or below it
 *
 * `question` is an expression over the index `i`, which the macro declares as a size_t; it is
 * asked at most 64 times.
 */
#define cf_bound(nr, i, question)                                                                 \
    ({                                                                                            \
        size_t low_ = 0, high_ = (nr);                                                            \
        while (low_ < high_) {                                                                    \
            size_t i = low_ + (high_ - low_) / 2;                                                 \
            if (question)                                                                         \
                high_ = i;                                                                        \
            else                                                                                  \
                low_ = i + 1;                                                                     \
        }                                                                                         \
        low_;                                                                                     \
    })

#endif
