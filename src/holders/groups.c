/*
 * What an owner or the objects of a type keep alive stands in pieces of the preorder, so only those
 * chunks are looked at; the chunks of a size are found by going through all.
 */
#include "holders/groups.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/ranks.h"

enum { TICK_CHUNKS = 1 << 18 };

/* The chunks that go. */
struct going {
    const struct cf_context *ctx;
    const struct cf_groups_input *input;
    const struct cf_group *group;
    uint64_t *ranks; /* by rank: a bit for each; of sizes there are none */
    uint64_t *freed; /* the same in the planes */
    struct cf_trim_if *sums; /* of those that are of heaps */
};

/* The ranks in this piece of the preorder. */
static int take_piece(const struct going *going, uint64_t place, uint64_t end,
                      struct cf_err *err) {
    for (; place < end; place++) {
        cf_rank_set_bit(going->ranks, cf_preorder_rank(going->input->preorder, place));
        if (place % TICK_CHUNKS == 0 && cf_tick(going->ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

/* What the owner keeps alive. */
static int take_owned(const struct going *going, struct cf_err *err) {
    const struct cf_dominators *dominators = going->input->dominators;
    struct cf_vertex vertex = cf_dominators_of_group(dominators, going->group->owner->number);
    uint64_t first = going->input->preorder->firsts[vertex.index];
    return vertex.index == 0
               ? CF_OK
               : take_piece(going, first, first + cf_dominators_kept(dominators, vertex).chunks,
                            err);
}

/* The objects of the type, and what they keep alive. */
static int take_objects(const struct going *going, struct cf_err *err) {
    const struct cf_preorder *preorder = going->input->preorder;
    const struct cf_dominators *dominators = going->input->dominators;
    const uint16_t *types = cf_types_by_rank(going->input->types);
    int status = CF_OK;
    for (uint64_t place = 0, end; place < preorder->nr && status == CF_OK; place = end) {
        struct cf_rank rank = cf_preorder_rank(preorder, place);
        end = place + 1;
        if (types[rank.index] == going->group->type) {
            struct cf_vertex vertex = cf_dominators_of_rank(dominators, rank);
            end = place + cf_dominators_kept(dominators, vertex).chunks;
            status = take_piece(going, place, end, err);
        }
    }
    return status;
}

/* What pins had no type was told since whose memory it is; that is no type of its own. */
static bool is_of_type(const struct cf_types *types, uint32_t type, uint32_t wanted) {
    return type == wanted ||
           (wanted == 0 && cf_types_get(types, type)->evidence == CF_EVIDENCE_OWNER);
}

static bool is_going(const struct going *going, struct cf_rank rank, uint64_t bytes) {
    if (going->group->size_bytes == 0)
        return cf_rank_bit(going->ranks, rank);
    return bytes == going->group->size_bytes &&
           is_of_type(going->input->types, cf_types_by_rank(going->input->types)[rank.index],
                      going->group->type);
}

static int free_of_heap(const struct going *going, const struct cf_heap *heap,
                        struct cf_err *err) {
    const struct cf_planes *planes = cf_chunkmap_planes(cf_ptmalloc_map(going->input->pt));
    struct cf_rank rank = cf_ranks_of_word(going->input->dominators->ranks, heap->plane_word);
    struct cf_live_walk walk = cf_live_walk(planes, heap);
    for (; cf_live_walk_next(&walk); rank.index++) {
        uint64_t bytes = (uint64_t)walk.units << planes->unit_shift;
        if (rank.index % TICK_CHUNKS == 0 && cf_tick(going->ctx))
            return cf_err_cancelled(err);
        if (!is_going(going, rank, bytes))
            continue;
        going->freed[heap->plane_word + (walk.unit.index >> 6)] |= 1ull << (walk.unit.index & 63);
        going->sums->chunks++;
        going->sums->bytes += bytes;
    }
    return CF_OK;
}

static int free_group(const struct going *going, struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(going->input->pt);
    int status = going->group->owner != NULL        ? take_owned(going, err)
                 : going->group->size_bytes == 0 ? take_objects(going, err)
                                                 : CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && status == CF_OK; i++)
        status = free_of_heap(going, cf_chunkmap_heap(map, i), err);
    return status;
}

static int judge(const struct cf_context *ctx, const struct cf_groups_input *input,
                 struct cf_group *group, struct cf_err *err) {
    size_t nr_words = cf_chunkmap_planes(cf_ptmalloc_map(input->pt))->nr_words + 1;
    size_t nr_ranks = input->dominators->ranks->nr / 64 + 1;
    CF_CLEANUP_FREE uint64_t *ranks = calloc(nr_ranks, sizeof *ranks);
    CF_CLEANUP_FREE uint64_t *freed = calloc(nr_words, sizeof *freed);
    if (ranks == NULL || freed == NULL)
        return cf_err_nomem(err, (nr_ranks + nr_words) * sizeof *freed, "a group of chunks");
    const struct going going = {ctx, input, group, ranks, freed, &group->gone};
    int status = free_group(&going, err);
    const struct cf_trim_change change = {.freed = freed};
    return status != CF_OK || group->gone.chunks == 0
               ? status
               : cf_kept_trim_if(input->pt, input->kept, &change, &group->gone, err);
}

static int add(struct cf_groups *groups, struct cf_group group, struct cf_err *err) {
    struct cf_group *row = cf_array_push(&groups->rows);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "a group of chunks");
    *row = group;
    return CF_OK;
}

/* Of what a program makes and drops as one; buffers go with who has them. */
static bool is_of_objects(const struct cf_type *type) {
    return type->evidence == CF_EVIDENCE_VTABLE || type->evidence == CF_EVIDENCE_SYMBOL;
}

/* The types whose objects pin the most, all arenas together. */
static int choose_types(const struct cf_groups_input *input, struct cf_groups *groups,
                        struct cf_err *err) {
    size_t nr = cf_types_nr(input->types);
    CF_CLEANUP_FREE uint64_t *pinned = calloc(nr, sizeof *pinned);
    if (pinned == NULL)
        return cf_err_nomem(err, nr * sizeof *pinned, "what types pin");
    for (size_t i = 0; i < cf_page_pins_nr(input->kept->page_pins); i++) {
        const struct cf_page_pin *pin = cf_page_pins_row(input->kept->page_pins, i);
        if (pin->type != CF_NO_TYPE && (size_t)pin->type < nr &&
            is_of_objects(cf_types_get(input->types, (uint32_t)pin->type)))
            pinned[pin->type] += pin->pinned_bytes;
    }
    for (size_t k = 0; k < CF_GROUP_TYPES_MAX; k++) {
        uint32_t most = 0;
        for (uint32_t type = 1; type < nr; type++)
            if (pinned[type] > pinned[most])
                most = type;
        if (most == 0)
            return CF_OK;
        pinned[most] = 0;
        int status = add(groups, (struct cf_group){.type = most}, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static int by_size_and_type(const void *a, const void *b) {
    const struct cf_page_pin *left = a, *right = b;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return (left->type > right->type) - (left->type < right->type);
}

/* The size and type whose chunks pin the most, all arenas together. */
static int choose_size(const struct cf_groups_input *input, struct cf_groups *groups,
                       struct cf_err *err) {
    size_t nr = cf_page_pins_nr(input->kept->page_pins);
    CF_CLEANUP_FREE struct cf_page_pin *pins = calloc(nr + 1, sizeof *pins);
    if (pins == NULL)
        return cf_err_nomem(err, nr * sizeof *pins, "what sizes pin");
    for (size_t i = 0; i < nr; i++)
        pins[i] = *cf_page_pins_row(input->kept->page_pins, i);
    qsort(pins, nr, sizeof *pins, by_size_and_type);
    struct cf_group most = {0};
    uint64_t most_pinned = 0, pinned = 0;
    for (size_t i = 0; i < nr; i++) {
        pinned += pins[i].pinned_bytes;
        if (i + 1 < nr && by_size_and_type(&pins[i], &pins[i + 1]) == 0)
            continue;
        if (pinned > most_pinned) {
            most_pinned = pinned;
            most.size_bytes = pins[i].size_bytes;
            most.type = pins[i].type == CF_NO_TYPE ? 0 : (uint32_t)pins[i].type;
        }
        pinned = 0;
    }
    return most_pinned == 0 ? CF_OK : add(groups, most, err);
}

int cf_groups_find(const struct cf_context *ctx, const struct cf_groups_input *input,
                   struct cf_groups *groups, struct cf_err *err) {
    int status = choose_size(input, groups, err);
    if (status == CF_OK)
        status = choose_types(input, groups, err);
    for (size_t i = 0; i < input->owners->rows.len && i < CF_GROUP_OWNERS_MAX; i++) {
        const struct cf_owner *owner = &input->owners->rows.items[i];
        if (status == CF_OK && owner->kind == CF_OWNER_PLACE)
            status = add(groups, (struct cf_group){.owner = owner}, err);
    }
    for (size_t i = 0; status == CF_OK && i < groups->rows.len; i++)
        status = judge(ctx, input, &groups->rows.items[i], err);
    return status;
}

void cf_groups_fini(struct cf_groups *groups) {
    cf_array_free(&groups->rows);
}
