/*
 * Arrays grow by half: what was moved in all stays within three times what they hold, and less
 * memory lies idle than with doubling.
 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool cf_array_grow(void **items, size_t len, size_t *cap, size_t item_bytes) {
    if (len < *cap)
        return true;
    size_t wanted = *cap == 0 ? 16 : *cap + *cap / 2;
    size_t bytes;
    if (wanted <= *cap || __builtin_mul_overflow(wanted, item_bytes, &bytes))
        return false;
    void *grown = realloc(*items, bytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *cap = wanted;
    return true;
}

void *cf_array_zeroed_slot(void *items, size_t index, size_t item_bytes) {
    return memset((char *)items + index * item_bytes, 0, item_bytes);
}
