/*
 * Leaves are filled in the order of rowids and never split: each is as full as its rows allow, and
 * no other page's rows matter. All of them lie in one block of memory, so that a part of the table
 * is one write.
 */
#include "store/leaves.h"

#include <stdlib.h>

#include "base/err.h"

enum { FIRST_PAGES = 64 };

struct cf_home cf_home_make(int64_t arena_id, int64_t heap_id) {
    struct cf_home home = {.is_default = arena_id == 0 && heap_id == 0};
    const int64_t ids[] = {arena_id, heap_id};
    for (size_t i = 0; i < 2 && !home.is_default; i++) {
        unsigned char type = ids[i] == CF_ID_NONE ? 0 : cf_serial_type(ids[i]);
        uint32_t bytes = cf_serial_bytes(type);
        home.types |= (uint32_t)type << 8 * i;
        if (bytes > 0)
            home.value = home.value << 8 * bytes | (uint64_t)ids[i];
        home.bytes += bytes;
    }
    return home;
}

static void start_leaf(struct cf_leaves *leaves) {
    leaves->page.bytes = leaves->bytes + leaves->nr_pages * leaves->page_bytes;
    cf_page_start(&leaves->page, leaves->page_bytes, CF_PAGE_LEAF);
}

/* Room for `pages` finished ones and the one at hand. */
static int grow(struct cf_leaves *leaves, size_t pages, struct cf_err *err) {
    size_t bytes = (pages + 1) * leaves->page_bytes;
    unsigned char *larger = realloc(leaves->bytes, bytes);
    if (larger == NULL)
        return cf_err_nomem(err, bytes, "pages of the database");
    leaves->bytes = larger;
    int64_t *last = realloc(leaves->last, (pages + 1) * sizeof *last);
    if (last == NULL)
        return cf_err_nomem(err, pages * sizeof *last, "pages of the database");
    leaves->last = last;
    leaves->cap = pages;
    return CF_OK;
}

int cf_leaves_init(struct cf_leaves *leaves, uint32_t page_bytes, struct cf_err *err) {
    *leaves = (struct cf_leaves){.page_bytes = page_bytes};
    int status = grow(leaves, FIRST_PAGES, err);
    if (status == CF_OK)
        start_leaf(leaves);
    return status;
}

void cf_leaves_fini(struct cf_leaves *leaves) {
    free(leaves->bytes);
    free(leaves->last);
    *leaves = (struct cf_leaves){0};
}

void cf_leaves_clear(struct cf_leaves *leaves) {
    leaves->nr_pages = 0;
    leaves->rows = 0;
    start_leaf(leaves);
}

int cf_leaves_turn(struct cf_leaves *leaves, struct cf_err *err) {
    struct cf_page *page = &leaves->page;
    if (page->cells == 0)
        return CF_OK;
    cf_page_close(page);
    leaves->last[leaves->nr_pages++] = leaves->last_rowid;
    int status = leaves->nr_pages < leaves->cap ? CF_OK : grow(leaves, 2 * leaves->cap, err);
    if (status == CF_OK)
        start_leaf(leaves);
    return status;
}

int cf_leaves_add_any(struct cf_leaves *leaves, const struct cf_record *row,
                      const struct cf_home *home, struct cf_err *err) {
    struct cf_page *page = &leaves->page;
    if (leaves->rows == 0)
        leaves->first_rowid = row->rowid;
    else if (row->rowid <= leaves->last_rowid)
        return cf_err_set(err, CF_EINTERNAL, "rowids out of order");
    const struct cf_cell cell = cf_cell_make(row, home);
    uint32_t bytes = 1 + cell.rowid_bytes + cell.payload;
    if (!cf_page_has_room(page, bytes)) {
        int status = cf_leaves_turn(leaves, err);
        if (status != CF_OK)
            return status;
    }
    cf_cell_put(cf_page_take(page, bytes), &cell, row, home);
    leaves->last_rowid = row->rowid;
    leaves->rows++;
    return CF_OK;
}
