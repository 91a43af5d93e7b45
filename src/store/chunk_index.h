/*
 * The indexes of `chunk` where its rows are written as pages, past SQLite: CREATE INDEX would read
 * every row again for the few that they hold, the large free chunks and the mmapped ones. So those
 * few are noted on the way, given to a table of the same shape, whose indexes SQLite makes as ever,
 * and the indexes are then handed over to `chunk`. Their entries are rowids and sizes, which are
 * the same in both tables.
 *
 * Noted rows take 24 bytes each. Plain value; all zero is empty.
 */
#ifndef CF_STORE_CHUNK_INDEX_H
#define CF_STORE_CHUNK_INDEX_H

#include "base/array.h"
#include "store/chunk_source.h"
#include "store/db.h"

enum { CF_LARGE_FREE_BYTES = 4096 }; /* as in schema/90-chunk.sql */

struct cf_indexed_row {
    int64_t address;
    int64_t size_bytes;
    enum cf_chunk_code code;
};

struct cf_chunk_index {
    CF_ARRAY(struct cf_indexed_row) rows;
};

void cf_chunk_index_fini(struct cf_chunk_index *index);

/* A row that belongs to an index. CF_ENOMEM. */
int cf_chunk_index_note(struct cf_chunk_index *index, const struct cf_chunk_row *row,
                       struct cf_err *err);

/* All rows of `more` too. CF_ENOMEM. */
int cf_chunk_index_join(struct cf_chunk_index *index, const struct cf_chunk_index *more,
                       struct cf_err *err);

static inline bool cf_chunk_is_indexed(const struct cf_chunk_row *row) {
    return (row->code == CF_CODE_FREE && row->size_bytes >= CF_LARGE_FREE_BYTES) ||
           row->code >= CF_CODE_MMAPPED;
}

/* Fills the indexes, which are empty, while `chunk` holds all rows. Sorts the noted rows. */
int cf_chunk_index_make(struct cf_chunk_index *index, struct cf_db *db, struct cf_err *err);

#endif
