#include "store/compact.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"

enum {
    PAGE_BYTES = 4096,
    TEXT_BYTES = 16384, /* 512 chunks of a page with 20 digits fit */
    ENTRY_MAX = 24,
    BATCH_ROWS = 256,
    PROGRESS_ROWS = 1 << 20, /* a multiple of a batch's */
    CODES = CF_CODE_UNREACHABLE + 1, /* not rounded up: most numbers lose a digit so */
};

/* The page at hand. */
struct page {
    int64_t start; /* address of its first chunk: the row's key */
    uint64_t number;
    char text[TEXT_BYTES];
    size_t used;
};

static int flush(struct page *page, struct cf_stmt *stmt, struct cf_err *err) {
    if (page->used == 0)
        return CF_OK;
    page->text[page->used] = ']';
    page->text[page->used + 1] = '\0';
    cf_stmt_bind_i64(stmt, 1, page->start);
    cf_stmt_bind_text(stmt, 2, page->text);
    page->used = 0;
    return cf_stmt_run(stmt, err);
}

/* A separator and the decimal digits; there is room for ENTRY_MAX bytes. Returns their number. */
static size_t put_entry(char *out, char separator, uint64_t value) {
    char digits[ENTRY_MAX];
    size_t nr = 0;
    do
        digits[nr++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    out[0] = separator;
    for (size_t i = 0; i < nr; i++)
        out[1 + i] = digits[nr - 1 - i];
    return 1 + nr;
}

static int add(struct page *page, const struct cf_chunk_row *row, unsigned unit,
               struct cf_stmt *stmt, struct cf_err *err) {
    uint64_t address = (uint64_t)row->address, number = address / PAGE_BYTES;
    if (page->used > 0 &&
        (number != page->number || page->used + ENTRY_MAX > sizeof page->text)) {
        int status = flush(page, stmt, err);
        if (status != CF_OK)
            return status;
    }
    if (page->used == 0) {
        page->start = row->address;
        page->number = number;
    }
    uint64_t units = (uint64_t)row->size_bytes / unit, offset = address % PAGE_BYTES / unit;
    uint64_t entry = ((units - 1) * (PAGE_BYTES / unit) + offset) * CODES + (uint64_t)row->code;
    page->used += put_entry(page->text + page->used, page->used == 0 ? '[' : ',', entry);
    return CF_OK;
}

/* v_chunk over the pages; the branch of mmapped chunks, the words for the codes and the reason for
 * the casts are those of schema/90-chunk.sql. */
static int remake_view(struct cf_db *db, unsigned unit, struct cf_err *err) {
    char sql[4096];
    (void)snprintf(
        sql, sizeof sql,
        "DROP VIEW v_chunk;"
        "CREATE VIEW v_chunk AS"
        " SELECT address, printf('0x%%x', address) AS address_hex,"
        " address + %u AS user_address, printf('0x%%x', address + %u) AS user_address_hex,"
        " size_bytes,"
        " CAST(iif(code IN (4, 5), NULL, size_bytes - %u) AS INTEGER) AS usable_bytes,"
        " arena_id, heap_id,"
        " CAST(CASE code WHEN 0 THEN 'live' WHEN 1 THEN 'free' WHEN 2 THEN 'tcache'"
        " WHEN 3 THEN 'fast' WHEN 4 THEN 'top' WHEN 5 THEN 'fence' WHEN 6 THEN 'live' END"
        " AS TEXT) AS state,"
        " CAST(CASE code WHEN 0 THEN (SELECT 1 FROM meta WHERE key = 'reachability' AND value = 1)"
        " WHEN 6 THEN 0 END AS INTEGER) AS reachable, stored_at"
        " FROM (SELECT p.start AS stored_at, h.arena_id AS arena_id, h.heap_id AS heap_id,"
        " CAST(p.start - p.start %% 4096 + e.value / %d %% %u * %u AS INTEGER) AS address,"
        " CAST((e.value / %u + 1) * %u AS INTEGER) AS size_bytes, e.value %% %d AS code"
        " FROM heap h JOIN chunk_page p ON p.start >= h.start AND p.start < h.end AND"
        " h.heap_id = (SELECT heap_id FROM heap WHERE start <= p.start ORDER BY start DESC LIMIT 1)"
        " JOIN json_each(p.chunks) e)"
        " UNION ALL SELECT m.address, printf('0x%%x', m.address), m.address + %u,"
        " printf('0x%%x', m.address + %u), m.size_bytes, m.usable_bytes, CAST(NULL AS INTEGER),"
        " CAST(NULL AS INTEGER), m.state, m.reachable, m.address FROM mmapped_chunk m;",
        unit, unit, unit / 2, CODES, PAGE_BYTES / unit, unit, PAGE_BYTES / unit * CODES, unit,
        CODES, unit, unit);
    return cf_db_exec(db, sql, err);
}

int cf_compact_load(const struct cf_context *ctx, struct cf_db *db, struct cf_chunk_source *source,
                    uint64_t total, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    struct page page = {.used = 0};
    struct cf_chunk_row rows[BATCH_ROWS];
    size_t nr;
    unsigned unit = cf_chunkmap_unit_bytes(source->map);
    int status = cf_db_exec(db, "CREATE TABLE chunk_page (start INTEGER PRIMARY KEY,"
                                " chunks TEXT NOT NULL)", err);
    if (status == CF_OK)
        status = cf_db_prepare(db, "INSERT INTO chunk_page VALUES (?1, ?2)", &stmt, err);
    while (status == CF_OK && (nr = cf_chunk_source_take(source, rows, BATCH_ROWS)) > 0) {
        for (size_t i = 0; i < nr && status == CF_OK; i++)
            status = add(&page, &rows[i], unit, stmt, err);
        if (source->rows % PROGRESS_ROWS == 0)
            cf_progress(ctx, "storing chunks", source->rows, total);
    }
    if (status == CF_OK)
        status = flush(&page, stmt, err);
    return status == CF_OK ? remake_view(db, unit, err) : status;
}
