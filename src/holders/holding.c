#include "holders/holding.h"

#include "base/context.h"
#include "base/err.h"
#include "holders/belong.h"

/* Searches are made again, and all that is reached is looked at again. */
static bool is_thorough(const struct cf_holding_input *input) {
    return input->retained || input->reach->paths->nr <= CF_HELD_CHUNKS_MAX;
}

/* Whose memory the nameless chunks are; samples of that are worth asking about. Without room for
 * its file the types keep what their bytes say. */
static int name_memory(const struct cf_context *ctx, const struct cf_holding_input *input,
                       struct cf_holding *holding, struct cf_err *err) {
    const struct cf_belong_input belong = {
        .mem = input->mem, .reach = input->reach, .source = &holding->labels,
        .name = cf_label_owner,
    };
    int status = cf_belong_count(ctx, &belong, holding->labels.types, err);
    if (status == CF_OK)
        return cf_asking_add_memory(&holding->asking, holding->labels.types, err);
    if (status != CF_EOUTPUT)
        return status;
    cf_log(ctx, "whose memory nameless chunks are is not looked for: %s",
           err != NULL ? err->text : "no room");
    return CF_OK;
}

static int find_paths(const struct cf_holding_input *input, struct cf_holding *holding,
                      struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < holding->asking.rows.len && status == CF_OK; i++)
        status = cf_holders_ask(&holding->holders, holding->asking.rows.items[i].addr, err);
    return status == CF_OK ? cf_holders_find(&holding->holders, input->mem, input->reach, err)
                           : status;
}

static int find_owners(const struct cf_context *ctx, const struct cf_holding_input *input,
                       struct cf_holding *holding, struct cf_err *err) {
    const struct cf_owners_input owners = {
        .mem = input->mem, .labels = &holding->labels, .asking = &holding->asking,
        .holders = &holding->holders, .count = is_thorough(input),
    };
    if (!owners.count)
        cf_log(ctx, "what a holder keeps alive is not counted: more than %d chunks (--retained"
                    " counts it)", CF_HELD_CHUNKS_MAX);
    return cf_owners_find(ctx, &owners, &holding->owners, err);
}

int cf_holding_find(const struct cf_context *ctx, const struct cf_holding_input *input,
                    struct cf_types *types, struct cf_holding *holding, struct cf_err *err) {
    const struct cf_variables variables = cf_naming_variables(input->naming);
    const struct cf_objects_input objects = {
        .mem = input->mem, .modules = input->modules, .claims = input->claims, .types = types,
        .variables = &variables,
    };
    holding->labels = (struct cf_labels){input->reach, types, input->naming, &holding->objects};
    int status = cf_objects_open(&holding->objects, &objects, err);
    if (status == CF_OK)
        status = cf_asking_choose(&holding->asking, input->reach->mark, input->kept, types, err);
    if (status == CF_OK && input->reach->paths != NULL && is_thorough(input))
        status = name_memory(ctx, input, holding, err);
    if (status == CF_OK && is_thorough(input))
        status = cf_size_types_count(&holding->sizes, types,
                                     cf_mark_resolver(input->reach->mark), err);
    if (status == CF_OK)
        status = find_paths(input, holding, err);
    return status == CF_OK ? find_owners(ctx, input, holding, err) : status;
}

void cf_holding_fini(struct cf_holding *holding) {
    cf_holders_fini(&holding->holders);
    cf_asking_fini(&holding->asking);
    cf_size_types_fini(&holding->sizes);
    cf_owners_fini(&holding->owners);
    cf_objects_fini(&holding->objects);
}
