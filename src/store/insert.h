/*
 * Rows into one table, value by value in the order of the named columns; columns that are not
 * named become NULL. A failed value comes out of cf_insert_row(), so that writers read straight.
 *
 *     CF_CLEANUP_INSERT struct cf_insert in = {0};
 *     cf_insert_begin(&in, db, "bin", "arena_id, kind, bin_index, chunks, bytes", err);
 *     cf_insert_u64(&in, ...); ... cf_insert_row(&in, err);
 */
#ifndef CF_STORE_INSERT_H
#define CF_STORE_INSERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/db.h"

struct cf_insert {
    struct cf_stmt *stmt;
    int next; /* number of the last value given, from 1 */
};

int cf_insert_begin(struct cf_insert *insert, struct cf_db *db, const char *table,
                    const char *columns, struct cf_err *err);
void cf_insert_end(struct cf_insert *insert);
#define CF_CLEANUP_INSERT CF_CLEANUP(cf_insert_end)

void cf_insert_u64(struct cf_insert *insert, uint64_t value); /* two's complement above 2^63 */
void cf_insert_i64(struct cf_insert *insert, int64_t value);
void cf_insert_text(struct cf_insert *insert, const char *text); /* NULL: SQL NULL */
void cf_insert_null(struct cf_insert *insert);
void cf_insert_u64_if(struct cf_insert *insert, bool known, uint64_t value); /* else NULL */
void cf_insert_id(struct cf_insert *insert, uint32_t id);                    /* UINT32_MAX: NULL */

int cf_insert_row(struct cf_insert *insert, struct cf_err *err);

/* A value beside the name of its column, for tables too wide to count in. */
struct cf_field {
    const char *column;
    bool is_known; /* else NULL */
    uint64_t value;
};

/* A row of `nr` fields; the first one begins the statement, and all have the same columns. */
int cf_insert_fields(struct cf_insert *insert, struct cf_db *db, const char *table,
                     const struct cf_field *fields, size_t nr, struct cf_err *err);

#endif
