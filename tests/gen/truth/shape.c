#include "shape.h"

#include <string.h>

static __thread uint32_t state = 1;

uint32_t shape_random(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

void shape_seed(uint32_t seed) {
    state = seed * 2654435761u | 1;
}

size_t shape_size(size_t low, size_t high) {
    unsigned doublings = 0;
    while (low << (doublings + 1) <= high)
        doublings++;
    size_t from = low << shape_random() % (doublings + 1);
    size_t to = from * 2 - 1 < high ? from * 2 - 1 : high;
    return from + shape_random() % (to - from + 1);
}

void *shape_put(void **slot, size_t size) {
    *slot = truth_new(size);
    truth_mark(*slot, TRUTH_HELD);
    memset(*slot, 0x55, size);
    return *slot;
}

void shape_clear(void **slot) {
    if (*slot)
        truth_drop(*slot);
    *slot = NULL;
}

void shape_fill(void **row, size_t nr, size_t low, size_t high) {
    for (size_t i = 0; i < nr; i++)
        shape_put(&row[i], shape_size(low, high));
}

void shape_thin(void **row, size_t nr, size_t keep) {
    for (size_t i = 0; i < nr; i++) {
        if (!keep || i % keep)
            shape_clear(&row[i]);
    }
}
