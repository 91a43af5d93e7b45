#include "store/insert.h"
#include "store/rows.h"

int cf_rows_previews_begin(struct cf_insert *in, struct cf_db *db, struct cf_err *err) {
    return cf_insert_begin(in, db, "preview", "address, size_bytes, type, preview", err);
}

int cf_rows_preview(struct cf_insert *in, const struct cf_preview_row *row, struct cf_err *err) {
    cf_insert_u64(in, row->addr);
    cf_insert_u64(in, row->bytes);
    cf_insert_text(in, row->type);
    cf_insert_text(in, row->text);
    return cf_insert_row(in, err);
}
