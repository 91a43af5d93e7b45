/*
 * The order matters: samples of what is memory of something can only be asked about when that is
 * named, paths only when all is asked, and owners only when the paths are known. The dominators'
 * groups of roots are made while their words are read, and named by the same labels.
 */
#include "holders/holding.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"
#include "holders/belong.h"

static enum cf_belong_name name_word(void *source, const struct cf_root *root, uint64_t addr,
                                     char *out, size_t bytes) {
    struct cf_holding *holding = source;
    return cf_label_owner(&holding->labels, root, addr, out, bytes);
}

/* Stacks say where the program is, not whose a chunk is. */
static bool name_group(void *source, uint32_t group, char *out, size_t bytes) {
    const struct cf_holding *holding = source;
    const struct cf_place *place = &holding->places.rows.items[group];
    const struct cf_root *root = &holding->labels.reach->roots.rows.items[place->root];
    if (place->heap != NULL)
        (void)snprintf(out, bytes, "%s", place->heap->label);
    return place->heap != NULL ||
           (place->kind == CF_ROOT_GLOBAL &&
            cf_label_owner(&holding->labels, root, place->start, out, bytes) != CF_BELONG_NONE);
}

/* Whose memory the nameless chunks are; samples of that are worth asking about. Without room for
 * its file the types keep what their bytes say. */
static int name_memory(const struct cf_context *ctx, const struct cf_holding_input *input,
                       struct cf_holding *holding, struct cf_err *err) {
    const struct cf_belong_input belong = {
        .reach = input->reach, .dominators = &holding->dominators,
        .preorder = &holding->preorder, .sharing = &holding->sharing, .source = holding,
        .name = name_word, .name_group = name_group,
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

static int find_paths(const struct cf_context *ctx, const struct cf_holding_input *input,
                      struct cf_holding *holding, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < holding->asking.rows.len && status == CF_OK; i++)
        status = cf_holders_ask(&holding->holders, holding->asking.rows.items[i].addr, err);
    if (status != CF_OK)
        return status;
    return cf_holders_find(ctx, &holding->holders, input->mem, input->reach, err);
}

/* Of the holding, for a word of a root. */
static uint32_t group_of(void *source, const struct cf_root_word *word) {
    struct cf_holding *holding = source;
    return cf_places_of(&holding->places, &holding->labels, word);
}

/* Without room for its files, or with more than it can number, the rest stands without it. */
static int find_dominators(const struct cf_context *ctx, const struct cf_holding_input *input,
                           struct cf_holding *holding, struct cf_err *err) {
    const struct cf_dominators_input dominators = {
        .links = &input->reach->links, .roots = input->reach->roots.rows.items,
        .words = &input->reach->words, .nr_reached = input->reach->paths->nr,
        .kinds = &holding->kinds, .group_of = group_of, .source = holding,
    };
    struct cf_err why = {.status = CF_OK};
    int status = cf_classes_find(ctx, holding->labels.types, &input->reach->ranks,
                                 &holding->classes, &why);
    if (status == CF_OK)
        status = cf_edge_kinds_judge(ctx, &input->reach->links, holding->classes.by_rank,
                                     &holding->kinds, &why);
    cf_classes_fini(&holding->classes);
    if (status == CF_OK)
        status = cf_dominators_find(ctx, &dominators, &holding->dominators, &why);
    if (status == CF_EOUTPUT || status == CF_EUSAGE) {
        cf_log(ctx, "what is kept alive is not computed: %s", why.text);
        memcpy(holding->no_dominators, why.text, sizeof holding->no_dominators);
        return CF_OK;
    }
    if (status != CF_OK && err != NULL)
        *err = why;
    return status;
}

/* The tree of what is kept alive, and who shares what hangs on nobody in it. */
static int find_tree(const struct cf_context *ctx, const struct cf_holding_input *input,
                     struct cf_holding *holding, struct cf_err *err) {
    const struct cf_sharing_input sharing = {&holding->dominators, &holding->preorder};
    int status = find_dominators(ctx, input, holding, err);
    if (status != CF_OK || holding->dominators.nr == 0)
        return status;
    status = cf_preorder_find(ctx, &holding->dominators, &holding->preorder, err);
    return status == CF_OK ? cf_sharing_find(ctx, &sharing, &holding->sharing, err) : status;
}

/* What each place, type and module keeps alive. */
static int find_owners(const struct cf_context *ctx, const struct cf_holding_input *input,
                       struct cf_holding *holding, struct cf_err *err) {
    holding->owning = (struct cf_owners_input){
        .mem = input->mem, .dominators = &holding->dominators, .preorder = &holding->preorder,
        .sharing = &holding->sharing, .places = &holding->places, .labels = &holding->labels,
        .words = &input->reach->words,
    };
    int status = cf_owners_find(ctx, &holding->owning, &holding->owners, err);
    if (status == CF_OK)
        status = cf_retained_find(ctx, &holding->retained, &holding->dominators, err);
    const struct cf_groups_input groups = {
        .pt = input->pt, .kept = input->kept, .dominators = &holding->dominators,
        .preorder = &holding->preorder, .owners = &holding->owners,
        .types = holding->labels.types,
    };
    if (status == CF_OK)
        status = cf_groups_find(ctx, &groups, &holding->groups, err);
    cf_dominators_drop(&holding->dominators);
    cf_preorder_drop(&holding->preorder);
    return status;
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
        status = cf_asking_choose(ctx, &holding->asking, input->suspect, input->reach->mark,
                                  input->kept, types, err);
    if (status == CF_OK)
        status = find_tree(ctx, input, holding, err);
    if (status == CF_OK && holding->dominators.nr > 0)
        status = name_memory(ctx, input, holding, err);
    if (status == CF_OK)
        status = cf_size_types_count(ctx, &holding->sizes, types, &input->reach->ranks, err);
    if (status == CF_OK)
        status = find_paths(ctx, input, holding, err);
    if (status == CF_OK)
        status = cf_leak_groups_find(ctx, &holding->labels, &holding->leaks, err);
    if (status != CF_OK || holding->dominators.nr == 0)
        return status;
    return find_owners(ctx, input, holding, err);
}

void cf_holding_fini(struct cf_holding *holding) {
    cf_holders_fini(&holding->holders);
    cf_asking_fini(&holding->asking);
    cf_size_types_fini(&holding->sizes);
    cf_groups_fini(&holding->groups);
    cf_leak_groups_fini(&holding->leaks);
    cf_owners_fini(&holding->owners);
    cf_sharing_fini(&holding->sharing);
    cf_preorder_fini(&holding->preorder);
    cf_retained_fini(&holding->retained);
    cf_dominators_fini(&holding->dominators);
    cf_edge_kinds_fini(&holding->kinds);
    cf_classes_fini(&holding->classes);
    cf_places_fini(&holding->places);
    cf_objects_fini(&holding->objects);
}
