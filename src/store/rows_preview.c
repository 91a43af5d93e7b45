#include "store/insert.h"
#include "store/rows.h"

static int add_preview(struct cf_insert *in, const struct cf_labels *labels, uint64_t addr,
                       struct cf_err *err) {
    struct cf_preview preview;
    if (!cf_preview_at(cf_mark_resolver(labels->reach->mark), addr, &preview))
        return CF_OK;
    cf_insert_u64(in, preview.addr);
    cf_insert_u64(in, preview.bytes);
    cf_insert_text(in, cf_types_name(labels->types, cf_types_at(labels->types, addr)));
    cf_insert_text(in, preview.text);
    return cf_insert_row(in, err);
}

int cf_rows_previews(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    const struct cf_labels *labels = &holding->labels;
    int status = cf_insert_begin(&in, db, "preview", "address, size_bytes, type, preview", err);
    for (size_t i = 0; i < holding->asking.rows.len && status == CF_OK; i++)
        status = add_preview(&in, labels, holding->asking.rows.items[i].addr, err);
    struct cf_unreached_iter iter;
    struct cf_unreached lost;
    cf_unreached_iter_init(&iter, labels->reach->mark);
    for (size_t i = 0; i < CF_PREVIEWED_LEAKS && status == CF_OK &&
                       cf_unreached_iter_next(&iter, &lost); i++)
        status = add_preview(&in, labels, lost.addr, err);
    return status;
}
