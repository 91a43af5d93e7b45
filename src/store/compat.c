/*
 * A database is held against the schema of this build: where the hash over all statements that make
 * tables and views is the same, nothing needs a look; else each view of ours is asked there for all
 * of its columns. SQLite binds names when it prepares a statement, so no row is read.
 */
#include "store/compat.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/queries.h"

/* A line that begins one of the schema's statements that only explain others. */
static bool only_explains(const char *line) {
    return strncmp(line, "INSERT INTO doc ", 16) == 0 ||
           strncmp(line, "INSERT INTO example_query ", 26) == 0;
}

void cf_schema_revision(char out[CF_REVISION_BYTES]) {
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
    bool explains = false, in_statement = false;
    for (const char *line = cf_schema_sql(); *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        if (length == 0 || (!in_statement && strncmp(line, "--", 2) == 0))
            continue;
        if (!in_statement)
            explains = only_explains(line);
        in_statement = line[length - 1] != ';';
        for (size_t i = 0; !explains && i < length; i++)
            hash = (hash ^ (unsigned char)line[i]) * 0x100000001b3ull;
        if (line[length] == '\0')
            break;
    }
    (void)snprintf(out, CF_REVISION_BYTES, "%016" PRIx64, hash);
}

/* The same schema: nothing needs a look. */
static bool is_same_revision(struct cf_db *db) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    char revision[CF_REVISION_BYTES];
    bool row = false;
    cf_schema_revision(revision);
    return cf_db_prepare(db, "SELECT value FROM meta WHERE key = 'schema_revision'", &stmt,
                         NULL) == CF_OK &&
           cf_stmt_step(stmt, &row, NULL) == CF_OK && row &&
           strcmp(cf_stmt_text(stmt, 0), revision) == 0;
}

static int refuse(struct cf_db *db, const char *path, const char *view, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    bool row = false;
    const char *core = "CORE";
    if (cf_db_prepare(db, "SELECT value FROM meta WHERE key = 'core_path'", &stmt, NULL) == CF_OK &&
        cf_stmt_step(stmt, &row, NULL) == CF_OK && row)
        core = cf_stmt_text(stmt, 0);
    return cf_err_set(err, CF_ENOTDB,
                      "%s: another version of corefrag wrote it, and its %s lacks what this one"
                      " asks for; make it again: corefrag analyze %.300s -o %s --force",
                      path, view, core, path);
}

/* Each row of `wanted` is a view and the statement that names all of its columns. */
static int check_views(struct cf_db *db, struct cf_stmt *wanted, const char *path,
                       struct cf_err *err) {
    bool row;
    int status;
    while ((status = cf_stmt_step(wanted, &row, err)) == CF_OK && row) {
        CF_CLEANUP_STMT struct cf_stmt *probe = NULL;
        if (cf_db_prepare(db, cf_stmt_text(wanted, 1), &probe, NULL) != CF_OK)
            return refuse(db, path, cf_stmt_text(wanted, 0), err);
    }
    return status;
}

/* Backticks: what stands in double quotes would be a text where no column has that name. */
static const char wanted_sql[] =
    "SELECT s.name, 'SELECT ' || group_concat('`' || c.name || '`') || ' FROM ' || s.name"
    " FROM sqlite_schema s, pragma_table_info(s.name) c"
    " WHERE s.type = 'view' OR s.name IN ('meta', 'doc', 'example_query')"
    " GROUP BY s.name ORDER BY s.name";

static int check_columns(struct cf_db *db, const char *path, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *own = NULL;
    CF_CLEANUP_STMT struct cf_stmt *wanted = NULL;
    if (is_same_revision(db))
        return CF_OK;
    int status = cf_db_open_memory(&own, err);
    if (status == CF_OK)
        status = cf_db_exec(own, cf_schema_sql(), err);
    if (status == CF_OK)
        status = cf_db_prepare(own, wanted_sql, &wanted, err);
    return status == CF_OK ? check_views(db, wanted, path, err) : status;
}

static int check_schema(struct cf_db *db, const char *path, struct cf_err *err) {
    bool found;
    int64_t version;
    int status = cf_db_query_i64(
        db, "SELECT value FROM meta WHERE key = 'schema_version' AND typeof(value) = 'integer'",
        &found, &version, err);
    if (status == CF_ENOMEM)
        return status;
    if (status != CF_OK || !found)
        return cf_err_set(err, CF_ENOTDB,
                          "%s: not a database that corefrag wrote; make one with"
                          " corefrag analyze CORE -o DB",
                          path);
    if (version > CF_SCHEMA_VERSION)
        return cf_err_set(err, CF_ENOTDB,
                          "%s: schema version %lld is newer than this corefrag's (%d); use the"
                          " version that wrote it",
                          path, (long long)version, CF_SCHEMA_VERSION);
    return check_columns(db, path, err);
}

int cf_db_open(const char *path, struct cf_db **out, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = cf_db_open_foreign(path, &db, err);
    if (status == CF_OK)
        status = check_schema(db, path, err);
    if (status == CF_OK)
        *out = cf_take(&db);
    return status;
}

int cf_db_attach(struct cf_db *db, const char *path, const char *name, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *probe = NULL;
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    char sql[64];
    int status = cf_db_open(path, &probe, err);
    if (status != CF_OK)
        return status;
    (void)snprintf(sql, sizeof sql, "ATTACH ?1 AS %.20s", name);
    status = cf_db_prepare(db, sql, &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(stmt, 1, path);
    return cf_stmt_run(stmt, err);
}
