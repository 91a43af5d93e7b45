/*
 * The parts of SQLite's "Database File Format" (sections 1.6 and 2.1) that the chunk table is
 * written in: cells first, then the pages that they stand on.
 *
 * A chunk's row is a cell of a leaf page: the payload's length, the rowid as a varint, the record's
 * header with a serial type for each column, the values big-endian. The columns are an INTEGER
 * PRIMARY KEY, two integers, a type, and the home, which is two more:
 *
 *     length | rowid | n | 0 | type | type ( | type ( | type | type )) | first | second | ...
 *
 * What comes last and has its column's default is left out, as SQLite reads a record that is
 * shorter than its table: a home of 0 and 0; before it, a type that is NULL.
 */
#ifndef CF_STORE_FILEFORMAT_H
#define CF_STORE_FILEFORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    CF_RECORD_HEADER = 4, /* of the shortest record: its own size, and three types */
    CF_ID_NONE = -1,
};

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

/* Where a chunk stands, as the last two columns: the same for all rows of a heap. */
struct cf_home {
    uint64_t value; /* both values, big-endian in its lowest bytes */
    uint32_t bytes; /* of them, 8 at most */
    uint32_t types; /* both serial types, the first one lowest */
    bool is_default; /* 0 and 0 */
};

/* Each id is below 2^31, or CF_ID_NONE: NULL. */
struct cf_home cf_home_make(int64_t arena_id, int64_t heap_id);

/* A row; `type` 0 is NULL. */
struct cf_record {
    int64_t rowid;
    int64_t first;
    int64_t second;
    uint32_t type;
};

/* What a row's cell is made of, and how long that is. */
struct cf_cell {
    uint32_t rowid_bytes;
    uint32_t first_bytes;
    uint32_t second_bytes;
    uint32_t type_bytes;
    uint32_t header_bytes;
    uint32_t payload;
    unsigned char types[3]; /* of first, second and type */
};

static inline struct cf_cell cf_cell_make(const struct cf_record *row,
                                          const struct cf_home *home) {
    struct cf_cell cell = {.header_bytes = CF_RECORD_HEADER};
    cell.types[0] = cf_serial_type(row->first);
    cell.types[1] = cf_serial_type(row->second);
    cell.types[2] = row->type == 0 ? 0 : cf_serial_type(row->type);
    cell.rowid_bytes = cf_varint_bytes((uint64_t)row->rowid);
    cell.first_bytes = cf_serial_bytes(cell.types[0]);
    cell.second_bytes = cf_serial_bytes(cell.types[1]);
    cell.type_bytes = cf_serial_bytes(cell.types[2]);
    if (!home->is_default)
        cell.header_bytes += 3;
    else if (row->type != 0)
        cell.header_bytes += 1;
    cell.payload = cell.header_bytes + cell.first_bytes + cell.second_bytes + cell.type_bytes +
                   home->bytes;
    return cell;
}

/* Forwards, byte by byte: it writes no byte beside the cell. */
static inline void cf_cell_put(unsigned char *at, const struct cf_cell *cell,
                               const struct cf_record *row, const struct cf_home *home) {
    *at++ = (unsigned char)cell->payload;
    at = cf_varint_put(at, (uint64_t)row->rowid, cell->rowid_bytes);
    *at++ = (unsigned char)cell->header_bytes;
    *at++ = 0; /* the INTEGER PRIMARY KEY is stored as NULL: it is the rowid */
    *at++ = cell->types[0];
    *at++ = cell->types[1];
    if (cell->header_bytes > CF_RECORD_HEADER)
        *at++ = cell->types[2];
    if (!home->is_default) {
        *at++ = (unsigned char)home->types;
        *at++ = (unsigned char)(home->types >> 8);
    }
    at = cf_integer_put(at, row->first, cell->first_bytes);
    at = cf_integer_put(at, row->second, cell->second_bytes);
    at = cf_integer_put(at, row->type, cell->type_bytes);
    (void)cf_integer_put(at, (int64_t)home->value, home->bytes);
}

