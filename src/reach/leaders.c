/*
 * Leaders are one vertex of each strongly connected component that no other one leads to. They are
 * found without the components: the leaked chunks are searched in the order of addresses, each from
 * the first that no earlier search has met. Of those first ones the last has a search that no
 * earlier one could reach, so it is a leader; and each before it is one unless a later one leads to
 * it. (The second pass of Kosaraju's and Sharir's algorithm for components: Sharir, "A
 * strong-connectivity algorithm and its applications in data flow analysis", 1981.)
 */
#include "reach/leaders.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/paths.h"

enum { BLOCK_CHUNKS = 1 << 10, TICK_CHUNKS = 1 << 12 };

struct leading {
    const struct cf_context *ctx;
    const struct cf_mark *mark;
    const struct cf_links *links;
    uint64_t *met; /* by rank; what is reached is met from the start */
    struct cf_paths_writer queue;
    size_t head;
    uint64_t until_tick;
    struct cf_leader leader; /* whose search it is */
    bool is_weighed;         /* what it finds counts */
};

static struct cf_numbered chunk_of(const struct leading *l, struct cf_rank rank,
                                   struct cf_chunk_number *number) {
    const struct cf_resolver *resolver = l->links->ranks->resolver;
    *number = cf_ranks_number(l->links->ranks, rank);
    return cf_resolver_chunk(resolver, cf_resolver_extent_of(resolver, *number), *number);
}

static void meet(struct leading *l, struct cf_rank rank) {
    if (cf_rank_bit(l->met, rank))
        return;
    cf_rank_set_bit(l->met, rank);
    cf_paths_put(&l->queue, rank, 0);
}

static void follow(struct leading *l, struct cf_rank rank) {
    struct cf_chunk_number number;
    struct cf_link_list list = cf_links_of(l->links, rank);
    if (l->is_weighed) {
        l->leader.chunks++;
        l->leader.bytes += chunk_of(l, rank, &number).bytes;
    }
    while (list.at < list.end)
        meet(l, cf_links_take(&list));
}

/* All that can be reached from the chunk and was not met yet. */
static int search_from(struct leading *l, struct cf_rank rank, struct cf_err *err) {
    uint32_t block[BLOCK_CHUNKS];
    l->leader.chunks = l->leader.bytes = 0;
    meet(l, rank);
    while (l->head < l->queue.nr) {
        size_t nr = l->queue.nr - l->head < BLOCK_CHUNKS ? l->queue.nr - l->head : BLOCK_CHUNKS;
        cf_paths_copy(&l->queue, (struct cf_position){l->head}, block, nr);
        for (size_t i = 0; i < nr; i++)
            follow(l, (struct cf_rank){block[i]});
        l->head += nr;
        if (l->head >= l->until_tick) {
            l->until_tick = l->head + TICK_CHUNKS;
            if (cf_progress(l->ctx, "looking for what was lost first", 0, 0))
                return cf_err_cancelled(err);
        }
    }
    int code = l->queue.order.code;
    return code == 0 ? CF_OK : cf_err_errno(err, CF_EOUTPUT, code, "a search's queue (TMPDIR)");
}

/* Every leaked chunk is to be met again; all others are met. */
static void forget(struct leading *l) {
    struct cf_unreached_iter iter;
    struct cf_unreached chunk;
    for (size_t i = 0; i <= l->links->ranks->nr / 64; i++)
        l->met[i] = UINT64_MAX;
    cf_unreached_iter_init(&iter, l->mark);
    while (cf_unreached_iter_next(&iter, &chunk)) {
        struct cf_rank rank = cf_ranks_of(l->links->ranks, chunk.number);
        l->met[rank.index >> 6] &= ~(1ull << (rank.index & 63));
    }
}

static int begin(struct leading *l, struct cf_err *err) {
    forget(l);
    l->head = l->until_tick = 0;
    cf_paths_abandon(&l->queue);
    return cf_paths_begin(&l->queue, false, err);
}

/* The chunks from which no search has met the next ones. */
static int find_firsts(struct leading *l, struct cf_paths_writer *firsts, struct cf_err *err) {
    struct cf_unreached_iter iter;
    struct cf_unreached chunk;
    int status = begin(l, err);
    cf_unreached_iter_init(&iter, l->mark);
    while (status == CF_OK && cf_unreached_iter_next(&iter, &chunk)) {
        struct cf_rank rank = cf_ranks_of(l->links->ranks, chunk.number);
        if (cf_rank_bit(l->met, rank))
            continue;
        cf_paths_put(firsts, rank, 0);
        status = search_from(l, rank, err);
    }
    int code = firsts->order.code;
    if (status == CF_OK && code != 0)
        status = cf_err_errno(err, CF_EOUTPUT, code, "a search's queue (TMPDIR)");
    return status;
}

static int tell_leaders(struct leading *l, const struct cf_paths_writer *firsts,
                        cf_leader_found *found, void *arg, struct cf_err *err) {
    int status = begin(l, err);
    l->is_weighed = true;
    for (size_t i = firsts->nr; i-- > 0 && status == CF_OK;) {
        uint32_t first;
        cf_paths_copy(firsts, (struct cf_position){i}, &first, 1);
        const struct cf_rank rank = {first};
        if (cf_rank_bit(l->met, rank))
            continue;
        status = search_from(l, rank, err);
        l->leader.chunk = chunk_of(l, rank, &l->leader.number);
        if (status == CF_OK)
            status = found(arg, &l->leader, err);
    }
    return status;
}

int cf_leaders_find(const struct cf_context *ctx, const struct cf_mark *mark,
                    const struct cf_links *links, cf_leader_found *found, void *arg,
                    struct cf_err *err) {
    size_t nr_words = links->ranks->nr / 64 + 1;
    CF_CLEANUP_FREE uint64_t *met = calloc(nr_words, sizeof *met);
    if (met == NULL)
        return cf_err_nomem(err, nr_words * sizeof *met, "leaders of leaks");
    struct leading l = {.ctx = ctx, .mark = mark, .links = links, .met = met};
    struct cf_paths_writer firsts;
    int status = cf_paths_begin(&firsts, false, err);
    if (status == CF_OK)
        status = cf_paths_begin(&l.queue, false, err);
    if (status == CF_OK)
        status = find_firsts(&l, &firsts, err);
    if (status == CF_OK)
        status = tell_leaders(&l, &firsts, found, arg, err);
    cf_paths_abandon(&l.queue);
    cf_paths_abandon(&firsts);
    cf_links_drop(links);
    return status;
}
