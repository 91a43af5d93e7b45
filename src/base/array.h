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

#endif
