/* cf_schema(): the documented schema, read from an empty database with that schema. */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lib/door.h"
#include "report/doc.h"
#include "report/emit.h"
#include "store/db.h"
#include "store/queries.h"

static const struct cf_column object_columns[] = {
    {"name", "name", CF_UNIT_TEXT, false},
    {"what it holds", "text", CF_UNIT_TEXT, false},
};

static const struct cf_column column_columns[] = {
    {"column", "column", CF_UNIT_TEXT, false},
    {"unit", "unit", CF_UNIT_TEXT, false},
    {"what it means", "text", CF_UNIT_TEXT, false},
};

/* Adds the rows of `sql`, texts all, to a table of so many columns. `parameter` may be NULL. */
static int add_rows(struct cf_db *db, struct cf_table *table, const char *sql,
                    const char *parameter, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db, sql, &stmt, err);
    if (status != CF_OK)
        return status;
    if (parameter != NULL)
        cf_stmt_bind_text(stmt, 1, parameter);
    bool row;
    while ((status = cf_stmt_step(stmt, &row, err)) == CF_OK && row)
        for (int i = 0; i < cf_stmt_nr_columns(stmt); i++)
            cf_table_text(table, cf_stmt_text(stmt, i));
    return status;
}

static int add_overview(struct cf_db *db, struct cf_doc *doc, struct cf_err *err) {
    struct cf_section *section = cf_doc_section(doc, "views", "Views and tables");
    cf_section_text(section, CF_TONE_PLAIN,
                    "Addresses are integers (two's complement above 2^63), with hex text in "
                    "..._hex; sizes are bytes; NULL is unknown, never 0.");
    struct cf_table *table = cf_section_table(section, NULL, NULL, object_columns, 2);
    return add_rows(db, table,
                    "SELECT object, text FROM doc WHERE \"column\" = '' AND object <> 'meta key' "
                    "ORDER BY object",
                    NULL, err);
}

/* The section of one view: what it holds, its columns. */
static int add_object(struct cf_db *db, struct cf_doc *doc, const char *object, const char *text,
                      struct cf_err *err) {
    struct cf_section *section = cf_doc_section(doc, "view", object);
    cf_section_text(section, CF_TONE_PLAIN, "%s", text);
    struct cf_table *table = cf_section_table(section, NULL, NULL, column_columns, 3);
    return add_rows(db, table,
                    "SELECT \"column\", unit, text FROM doc WHERE object = ?1 AND \"column\" <> '' "
                    "ORDER BY rowid",
                    object, err);
}

/* The sections of `view`, or of all where it is NULL. */
static int add_objects(struct cf_db *db, struct cf_doc *doc, const char *view, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db,
                               "SELECT object, text FROM doc WHERE \"column\" = '' AND "
                               "object = coalesce(?1, object) ORDER BY object",
                               &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(stmt, 1, view);
    bool row;
    while ((status = cf_stmt_step(stmt, &row, err)) == CF_OK && row) {
        status = add_object(db, doc, cf_stmt_text(stmt, 0), cf_stmt_text(stmt, 1), err);
        if (status != CF_OK)
            return status;
    }
    return status;
}

/* The example queries that name `view`, or all. */
static int add_examples(struct cf_db *db, struct cf_doc *doc, const char *view,
                        struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db,
                               "SELECT title, sql FROM example_query WHERE ?1 IS NULL OR "
                               "instr(sql || ' ', ?1 || ' ') > 0 ORDER BY rowid",
                               &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(stmt, 1, view);
    struct cf_section *section = NULL;
    bool row;
    while ((status = cf_stmt_step(stmt, &row, err)) == CF_OK && row) {
        if (section == NULL)
            section = cf_doc_section(doc, "examples", "Questions, and the SQL that answers them");
        cf_section_text(section, CF_TONE_PLAIN, "%s", cf_stmt_text(stmt, 0));
        cf_section_code(section, "%s;", cf_stmt_text(stmt, 1));
    }
    return status;
}

static int check_view(struct cf_db *db, const char *view, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db, "SELECT 1 FROM doc WHERE object = ?1", &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(stmt, 1, view);
    bool row;
    status = cf_stmt_step(stmt, &row, err);
    if (status == CF_OK && !row)
        status = cf_err_set(err, CF_EUSAGE,
                            "no view or table is named '%s': corefrag schema lists them", view);
    return status;
}

static int fill(struct cf_db *db, struct cf_doc *doc, const char *view, struct cf_err *err) {
    int status = cf_db_exec(db, cf_schema_sql(), err);
    if (status == CF_OK && view != NULL)
        status = check_view(db, view, err);
    if (status == CF_OK && view == NULL)
        status = add_overview(db, doc, err);
    if (status == CF_OK)
        status = add_objects(db, doc, view, err);
    if (status == CF_OK)
        status = add_examples(db, doc, view, err);
    return status == CF_OK ? cf_doc_status(doc, err) : status;
}

int cf_schema(const char *view, FILE *sink, struct cf_err *err) {
    static const struct cf_report_options options;
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = cf_door_pointer(sink, "the sink", err);
    if (status == CF_OK)
        status = cf_db_open_memory(&db, err);
    if (status != CF_OK)
        return status;
    struct cf_doc *doc = cf_doc_new();
    if (doc == NULL)
        return cf_err_nomem(err, sizeof *doc, "the schema's description");
    cf_doc_title(doc, "corefrag %s  schema version %d", cf_version(), CF_SCHEMA_VERSION);
    status = fill(db, doc, view, err);
    if (status == CF_OK)
        status = cf_emit_text(doc, &options, sink, err);
    cf_doc_free(doc);
    return status == CF_OK ? cf_door_close_sink(sink, "the schema", err) : status;
}
