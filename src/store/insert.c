/*
 * The statement is written from the list of columns; values are bound in its order, and the next
 * row begins with the first column again.
 */
#include "store/insert.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int cf_insert_begin(struct cf_insert *insert, struct cf_db *db, const char *table,
                    const char *columns, struct cf_err *err) {
    char marks[256] = "?";
    size_t used = 1;
    for (const char *c = columns; *c != '\0' && used + 3 < sizeof marks; c++)
        if (*c == ',') {
            memcpy(marks + used, ", ?", sizeof ", ?");
            used += 3;
        }
    CF_CLEANUP_FREE char *sql = NULL;
    if (asprintf(&sql, "INSERT INTO %s (%s) VALUES (%s)", table, columns, marks) < 0) {
        sql = NULL;
        return cf_err_nomem(err, strlen(columns), "an INSERT");
    }
    insert->next = 0;
    return cf_db_prepare(db, sql, &insert->stmt, err);
}

void cf_insert_end(struct cf_insert *insert) {
    cf_stmt_free(cf_take(&insert->stmt));
}

void cf_insert_u64(struct cf_insert *insert, uint64_t value) {
    cf_stmt_bind_i64(insert->stmt, ++insert->next, (int64_t)value);
}

void cf_insert_i64(struct cf_insert *insert, int64_t value) {
    cf_stmt_bind_i64(insert->stmt, ++insert->next, value);
}

void cf_insert_text(struct cf_insert *insert, const char *text) {
    cf_stmt_bind_text(insert->stmt, ++insert->next, text);
}

void cf_insert_null(struct cf_insert *insert) {
    cf_stmt_bind_null(insert->stmt, ++insert->next);
}

void cf_insert_u64_if(struct cf_insert *insert, bool known, uint64_t value) {
    if (known)
        cf_insert_u64(insert, value);
    else
        cf_insert_null(insert);
}

void cf_insert_id(struct cf_insert *insert, uint32_t id) {
    cf_insert_u64_if(insert, id != UINT32_MAX, id);
}

int cf_insert_row(struct cf_insert *insert, struct cf_err *err) {
    insert->next = 0;
    return cf_stmt_run(insert->stmt, err);
}

static int begin_fields(struct cf_insert *insert, struct cf_db *db, const char *table,
                        const struct cf_field *fields, size_t nr, struct cf_err *err) {
    size_t bytes = 1, used = 0;
    for (size_t i = 0; i < nr; i++)
        bytes += strlen(fields[i].column) + 2;
    CF_CLEANUP_FREE char *columns = malloc(bytes);
    if (columns == NULL)
        return cf_err_nomem(err, bytes, "an INSERT");
    for (size_t i = 0; i < nr; i++)
        used += (size_t)snprintf(columns + used, bytes - used, i > 0 ? ", %s" : "%s",
                                 fields[i].column);
    return cf_insert_begin(insert, db, table, columns, err);
}

int cf_insert_fields(struct cf_insert *insert, struct cf_db *db, const char *table,
                     const struct cf_field *fields, size_t nr, struct cf_err *err) {
    int status = insert->stmt == NULL ? begin_fields(insert, db, table, fields, nr, err) : CF_OK;
    if (status != CF_OK)
        return status;
    for (size_t i = 0; i < nr; i++)
        cf_insert_u64_if(insert, fields[i].is_known, fields[i].value);
    return cf_insert_row(insert, err);
}
