#include "lib/process.h"

#include "store/rows.h"

static int make_budget(struct cf_process *process, const struct cf_reading *reading,
                       struct cf_err *err) {
    int status = cf_budget_claim_malloc(&process->claims, reading->pt, err);
    if (status == CF_OK)
        status = cf_budget_claim_stacks(&process->claims, &process->stacks, err);
    if (status == CF_OK)
        status = cf_claims_seal(&process->claims, err);
    if (status == CF_OK)
        status = cf_budget_make(&process->budget, reading->mem, &process->claims, err);
    return status;
}

int cf_process_analyze(struct cf_process *process, const struct cf_reading *reading,
                       struct cf_err *err) {
    int status = cf_stacks_find(&process->stacks, reading->mem, err);
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
    uint64_t limit = cf_tunables_arena_limit(reading->found, options->cpus, &formula);
    int status = cf_rows_budget(db, &process->budget, err);
    if (status == CF_OK)
        status = cf_rows_tunables(db, &process->tunables, err);
    if (status == CF_OK)
        status = cf_rows_arena_limit(db, options->cpus, limit, formula, err);
    return status;
}

void cf_process_fini(struct cf_process *process) {
    cf_budget_fini(&process->budget);
    cf_claims_fini(&process->claims);
    cf_environ_free(process->env);
    cf_stacks_fini(&process->stacks);
}
