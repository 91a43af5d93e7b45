#include "store/insert.h"
#include "store/rows.h"

int cf_rows_retained(struct cf_db *db, const struct cf_retained *retained, struct cf_types *types,
                     struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "retained",
                                 "address, type, size_bytes, retained_bytes, chunks,"
                                 " dominator_address",
                                 err);
    for (size_t i = 0; i < retained->rows.len && status == CF_OK; i++) {
        const struct cf_retained_row *row = &retained->rows.items[i];
        cf_insert_u64(&in, row->addr);
        cf_insert_text(&in, cf_types_name(types, cf_types_at(types, row->addr)));
        cf_insert_u64(&in, row->bytes);
        cf_insert_u64(&in, row->retained_bytes);
        cf_insert_u64(&in, row->chunks);
        cf_insert_u64_if(&in, row->dominator != 0, row->dominator);
        status = cf_insert_row(&in, err);
    }
    return status;
}
