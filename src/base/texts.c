/*
 * Numbers, harmless text, and the version, as people are shown them. Bytes are rounded half up in
 * whole numbers, and the unit is chosen after rounding: what would be 1024.0 KiB is 1.0 MiB.
 */
#include "base/texts.h"

#include <inttypes.h>
#include <stdio.h>

#include "corefrag.h"

#define TEXT(number) #number
#define VERSION(major, minor) TEXT(major) "." TEXT(minor)

const char *cf_version(void) {
    return VERSION(CF_VERSION_MAJOR, CF_VERSION_MINOR);
}

int cf_version_number(void) {
    return CF_VERSION_NUMBER;
}

/* ---- numbers ---- */

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

/* ---- harmless text ---- */

size_t cf_utf8_decode(const char *text, uint32_t *out) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] == 0)
        return 0;
    if (at[0] < 0x80) {
        *out = at[0];
        return 1;
    }
    size_t bytes = at[0] >= 0xf0 && at[0] < 0xf8 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc0 ? 2 : 0;
    if (bytes == 0 || at[0] >= 0xf8)
        return 0;
    uint32_t point = at[0] & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[bytes] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 0;
    *out = point;
    return bytes;
}

/* Control, format, direction and separator characters; tags and private variations with them. */
static bool is_hostile_point(uint32_t point) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},   {0x115f, 0x1160},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164},
        {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

bool cf_is_hostile(const char *text) {
    uint32_t point;
    return cf_utf8_decode(text, &point) == 0 || is_hostile_point(point);
}

size_t cf_harmless_piece(const char *text, char out[CF_HARMLESS_PIECE]) {
    uint32_t point;
    size_t bytes = cf_utf8_decode(text, &point);
    if (bytes == 0 || (point < 0x80 && is_hostile_point(point))) {
        (void)snprintf(out, CF_HARMLESS_PIECE, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    if (is_hostile_point(point)) {
        (void)snprintf(out, CF_HARMLESS_PIECE, "\\u{%x}", (unsigned)point);
        return bytes;
    }
    memcpy(out, text, bytes);
    out[bytes] = '\0';
    return bytes;
}

size_t cf_harmless(const char *raw, char *out, size_t bytes) {
    char piece[CF_HARMLESS_PIECE];
    size_t used = 0, whole = 0;
    bool fits = true;
    for (const char *at = raw; *at != '\0';) {
        at += cf_harmless_piece(at, piece);
        size_t len = strlen(piece);
        whole += len;
        fits = fits && whole < bytes;
        if (!fits)
            continue;
        memcpy(out + used, piece, len);
        used += len;
    }
    if (bytes > 0)
        out[used] = '\0';
    return whole;
}
