/*
 * Breadth first, as the search for all that is reached (reach/search.c), and with its kind of
 * queue: first over usual edges alone, while what other ranks of edges lead to waits; then on from
 * that. (A path whose worst edge is as good as can be: Pollack, "The maximum capacity through a
 * network", 1960; with so few ranks a queue for each will do.)
 */
#include "reach/lasting.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/paths.h"

enum { BLOCK_CHUNKS = 1 << 12, BLOCKS_AHEAD = 32, LISTS_AHEAD = 16 };

struct lasting {
    const struct cf_context *ctx;
    const struct cf_lasting_input *input;
    enum cf_edge_rank worst; /* that is followed */
    uint64_t *reached;
    struct cf_paths_writer queue;
    struct cf_paths_writer waiting; /* what entries lead to; while usual edges are followed */
    uint32_t *block;
};

static inline void reach(struct lasting *s, struct cf_rank rank) {
    if (cf_rank_bit(s->reached, rank))
        return;
    cf_rank_set_bit(s->reached, rank);
    cf_paths_put(&s->queue, rank, 0);
}

static void follow(struct lasting *s, struct cf_rank rank) {
    const struct cf_edge_kinds *kinds = s->input->kinds;
    struct cf_link_list list = cf_links_of(s->input->links, rank);
    uint16_t from = kinds->classes[rank.index];
    while (list.at < list.end) {
        struct cf_rank to = cf_links_take(&list);
        if (cf_rank_bit(s->reached, to))
            continue;
        enum cf_edge_rank edge = cf_edge_kinds_rank(kinds, from, kinds->classes[to.index]);
        if (edge <= s->worst)
            reach(s, to);
        else if (edge == CF_EDGE_ENTRY)
            cf_paths_put(&s->waiting, to, 0);
    }
}

static void follow_block(struct lasting *s, size_t nr) {
    const struct cf_links *links = s->input->links;
    const uint32_t *ranks = s->block;
    for (size_t i = 0; i < nr; i++) {
        if (i + BLOCKS_AHEAD < nr)
            __builtin_prefetch(cf_links_block(links, (struct cf_rank){ranks[i + BLOCKS_AHEAD]}));
        if (i + LISTS_AHEAD < nr)
            __builtin_prefetch(cf_links_place(links, (struct cf_rank){ranks[i + LISTS_AHEAD]}));
        follow(s, (struct cf_rank){ranks[i]});
    }
}

/* Does with the ranks that `queue` has, and those that join it, what `visit` says. */
static int empty(struct lasting *s, struct cf_paths_writer *queue,
                 void (*visit)(struct lasting *s, size_t nr), struct cf_err *err) {
    size_t nr;
    for (size_t head = 0; head < queue->nr && queue->order.code == 0; head += nr) {
        nr = queue->nr - head < BLOCK_CHUNKS ? queue->nr - head : BLOCK_CHUNKS;
        cf_paths_copy(queue, (struct cf_position){head}, s->block, nr);
        visit(s, nr);
        if (cf_tick(s->ctx))
            return cf_err_cancelled(err);
    }
    int code = queue->order.code;
    return code == 0 ? CF_OK
                     : cf_err_errno(err, CF_EOUTPUT, code, "the search's queue (TMPDIR)");
}

static void reach_block(struct lasting *s, size_t nr) {
    for (size_t i = 0; i < nr; i++)
        reach(s, (struct cf_rank){s->block[i]});
}

static void reach_from_roots(struct lasting *s) {
    const struct cf_lasting_input *input = s->input;
    for (size_t group = 0; group < input->nr_groups; group++)
        for (uint64_t i = input->begins[group]; i < input->begins[group + 1]; i++)
            if (!input->passes[group])
                reach(s, (struct cf_rank){input->targets[i]});
}

/* Over usual edges, or on from there over entries. */
static int search(struct lasting *s, struct cf_err *err) {
    int status = cf_paths_begin(&s->queue, false, err);
    if (status == CF_OK && s->worst == CF_EDGE_USUAL)
        reach_from_roots(s);
    else if (status == CF_OK)
        status = empty(s, &s->waiting, reach_block, err);
    if (status == CF_OK)
        status = empty(s, &s->queue, follow_block, err);
    cf_paths_abandon(&s->queue);
    return status;
}

static int find(struct lasting *s, struct cf_lasting *out, size_t nr_words, struct cf_err *err) {
    s->reached = out->planes[CF_EDGE_USUAL];
    int status = search(s, err);
    if (status != CF_OK)
        return status;
    memcpy(out->planes[CF_EDGE_ENTRY], s->reached, nr_words * sizeof *s->reached);
    s->reached = out->planes[CF_EDGE_ENTRY];
    s->worst = CF_EDGE_ENTRY;
    return search(s, err);
}

int cf_lasting_find(const struct cf_context *ctx, const struct cf_lasting_input *input,
                    struct cf_lasting *out, struct cf_err *err) {
    size_t nr_words = input->links->ranks->nr / 64 + 1;
    CF_CLEANUP_FREE uint32_t *block = calloc(BLOCK_CHUNKS, sizeof *block);
    struct lasting s = {.ctx = ctx, .input = input, .block = block};
    out->kinds = input->kinds;
    for (unsigned i = 0; i < CF_EDGE_UNUSUAL; i++) {
        out->planes[i] = calloc(nr_words, sizeof *out->planes[i]);
        if (out->planes[i] == NULL || block == NULL)
            return cf_err_nomem(err, nr_words * sizeof *out->planes[i], "what lasting roots hold");
    }
    int status = cf_paths_begin(&s.waiting, false, err);
    if (status == CF_OK)
        status = find(&s, out, nr_words, err);
    cf_paths_abandon(&s.waiting);
    cf_links_drop(input->links);
    return status;
}

void cf_lasting_fini(struct cf_lasting *lasting) {
    for (unsigned i = 0; i < CF_EDGE_UNUSUAL; i++)
        free(lasting->planes[i]);
    *lasting = (struct cf_lasting){.kinds = NULL};
}
