/*
 * Sizes of a page and more are taken together when they have the same first four bits: few chunks
 * have just the same large size.
 */
#include "types/classes.h"



#include "base/array.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/hash.h"

enum { TICK_CHUNKS = 1 << 18, EXACT_MAX = 4096, LEADING_BITS = 4 };

struct classifier {
    const struct cf_types *types;
    CF_ARRAY(uint64_t) keys;
    struct cf_hash table;
    uint16_t *out;
    bool is_out_of_memory;
};

static void classifier_fini(struct classifier *c) {
    cf_array_free(&c->keys);
    cf_hash_fini(&c->table);
}

static uint64_t size_key(uint64_t bytes) {
    if (bytes < EXACT_MAX)
        return bytes;
    unsigned shift = 63 - (unsigned)__builtin_clzll(bytes) - (LEADING_BITS - 1);
    return bytes >> shift << shift;
}

static uint16_t class_of(struct classifier *c, uint32_t type, uint64_t bytes) {
    enum cf_type_evidence evidence = cf_types_get(c->types, type)->evidence;
    bool is_by_content = evidence == CF_EVIDENCE_POINTERS || evidence == CF_EVIDENCE_TEXT;
    uint64_t key = (uint64_t)(is_by_content ? 0 : type) << 48 |
                   (cf_evidence_is_object(evidence) ? 0 : size_key(bytes));
    uint64_t hash = cf_hash_mix(key);
    uint32_t row = cf_hash_find(&c->table, hash, i, c->keys.items[i] == key);
    if (row != CF_HASH_NONE)
        return (uint16_t)(row + 1);
    if (c->keys.len == UINT16_MAX - 1)
        return 0;
    uint64_t *added = cf_array_push(&c->keys);
    c->is_out_of_memory |= added == NULL || !cf_hash_add(&c->table, hash, c->keys.len - 1);
    if (c->is_out_of_memory)
        return 0;
    *added = key;
    return (uint16_t)c->keys.len;
}

/* False: cancelled. */
static bool classify_heap(const struct cf_context *ctx, struct classifier *c,
                          const struct cf_ranks *ranks, const struct cf_extent *extent) {
    const struct cf_planes *planes = ranks->resolver->planes;
    struct cf_rank rank = cf_ranks_of_word(ranks, extent->plane_word);
    const uint16_t *types = cf_types_by_rank(c->types);
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    for (; cf_live_walk_next(&walk); rank.index++) {
        uint64_t bytes = (uint64_t)walk.units << planes->unit_shift;
        c->out[rank.index] = class_of(c, types[rank.index], bytes);
        if (rank.index % TICK_CHUNKS == 0 && cf_tick(ctx))
            return false;
    }
    return true;
}

int cf_classes_find(const struct cf_context *ctx, const struct cf_types *types,
                    const struct cf_ranks *ranks, struct cf_classes *out, struct cf_err *err) {
    const struct cf_resolver *resolver = ranks->resolver;
    CF_CLEANUP(classifier_fini) struct classifier c = {.types = types};
    int status = cf_scratch_init(&out->file, (ranks->nr + 1) * sizeof *c.out, err);
    if (status != CF_OK)
        return status;
    out->by_rank = c.out = out->file.at;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap != NULL && !classify_heap(ctx, &c, ranks, extent))
            return cf_err_cancelled(err);
        if (extent->heap == NULL && !extent->mmapped->in_tcache)
            c.out[cf_ranks_of(ranks, extent->first_number).index] =
                class_of(&c, cf_types_of(types, extent->first_number), extent->mmapped->bytes);
    }
    return c.is_out_of_memory ? cf_err_nomem(err, sizeof *c.keys.items, "classes of chunks")
                              : CF_OK;
}

void cf_classes_fini(struct cf_classes *classes) {
    cf_scratch_fini(&classes->file);
    classes->by_rank = NULL;
}
