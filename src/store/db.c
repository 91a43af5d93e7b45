/*
 * The only doors to SQLite: result codes become ours, a failed binding waits for the next step, and
 * a database that is opened for reading is distrusted (no triggers, no functions of ours in its
 * views, nothing written).
 */
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"

enum { STEPS_A_TICK = 20000 }; /* of SQLite's machine: about a millisecond */

struct cf_db {
    sqlite3 *handle;
};

struct cf_stmt {
    sqlite3_stmt *handle;
    struct cf_db *db;
    int bind_code; /* the first failed binding since the last step */
};

/* The status that fits an SQLite result code. */
static int status_of(int code) {
    switch (code & 0xff) {
    case SQLITE_OK:
        return CF_OK;
    case SQLITE_NOMEM:
        return CF_ENOMEM;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return CF_EOUTPUT;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
        return CF_ENOTDB;
    case SQLITE_INTERRUPT:
        return CF_ECANCELLED;
    default:
        return CF_EINTERNAL;
    }
}

/* What to try when the database cannot be written; SQLite does not hand on the system's reason. */
static const char *remedy(int code) {
    switch (code & 0xff) {
    case SQLITE_FULL:
        return " (choose a folder with more room with -o, or fewer chunks with --chunks)";
    case SQLITE_IOERR:
        return " (a quota or a limit of file sizes may be in force)";
    default:
        return "";
    }
}

static int fail(struct cf_db *db, int code, const char *what, struct cf_err *err) {
    const char *file = sqlite3_db_filename(db->handle, "main");
    bool named = file != NULL && file[0] != '\0';
    int status = status_of(code);
    if (status == CF_ECANCELLED)
        return cf_err_cancelled(err);
    if (status == CF_EOUTPUT && named)
        return cf_err_set(err, status, "%s: cannot be written: %s%s", file,
                          sqlite3_errmsg(db->handle), remedy(code));
    return cf_err_set(err, status, "%s%s%s: %s", named ? file : "", named ? ": " : "", what,
                      sqlite3_errmsg(db->handle));
}

static int open_handle(const char *path, int flags, struct cf_db **out, struct cf_err *err) {
    struct cf_db *db = calloc(1, sizeof *db);
    if (db == NULL)
        return cf_err_nomem(err, sizeof *db, "a database handle");
    int code = sqlite3_open_v2(path, &db->handle, flags, NULL);
    if (code != SQLITE_OK) {
        int status = cf_err_set(err, status_of(code), "%s: %s", path, sqlite3_errstr(code));
        cf_db_free(db);
        return status;
    }
    *out = db;
    return CF_OK;
}

/* A database from elsewhere is hostile input: its views must not reach our functions or its own
 * virtual tables, and nothing may be written to it. */
static int distrust(struct cf_db *db, struct cf_err *err) {
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return cf_db_exec(db, "PRAGMA query_only = 1; PRAGMA cell_size_check = 1;", err);
}

int cf_db_open_foreign(const char *path, struct cf_db **out, struct cf_err *err) {
    CF_CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be opened", path);
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = open_handle(path, SQLITE_OPEN_READONLY, &db, err);
    if (status == CF_OK)
        status = distrust(db, err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&db);
    return CF_OK;
}

int cf_db_open_bulk(const char *path, struct cf_db **out, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = open_handle(path, SQLITE_OPEN_READWRITE, &db, err);
    if (status == CF_OK)
        status = cf_db_exec(db,
                            "PRAGMA auto_vacuum = 0; PRAGMA journal_mode = OFF;"
                            "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                            "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;",
                            err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&db);
    return CF_OK;
}

int cf_db_open_memory(struct cf_db **out, struct cf_err *err) {
    return open_handle(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, out, err);
}

void cf_db_free(struct cf_db *db) {
    if (db == NULL)
        return;
    (void)sqlite3_close_v2(db->handle);
    free(db);
}

void cf_db_freep(struct cf_db **db) {
    cf_db_free(*db);
}

static int on_steps(void *ctx) {
    return cf_tick(ctx);
}

void cf_db_watch(struct cf_db *db, const struct cf_context *ctx) {
    if (ctx != NULL && ctx->progress != NULL)
        sqlite3_progress_handler(db->handle, STEPS_A_TICK, on_steps, (void *)ctx);
}

int cf_db_exec(struct cf_db *db, const char *sql, struct cf_err *err) {
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return fail(db, code, "SQL failed", err);
    return CF_OK;
}

