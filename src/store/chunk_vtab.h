/*
 * Fills the table `chunk` with INSERT ... SELECT from a virtual table over the chunk source: one
 * statement, no binding a row, and twice as fast as a bound INSERT.
 */
#ifndef CF_STORE_CHUNK_VTAB_H
#define CF_STORE_CHUNK_VTAB_H

#include <stdint.h>

#include "corefrag.h"
#include "store/chunk_source.h"
#include "store/db.h"

/* `source` is read to its end; `total` rows are expected, for the progress only. */
int cf_chunk_vtab_load(const struct cf_context *ctx, struct cf_db *db,
                       struct cf_chunk_source *source, uint64_t total, struct cf_err *err);

#endif
