/*
 * Rows of chunks (fileformat.h) as finished leaf pages in memory. A leaf knows neither its own
 * number nor its neighbours', so leaves can be made by several threads, each its own part of the
 * rows; store/btree.h then gives them their places in the file.
 */
#ifndef CF_STORE_LEAVES_H
#define CF_STORE_LEAVES_H

#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "store/fileformat.h"

struct cf_leaves {
    uint32_t page_bytes;
    unsigned char *bytes; /* nr_pages finished ones, then the one at hand */
    int64_t *last;        /* largest rowid of each */
    size_t nr_pages;
    size_t cap;
    int64_t first_rowid;
    int64_t last_rowid;
    uint64_t rows;
    struct cf_page page;
};

/* CF_ENOMEM. End with cf_leaves_fini(), also after a failure. */
int cf_leaves_init(struct cf_leaves *leaves, uint32_t page_bytes, struct cf_err *err);
void cf_leaves_fini(struct cf_leaves *leaves);
/* Forgets all rows; keeps the memory. */
void cf_leaves_clear(struct cf_leaves *leaves);

/* Finishes the page at hand, if it has rows, and begins another. CF_ENOMEM. */
int cf_leaves_turn(struct cf_leaves *leaves, struct cf_err *err);

/* One row; rowids must grow (CF_EINTERNAL). CF_ENOMEM. After the last one cf_leaves_turn(). */
int cf_leaves_add_any(struct cf_leaves *leaves, const struct cf_record *row,
                      const struct cf_home *home, struct cf_err *err);

static inline int cf_leaves_add(struct cf_leaves *leaves, const struct cf_record *row,
                                const struct cf_home *home, struct cf_err *err) {
    struct cf_page *page = &leaves->page;
    if (!cf_cell_is_common(row, home) || row->rowid <= leaves->last_rowid || leaves->rows == 0)
        return cf_leaves_add_any(leaves, row, home, err);
    const struct cf_common common = cf_common_make(row, home);
    if (!cf_page_has_room(page, cf_common_bytes(&common)))
        return cf_leaves_add_any(leaves, row, home, err);
    cf_common_put(cf_page_take(page, cf_common_bytes(&common)), row->rowid, &common);
    leaves->last_rowid = row->rowid;
    leaves->rows++;
    return CF_OK;
}

#endif
