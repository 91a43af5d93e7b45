/*
 * --chunks compact: a row for each page instead of each chunk, a third of the size. The page's
 * chunks are a JSON array of numbers, one a chunk, in the order of addresses:
 *
 *     (units - 1) * units_a_page * 7  +  offset in the page, in units  *  7  +  code
 *
 * A unit is two words (16 bytes on 64-bit). v_chunk is made again over these rows: the same
 * columns, the same rows, but for stored_at. An address is computed from its page's text, which SQL
 * cannot turn round: filters on heap_id, arena_id and stored_at seek; one on address alone reads
 * all pages.
 */
#ifndef CF_STORE_COMPACT_H
#define CF_STORE_COMPACT_H

#include <stdint.h>

#include "corefrag.h"
#include "store/chunk_source.h"
#include "store/db.h"

/* Reads `source` to its end; `total` rows are expected, for the progress only. */
int cf_compact_load(const struct cf_context *ctx, struct cf_db *db, struct cf_chunk_source *source,
                    uint64_t total, struct cf_err *err);

#endif
