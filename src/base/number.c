#include "base/number.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum { DIGITS_MAX = 32 }; /* 20 digits, 6 separators, a sign */

/* `first` and `second` together, cut where they do not fit. */
static const char *put(char out[CF_NUMBER_MAX], const char *first, const char *second) {
    (void)snprintf(out, CF_NUMBER_MAX, "%s%s", first, second);
    return out;
}

/* The digits of `value` in groups of three. */
static void group_digits(char out[DIGITS_MAX], uint64_t value, bool negative) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = out;
    if (negative)
        *to++ = '-';
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
}

/* Half up in whole numbers: the nearest multiple of 1/scale of `unit`, times `scale`. */
static uint64_t round_to(uint64_t bytes, unsigned shift, unsigned scale) {
    uint64_t whole = bytes >> shift;
    uint64_t rest = bytes & ((UINT64_C(1) << shift) - 1);
    /* The rest's upper 32 bits are enough for two decimals, and the product cannot wrap. */
    unsigned drop = shift > 32 ? shift - 32 : 0;
    uint64_t part = (rest >> drop) * scale;
    unsigned left = shift - drop;
    return whole * scale + (part >> left) + ((part >> (left - 1)) & 1);
}

const char *cf_number_exact_bytes(char out[CF_NUMBER_MAX], uint64_t bytes) {
    char digits[DIGITS_MAX];
    group_digits(digits, bytes, false);
    return put(out, digits, " B");
}

const char *cf_number_bytes(char out[CF_NUMBER_MAX], uint64_t bytes) {
    static const struct {
        const char *name;
        unsigned shift;
        unsigned scale;
    } units[] = {{"KiB", 10, 10},  {"MiB", 20, 10},  {"GiB", 30, 100},
                 {"TiB", 40, 100}, {"PiB", 50, 100}, {"EiB", 60, 100}};
    enum { NR_UNITS = sizeof units / sizeof units[0] };
    if (bytes < 1024)
        return cf_number_exact_bytes(out, bytes);
    size_t i = 0;
    while (i + 1 < NR_UNITS &&
           round_to(bytes, units[i].shift, units[i].scale) >= 1024 * units[i].scale)
        i++;
    uint64_t rounded = round_to(bytes, units[i].shift, units[i].scale);
    (void)snprintf(out, CF_NUMBER_MAX, "%" PRIu64 ".%0*" PRIu64 " %s", rounded / units[i].scale,
                   units[i].scale == 10 ? 1 : 2, rounded % units[i].scale, units[i].name);
    return out;
}

const char *cf_number_count(char out[CF_NUMBER_MAX], int64_t count) {
    uint64_t magnitude = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    group_digits(out, magnitude, count < 0);
    return out;
}

const char *cf_number_percent(char out[CF_NUMBER_MAX], double percent) {
    if (percent > 0 && percent < 0.05)
        return put(out, "< 0.1 %", "");
    if (percent < 100 && percent >= 99.95)
        return put(out, "> 99.9 %", "");
    if (!(percent > -1e12 && percent < 1e12))
        return put(out, "unknown", "");
    (void)snprintf(out, CF_NUMBER_MAX, "%.1f %%", percent);
    return out;
}
