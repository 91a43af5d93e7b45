/*
 * The table, and its turns: each runtime claims, opens what it needs to name objects, and is asked
 * by the claim that holds an address.
 */
#include "runtime/runtimes.h"

#include <stdlib.h>

#include "base/err.h"

#define ROW(name) &cf_runtime_##name,
const struct cf_runtime *const cf_runtimes[CF_NR_RUNTIMES] = {CF_RUNTIMES(ROW)};
#undef ROW

const struct cf_runtime *cf_runtime_of(uint8_t number) {
    return number == 0 || number > CF_NR_RUNTIMES ? NULL : cf_runtimes[number - 1];
}

struct cf_claimant cf_managed_as(const struct cf_managed *managed, enum cf_claim_area area,
                                 const char *label) {
    return (struct cf_claimant){CF_CLAIM_MANAGED, label, managed->runtime, area};
}

static bool may_be_here(const struct cf_runtime *runtime, const struct cf_mem *mem,
                        const struct cf_modules *modules) {
    return runtime->recognises == NULL || runtime->recognises(mem, modules);
}

int cf_runtimes_claim(const struct cf_managed *managed, struct cf_err *err) {
    struct cf_managed turn = *managed;
    int status = CF_OK;
    for (size_t i = 0; i < CF_NR_RUNTIMES && status == CF_OK; i++) {
        turn.runtime = (uint8_t)(i + 1);
        if (may_be_here(cf_runtimes[i], managed->mem, managed->modules))
            status = cf_runtimes[i]->claim(&turn, err);
    }
    return status;
}

int cf_objects_open(struct cf_objects *objects, const struct cf_objects_input *input,
                    struct cf_err *err) {
    objects->input = *input;
    for (size_t i = 0; i < CF_NR_RUNTIMES; i++) {
        const struct cf_runtime *runtime = cf_runtimes[i];
        if (runtime->open_objects == NULL || !may_be_here(runtime, input->mem, input->modules))
            continue;
        void *state = calloc(1, runtime->state_bytes);
        if (state == NULL) {
            cf_objects_fini(objects);
            return cf_err_nomem(err, runtime->state_bytes, "the objects of a runtime");
        }
        if (runtime->open_objects(input, state))
            objects->states[i] = state;
        else
            free(state);
    }
    objects->input.variables = NULL;
    return CF_OK;
}

void cf_objects_fini(struct cf_objects *objects) {
    for (size_t i = 0; i < CF_NR_RUNTIMES; i++) {
        free(objects->states[i]);
        objects->states[i] = NULL;
    }
}

const struct cf_claim *cf_objects_heap(const struct cf_objects *objects, uint64_t addr) {
    return cf_claims_at(objects->input.claims, CF_CLAIM_MANAGED, addr);
}

bool cf_objects_name(const struct cf_objects *objects, const struct cf_claim *heap, uint64_t addr,
                     char *out, size_t bytes) {
    const struct cf_runtime *runtime = cf_runtime_of(heap->runtime);
    const void *state = runtime != NULL ? objects->states[heap->runtime - 1] : NULL;
    return state != NULL && heap->area == CF_AREA_OBJECTS &&
           runtime->name_object(state, addr, heap->start, out, bytes);
}