int cf_db_query_i64(struct cf_db *db, const char *sql, bool *found, int64_t *out,
                    struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    bool row = false;
    int status = cf_db_prepare(db, sql, &stmt, err);
    if (status == CF_OK)
        status = cf_stmt_step(stmt, &row, err);
    if (status != CF_OK)
        return status;
    *found = row && !cf_stmt_is_null(stmt, 0);
    if (*found)
        *out = cf_stmt_i64(stmt, 0);
    return CF_OK;
}

int cf_db_prepare(struct cf_db *db, const char *sql, struct cf_stmt **out, struct cf_err *err) {
    struct cf_stmt *stmt = calloc(1, sizeof *stmt);
    if (stmt == NULL)
        return cf_err_nomem(err, sizeof *stmt, "a statement");
    stmt->db = db;
    int code =
        sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt->handle, NULL);
    if (code != SQLITE_OK) {
        free(stmt);
        return fail(db, code, sql, err);
    }
    *out = stmt;
    return CF_OK;
}

void cf_stmt_free(struct cf_stmt *stmt) {
    if (stmt == NULL)
        return;
    (void)sqlite3_finalize(stmt->handle);
    free(stmt);
}

void cf_stmt_freep(struct cf_stmt **stmt) {
    cf_stmt_free(*stmt);
}

static void note_binding(struct cf_stmt *stmt, int code) {
    if (stmt->bind_code == SQLITE_OK)
        stmt->bind_code = code;
}

void cf_stmt_bind_i64(struct cf_stmt *stmt, int parameter, int64_t value) {
    note_binding(stmt, sqlite3_bind_int64(stmt->handle, parameter, value));
}

void cf_stmt_bind_text(struct cf_stmt *stmt, int parameter, const char *text) {
    note_binding(stmt, sqlite3_bind_text(stmt->handle, parameter, text, -1, SQLITE_TRANSIENT));
}

void cf_stmt_bind_null(struct cf_stmt *stmt, int parameter) {
    note_binding(stmt, sqlite3_bind_null(stmt->handle, parameter));
}

int cf_stmt_step(struct cf_stmt *stmt, bool *row, struct cf_err *err) {
    if (stmt->bind_code != SQLITE_OK) {
        int code = stmt->bind_code;
        stmt->bind_code = SQLITE_OK;
        return cf_err_set(err, status_of(code), "%s: %s", sqlite3_sql(stmt->handle),
                          sqlite3_errstr(code));
    }
    int code = sqlite3_step(stmt->handle);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        int status = fail(stmt->db, code, sqlite3_sql(stmt->handle), err);
        (void)sqlite3_reset(stmt->handle);
        return status;
    }
    *row = code == SQLITE_ROW;
    if (!*row)
        (void)sqlite3_reset(stmt->handle);
    return CF_OK;
}

int cf_stmt_run(struct cf_stmt *stmt, struct cf_err *err) {
    bool row = true;
    int status = CF_OK;
    while (status == CF_OK && row)
        status = cf_stmt_step(stmt, &row, err);
    return status;
}

void cf_stmt_reset(struct cf_stmt *stmt) {
    (void)sqlite3_reset(stmt->handle);
}

int cf_stmt_nr_columns(const struct cf_stmt *stmt) {
    return sqlite3_column_count(stmt->handle);
}

const char *cf_stmt_column_name(const struct cf_stmt *stmt, int column) {
    const char *name = sqlite3_column_name(stmt->handle, column);
    return name != NULL ? name : "";
}

enum cf_column_type cf_stmt_column_type(const struct cf_stmt *stmt, int column) {
    switch (sqlite3_column_type(stmt->handle, column)) {
    case SQLITE_NULL:
        return CF_COLUMN_NULL;
    case SQLITE_INTEGER:
        return CF_COLUMN_INTEGER;
    case SQLITE_FLOAT:
        return CF_COLUMN_REAL;
    default:
        return CF_COLUMN_TEXT;
    }
}

bool cf_stmt_is_null(const struct cf_stmt *stmt, int column) {
    return sqlite3_column_type(stmt->handle, column) == SQLITE_NULL;
}

int64_t cf_stmt_i64(const struct cf_stmt *stmt, int column) {
    return sqlite3_column_int64(stmt->handle, column);
}

double cf_stmt_double(const struct cf_stmt *stmt, int column) {
    return sqlite3_column_double(stmt->handle, column);
}

const char *cf_stmt_text(const struct cf_stmt *stmt, int column) {
    const unsigned char *text = sqlite3_column_text(stmt->handle, column);
    return text != NULL ? (const char *)text : "";
}
