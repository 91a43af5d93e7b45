/*
 * A row of a table (INTEGER PRIMARY KEY, integer, integer) as a cell of a leaf page, by SQLite's
 * "Database File Format" (sections 1.6 and 2.1): the payload's length, the rowid as a varint, the
 * record's header with a serial type for each column, the values big-endian.
 *
 *     length | rowid | 4 | 0 | type | type | first | second
 */
#ifndef CF_STORE_CELL_H
#define CF_STORE_CELL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CF_RECORD_HEADER = 4 };

/* How many bytes a varint takes: 7 bits in each, but 8 in a ninth. */
static inline uint32_t cf_varint_bytes(uint64_t value) {
    return value >> 56 != 0 ? 9 : (uint32_t)(70 - __builtin_clzll(value | 1)) / 7;
}

/* 7 bits a byte, most significant first. Returns the end. */
static inline unsigned char *cf_varint_put(unsigned char *at, uint64_t value, uint32_t bytes) {
    if (bytes == 9) {
        at[8] = (unsigned char)value;
        value >>= 8;
        for (int i = 7; i >= 0; i--, value >>= 7)
            at[i] = (unsigned char)(value & 0x7f) | 0x80;
        return at + 9;
    }
    unsigned char last = 0;
    for (unsigned char *to = at + bytes; to-- > at; value >>= 7, last = 0x80)
        *to = (unsigned char)(value & 0x7f) | last;
    return at + bytes;
}

/* The serial type of a value and the bytes that it takes. */
static inline unsigned char cf_serial_type(int64_t value) {
    static const unsigned char by_bytes[] = {1, 1, 2, 3, 4, 5, 5, 6, 6};
    if (value == 0 || value == 1)
        return value == 0 ? 8 : 9;
    uint64_t magnitude = value < 0 ? ~(uint64_t)value : (uint64_t)value;
    return by_bytes[(72 - __builtin_clzll(magnitude | 1)) / 8]; /* with room for the sign */
}

static inline uint32_t cf_serial_bytes(unsigned char type) {
    static const unsigned char bytes[] = {0, 1, 2, 3, 4, 6, 8, 0, 0, 0};
    return bytes[type];
}

/* Big-endian; returns the end. */
static inline unsigned char *cf_integer_put(unsigned char *at, int64_t value, uint32_t bytes) {
    for (uint32_t i = bytes; i-- > 0; value >>= 8)
        at[i] = (unsigned char)value;
    return at + bytes;
}

/* What a row's cell is made of, and how long that is. */
struct cf_cell {
    int64_t rowid;
    int64_t first;
    int64_t second;
    unsigned char first_type;
    unsigned char second_type;
    uint32_t rowid_bytes;
    uint32_t first_bytes;
    uint32_t second_bytes;
    uint32_t payload;
};

static inline struct cf_cell cf_cell_make(int64_t rowid, int64_t first, int64_t second) {
    struct cf_cell cell = {.rowid = rowid, .first = first, .second = second};
    cell.first_type = cf_serial_type(first);
    cell.second_type = cf_serial_type(second);
    cell.rowid_bytes = cf_varint_bytes((uint64_t)rowid);
    cell.first_bytes = cf_serial_bytes(cell.first_type);
    cell.second_bytes = cf_serial_bytes(cell.second_type);
    cell.payload = CF_RECORD_HEADER + cell.first_bytes + cell.second_bytes;
    return cell;
}

/* Forwards, byte by byte: it writes no byte beside the cell. */
static inline void cf_cell_put(unsigned char *at, const struct cf_cell *cell) {
    *at++ = (unsigned char)cell->payload;
    at = cf_varint_put(at, (uint64_t)cell->rowid, cell->rowid_bytes);
    *at++ = CF_RECORD_HEADER; /* the record's header: its size, and three types */
    *at++ = 0; /* the INTEGER PRIMARY KEY is stored as NULL: it is the rowid */
    *at++ = cell->first_type;
    *at++ = cell->second_type;
    at = cf_integer_put(at, cell->first, cell->first_bytes);
    (void)cf_integer_put(at, cell->second, cell->second_bytes);
}

/* The 8 groups of 7 bits of a 56-bit value, each in a byte of its own. */
static inline uint64_t cf_spread_groups(uint64_t value) {
    value = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
    value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
    return (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
}

/*
 * Nearly all rows of chunks: a rowid of 7 groups (2^42 to 2^49: where user space has its heaps), a
 * first value of one or two bytes, a second one that costs none.
 *
 *     length, 7 groups | 4, 0, type, type, first
 *     ^ at, 8 bytes      5 or 6 bytes            ^ end
 */
static inline bool cf_cell_is_common(int64_t rowid, int64_t first, int64_t second) {
    return (uint64_t)rowid - (1ull << 42) < (1ull << 49) - (1ull << 42) &&
           (uint64_t)first - 2 < 32766 && (uint64_t)second < 2;
}

static inline uint32_t cf_cell_common_bytes(int64_t first) {
    return 13 + (first >= 128);
}

/* Two stores, the upper one first: the lower one goes over what that one writes below its place. */
static inline void cf_cell_put_common(unsigned char *at, int64_t rowid, int64_t first,
                                      int64_t second) {
    uint64_t is_wide = first >= 128, payload = 5 + is_wide;
    uint64_t value = is_wide ? (uint64_t)__builtin_bswap16((uint16_t)first) : (uint64_t)first;
    uint64_t record = CF_RECORD_HEADER | (1 + is_wide) << 16 | (8 + (uint64_t)second) << 24 |
                      value << 32;
    uint64_t groups = cf_spread_groups((uint64_t)rowid) | 0x0080808080808000;
    uint64_t head = __builtin_bswap64(groups) | payload;
    record <<= 8 * (8 - payload);
    memcpy(at + payload, &record, 8); /* payload + 8 bytes is the cell */
    memcpy(at, &head, 8);
}

#endif
