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
#ifndef CF_BASE_BOUND_H
#define CF_BASE_BOUND_H

#include <stddef.h>

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
