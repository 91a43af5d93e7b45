/*
 * A bounded cursor over borrowed bytes of the core, little-endian whatever the host is. A read
 * beyond the end returns false and changes neither the cursor nor the output; there is no other
 * way to look at headers and notes.
 */
#ifndef CF_BASE_CURSOR_H
#define CF_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cf_cursor {
    const unsigned char *data;
    uint64_t bytes;
    uint64_t pos;
    unsigned word_bytes; /* 4 or 8: the width of cf_cursor_word() */
};

static inline struct cf_cursor cf_cursor_make(const unsigned char *data, uint64_t bytes,
                                              unsigned word_bytes) {
    return (struct cf_cursor){data, data == NULL ? 0 : bytes, 0, word_bytes};
}

static inline uint64_t cf_cursor_left(const struct cf_cursor *cursor) {
    return cursor->bytes - cursor->pos;
}

/* Moves to `pos`; the very end is a place, beyond it is none. */
static inline bool cf_cursor_seek(struct cf_cursor *cursor, uint64_t pos) {
    if (pos > cursor->bytes)
        return false;
    cursor->pos = pos;
    return true;
}

/* The next `bytes` bytes, borrowed from the data, and the cursor behind them; or NULL. */
static inline const unsigned char *cf_cursor_take(struct cf_cursor *cursor, uint64_t bytes) {
    if (bytes > cf_cursor_left(cursor))
        return NULL;
    const unsigned char *at = cursor->data + cursor->pos;
    cursor->pos += bytes;
    return at;
}

static inline bool cf_cursor_uint(struct cf_cursor *cursor, unsigned width, uint64_t *out) {
    const unsigned char *at = cf_cursor_take(cursor, width);
    if (at == NULL)
        return false;
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    *out = value;
    return true;
}

static inline bool cf_cursor_u16(struct cf_cursor *cursor, uint16_t *out) {
    uint64_t value;
    if (!cf_cursor_uint(cursor, 2, &value))
        return false;
    *out = (uint16_t)value;
    return true;
}

static inline bool cf_cursor_u32(struct cf_cursor *cursor, uint32_t *out) {
    uint64_t value;
    if (!cf_cursor_uint(cursor, 4, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

static inline bool cf_cursor_word(struct cf_cursor *cursor, uint64_t *out) {
    return cf_cursor_uint(cursor, cursor->word_bytes, out);
}

#endif
