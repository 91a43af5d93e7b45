/*
 * .NET's memory, a guess by shape: where libcoreclr is mapped, a reservation of 64 MiB and more
 * that is partly in use is the collector's; one with executable memory in it, mapped assemblies
 * between, belongs to jitted code and the loader. Newer runtimes map their code twice from one
 * memfd ("doublemapper"), which names itself.
 */
#include <string.h>

#include "runtime/managed.h"
#include "space/unclaimed.h"

#define RESERVATION_BYTES (64ull << 20)

static const char *label_of(const struct cf_run *run) {
    if (run->code_bytes > 0)
        return "code and loader (.NET, guess)";
    bool is_large = run->usable_bytes + run->reserve_bytes >= RESERVATION_BYTES;
    return is_large && run->usable_bytes > 0 ? "GC heap (.NET, guess)" : NULL;
}

static int claim_named(const struct cf_managed *managed, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(managed->mem);
    for (size_t i = 0; i < cf_core_nr_files(core); i++) {
        const struct cf_core_file *file = cf_core_file(core, i);
        if (strstr(file->path, "memfd:doublemapper") == NULL)
            continue;
        int status = cf_claims_add(managed->out, CF_CLAIM_MANAGED, file->start, file->end,
                                   "code and loader (.NET)", err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

int cf_dotnet_claim(const struct cf_managed *managed, struct cf_err *err) {
    if (cf_managed_module(managed->modules, "libcoreclr.so") == NULL)
        return CF_OK;
    struct cf_runs runs = {.rows = {0}};
    int status = cf_runs_find(&runs, managed->mem, managed->taken, true, err);
    for (size_t i = 0; i < runs.rows.len && status == CF_OK; i++) {
        const struct cf_run *run = &runs.rows.items[i];
        const char *label = label_of(run);
        if (label != NULL)
            status = cf_unclaimed_take(managed->mem, managed->taken, run->start, run->end,
                                       CF_CLAIM_MANAGED, label, managed->out, err);
    }
    cf_runs_fini(&runs);
    return status == CF_OK ? claim_named(managed, err) : status;
}
