/*
 * A b-tree page that is being filled, by SQLite's "Database File Format", section 1.6: a header,
 * the array of 2-byte pointers that grows up, the cells that grow down from the page's end.
 *
 *     | type, cells, low ... | pointers ->  ... free ...  <- cells |
 *                                        ^ used          ^ low
 */
#ifndef CF_STORE_PAGE_H
#define CF_STORE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
