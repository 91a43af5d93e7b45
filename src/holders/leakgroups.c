/*
 * What a leaked chunk points to outside of malloc is often all that tells where it came from: a
 * table of functions, a static variable of the library that made it. Its first words are looked
 * through for it.
 */
#include "holders/leakgroups.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/texts.h"
#include "core/core.h"
#include "core/drop.h"
#include "reach/leaders.h"
#include "sym/symbols.h"

enum { LOOKED_AT_WORDS = 16 };

struct grouper {
    const struct cf_labels *labels;
    const struct cf_modules *modules;
    struct cf_leak_groups *groups;
    struct cf_rss_guard guard; /* leaders lie anywhere */
};

/* The first word of the chunk that leads into a module; NULL: none does. */
static const struct cf_module *find_target(const struct grouper *grouper,
                                           const struct cf_numbered *chunk, uint64_t *word) {
    const struct cf_resolver *resolver = cf_mark_resolver(grouper->labels->reach->mark);
    unsigned width = resolver->word_bytes;
    uint64_t user = chunk->addr + 2 * width, end = chunk->addr + chunk->bytes;
    for (unsigned i = 0; i < LOOKED_AT_WORDS && user + (uint64_t)(i + 1) * width <= end; i++) {
        if (!cf_mem_word(resolver->mem, user + (uint64_t)i * width, word))
            return NULL;
        const struct cf_module *module = cf_types_leads_to_module(grouper->labels->types, *word)
                                             ? cf_modules_find(grouper->modules, *word)
                                             : NULL;
        if (module != NULL)
            return module;
    }
    *word = 0;
    return NULL;
}

static bool is_same(const struct cf_leak_group *a, const struct cf_leak_group *b) {
    return a->type == b->type && a->size_bytes == b->size_bytes && a->module == b->module;
}

/* The row of a group, a new one where it was not met before; NULL: memory is out. */
static struct cf_leak_group *row_of(struct cf_leak_groups *groups,
                                    const struct cf_leak_group *key) {
    uint64_t hash = cf_hash_mix(key->size_bytes ^ (uint64_t)key->type << 40 ^ key->module);
    uint32_t row = cf_hash_find(&groups->table, hash, i, is_same(&groups->rows.items[i], key));
    if (row != CF_HASH_NONE)
        return &groups->rows.items[row];
    if (groups->rows.len == CF_LEAK_GROUPS_MAX)
        return &groups->rows.items[0];
    struct cf_leak_group *added = cf_array_push(&groups->rows);
    if (added == NULL || !cf_hash_add(&groups->table, hash, groups->rows.len - 1))
        return NULL;
    *added = *key;
    return added;
}

static int add_leader(void *arg, const struct cf_leader *leader, struct cf_err *err) {
    struct grouper *grouper = arg;
    struct cf_leak_group key = {
        .type = cf_types_of(grouper->labels->types, leader->number),
        .size_bytes = leader->chunk.bytes, .example = leader->chunk.addr,
    };
    cf_rss_guard_step(&grouper->guard);
    const struct cf_module *module = find_target(grouper, &leader->chunk, &key.points_to);
    key.module = module == NULL ? 0 : module->start;
    struct cf_leak_group *row = row_of(grouper->groups, &key);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "groups of leaks");
    row->leaders++;
    row->chunks += leader->chunks;
    row->bytes += leader->bytes;
    row->example = key.example; /* the first by address is told last */
    row->points_to = key.points_to;
    return CF_OK;
}

static int compare_rows(const void *a, const void *b) {
    const struct cf_leak_group *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->example < right->example ? -1 : left->example > right->example;
}

int cf_leak_groups_find(const struct cf_context *ctx, const struct cf_labels *labels,
                        struct cf_leak_groups *out, struct cf_err *err) {
    struct grouper grouper = {
        .labels = labels, .groups = out, .modules = cf_symbols_modules(labels->naming->symbols),
    };
    const struct cf_leak_group others = {.type = 0};
    const struct cf_core *core = cf_mem_core(labels->reach->mem);
    grouper.guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    if (row_of(out, &others) == NULL)
        return cf_err_nomem(err, sizeof others, "groups of leaks");
    int status = cf_leaders_find(ctx, labels->reach->mark, &labels->reach->links, add_leader,
                                 &grouper, err);
    if (status == CF_OK && out->rows.len > 1)
        qsort(out->rows.items, out->rows.len, sizeof *out->rows.items, compare_rows);
    while (out->rows.len > 0 && out->rows.items[out->rows.len - 1].leaders == 0)
        out->rows.len--;
    return status;
}

void cf_leak_groups_fini(struct cf_leak_groups *groups) {
    cf_array_free(&groups->rows);
    cf_hash_fini(&groups->table);
}

void cf_leak_group_target(const struct cf_labels *labels, const struct cf_leak_group *group,
                          char *out, size_t bytes) {
    const struct cf_namer *namer = &labels->naming->namer;
    char symbol[CF_LABEL_BYTES / 2], module[64];
    uint64_t offset;
    out[0] = '\0';
    if (group->points_to == 0 || !namer->module(namer->source, group->points_to, module,
                                                sizeof module, &offset))
        return;
    if (namer->symbol(namer->source, group->points_to, symbol, sizeof symbol, &offset))
        (void)snprintf(out, bytes, "%s (%s)", symbol, module);
    else
        (void)snprintf(out, bytes, "%s", module);
}
