/*
 * A dominator has a lower number than what it dominates, and the tree knows how many chunks that
 * is: so each vertex, in the order of numbers, takes the next free part of its dominator's piece.
 */
#include "reach/preorder.h"

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum { TICK_VERTICES = 1 << 18 };

static int place_all(const struct cf_context *ctx, const struct cf_dominators *dominators,
                     uint32_t *firsts, uint32_t *next, uint32_t *ranks, struct cf_err *err) {
    firsts[0] = next[0] = 0;
    for (struct cf_vertex v = {1}; v.index < dominators->nr; v.index++) {
        uint32_t above = cf_dominators_above(dominators, v).index;
        struct cf_rank rank = cf_dominators_rank(dominators, v);
        uint32_t place = next[above];
        next[above] += dominators->rows[v.index].chunks;
        firsts[v.index] = next[v.index] = place;
        if (cf_is_ranked(rank))
            ranks[next[v.index]++] = (uint32_t)rank.index;
        if (v.index % TICK_VERTICES == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

int cf_preorder_find(const struct cf_context *ctx, const struct cf_dominators *dominators,
                     struct cf_preorder *out, struct cf_err *err) {
    struct cf_scratch next = {0};
    size_t bytes = ((size_t)dominators->nr + 1) * sizeof *out->firsts;
    out->nr = dominators->nr == 0 ? 0 : dominators->rows[0].chunks;
    int status = cf_scratch_init(&out->files[0], ((size_t)out->nr + 1) * sizeof *out->ranks, err);
    if (status == CF_OK)
        status = cf_scratch_init(&out->files[1], bytes, err);
    if (status == CF_OK)
        status = cf_scratch_init(&next, bytes, err);
    if (status == CF_OK)
        status = place_all(ctx, dominators, out->files[1].at, next.at, out->files[0].at, err);
    cf_scratch_fini(&next);
    cf_dominators_drop(dominators);
    if (status != CF_OK)
        cf_preorder_fini(out);
    else
        cf_preorder_drop(out);
    out->ranks = out->files[0].at;
    out->firsts = out->files[1].at;
    return status;
}

void cf_preorder_fini(struct cf_preorder *preorder) {
    cf_scratch_fini(&preorder->files[0]);
    cf_scratch_fini(&preorder->files[1]);
    *preorder = (struct cf_preorder){.nr = 0};
}

void cf_preorder_drop(const struct cf_preorder *preorder) {
    cf_scratch_drop(&preorder->files[0]);
    cf_scratch_drop(&preorder->files[1]);
}