/* The 8 groups of 7 bits of a 56-bit value, each in a byte of its own. */
static inline uint64_t cf_spread_groups(uint64_t value) {
    value = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
    value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
    return (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
}

/*
 * Nearly all rows of chunks: a rowid of 7 groups (2^42 to 2^49: where user space has its heaps), a
 * first value of one or two bytes, a second one of none or one, eight bytes of values in all.
 *
 *     length, 7 groups | n, 0, type, type ...  | first, second, type, home
 *     ^ at, 8 bytes      4, 5 or 7 bytes         1 to 8 bytes             ^ end
 */
static inline bool cf_cell_is_common(const struct cf_record *row, const struct cf_home *home) {
    return (uint64_t)row->rowid - (1ull << 42) < (1ull << 49) - (1ull << 42) &&
           (uint64_t)row->first - 2 < 32766 && (uint64_t)row->second < 128 && row->type < 32768 &&
           home->bytes <= 3;
}

/* The two parts of a common record. */
struct cf_common {
    uint64_t header; /* the first byte lowest */
    uint64_t values; /* big-endian in its lowest bytes */
    uint32_t header_bytes;
    uint32_t value_bytes;
};

static inline struct cf_common cf_common_make(const struct cf_record *row,
                                              const struct cf_home *home) {
    bool is_wide = row->first >= 128, is_plain = row->second < 2;
    uint32_t type = row->type, has_type = type != 0;
    uint32_t type_bytes = (type > 1) + (type > 127);
    uint32_t serial = type > 1 ? type_bytes : has_type * 9;
    struct cf_common common = {.value_bytes = 1u + is_wide + !is_plain + type_bytes + home->bytes};
    common.header_bytes = home->is_default ? CF_RECORD_HEADER + has_type : CF_RECORD_HEADER + 3;
    common.header = common.header_bytes | (uint64_t)(1 + is_wide) << 16 |
                    (is_plain ? 8 + (uint64_t)row->second : 1) << 24 | (uint64_t)serial << 32 |
                    (uint64_t)home->types << 40;
    common.values = is_plain ? (uint64_t)row->first
                             : (uint64_t)row->first << 8 | (uint64_t)row->second;
    common.values = common.values << 8 * type_bytes | (type_bytes > 0 ? type : 0);
    common.values = common.values << 8 * home->bytes | home->value;
    return common;
}

static inline uint32_t cf_common_bytes(const struct cf_common *common) {
    return 8 + common->header_bytes + common->value_bytes;
}

/* Three stores, the uppermost first: each goes over what the one before wrote below its place. */
static inline void cf_common_put(unsigned char *at, int64_t rowid, const struct cf_common *common) {
    uint64_t payload = common->header_bytes + common->value_bytes;
    uint64_t values = __builtin_bswap64(common->values);
    uint64_t header = common->header << 8 * (8 - common->header_bytes);
    uint64_t groups = cf_spread_groups((uint64_t)rowid) | 0x0080808080808000;
    uint64_t head = __builtin_bswap64(groups) | payload;
    memcpy(at + payload, &values, 8); /* 8 + payload bytes is the cell */
    memcpy(at + common->header_bytes, &header, 8);
    memcpy(at, &head, 8);
}

/*
 * A b-tree page that is being filled (section 1.6): a header, the array of 2-byte pointers that
 * grows up, the cells that grow down from the page's end.
 *
 *     | type, cells, low ... | pointers ->  ... free ...  <- cells |
 *                                        ^ used          ^ low
 */
enum {
    CF_PAGE_LEAF = 13,
    CF_PAGE_INTERIOR = 5,
    CF_PAGE_LEAF_HEADER = 8,
    CF_PAGE_INTERIOR_HEADER = 12,
};

/* A page that is being filled; its cells grow down to `low`, its pointers up to `used`. */
struct cf_page {
    unsigned char *bytes;
    uint32_t used; /* end of the pointer array */
    uint32_t low;  /* start of the cells */
    uint32_t cells;
};

static inline void cf_put_u16(unsigned char *at, uint32_t value) {
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

static inline void cf_put_u32(unsigned char *at, uint32_t value) {
    cf_put_u16(at, value >> 16);
    cf_put_u16(at + 2, value & 0xffff);
}

static inline uint32_t cf_get_u32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void cf_page_start(struct cf_page *page, uint32_t page_bytes, unsigned char type) {
    memset(page->bytes, 0, page_bytes);
    page->bytes[0] = type;
    page->used = type == CF_PAGE_LEAF ? CF_PAGE_LEAF_HEADER : CF_PAGE_INTERIOR_HEADER;
    page->low = page_bytes;
    page->cells = 0;
}

static inline bool cf_page_has_room(const struct cf_page *page, uint32_t cell_bytes) {
    return page->low - page->used >= cell_bytes + 2;
}

/* Room for a cell and its pointer is there; returns where the cell goes. */
static inline unsigned char *cf_page_take(struct cf_page *page, uint32_t cell_bytes) {
    page->low -= cell_bytes;
    cf_put_u16(page->bytes + page->used, page->low);
    page->used += 2;
    page->cells++;
    return page->bytes + page->low;
}

static inline void cf_page_close(struct cf_page *page) {
    cf_put_u16(page->bytes + 3, page->cells);
    cf_put_u16(page->bytes + 5, page->low & 0xffff); /* 65536 is written as 0 */
}

#endif
