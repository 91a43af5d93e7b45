/*
 * The parts of an analysis that stand between malloc and the database: claims on mappings, the
 * runtimes, settings and stacks, and their rows.
 */
#include "lib/process.h"

#include "runtime/runtimes.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "store/rows.h"

static void fini_claims(struct cf_claims *claims) {
    cf_claims_fini(claims);
}

static int add_and_seal(struct cf_claims *claims, const struct cf_claims *more,
                        struct cf_err *err) {
    int status = cf_claims_append(claims, more, err);
    return status == CF_OK ? cf_claims_seal(claims, err) : status;
}

static int claim_managed(struct cf_process *process, const struct cf_reading *reading,
                         struct cf_err *err) {
    CF_CLEANUP(fini_claims) struct cf_claims more = {.rows = {0}};
    const struct cf_managed managed = {
        .mem = reading->mem,
        .modules = reading->modules,
        .taken = &process->claims,
        .out = &more,
    };
    int status = cf_runtimes_claim(&managed, err);
    return status == CF_OK ? add_and_seal(&process->claims, &more, err) : status;
}

/* Another allocator has what is left, where glibc's serves nothing. */
static int claim_for_allocator(struct cf_process *process, const struct cf_reading *reading,
                               struct cf_err *err) {
    CF_CLEANUP(fini_claims) struct cf_claims more = {.rows = {0}};
    bool has_heap = cf_reading_has_heap(reading);
    process->has_allocator =
        cf_allocator_find(reading->mem, reading->modules, !has_heap, &process->allocator);
    if (!process->has_allocator || has_heap)
        return CF_OK;
    int status =
        cf_allocator_claim(&process->allocator, reading->mem, &process->claims, &more, err);
    return status == CF_OK ? add_and_seal(&process->claims, &more, err) : status;
}

int cf_process_confirm(struct cf_process *process, const struct cf_reading *reading,
                       const struct cf_options *options, struct cf_err *err) {
    if (process->counted.smaps.rows.len == 0)
        return CF_OK;
    if (!cf_kernel_fits(&process->counted.smaps, reading->mem))
        return cf_err_set(err, CF_EINPUT,
                          "%s: the smaps is of another process, or of another run: no mapping of "
                          "it begins where one of the core's does", options->smaps_path);
    process->unconfirmed = cf_mem_confirm(reading->mem, &process->counted.smaps);
    return CF_OK;
}

static int compare_with_kernel(struct cf_process *process, const struct cf_reading *reading,
                               struct cf_err *err) {
    int status = CF_OK;
    if (process->counted.smaps.rows.len > 0)
        status = cf_kernel_add_smaps(&process->kernel, &process->counted.smaps, reading->mem,
                                     &process->claims, &process->budget, err);
    if (status == CF_OK)
        status = cf_counted_judge_cgroup(&process->counted, &process->budget, err);
    if (status == CF_OK)
        status = cf_kernel_add_cgroup(&process->kernel, &process->counted.cgroup,
                                      &process->budget, err);
    return status;
}

static int make_budget(struct cf_process *process, const struct cf_reading *reading,
                       struct cf_err *err) {
    int status = cf_budget_claim_malloc(&process->claims, reading->pt, err);
    if (status == CF_OK)
        status = cf_budget_claim_stacks(&process->claims, process->stacks, err);
    if (status == CF_OK)
        status = cf_budget_claim_bss(&process->claims, reading->mem, err);
    if (status == CF_OK)
        status = cf_claims_seal(&process->claims, err);
    if (status == CF_OK)
        status = claim_managed(process, reading, err);
    if (status == CF_OK)
        status = claim_for_allocator(process, reading, err);
    if (status == CF_OK)
        status = cf_budget_make(&process->budget, reading->mem, &process->claims,
                                &process->counted.smaps, err);
    if (status == CF_OK)
        status = compare_with_kernel(process, reading, err);
    return status;
}

int cf_process_analyze(const struct cf_context *ctx, struct cf_process *process,
                       const struct cf_reading *reading, const struct cf_stacks *stacks,
                       struct cf_err *err) {
    int status = cf_progress(ctx, "adding up the mappings", 0, 0) ? cf_err_cancelled(err) : CF_OK;
    process->stacks = stacks != NULL ? stacks : &process->own_stacks;
    if (status == CF_OK && stacks == NULL)
        status = cf_stacks_find(&process->own_stacks, reading->mem, err);
    if (status == CF_OK)
        status = cf_environ_read(reading->mem, &process->env, err);
    if (status != CF_OK)
        return status;
    cf_tunables_read(reading->found, process->env, &process->tunables);
    return make_budget(process, reading, err);
}

int cf_process_store(const struct cf_process *process, const struct cf_reading *reading,
                     const struct cf_options *options, struct cf_db *db, struct cf_err *err) {
    const char *formula = NULL;
    unsigned cpus = options->cpus != 0
                        ? options->cpus
                        : cf_tunables_cores(reading->found, reading->witness.arena_limit);
    uint64_t limit = cf_tunables_arena_limit(reading->found, cpus, &formula);
    int status = cf_rows_budget(db, &process->budget, err);
    if (status == CF_OK)
        status = cf_rows_kernel(db, &process->kernel, err);
    for (size_t i = 0; status == CF_OK && i < process->counted.notes.len; i++) {
        const struct cf_side_note *note = &process->counted.notes.items[i];
        const struct cf_side_row row = {.kind = note->kind, .name = note->name,
                                        .found = note->found, .in_archive = note->in_archive,
                                        .refused = note->refused};
        status = cf_rows_side_file(db, &row, err);
    }
    if (status == CF_OK && process->counted.smaps.rows.len > 0)
        status = cf_rows_smaps_confirms(db, process->unconfirmed, err);
    if (status == CF_OK)
        status = cf_rows_tunables(db, &process->tunables, err);
    if (status == CF_OK)
        status = cf_rows_arena_limit(db, cpus, limit, formula, err);
    if (status == CF_OK)
        status = cf_rows_allocator(db, cf_anonymous_is_dumped(reading->mem),
                                   process->has_allocator ? &process->allocator : NULL, err);
    return status;
}

bool cf_process_lacks_content(const struct cf_process *process, const struct cf_mem *mem) {
    for (size_t i = 0; i < process->kernel.mappings.len; i++) {
        const struct cf_kernel_mapping *mapping = &process->kernel.mappings.items[i];
        const struct cf_region *region = cf_mem_find(mem, mapping->start);
        if (mapping->is_dontdump && mapping->rss_bytes + mapping->swap_bytes > 0 &&
            (region == NULL || region->data_bytes == 0))
            return true;
    }
    return false;
}

void cf_process_fini(struct cf_process *process) {
    cf_kernel_fini(&process->kernel);
    cf_counted_fini(&process->counted);
    cf_budget_fini(&process->budget);
    cf_claims_fini(&process->claims);
    cf_environ_free(process->env);
    cf_stacks_fini(&process->own_stacks);
}
