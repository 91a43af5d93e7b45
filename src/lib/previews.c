#include "lib/previews.h"

#include "holders/preview.h"
#include "store/rows.h"

static int store_one(const struct cf_holding *holding, struct cf_insert *in, uint64_t addr,
                     struct cf_err *err) {
    const struct cf_resolver *resolver = cf_mark_resolver(holding->reach->mark);
    char text[CF_PREVIEW_CHARS + 1];
    if (!cf_preview_at(resolver, addr, text))
        return CF_OK;
    size_t number = cf_resolver_number_at(resolver, addr);
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    const struct cf_preview_row row = {
        .addr = addr,
        .bytes = cf_resolver_chunk(resolver, extent, number).bytes,
        .type = cf_types_name(holding->types, cf_types_of(holding->types, number)),
        .text = text,
    };
    return cf_rows_preview(in, &row, err);
}

int cf_previews_store(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_rows_previews_begin(&in, db, err);
    for (size_t i = 0; i < holding->asking.rows.len && status == CF_OK; i++)
        status = store_one(holding, &in, holding->asking.rows.items[i].addr, err);
    struct cf_unreached_iter iter;
    struct cf_unreached lost;
    cf_unreached_iter_init(&iter, holding->reach->mark);
    for (size_t i = 0; i < CF_PREVIEWED_LEAKS && status == CF_OK &&
                       cf_unreached_iter_next(&iter, &lost); i++)
        status = store_one(holding, &in, lost.addr, err);
    return status;
}
