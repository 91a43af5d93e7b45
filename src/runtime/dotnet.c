/*
 * .NET's memory, a guess by shape: where libcoreclr is mapped, a reservation of 64 MiB and more
 * that is partly in use is the collector's; one with executable memory in it, mapped assemblies
 * between, belongs to jitted code and the loader. Newer runtimes map their code twice from one
 * memfd ("doublemapper"), which names itself.
 */
#include <string.h>

#include "runtime/runtimes.h"
#include "space/unclaimed.h"

#define RESERVATION_BYTES (64ull << 20)

static int claim_run(const struct cf_managed *managed, const struct cf_run *run,
                     struct cf_err *err) {
    bool is_large = run->usable_bytes + run->reserve_bytes >= RESERVATION_BYTES;
    struct cf_claimant who;
    if (run->code_bytes > 0)
        who = cf_managed_as(managed, CF_AREA_CODE, "code and loader (.NET, guess)");
    else if (is_large && run->usable_bytes > 0)
        who = cf_managed_as(managed, CF_AREA_OBJECTS, "GC heap (.NET, guess)");
    else
        return CF_OK;
    return cf_unclaimed_take(managed->mem, managed->taken, run->start, run->end, &who,
                             managed->out, err);
}

static int claim_named(const struct cf_managed *managed, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(managed->mem);
    const struct cf_claimant who = cf_managed_as(managed, CF_AREA_CODE, "code and loader (.NET)");
    for (size_t i = 0; i < cf_core_nr_files(core); i++) {
        const struct cf_core_file *file = cf_core_file(core, i);
        if (strstr(file->path, "memfd:doublemapper") == NULL)
            continue;
        int status = cf_claims_add_for(managed->out, &who, file->start, file->end, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static bool recognises(const struct cf_mem *mem, const struct cf_modules *modules) {
    (void)mem;
    return cf_modules_find_prefix(modules, "libcoreclr.so") != NULL;
}

static int claim(const struct cf_managed *managed, struct cf_err *err) {
    struct cf_runs runs = {.rows = {0}};
    int status = cf_runs_find(&runs, managed->mem, managed->taken, true, err);
    for (size_t i = 0; i < runs.rows.len && status == CF_OK; i++)
        status = claim_run(managed, &runs.rows.items[i], err);
    cf_runs_fini(&runs);
    return status == CF_OK ? claim_named(managed, err) : status;
}

const struct cf_runtime cf_runtime_dotnet = {
    .name = ".NET",
    .suffix = "",
    .advice = "Look at .NET's heap first: DOTNET_GCHeapHardLimit bounds it; dotnet-counters and "
              "dotnet-gcdump say what fills it; DOTNET_gcServer=0 or a smaller DOTNET_GCHeapCount "
              "means fewer heaps",
    .trim = "[DllImport(\"libc.so.6\")] static extern int malloc_trim(nuint pad), called with 0",
    .recognises = recognises,
    .claim = claim,
};
