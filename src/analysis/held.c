#include "analysis/held.h"

#include <string.h>

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
        if (strcmp(claim->label, held->heap) != 0)
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

static void cleanup_mark(struct cf_mark **mark) {
    cf_mark_free(*mark);
}

static void count_chunk(const struct cf_resolver *resolver, const struct cf_extent *extent,
                        size_t number, struct cf_held *held) {
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    if (!chunk.live)
        return;
    held->chunks++;
    held->bytes += chunk.bytes;
}

/* Chunks that have the mark's first bit with the root, and not without it. */
static void compare(const struct cf_mark *with, const struct cf_mark *without,
                    struct cf_held *held) {
    const struct cf_resolver *resolver = cf_mark_resolver(with);
    const uint64_t *in = cf_mark_plane(with), *out = cf_mark_plane(without);
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap == NULL) {
            size_t number = extent->first_number;
            if (cf_mark_reached(with, number) && !cf_mark_reached(without, number))
                count_chunk(resolver, extent, number, held);
            continue;
        }
        size_t end = extent->plane_word + cf_planes_units(resolver->planes, extent->heap) / 64 + 1;
        for (size_t word = extent->plane_word; word < end; word++)
            for (uint64_t bits = resolver->planes->starts[word] & in[word] & ~out[word];
                 bits != 0; bits &= bits - 1)
                count_chunk(resolver, extent, word * 64 + (size_t)__builtin_ctzll(bits), held);
    }
}

static int mark_without(const struct cf_context *ctx, const struct cf_held_marks *marks,
                        const struct cf_held *held, struct cf_mark **out, struct cf_err *err) {
    const struct cf_reach *reach = marks->reach;
    CF_CLEANUP(free_list) struct root_list list = {0};
    for (size_t i = 0; i < reach->roots.rows.len; i++) {
        int status = push_rest(&list, &reach->roots.rows.items[i], held, err);
        if (status != CF_OK)
            return status;
    }
    const struct cf_mark_input input = {
        .mem = marks->mem, .map = cf_mark_resolver(reach->mark)->map, .roots = list.rows.items,
        .nr_roots = list.rows.len, .silent = reach->silent, .nr_silent = reach->nr_silent,
    };
    return cf_mark_run(ctx, &input, out, err);
}

int cf_held_count(const struct cf_context *ctx, struct cf_held_marks *marks, struct cf_held *held,
                  struct cf_err *err) {
    CF_CLEANUP(cleanup_mark) struct cf_mark *without = NULL;
    int status = CF_OK;
    if (lasts(held->kind) && marks->lasting == NULL) {
        const struct cf_held nothing = {.kind = held->kind, .thread = -1};
        status = mark_without(ctx, marks, &nothing, &marks->lasting, err);
    }
    if (status == CF_OK)
        status = mark_without(ctx, marks, held, &without, err);
    if (status != CF_OK)
        return status;
    held->chunks = held->bytes = 0;
    compare(lasts(held->kind) ? marks->lasting : marks->reach->mark, without, held);
    return CF_OK;
}

void cf_held_marks_fini(struct cf_held_marks *marks) {
    cf_mark_free(marks->lasting);
    marks->lasting = NULL;
}
