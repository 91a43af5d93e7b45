/*
 * Paths from roots to the chunks that were asked about, the summaries of these paths beside the
 * rows that ask for them, what owners and chunks keep alive, and previews of texts.
 */
#include <string.h>

#include "store/insert.h"
#include "store/rows.h"

static int add_hop(struct cf_insert *in, uint64_t chunk, const struct cf_hop *hop,
                   const char *label, struct cf_err *err) {
    bool is_register = hop->root != NULL && hop->root->kind == CF_ROOT_REGISTER;
    cf_insert_u64(in, chunk);
    cf_insert_u64(in, hop->hop);
    cf_insert_text(in, hop->root != NULL ? cf_root_kind_name(hop->root->kind) : "chunk");
    cf_insert_u64_if(in, !is_register, hop->addr);
    cf_insert_text(in, label);
    return cf_insert_row(in, err);
}

static int add_summary(struct cf_db *db, uint64_t chunk, const char *summary, struct cf_err *err) {
    static const char *const updates[] = {
        "UPDATE top_pin SET holder = ?2 WHERE address = ?1",
        "UPDATE page_pin SET holder = ?2 WHERE sample_address = ?1",
        "UPDATE type SET holder = ?2 WHERE sample_address = ?1",
        "UPDATE damage SET holder = ?2 WHERE suspect_address = ?1",
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

static int add_path(struct cf_db *db, struct cf_insert *in, const struct cf_labels *labels,
                    const struct cf_path *path, struct cf_err *err) {
    char label[CF_LABEL_BYTES], summary[CF_SUMMARY_BYTES];
    int status = CF_OK;
    for (size_t i = 0; i < path->hops.len && status == CF_OK; i++) {
        cf_label_hop(labels, path, i, label, sizeof label);
        status = add_hop(in, path->addr, &path->hops.items[i], label, err);
    }
    cf_label_path(labels, path, summary, sizeof summary);
    return status == CF_OK ? add_summary(db, path->addr, summary, err) : status;
}

static int add_paths(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "holder", "chunk_address, hop, kind, address, label",
                                 err);
    for (size_t i = 0; i < holding->holders.paths.len && status == CF_OK; i++) {
        const struct cf_path *path = &holding->holders.paths.items[i];
        if (path->length > 0)
            status = add_path(db, &in, &holding->labels, path, err);
    }
    return status;
}

/* The header of the chunk at this place of the preorder. */
static uint64_t chunk_at(const struct cf_holding *holding, uint32_t place) {
    const struct cf_ranks *ranks = holding->dominators.ranks;
    struct cf_chunk_number number =
        cf_ranks_number(ranks, cf_preorder_rank(&holding->preorder, place));
    const struct cf_extent *extent = cf_resolver_extent_of(ranks->resolver, number);
    return cf_resolver_chunk(ranks->resolver, extent, number).addr;
}

static int add_owners(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "owner",
                                 "kind, address, name, module, chunks, bytes, resident_bytes,"
                                 " example_address",
                                 err);
    bool has_residency = strcmp(cf_mem_residency_name(holding->owning.mem), "none") != 0;
    for (size_t i = 0; i < holding->owners.rows.len && status == CF_OK; i++) {
        const struct cf_owner *owner = &holding->owners.rows.items[i];
        struct cf_place place = {.start = 0};
        if (owner->kind == CF_OWNER_PLACE)
            place = cf_place_where(&holding->labels.reach->roots,
                                   &holding->places.rows.items[owner->number]);
        char label[CF_LABEL_BYTES], module[CF_LABEL_BYTES];
        cf_owner_label(&holding->owning, owner, label, sizeof label);
        cf_owner_module(&holding->owning, owner, module, sizeof module);
        cf_insert_text(&in, cf_owner_kind_name(&holding->owning, owner));
        cf_insert_u64_if(&in, place.end > place.start, place.start);
        cf_insert_text(&in, label);
        cf_insert_text(&in, module[0] != '\0' ? module : NULL);
        cf_insert_u64(&in, owner->kept.chunks);
        cf_insert_u64(&in, owner->kept.bytes);
        cf_insert_u64_if(&in, has_residency, owner->kept.bytes - owner->absent_bytes);
        cf_insert_u64(&in, chunk_at(holding, owner->first));
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int add_leak_groups(struct cf_db *db, const struct cf_holding *holding,
                           struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "leak_group",
                                 "type, size_bytes, leaders, chunks, bytes, points_to,"
                                 " example_address",
                                 err);
    for (size_t i = 0; i < holding->leaks.rows.len && status == CF_OK; i++) {
        const struct cf_leak_group *group = &holding->leaks.rows.items[i];
        char target[CF_LABEL_BYTES];
        cf_leak_group_target(&holding->labels, group, target, sizeof target);
        cf_insert_text(&in, cf_types_name(holding->labels.types, group->type));
        cf_insert_u64(&in, group->size_bytes);
        cf_insert_u64(&in, group->leaders);
        cf_insert_u64(&in, group->chunks);
        cf_insert_u64(&in, group->bytes);
        cf_insert_text(&in, target[0] != '\0' ? target : NULL);
        cf_insert_u64(&in, group->example);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_holders(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err) {
    int status = add_paths(db, holding, err);
    if (status == CF_OK)
        status = add_leak_groups(db, holding, err);
    return status == CF_OK ? add_owners(db, holding, err) : status;
}

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
