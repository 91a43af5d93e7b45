/*
 * Indexes by renaming: a second table of the same shape takes the few rows that belong to the
 * indexes, SQLite makes these there, and sqlite_schema is then told that they are of `chunk`. This
 * holds because an index entry is its columns and the rowid, both the same in the two tables, and a
 * partial index is never asked for a row that it leaves out.
 */
#include "store/chunk_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/insert.h"

void cf_chunk_index_fini(struct cf_chunk_index *index) {
    cf_array_free(&index->rows);
}

int cf_chunk_index_note(struct cf_chunk_index *index, const struct cf_chunk_row *row,
                       struct cf_err *err) {
    struct cf_indexed_row *slot = cf_array_push(&index->rows);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "a free chunk");
    *slot = (struct cf_indexed_row){.address = row->address, .size_bytes = row->size_bytes,
                                   .code = row->code};
    return CF_OK;
}

int cf_chunk_index_join(struct cf_chunk_index *index, const struct cf_chunk_index *more,
                       struct cf_err *err) {
    for (size_t i = 0; i < more->rows.len; i++) {
        struct cf_indexed_row *slot = cf_array_push(&index->rows);
        if (slot == NULL)
            return cf_err_nomem(err, sizeof *slot, "a free chunk");
        *slot = more->rows.items[i];
    }
    return CF_OK;
}

/* In the index's own order, so that SQLite only ever appends to it. */
static int compare_rows(const void *a, const void *b) {
    const struct cf_indexed_row *left = a, *right = b;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return (left->address > right->address) - (left->address < right->address);
}

/* Runs the statement that `sql` makes: one text, out of sqlite_schema. */
static int run_made(struct cf_db *db, const char *sql, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    CF_CLEANUP_FREE char *made = NULL;
    bool row = false;
    int status = cf_db_prepare(db, sql, &stmt, err);
    if (status == CF_OK)
        status = cf_stmt_step(stmt, &row, err);
    if (status != CF_OK)
        return status;
    if (!row)
        return cf_err_set(err, CF_EINTERNAL, "no index of chunks in the schema");
    made = strdup(cf_stmt_text(stmt, 0));
    if (made == NULL)
        return cf_err_nomem(err, 0, "an index of free chunks");
    cf_stmt_free(cf_take(&stmt));
    return cf_db_exec(db, made, err);
}

/* `chunk_indexed`, of the shape of `chunk`, with the indexes that `chunk` had. */
static int make_table(struct cf_db *db, struct cf_err *err) {
    int status = run_made(db,
                          "SELECT replace(sql, 'TABLE chunk', 'TABLE chunk_indexed')"
                          " FROM sqlite_schema WHERE type = 'table' AND name = 'chunk'",
                          err);
    if (status == CF_OK)
        status = run_made(db,
                          "SELECT group_concat('DROP INDEX ' || name || '; ' ||"
                          " replace(sql, 'ON chunk', 'ON chunk_indexed'), '; ')"
                          " FROM (SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND"
                          " tbl_name = 'chunk' ORDER BY name)",
                          err);
    return status;
}

static int fill_table(struct cf_chunk_index *index, struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "chunk_indexed", "address, size_bytes, code", err);
    for (size_t i = 0; status == CF_OK && i < index->rows.len; i++) {
        cf_insert_i64(&in, index->rows.items[i].address);
        cf_insert_i64(&in, index->rows.items[i].size_bytes);
        cf_insert_i64(&in, index->rows.items[i].code);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_chunk_index_make(struct cf_chunk_index *index, struct cf_db *db, struct cf_err *err) {
    if (index->rows.len == 0)
        return CF_OK;
    qsort(index->rows.items, index->rows.len, sizeof *index->rows.items, compare_rows);
    int status = make_table(db, err);
    if (status == CF_OK)
        status = fill_table(index, db, err);
    if (status == CF_OK)
        status = cf_db_exec(db,
                            "PRAGMA writable_schema = ON;"
                            "UPDATE sqlite_schema SET tbl_name = 'chunk',"
                            " sql = replace(sql, 'ON chunk_indexed', 'ON chunk')"
                            " WHERE type = 'index' AND tbl_name = 'chunk_indexed';"
                            "PRAGMA writable_schema = RESET;"
                            "DROP TABLE chunk_indexed;",
                            err);
    return status;
}
