/*
 * Arithmetic on numbers that came from the core. Nothing here wraps: a sum or product that does
 * not fit makes the call return false and leaves the output alone.
 */
#ifndef CF_BASE_CHECKED_H
#define CF_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool cf_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool cf_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline bool cf_is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* `align` is a power of two. */
static inline uint64_t cf_align_down(uint64_t value, uint64_t align) {
    return value & ~(align - 1);
}

static inline bool cf_align_up(uint64_t value, uint64_t align, uint64_t *out) {
    uint64_t sum;
    if (__builtin_add_overflow(value, align - 1, &sum))
        return false;
    *out = sum & ~(align - 1);
    return true;
}

/* The bytes that [a_start, a_end) and [b_start, b_end) share. */
static inline uint64_t cf_overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start,
                                  uint64_t b_end) {
    uint64_t start = a_start > b_start ? a_start : b_start;
    uint64_t end = a_end < b_end ? a_end : b_end;
    return start < end ? end - start : 0;
}

#endif
