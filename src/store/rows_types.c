#include "store/insert.h"
#include "store/rows.h"

int cf_rows_types(struct cf_db *db, const struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "type",
                                 "type_id, type, evidence, chunks, bytes, unreachable_chunks,"
                                 " unreachable_bytes, sample_address, memory_of",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_types_nr(types); i++) {
        const struct cf_type *type = cf_types_get(types, (uint32_t)i);
        if (type->chunks == 0)
            continue;
        cf_insert_u64(&in, i);
        cf_insert_text(&in, cf_types_name(types, (uint32_t)i));
        cf_insert_text(&in, cf_type_evidence_name(type->evidence));
        cf_insert_u64(&in, type->chunks);
        cf_insert_u64(&in, type->bytes);
        cf_insert_u64(&in, type->unreachable_chunks);
        cf_insert_u64(&in, type->unreachable_bytes);
        cf_insert_u64_if(&in, type->sample != 0, type->sample);
        cf_insert_text(&in, cf_types_name(types, type->memory_of));
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_size_types(struct cf_db *db, const struct cf_size_types *sizes,
                       const struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "size_type", "size_bytes, type, chunks", err);
    for (size_t i = 0; status == CF_OK && i < sizes->nr; i++) {
        cf_insert_u64(&in, sizes->rows[i].bytes);
        cf_insert_text(&in, cf_types_name(types, sizes->rows[i].type));
        cf_insert_u64(&in, sizes->rows[i].chunks);
        status = cf_insert_row(&in, err);
    }
    return status;
}
