/*
 * A dominator has a lower number than what it dominates, so one pass over the vertices in their
 * order closes a group, and one over the live chunks in theirs sets their bits.
 */
#include "holders/groups.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/ranks.h"

/* Vertices between two ticks of progress. */
enum { TICK_VERTICES = 1 << 20 };

static bool is_set(const uint64_t *bits, struct cf_vertex vertex) {
    return bits[vertex.index >> 6] >> (vertex.index & 63) & 1;
}

/* Bits by vertex. */
static int close_group(const struct cf_context *ctx, const struct cf_groups_input *input,
                       const struct cf_group *group, uint64_t *gone, struct cf_err *err) {
    const uint16_t *types = group->owner == NULL ? cf_types_by_rank(input->types) : NULL;
    struct cf_vertex owner = {0};
    if (types == NULL)
        owner = cf_dominators_of_group(input->dominators, group->owner->number);
    for (struct cf_vertex v = {1}; v.index < input->dominators->nr; v.index++) {
        struct cf_rank rank =
            types != NULL ? cf_dominators_rank(input->dominators, v) : CF_NO_RANK;
        bool is_member = cf_is_ranked(rank) ? types[rank.index] == group->type
                                            : v.index == owner.index;
        bool is_gone = is_member || is_set(gone, cf_dominators_above(input->dominators, v));
        gone[v.index >> 6] |= (uint64_t)is_gone << (v.index & 63);
        if (v.index % TICK_VERTICES == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

/* What pins had no type was told since whose memory it is; that is no type of its own. */
static bool is_of_type(const struct cf_types *types, uint32_t type, uint32_t wanted) {
    return type == wanted ||
           (wanted == 0 && cf_types_get(types, type)->evidence == CF_EVIDENCE_OWNER);
}

/* Sets the bits of the heap's chunks that are gone (by vertex), or of the group's size and type. */
static void free_of_heap(const struct cf_groups_input *input, const struct cf_heap *heap,
                         const struct cf_group *group, const uint64_t *gone, uint64_t *freed,
                         struct cf_trim_if *sums) {
    const struct cf_planes *planes = cf_chunkmap_planes(cf_ptmalloc_map(input->pt));
    struct cf_rank rank = cf_ranks_of_word(input->dominators->ranks, heap->plane_word);
    struct cf_live_walk walk = cf_live_walk(planes, heap);
    const uint16_t *types = cf_types_by_rank(input->types);
    for (; cf_live_walk_next(&walk); rank.index++) {
        struct cf_vertex vertex = {0};
        if (gone != NULL)
            vertex = cf_dominators_of_rank(input->dominators, rank);
        bool is_gone = gone == NULL
                           ? (uint64_t)walk.units << planes->unit_shift == group->size_bytes &&
                                 is_of_type(input->types, types[rank.index], group->type)
                           : vertex.index != 0 && is_set(gone, vertex);
        if (!is_gone)
            continue;
        freed[heap->plane_word + (walk.unit >> 6)] |= 1ull << (walk.unit & 63);
        sums->chunks++;
        sums->bytes += (uint64_t)walk.units << planes->unit_shift;
    }
}

static int judge(const struct cf_context *ctx, const struct cf_groups_input *input,
                 struct cf_group *group, struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(input->pt);
    size_t nr_words = cf_chunkmap_planes(map)->nr_words + 1;
    size_t nr_vertices = input->dominators->nr / 64 + 1;
    bool is_closed = group->size_bytes == 0;
    CF_CLEANUP_FREE uint64_t *gone = is_closed ? calloc(nr_vertices, sizeof *gone) : NULL;
    CF_CLEANUP_FREE uint64_t *freed = calloc(nr_words, sizeof *freed);
    if ((is_closed && gone == NULL) || freed == NULL)
        return cf_err_nomem(err, (nr_vertices + nr_words) * sizeof *gone, "a group of chunks");
    int status = is_closed ? close_group(ctx, input, group, gone, err) : CF_OK;
    if (status != CF_OK)
        return status;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++)
        free_of_heap(input, cf_chunkmap_heap(map, i), group, gone, freed, &group->gone);
    const struct cf_trim_change change = {.freed = freed};
    return group->gone.chunks == 0
               ? CF_OK
               : cf_kept_trim_if(input->pt, input->kept, &change, &group->gone, err);
}

static int add(struct cf_groups *groups, struct cf_group group, struct cf_err *err) {
    struct cf_group *row = cf_array_push(&groups->rows);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "a group of chunks");
    *row = group;
    return CF_OK;
}

/* The types whose chunks pin the most, all arenas together. */
static int choose_types(const struct cf_groups_input *input, struct cf_groups *groups,
                        struct cf_err *err) {
    size_t nr = cf_types_nr(input->types);
    CF_CLEANUP_FREE uint64_t *pinned = calloc(nr, sizeof *pinned);
    if (pinned == NULL)
        return cf_err_nomem(err, nr * sizeof *pinned, "what types pin");
    for (size_t i = 0; i < cf_page_pins_nr(input->kept->page_pins); i++) {
        const struct cf_page_pin *pin = cf_page_pins_row(input->kept->page_pins, i);
        if (pin->type != CF_NO_TYPE && (size_t)pin->type < nr &&
            cf_types_get(input->types, (uint32_t)pin->type)->evidence != CF_EVIDENCE_LIBC)
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
    for (size_t i = 0; status == CF_OK && i < input->owners->rows.len && i < CF_GROUP_OWNERS_MAX;
         i++)
        status = add(groups, (struct cf_group){.owner = &input->owners->rows.items[i]}, err);
    for (size_t i = 0; status == CF_OK && i < groups->rows.len; i++)
        status = judge(ctx, input, &groups->rows.items[i], err);
    return status;
}

void cf_groups_fini(struct cf_groups *groups) {
    cf_array_free(&groups->rows);
}
