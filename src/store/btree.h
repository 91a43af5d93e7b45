/*
 * Rows into an SQLite table without SQLite: the table's b-tree pages are written directly in the
 * file format, in the order of the rowids, bottom up: leaves (store/leaves.h) made elsewhere get
 * their places, the interior pages above them grow here.
 *
 *     file   | 1 | ... tables that SQLite made ... | leaf | leaf | ... | interior | leaf | ...
 *                          ^ the table's root page, empty until the end, then the top of the tree
 *
 * The table must be a rowid table whose first column is its INTEGER PRIMARY KEY and whose other
 * columns hold integers; it must be empty, and the database closed, without reserved bytes and
 * auto_vacuum. Until cf_pages_finish() the file is no consistent database: it is a temporary file
 * that gets its name only when complete.
 *
 * Rules of the format (sqlite.org/fileformat2.html) relied on:
 *   1.3     header: page count at 28, change counter at 24, version-valid-for at 92
 *   1.4     the page that holds byte 2^30 (lock-byte page) is never used
 *   1.6     b-tree pages: types 13 (table leaf) and 5 (table interior), cells from the page's end
 *           downwards, 2-byte pointers in key order; an interior key is the largest rowid of the
 *           child to its left; all leaves at one depth; a page that is no root is not empty
 *   1.6     varints of 1 to 9 bytes, most significant group first
 *   2.1     record: header size, serial types 0 (the rowid's own column), 1 to 6 (integers of 1,
 *           2, 3, 4, 6, 8 bytes, big-endian), 8 and 9 (the constants 0 and 1)
 * A record here is far below U - 35 bytes, so that nothing overflows to other pages.
 */
#ifndef CF_STORE_BTREE_H
#define CF_STORE_BTREE_H

#include <stdint.h>

#include "corefrag.h"
#include "store/leaves.h"

struct cf_pages;

/*
 * Opens the database at `path` (closed by SQLite) for rows of the table whose root is `root_page`.
 * CF_EOUTPUT when it cannot be written, CF_EINTERNAL when it is not as described above.
 */
int cf_pages_open(const char *path, uint32_t root_page, struct cf_pages **out,
                  struct cf_err *err);

uint32_t cf_pages_page_bytes(const struct cf_pages *pages);

/* Neighbouring pages of the file. */
struct cf_leaf_run {
    uint32_t first;
    size_t nr;
};

/* Where leaves stand: in one piece, or before and behind the lock-byte page. */
struct cf_leaf_runs {
    struct cf_leaf_run places[2];
};

/* Gives leaves the next places in the file, and the tree above them their keys: call it with the
 * leaves in the order of their rowids, one at a time. CF_EOUTPUT when the disk is full. */
int cf_pages_place(struct cf_pages *pages, const struct cf_leaves *leaves,
                   struct cf_leaf_runs *out, struct cf_err *err);
/* Writes them there; may be called on several threads at once. CF_EOUTPUT. */
int cf_pages_write(const struct cf_pages *pages, const struct cf_leaves *leaves,
                   const struct cf_leaf_runs *places, struct cf_err *err);

/* Writes what is left, the root and the header; the file is a sound database again. */
int cf_pages_finish(struct cf_pages *pages, struct cf_err *err);
/* Closes the file; NULL is allowed. */
void cf_pages_free(struct cf_pages *pages);

#endif
