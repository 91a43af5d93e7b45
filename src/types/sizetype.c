/*
 * Pairs of size and type in a table of fixed size with open addressing: programs have some hundreds
 * of them, and a heap that was made to have more is cut off at the limit.
 */
#include "types/sizetype.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/err.h"

enum {
    SLOTS = 2 * CF_SIZE_TYPES_MAX, /* open addressing, at most half full */
    TICK_CHUNKS = 1 << 18,
};

struct counter {
    struct cf_size_type *slots;
    size_t nr;
    const struct cf_types *types;
    const struct cf_ranks *ranks;
    const struct cf_resolver *resolver;
};

static struct cf_size_type *probe(const struct counter *counter, uint64_t bytes, uint32_t type) {
    size_t at = (size_t)((bytes * 31 + type) * 0x9e3779b97f4a7c15ull >> 40) % SLOTS;
    while (counter->slots[at].bytes != 0 &&
           (counter->slots[at].bytes != bytes || counter->slots[at].type != type))
        at = (at + 1) % SLOTS;
    return &counter->slots[at];
}

static inline void add(struct counter *counter, uint32_t type, uint64_t bytes) {
    struct cf_size_type *slot = probe(counter, bytes, type);
    if (slot->bytes == 0) {
        if (counter->nr == CF_SIZE_TYPES_MAX)
            return;
        *slot = (struct cf_size_type){.bytes = bytes, .type = type};
        counter->nr++;
    }
    slot->chunks++;
}

/* False: cancelled. */
static bool add_heap(struct counter *counter, const struct cf_context *ctx,
                     const struct cf_extent *extent) {
    const struct cf_planes *planes = counter->resolver->planes;
    const uint16_t *next = cf_types_by_rank(counter->types) +
                           cf_ranks_of_word(counter->ranks, extent->plane_word).index;
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    for (uint64_t nr = 0; cf_live_walk_next(&walk); nr++) {
        add(counter, *next++, (uint64_t)walk.units << planes->unit_shift);
        if (nr % TICK_CHUNKS == 0 && cf_tick(ctx))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b) {
    const struct cf_size_type *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? -1 : 1;
    return left->type < right->type ? -1 : left->type > right->type;
}

/* The slots that are taken go to the front. */
static void pack(struct counter *counter) {
    size_t kept = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (counter->slots[i].bytes != 0)
            counter->slots[kept++] = counter->slots[i];
    if (kept > 1)
        qsort(counter->slots, kept, sizeof *counter->slots, compare);
}

/* False: cancelled. */
static bool count_all(struct counter *counter, const struct cf_context *ctx) {
    const struct cf_resolver *resolver = counter->resolver;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap != NULL && !add_heap(counter, ctx, extent))
            return false;
        if (extent->heap == NULL && !extent->mmapped->in_tcache)
            add(counter, cf_types_of(counter->types, extent->first_number),
                extent->mmapped->bytes);
    }
    return true;
}

int cf_size_types_count(const struct cf_context *ctx, struct cf_size_types *out,
                        const struct cf_types *types, const struct cf_ranks *ranks,
                        struct cf_err *err) {
    struct counter counter = {.types = types, .ranks = ranks, .resolver = ranks->resolver};
    counter.slots = calloc(SLOTS, sizeof *counter.slots);
    if (counter.slots == NULL)
        return cf_err_nomem(err, SLOTS * sizeof *counter.slots, "sizes by type");
    if (!count_all(&counter, ctx)) {
        free(counter.slots);
        return cf_err_cancelled(err);
    }
    pack(&counter);
    out->rows = counter.slots;
    out->nr = counter.nr;
    return CF_OK;
}

void cf_size_types_fini(struct cf_size_types *sizes) {
    free(sizes->rows);
    *sizes = (struct cf_size_types){0};
}
