#include "store/chunk_vtab.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/err.h"
#include "store/db_internal.h"

enum { PROGRESS_ROWS = 1 << 16 };

/* What the virtual table reads; there is one of it, and one cursor at a time. */
struct feed {
    const struct cf_context *ctx;
    struct cf_chunk_source *source;
    uint64_t total;
};

struct table {
    sqlite3_vtab base;
    struct feed *feed;
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct feed *feed;
    struct cf_chunk_row row;
    bool at_end;
};

static int vtab_connect(sqlite3 *handle, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **out, char **error) {
    (void)argc, (void)argv, (void)error;
    int code =
        sqlite3_declare_vtab(handle, "CREATE TABLE x(address INT, size_bytes INT, code INT)");
    if (code != SQLITE_OK)
        return code;
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    table->feed = aux;
    *out = &table->base;
    return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *vtab) {
    free((struct table *)vtab);
    return SQLITE_OK;
}

static int vtab_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    info->estimatedRows = (sqlite3_int64)((struct table *)vtab)->feed->total;
    return SQLITE_OK;
}

static int vtab_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    cursor->feed = ((struct table *)vtab)->feed;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int vtab_close(sqlite3_vtab_cursor *base) {
    free((struct cursor *)base);
    return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    struct feed *feed = cursor->feed;
    cursor->at_end = !cf_chunk_source_next(feed->source, &cursor->row);
    if (feed->source->rows % PROGRESS_ROWS == 0)
        cf_progress(feed->ctx, "storing chunks", feed->source->rows, feed->total);
    return SQLITE_OK;
}

static int vtab_filter(sqlite3_vtab_cursor *base, int index, const char *name, int argc,
                       sqlite3_value **argv) {
    (void)index, (void)name, (void)argc, (void)argv;
    cf_chunk_source_rewind(((struct cursor *)base)->feed->source);
    return vtab_next(base);
}

static int vtab_eof(sqlite3_vtab_cursor *base) {
    return ((struct cursor *)base)->at_end;
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    const struct cf_chunk_row *row = &((struct cursor *)base)->row;
    int64_t value = column == 0 ? row->address : column == 1 ? row->size_bytes : (int64_t)row->code;
    sqlite3_result_int64(context, value);
    return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    *out = ((struct cursor *)base)->row.address;
    return SQLITE_OK;
}

/* Without xCreate the table is eponymous: it is there under the module's own name. */
static const sqlite3_module module = {
    .xConnect = vtab_connect,
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_column,
    .xRowid = vtab_rowid,
};

int cf_chunk_vtab_load(const struct cf_context *ctx, struct cf_db *db,
                       struct cf_chunk_source *source, uint64_t total, struct cf_err *err) {
    struct feed feed = {.ctx = ctx, .source = source, .total = total};
    int code = sqlite3_create_module_v2(db->handle, "cf_chunks", &module, &feed, NULL);
    if (code != SQLITE_OK)
        return cf_err_set(err, cf_db_status(code), "the virtual table of chunks: %s",
                          sqlite3_errstr(code));
    int status = cf_db_exec(db,
                            "INSERT INTO chunk (address, size_bytes, code)"
                            " SELECT address, size_bytes, code FROM cf_chunks",
                            err);
    /* The module points into this frame. */
    (void)sqlite3_drop_modules(db->handle, NULL);
    return status;
}
