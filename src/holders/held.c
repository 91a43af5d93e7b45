#include "holders/held.h"

#include <stdlib.h>

#include "reach/search.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"

struct root_list {
    CF_ARRAY(struct cf_root) rows;
};

static void free_list(struct root_list *list) {
    cf_array_free(&list->rows);
}

static int push(struct root_list *list, struct cf_root root, uint64_t start, uint64_t end,
                struct cf_err *err) {
    struct cf_root *row = cf_array_push(&list->rows);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "the roots but one");
    root.start = start;
    root.end = end;
    *row = root;
    return CF_OK;
}

static bool lasts(enum cf_root_kind kind) {
    return kind != CF_ROOT_STACK && kind != CF_ROOT_REGISTER;
}

/* What is left of a mapping without the parts that are of the runtime's heap. */
static int push_outside(struct root_list *list, const struct cf_root *root,
                        const struct cf_held *held, struct cf_err *err) {
    uint64_t at = root->start;
    int status = CF_OK;
    for (size_t i = cf_claims_above(held->claims, at);
         status == CF_OK && i < held->claims->rows.len; i++) {
        const struct cf_claim *claim = &held->claims->rows.items[i];
        if (claim->start >= root->end)
            break;
        if (!cf_held_is_heap(held, claim))
            continue;
        if (claim->start > at)
            status = push(list, *root, at, claim->start, err);
        at = claim->end;
    }
    return status == CF_OK && at < root->end ? push(list, *root, at, root->end, err) : status;
}

/* What is left of `root`: nothing, all of it, or a part on either side. */
static int push_rest(struct root_list *list, const struct cf_root *root,
                     const struct cf_held *held, struct cf_err *err) {
    if (lasts(held->kind) && !lasts(root->kind))
        return CF_OK;
    if (root->kind == CF_ROOT_REGISTER)
        return root->thread == held->thread ? CF_OK
                                            : push(list, *root, root->start, root->end, err);
    if (held->heap != NULL && root->kind == CF_ROOT_MAPPING)
        return push_outside(list, root, held, err);
    if (held->end <= root->start || held->start >= root->end)
        return push(list, *root, root->start, root->end, err);
    int status = CF_OK;
    if (held->start > root->start)
        status = push(list, *root, root->start, held->start, err);
    if (status == CF_OK && held->end < root->end)
        status = push(list, *root, held->end, root->end, err);
    return status;
}

static bool is_held(const uint64_t *with, const uint64_t *without, size_t rank) {
    return (with[rank / 64] & ~without[rank / 64]) >> (rank & 63) & 1;
}

static void compare_heap(const struct cf_ranks *ranks, const struct cf_extent *extent,
                         const uint64_t *with, const uint64_t *without, struct cf_held *held) {
    const struct cf_planes *planes = ranks->resolver->planes;
    size_t rank = cf_ranks_before_word(ranks, extent->plane_word);
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    for (; cf_live_walk_next(&walk); rank++) {
        if (!is_held(with, without, rank))
            continue;
        held->chunks++;
        held->bytes += (uint64_t)walk.units << planes->unit_shift;
    }
}

/* Chunks that are reached with the root, and not without it. */
static void compare(const struct cf_ranks *ranks, const uint64_t *with, const uint64_t *without,
                    struct cf_held *held) {
    const struct cf_resolver *resolver = ranks->resolver;
    held->chunks = held->bytes = 0;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        size_t rank = extent->heap == NULL ? cf_ranks_of(ranks, extent->first_number) : 0;
        if (extent->heap != NULL) {
            compare_heap(ranks, extent, with, without, held);
        } else if (rank != CF_NO_CHUNK && is_held(with, without, rank)) {
            held->chunks++;
            held->bytes += extent->end - extent->start;
        }
    }
}

/* Chunks that carry nothing count as reached, whoever looks. */
static void add_pointerless(const struct cf_reach *reach, uint64_t *reached) {
    const struct cf_resolver *resolver = reach->ranks.resolver;
    for (size_t i = 0; i < reach->nr_pointerless; i++) {
        size_t number =
            cf_resolver_number_at(resolver, reach->pointerless[i] - 2 * resolver->word_bytes);
        size_t rank = number == CF_NO_CHUNK ? CF_NO_CHUNK : cf_ranks_of(&reach->ranks, number);
        if (rank != CF_NO_CHUNK)
            reached[rank / 64] |= 1ull << (rank & 63);
    }
}

/* What roots reach without those that `held` takes away; all of them where it is NULL. */
static int search_without(const struct cf_context *ctx, const struct cf_held_marks *marks,
                          const struct cf_held *held, uint64_t **out, struct cf_err *err) {
    const struct cf_reach *reach = marks->reach;
    size_t words = cf_search_words(&reach->ranks);
    CF_CLEANUP(free_list) struct root_list list = {0};
    CF_CLEANUP_FREE uint64_t *reached = calloc(words, sizeof *reached);
    if (reached == NULL)
        return cf_err_nomem(err, words * sizeof *reached, "what is reached");
    int status = CF_OK;
    for (size_t i = 0; i < reach->roots.rows.len && status == CF_OK; i++) {
        const struct cf_root *root = &reach->roots.rows.items[i];
        status = held == NULL ? push(&list, *root, root->start, root->end, err)
                              : push_rest(&list, root, held, err);
    }
    const struct cf_search_input input = {
        .mem = marks->mem, .links = &reach->links, .roots = list.rows.items,
        .nr_roots = list.rows.len,
    };
    if (status == CF_OK)
        status = cf_search_run(ctx, &input, reached, NULL, err);
    if (status != CF_OK)
        return status;
    add_pointerless(reach, reached);
    *out = cf_take(&reached);
    return CF_OK;
}

int cf_held_count(const struct cf_context *ctx, struct cf_held_marks *marks, struct cf_held *held,
                  struct cf_err *err) {
    CF_CLEANUP_FREE uint64_t *without = NULL;
    const struct cf_held nothing = {.kind = held->kind, .thread = -1};
    uint64_t **with = lasts(held->kind) ? &marks->lasting : &marks->all;
    int status = CF_OK;
    if (*with == NULL)
        status = search_without(ctx, marks, lasts(held->kind) ? &nothing : NULL, with, err);
    if (status == CF_OK)
        status = search_without(ctx, marks, held, &without, err);
    if (status == CF_OK)
        compare(&marks->reach->ranks, *with, without, held);
    return status;
}

void cf_held_marks_fini(struct cf_held_marks *marks) {
    free(marks->all);
    free(marks->lasting);
    marks->all = marks->lasting = NULL;
}
