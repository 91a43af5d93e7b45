#include "store/insert.h"
#include "store/rows.h"

int cf_rows_hop(struct cf_insert *in, uint64_t chunk, const struct cf_hop *hop, const char *label,
                struct cf_err *err) {
    bool is_register = hop->root != NULL && hop->root->kind == CF_ROOT_REGISTER;
    cf_insert_u64(in, chunk);
    cf_insert_u64(in, hop->hop);
    cf_insert_text(in, hop->root != NULL ? cf_root_kind_name(hop->root->kind) : "chunk");
    cf_insert_u64_if(in, !is_register, hop->addr);
    cf_insert_text(in, label);
    return cf_insert_row(in, err);
}

int cf_rows_hops_begin(struct cf_insert *in, struct cf_db *db, struct cf_err *err) {
    return cf_insert_begin(in, db, "holder", "chunk_address, hop, kind, address, label", err);
}

int cf_rows_holder(struct cf_db *db, uint64_t chunk, const char *summary, struct cf_err *err) {
    static const char *const updates[] = {
        "UPDATE top_pin SET holder = ?2 WHERE address = ?1",
        "UPDATE page_pin SET holder = ?2 WHERE sample_address = ?1",
        "UPDATE type SET holder = ?2 WHERE sample_address = ?1",
    };
    int status = CF_OK;
    for (size_t i = 0; i < sizeof updates / sizeof *updates && status == CF_OK; i++) {
        CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
        status = cf_db_prepare(db, updates[i], &stmt, err);
        if (status != CF_OK)
            break;
        cf_stmt_bind_i64(stmt, 1, (int64_t)chunk);
        cf_stmt_bind_text(stmt, 2, summary);
        status = cf_stmt_run(stmt, err);
    }
    return status;
}

int cf_rows_held_begin(struct cf_insert *in, struct cf_db *db, struct cf_err *err) {
    return cf_insert_begin(in, db, "held", "kind, address, label, chunks, bytes", err);
}

int cf_rows_held(struct cf_insert *in, const struct cf_held *held, const char *label,
                 struct cf_err *err) {
    cf_insert_text(in, cf_root_kind_name(held->kind));
    cf_insert_u64_if(in, held->end > held->start, held->start);
    cf_insert_text(in, label);
    cf_insert_u64(in, held->chunks);
    cf_insert_u64(in, held->bytes);
    return cf_insert_row(in, err);
}
