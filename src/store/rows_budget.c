/* The budget, the runtimes that have a row in it, malloc's settings, and the kernel's figures. */
#include "runtime/runtimes.h"
#include "store/insert.h"
#include "store/rows.h"

static bool has_memory(const struct cf_budget *budget, uint8_t runtime) {
    for (size_t i = 0; i < budget->rows.len; i++)
        if (budget->rows.items[i].runtime == runtime)
            return true;
    return false;
}

static int add_runtimes(struct cf_db *db, const struct cf_budget *budget, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "runtime", "name, advice, hides_pointers, trim", err);
    for (uint8_t i = 1; status == CF_OK && i <= CF_NR_RUNTIMES; i++) {
        if (!has_memory(budget, i))
            continue;
        cf_insert_text(&in, cf_runtime_of(i)->name);
        cf_insert_text(&in, cf_runtime_of(i)->advice);
        cf_insert_u64(&in, cf_runtime_of(i)->hides_pointers);
        cf_insert_text(&in, cf_runtime_of(i)->trim);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_budget(struct cf_db *db, const struct cf_budget *budget, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "budget",
                                 "kind, label, is_anonymous, mappings, mapped_bytes,"
                                 " resident_bytes, copied_max_bytes, runtime, area",
                                 err);
    for (size_t i = 0; status == CF_OK && i < budget->rows.len; i++) {
        const struct cf_budget_row *row = &budget->rows.items[i];
        cf_insert_text(&in, cf_claim_kind_name(row->kind));
        cf_insert_text(&in, row->label);
        cf_insert_u64(&in, row->is_anonymous);
        cf_insert_u64(&in, row->mappings);
        cf_insert_u64(&in, row->mapped_bytes);
        cf_insert_u64_if(&in, row->resident.known, row->resident.bytes);
        cf_insert_u64(&in, row->copied_max_bytes);
        const struct cf_runtime *runtime = cf_runtime_of(row->runtime);
        cf_insert_text(&in, runtime != NULL ? runtime->name : NULL);
        cf_insert_text(&in, cf_claim_area_name(row->area));
        status = cf_insert_row(&in, err);
    }
    return status == CF_OK ? add_runtimes(db, budget, err) : status;
}

int cf_rows_tunables(struct cf_db *db, const struct cf_tunables *tunables, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "tunable", "name, value, source, note", err);
    for (size_t i = 0; status == CF_OK && i < tunables->nr_rows; i++) {
        const struct cf_tunable *row = &tunables->rows[i];
        cf_insert_text(&in, row->name);
        cf_insert_text(&in, row->value);
        cf_insert_text(&in, row->source);
        cf_insert_text(&in, row->note);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_arena_limit(struct cf_db *db, unsigned cpus, uint64_t limit, const char *formula,
                        struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db, "INSERT INTO meta (key, value) VALUES ('cpus', nullif(?1, 0)),"
                                   " ('arena_limit', nullif(?2, 0)), ('arena_limit_formula', ?3)",
                               &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_i64(stmt, 1, cpus);
    cf_stmt_bind_i64(stmt, 2, (int64_t)limit);
    cf_stmt_bind_text(stmt, 3, formula);
    return cf_stmt_run(stmt, err);
}

int cf_rows_allocator(struct cf_db *db, bool anonymous_dumped,
                      const struct cf_allocator *allocator, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db, "INSERT INTO meta (key, value) VALUES ('anonymous_dumped', ?1),"
                                   " ('other_allocator', ?2), ('other_allocator_evidence', ?3)",
                               &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_i64(stmt, 1, anonymous_dumped);
    cf_stmt_bind_text(stmt, 2, allocator != NULL ? allocator->name : "");
    cf_stmt_bind_text(stmt, 3, allocator != NULL ? allocator->evidence : "");
    return cf_stmt_run(stmt, err);
}

static int add_kernel_mappings(struct cf_db *db, const struct cf_kernel *kernel,
                               struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "kernel_mapping",
                                 "start, \"end\", kind, label, rss_bytes, anonymous_bytes,"
                                 " swap_bytes, shared_bytes, is_dontdump, ours_bytes",
                                 err);
    for (size_t i = 0; status == CF_OK && i < kernel->mappings.len; i++) {
        const struct cf_kernel_mapping *row = &kernel->mappings.items[i];
        cf_insert_u64(&in, row->start);
        cf_insert_u64(&in, row->end);
        cf_insert_text(&in, row->in_core ? cf_claim_kind_name(row->kind) : NULL);
        cf_insert_text(&in, row->label);
        cf_insert_u64(&in, row->rss_bytes);
        cf_insert_u64(&in, row->anonymous_bytes);
        cf_insert_u64(&in, row->swap_bytes);
        cf_insert_u64(&in, row->shared_bytes);
        cf_insert_u64(&in, row->is_dontdump);
        cf_insert_u64_if(&in, row->ours.known, row->ours.bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_side_file(struct cf_db *db, const struct cf_side_row *row, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "side_file", "kind, name, place, is_used, reason", err);
    if (status != CF_OK)
        return status;
    cf_insert_text(&in, row->kind);
    cf_insert_text(&in, row->name);
    cf_insert_text(&in, !row->found ? "named" : row->in_archive ? "in the archive"
                                                                : "beside the core");
    cf_insert_u64(&in, row->refused == NULL);
    cf_insert_text(&in, row->refused);
    return cf_insert_row(&in, err);
}

int cf_rows_smaps_confirms(struct cf_db *db, const char *why_not, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    int status = cf_db_prepare(db, "INSERT INTO meta (key, value) VALUES ('smaps_confirms', ?1)",
                               &stmt, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(stmt, 1, why_not == NULL ? "exact" : why_not);
    return cf_stmt_run(stmt, err);
}

int cf_rows_kernel(struct cf_db *db, const struct cf_kernel *kernel, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "kernel_figure",
                                 "source, name, bytes, times, ours_bytes, copied_least_bytes,"
                                 " copied_most_bytes, copied_bytes, more_bytes, less_bytes,"
                                 " room_bytes",
                                 err);
    for (size_t i = 0; status == CF_OK && i < kernel->rows.len; i++) {
        const struct cf_kernel_row *row = &kernel->rows.items[i];
        cf_insert_text(&in, row->source);
        cf_insert_text(&in, row->name);
        cf_insert_u64_if(&in, row->has_bytes && !row->is_count, row->bytes);
        cf_insert_u64_if(&in, row->is_count, row->bytes);
        cf_insert_u64_if(&in, row->has_ours, row->ours_bytes);
        const struct cf_resident_bytes *const figures[] = {
            &row->copied_least, &row->copied_most, &row->copied,
            &row->more, &row->less, &row->room,
        };
        for (size_t j = 0; j < sizeof figures / sizeof figures[0]; j++)
            cf_insert_u64_if(&in, figures[j]->known, figures[j]->bytes);
        status = cf_insert_row(&in, err);
    }
    return status == CF_OK ? add_kernel_mappings(db, kernel, err) : status;
}
