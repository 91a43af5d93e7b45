/*
 * A narrow door to SQLite: open, run, prepare, bind, step, read. Everybody who stands on the
 * database (rules, report, explain) goes through it; `sqlite3.h` is included in store alone.
 *
 * A struct cf_db is owned by its opener and outlives its statements. Text and columns that a
 * statement lends are valid until its next step, reset or free. Addresses are 64-bit: they go in
 * and out as two's complement, so those above 2^63 are negative in SQL. Failures: CF_ENOTDB when
 * the file is no database, CF_EOUTPUT when it cannot be written (disk full), CF_ENOMEM,
 * CF_ECANCELLED, and CF_EINTERNAL for SQL that does not run.
 */
#ifndef CF_STORE_DB_H
#define CF_STORE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "corefrag.h"

struct cf_db;
struct cf_stmt;

/* Version of the tables and views; meta's schema_version. */
enum { CF_SCHEMA_VERSION = 1 };

/*
 * Opens any database for reading; whether it is one of ours cf_db_open() asks (store/compat.h).
 * CF_EINPUT when the file cannot be opened, CF_ENOTDB when SQLite cannot read it. The file is not
 * trusted: its views may call nothing but SQLite's harmless functions.
 */
int cf_db_open_foreign(const char *path, struct cf_db **out, struct cf_err *err);

/* Opens the existing, empty file at `path` for one bulk load: no journal, no syncs. */
int cf_db_open_bulk(const char *path, struct cf_db **out, struct cf_err *err);

/* An empty database in memory, to look at the schema. */
int cf_db_open_memory(struct cf_db **out, struct cf_err *err);

/* Closes; NULL is allowed. Statements must have been freed. */
void cf_db_free(struct cf_db *db);
void cf_db_freep(struct cf_db **db);
#define CF_CLEANUP_DB CF_CLEANUP(cf_db_freep)

/*
 * From now on statements that take long call ctx's progress now and then, and end with
 * CF_ECANCELLED once that says so. `ctx` is borrowed until the database is closed.
 */
void cf_db_watch(struct cf_db *db, const struct cf_context *ctx);

/* Runs one or more statements that return nothing worth reading. */
int cf_db_exec(struct cf_db *db, const char *sql, struct cf_err *err);

/* First column of the first row of `sql`; `*found` is false when there is none or it is NULL. */
int cf_db_query_i64(struct cf_db *db, const char *sql, bool *found, int64_t *out,
                    struct cf_err *err);

int cf_db_prepare(struct cf_db *db, const char *sql, struct cf_stmt **out, struct cf_err *err);
void cf_stmt_free(struct cf_stmt *stmt);
void cf_stmt_freep(struct cf_stmt **stmt);
#define CF_CLEANUP_STMT CF_CLEANUP(cf_stmt_freep)

/*
 * Parameters are numbered from 1 and text is copied. A failure is kept and comes out of the next
 * cf_stmt_step(), so that callers bind a row in a straight line.
 */
void cf_stmt_bind_i64(struct cf_stmt *stmt, int parameter, int64_t value);
void cf_stmt_bind_text(struct cf_stmt *stmt, int parameter, const char *text); /* NULL: SQL NULL */
void cf_stmt_bind_null(struct cf_stmt *stmt, int parameter);

/* One step; `*row` says whether there is a row to read. At the end the statement is reset. */
int cf_stmt_step(struct cf_stmt *stmt, bool *row, struct cf_err *err);
/* Steps a statement that yields no rows, and makes it ready for the next bindings. */
int cf_stmt_run(struct cf_stmt *stmt, struct cf_err *err);
void cf_stmt_reset(struct cf_stmt *stmt);

enum cf_column_type { CF_COLUMN_NULL, CF_COLUMN_INTEGER, CF_COLUMN_REAL, CF_COLUMN_TEXT };

/* Columns are numbered from 0. Text is never NULL: "" for an SQL NULL. */
int cf_stmt_nr_columns(const struct cf_stmt *stmt);
const char *cf_stmt_column_name(const struct cf_stmt *stmt, int column);
enum cf_column_type cf_stmt_column_type(const struct cf_stmt *stmt, int column);
bool cf_stmt_is_null(const struct cf_stmt *stmt, int column);
int64_t cf_stmt_i64(const struct cf_stmt *stmt, int column);
double cf_stmt_double(const struct cf_stmt *stmt, int column);
const char *cf_stmt_text(const struct cf_stmt *stmt, int column);

#endif
