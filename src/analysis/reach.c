#include "analysis/reach.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

static void cleanup_reach(struct cf_reach **reach) {
    cf_reach_free(*reach);
}

static int compare_addrs(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static int list_silent(const struct cf_ptmalloc *pt, struct cf_reach *reach, struct cf_err *err) {
    reach->nr_silent = cf_ptmalloc_nr_tcaches(pt);
    reach->silent = calloc(reach->nr_silent + 1, sizeof *reach->silent);
    if (reach->silent == NULL)
        return cf_err_nomem(err, (reach->nr_silent + 1) * sizeof *reach->silent,
                            "the list of tcaches");
    for (size_t i = 0; i < reach->nr_silent; i++)
        reach->silent[i] = cf_ptmalloc_tcache(pt, i)->addr;
    qsort(reach->silent, reach->nr_silent, sizeof *reach->silent, compare_addrs);
    return CF_OK;
}

static int mark(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                struct cf_reach *reach, struct cf_err *err) {
    struct cf_mark_input input = {
        .mem = cf_malloc_mem(cf_ptmalloc_malloc(pt)),
        .map = cf_ptmalloc_map(pt),
        .roots = reach->roots.rows.items,
        .nr_roots = reach->roots.rows.len,
        .silent = reach->silent,
        .nr_silent = reach->nr_silent,
    };
    return cf_mark_run(ctx, &input, &reach->mark, err);
}

int cf_reach_run(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                 struct cf_reach **out, struct cf_err *err) {
    CF_CLEANUP(cleanup_reach) struct cf_reach *reach = calloc(1, sizeof *reach);
    if (reach == NULL)
        return cf_err_nomem(err, sizeof *reach, "reachability");
    const struct cf_mem *mem = cf_malloc_mem(cf_ptmalloc_malloc(pt));
    int status = cf_stacks_find(&reach->stacks, mem, err);
    if (status == CF_OK)
        status = cf_roots_find(&reach->roots, mem, pt, &reach->stacks, err);
    if (status == CF_OK)
        status = list_silent(pt, reach, err);
    if (status == CF_OK)
        status = mark(ctx, pt, reach, err);
    if (status == CF_OK)
        status = cf_ranks_init(&reach->ranks, cf_mark_resolver(reach->mark), err);
    if (status == CF_OK)
        *out = cf_take(&reach);
    return status;
}

void cf_reach_free(struct cf_reach *reach) {
    if (reach == NULL)
        return;
    cf_ranks_fini(&reach->ranks);
    cf_mark_free(reach->mark);
    free(reach->silent);
    cf_roots_fini(&reach->roots);
    cf_stacks_fini(&reach->stacks);
    free(reach);
}
