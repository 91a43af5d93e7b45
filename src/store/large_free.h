/*
 * The index chunk_large_free where the rows of `chunk` are written as pages, past SQLite: CREATE
 * INDEX would read every row again for the few that it holds. So those few are noted on the way,
 * given to a table of the same shape, whose index SQLite makes as ever, and the index is then
 * handed over to `chunk`. Its entries are rowids and sizes, which are the same in both tables.
 *
 * Noted rows take 16 bytes each, and there is at most one for each page of the heap. Plain value;
 * all zero is empty.
 */
#ifndef CF_STORE_LARGE_FREE_H
#define CF_STORE_LARGE_FREE_H

#include "base/array.h"
#include "store/chunk_source.h"
#include "store/db.h"

enum { CF_LARGE_FREE_BYTES = 4096 }; /* as in schema/90-chunk.sql */

struct cf_large_row {
    int64_t address;
    int64_t size_bytes;
};

struct cf_large_free {
    CF_ARRAY(struct cf_large_row) rows;
};

void cf_large_free_fini(struct cf_large_free *large);

/* A row that belongs to the index. CF_ENOMEM. */
int cf_large_free_note(struct cf_large_free *large, const struct cf_chunk_row *row,
                       struct cf_err *err);

/* All rows of `more` too. CF_ENOMEM. */
int cf_large_free_join(struct cf_large_free *large, const struct cf_large_free *more,
                       struct cf_err *err);

static inline bool cf_is_large_free(const struct cf_chunk_row *row) {
    return row->code == CF_CODE_FREE && row->size_bytes >= CF_LARGE_FREE_BYTES;
}

/* Fills the index, which is empty, while `chunk` holds all rows. Sorts the noted rows. */
int cf_large_free_index(struct cf_large_free *large, struct cf_db *db, struct cf_err *err);

#endif
