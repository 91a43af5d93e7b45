/*
 * The order of what is made: stacks say where roots are, roots and ranks have to stand before the
 * chunks are read, the links come of that one reading, and the search follows links alone.
 */
#include "reach/reach.h"

#include <stdlib.h>

#include "reach/search.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

static void cleanup_reach(struct cf_reach **reach) {
    cf_reach_free(*reach);
}

static int compare_addrs(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static int list_pointerless(const struct cf_ptmalloc *pt, struct cf_reach *reach,
                            struct cf_err *err) {
    reach->nr_pointerless = cf_ptmalloc_nr_tcaches(pt);
    reach->pointerless = calloc(reach->nr_pointerless + 1, sizeof *reach->pointerless);
    if (reach->pointerless == NULL)
        return cf_err_nomem(err, (reach->nr_pointerless + 1) * sizeof *reach->pointerless,
                            "the list of tcaches");
    for (size_t i = 0; i < reach->nr_pointerless; i++)
        reach->pointerless[i] = cf_ptmalloc_tcache(pt, i)->addr;
    qsort(reach->pointerless, reach->nr_pointerless, sizeof *reach->pointerless, compare_addrs);
    return CF_OK;
}

static int search(const struct cf_context *ctx, struct cf_reach *reach, struct cf_err *err) {
    size_t words = cf_search_words(&reach->ranks);
    CF_CLEANUP_FREE uint64_t *reached = calloc(words, sizeof *reached);
    if (reached == NULL)
        return cf_err_nomem(err, words * sizeof *reached, "what is reached");
    const struct cf_search_input input = {
        .mem = reach->mem, .links = &reach->links, .roots = reach->roots.rows.items,
        .nr_roots = reach->roots.rows.len,
    };
    int status = cf_search_run(ctx, &input, reached, &reach->paths, &reach->words, err);
    return status == CF_OK ? cf_mark_take(ctx, reach->mark, &reach->ranks, reached, err) : status;
}

/* One pass for the pointers and for the visitor. */
static int read_chunks(const struct cf_context *ctx, struct cf_reach *reach,
                       const struct cf_live_visitor *visitor, struct cf_err *err) {
    const struct cf_links_input input = {
        .ctx = ctx, .mem = reach->mem, .ranks = &reach->ranks,
        .pointerless = reach->pointerless, .nr_pointerless = reach->nr_pointerless,
    };
    struct cf_links_builder *builder = NULL;
    int status = cf_links_begin(&input, &builder, err);
    if (status != CF_OK)
        return status;
    struct cf_live_visitor visitors[2] = {cf_links_visitor(builder)};
    size_t nr_visitors = 1;
    if (visitor != NULL)
        visitors[nr_visitors++] = *visitor;
    status = cf_live_visit(ctx, reach->mem, &reach->ranks, visitors, nr_visitors, err);
    if (status == CF_OK)
        return cf_links_finish(builder, &reach->links, err);
    cf_links_abandon(builder);
    return status;
}

int cf_reach_follow(const struct cf_context *ctx, struct cf_reach *reach,
                    const struct cf_live_visitor *visitor, struct cf_err *err) {
    int status = read_chunks(ctx, reach, visitor, err);
    return status == CF_OK ? search(ctx, reach, err) : status;
}

int cf_reach_prepare(const struct cf_context *ctx, const struct cf_mem *mem,
                     const struct cf_chunkmap *map, struct cf_reach *reach, struct cf_err *err) {
    reach->mem = mem;
    const struct cf_mark_input input = {
        .mem = mem, .map = map, .pointerless = reach->pointerless,
        .nr_pointerless = reach->nr_pointerless,
    };
    int status = cf_mark_new(ctx, &input, &reach->mark, err);
    if (status != CF_OK)
        return status;
    return cf_ranks_init(ctx, &reach->ranks, cf_mark_resolver(reach->mark), err);
}

int cf_reach_new(const struct cf_context *ctx, const struct cf_ptmalloc *pt, struct cf_reach **out,
                 struct cf_err *err) {
    CF_CLEANUP(cleanup_reach) struct cf_reach *reach = calloc(1, sizeof *reach);
    if (reach == NULL)
        return cf_err_nomem(err, sizeof *reach, "reachability");
    const struct cf_mem *mem = cf_malloc_mem(cf_ptmalloc_malloc(pt));
    if (cf_progress(ctx, "finding roots", 0, 0))
        return cf_err_cancelled(err);
    int status = cf_stacks_find(&reach->stacks, mem, err);
    if (status == CF_OK)
        status = cf_roots_find(&reach->roots, mem, pt, &reach->stacks, err);
    if (status == CF_OK)
        status = list_pointerless(pt, reach, err);
    if (status == CF_OK)
        status = cf_reach_prepare(ctx, mem, cf_ptmalloc_map(pt), reach, err);
    if (status == CF_OK)
        *out = cf_take(&reach);
    return status;
}

void cf_reach_fini_mark(struct cf_reach *reach) {
    cf_root_words_fini(&reach->words);
    cf_paths_free(reach->paths);
    cf_links_fini(&reach->links);
    cf_ranks_fini(&reach->ranks);
    cf_mark_free(reach->mark);
    reach->paths = NULL;
    reach->mark = NULL;
}

void cf_reach_free(struct cf_reach *reach) {
    if (reach == NULL)
        return;
    cf_reach_fini_mark(reach);
    free(reach->pointerless);
    cf_roots_fini(&reach->roots);
    cf_stacks_fini(&reach->stacks);
    free(reach);
}
