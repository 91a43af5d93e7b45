#include "base/harmless.h"

#include <stdio.h>
#include <string.h>

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
