/*
 * The graph of chunks, with each top as one vertex, is what sharers go through: from a group along
 * all edges that lead to another top. A top's set of sharers only grows, and no further than "more
 * than these", so each is looked at CF_SHARERS_MAX + 1 times at the most (the worklist of a
 * monotone framework: Kildall, "A unified approach to global program optimization", 1973).
 */
#include "holders/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum { TICK_EDGES = 1 << 16, NOBODY = 0 /* row of the empty set */ };

/* An edge between two tops. */
struct top_edge {
    uint32_t from;
    uint32_t to;
};

struct sharer {
    const struct cf_context *ctx;
    const struct cf_dominators *dominators;
    const struct cf_preorder *preorder;
    struct cf_sharing *out;
    struct cf_top *tops;
    uint64_t *shared;    /* by rank: a bit for each chunk that is a top */
    struct cf_scratch_writer edges;
    size_t nr_edges;
    struct top_edge last;
    struct cf_scratch sorted;
    uint32_t *begins;    /* by top, in `targets`, and the end */
    uint32_t *targets;   /* tops */
    uint32_t *queue;     /* a ring of tops that have news */
    bool *is_queued;     /* by top */
};

static size_t top_at(const struct cf_sharing *sharing, uint32_t place) {
    return cf_bound(sharing->nr_tops, i, sharing->tops[i].place > place) - 1;
}

const struct cf_top *cf_sharing_top(const struct cf_sharing *sharing, uint32_t place) {
    return &sharing->tops[top_at(sharing, place)];
}

/* The row of this set; UINT32_MAX when memory is out. */
static uint32_t row_of(struct cf_sharing *sharing, const struct cf_sharers *set) {
    uint64_t hash = set->nr;
    for (size_t i = 0; i < CF_SHARERS_MAX; i++)
        hash = cf_hash_mix(hash << 32 ^ hash >> 7 ^ set->groups[i]);
    uint32_t row = cf_hash_find(&sharing->table, hash, i,
                                memcmp(&sharing->rows.items[i], set, sizeof *set) == 0);
    if (row != CF_HASH_NONE)
        return row;
    struct cf_sharers *added = cf_array_push(&sharing->rows);
    if (added == NULL || !cf_hash_add(&sharing->table, hash, sharing->rows.len - 1))
        return UINT32_MAX;
    *added = *set;
    return (uint32_t)sharing->rows.len - 1;
}

/* Both sets together. */
static struct cf_sharers unite(const struct cf_sharers *a, const struct cf_sharers *b) {
    struct cf_sharers sum = *a;
    for (uint32_t i = 0; i < b->nr && sum.nr <= CF_SHARERS_MAX; i++) {
        uint32_t at = 0;
        while (b->nr <= CF_SHARERS_MAX && at < sum.nr && sum.groups[at] < b->groups[i])
            at++;
        if (b->nr <= CF_SHARERS_MAX && at < sum.nr && sum.groups[at] == b->groups[i])
            continue;
        if (sum.nr == CF_SHARERS_MAX || b->nr > CF_SHARERS_MAX)
            return (struct cf_sharers){.nr = CF_SHARERS_MAX + 1};
        memmove(sum.groups + at + 1, sum.groups + at, (sum.nr - at) * sizeof *sum.groups);
        sum.groups[at] = b->groups[i];
        sum.nr++;
    }
    return sum;
}

static int find_tops(struct sharer *s, struct cf_err *err) {
    const struct cf_dominators *dominators = s->dominators;
    size_t nr = 0;
    for (struct cf_vertex v = {1}; v.index < dominators->nr; v.index++)
        nr += cf_dominators_above(dominators, v).index == 0;
    int status = cf_scratch_init(&s->out->file, (nr + 1) * sizeof *s->tops, err);
    s->shared = calloc(dominators->ranks->nr / 64 + 1, sizeof *s->shared);
    if (status == CF_OK && s->shared == NULL)
        status = cf_err_nomem(err, dominators->ranks->nr / 8, "what is shared");
    if (status != CF_OK)
        return status;
    s->out->tops = s->tops = s->out->file.at;
    for (struct cf_vertex v = {1}; v.index < dominators->nr; v.index++) {
        if (cf_dominators_above(dominators, v).index != 0)
            continue;
        struct cf_rank rank = cf_dominators_rank(dominators, v);
        if (cf_is_ranked(rank))
            cf_rank_set_bit(s->shared, rank);
        s->tops[s->out->nr_tops++] =
            (struct cf_top){v, s->preorder->firsts[v.index], NOBODY};
    }
    cf_dominators_drop(dominators);
    return CF_OK;
}

static size_t top_of_rank(const struct sharer *s, struct cf_rank rank) {
    return top_at(s->out, s->preorder->firsts[cf_dominators_of_rank(s->dominators, rank).index]);
}

static inline void lead(struct sharer *s, uint32_t from, struct cf_rank rank) {
    const struct top_edge edge = {from, (uint32_t)top_of_rank(s, rank)};
    if (edge.from == edge.to || (edge.from == s->last.from && edge.to == s->last.to))
        return;
    cf_scratch_put(&s->edges, &edge, sizeof edge);
    s->last = edge;
    s->nr_edges++;
}

/* The edges from groups of roots. */
static void lead_from_group(struct sharer *s, uint32_t top, uint32_t group) {
    const struct cf_grouping *roots = &s->dominators->roots;
    for (uint64_t i = roots->begins[group]; i < roots->begins[group + 1]; i++) {
        struct cf_rank to = {roots->targets[i]};
        if (cf_rank_bit(s->shared, to) &&
            (!roots->passes[group] || cf_dominators_of_rank(s->dominators, to).index >=
                                          s->dominators->first_passing.index))
            lead(s, top, to);
    }
}

static void lead_from_chunk(struct sharer *s, struct cf_rank rank) {
    struct cf_link_list list = cf_links_of(s->dominators->links, rank);
    uint32_t from = UINT32_MAX;
    while (list.at < list.end) {
        struct cf_rank to = cf_links_take(&list);
        if (!cf_rank_bit(s->shared, to) || !cf_dominators_counts(s->dominators, rank, to))
            continue;
        if (from == UINT32_MAX)
            from = (uint32_t)top_of_rank(s, rank);
        lead(s, from, to);
    }
}

static int collect_edges(struct sharer *s, struct cf_err *err) {
    int status = cf_scratch_begin(&s->edges, err);
    if (status != CF_OK)
        return status;
    for (size_t i = 0; i < s->out->nr_tops; i++) {
        uint32_t group = cf_dominators_group(s->dominators, s->tops[i].vertex);
        if (group != CF_NO_GROUP)
            lead_from_group(s, (uint32_t)i, group);
    }
    for (struct cf_rank rank = {0}; rank.index < s->dominators->ranks->nr; rank.index++) {
        if (cf_dominators_of_rank(s->dominators, rank).index != 0)
            lead_from_chunk(s, rank);
        if (rank.index % TICK_EDGES == 0 && cf_tick(s->ctx))
            return cf_err_cancelled(err);
    }
    if (s->edges.code != 0)
        return cf_err_errno(err, CF_EOUTPUT, s->edges.code, "who shares what (TMPDIR)");
    return s->nr_edges < UINT32_MAX
               ? CF_OK
               : cf_err_set(err, CF_EUSAGE, "more pointers than can be numbered");
}

/* By counting: ends become beginnings while the edges go to their places. */
static int sort_edges(struct sharer *s, struct cf_err *err) {
    struct cf_scratch edges = {0};
    size_t nr_words = s->out->nr_tops + 1 + s->nr_edges;
    int status = cf_scratch_finish(&s->edges, &edges, err);
    if (status == CF_OK)
        status = cf_scratch_init(&s->sorted, (nr_words + s->out->nr_tops + 1) * sizeof *s->begins,
                                 err);
    const struct top_edge *rows = edges.at;
    if (status == CF_OK) {
        s->begins = s->sorted.at;
        s->targets = s->begins + s->out->nr_tops + 1;
        s->queue = s->targets + s->nr_edges;
        for (size_t i = 0; i < s->nr_edges; i++)
            s->begins[rows[i].from]++;
        for (size_t i = 1; i <= s->out->nr_tops; i++)
            s->begins[i] += s->begins[i - 1];
        for (size_t i = s->nr_edges; i-- > 0;)
            s->targets[--s->begins[rows[i].from]] = rows[i].to;
    }
    cf_scratch_fini(&edges);
    return status;
}

/* Puts what the top at the head of the queue knows into what it leads to. */
static int tell(struct sharer *s, uint32_t from, size_t *tail, struct cf_err *err) {
    for (uint32_t i = s->begins[from]; i < s->begins[from + 1]; i++) {
        uint32_t to = s->targets[i];
        struct cf_top *top = &s->tops[to];
        if (top->sharers == s->tops[from].sharers ||
            !cf_is_ranked(cf_dominators_rank(s->dominators, top->vertex)))
            continue;
        const struct cf_sharers set = unite(&s->out->rows.items[top->sharers],
                                            &s->out->rows.items[s->tops[from].sharers]);
        uint32_t row = row_of(s->out, &set);
        if (row == UINT32_MAX)
            return cf_err_nomem(err, sizeof set, "who shares what");
        if (row == top->sharers)
            continue;
        top->sharers = row;
        if (!s->is_queued[to])
            s->queue[(*tail)++ % s->out->nr_tops] = to;
        s->is_queued[to] = true;
    }
    return CF_OK;
}

/* Each group shares with itself, and tells. */
static int spread(struct sharer *s, struct cf_err *err) {
    size_t head = 0, tail = 0;
    s->is_queued = calloc(s->out->nr_tops + 1, sizeof *s->is_queued);
    if (s->is_queued == NULL)
        return cf_err_nomem(err, s->out->nr_tops, "who shares what");
    for (size_t i = 0; i < s->out->nr_tops; i++) {
        uint32_t group = cf_dominators_group(s->dominators, s->tops[i].vertex);
        if (group == CF_NO_GROUP)
            continue;
        const struct cf_sharers set = {.groups = {group}, .nr = 1};
        s->tops[i].sharers = row_of(s->out, &set);
        if (s->tops[i].sharers == UINT32_MAX)
            return cf_err_nomem(err, sizeof set, "who shares what");
        s->queue[tail++] = (uint32_t)i;
        s->is_queued[i] = true;
    }
    while (head < tail) {
        uint32_t from = s->queue[head++ % s->out->nr_tops];
        s->is_queued[from] = false;
        int status = tell(s, from, &tail, err);
        if (status != CF_OK)
            return status;
        if (head % TICK_EDGES == 0 && cf_tick(s->ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

static void sharer_fini(struct sharer *s) {
    cf_scratch_abandon(&s->edges);
    cf_scratch_fini(&s->sorted);
    free(s->shared);
    free(s->is_queued);
}

int cf_sharing_find(const struct cf_context *ctx, const struct cf_sharing_input *input,
                    struct cf_sharing *out, struct cf_err *err) {
    CF_CLEANUP(sharer_fini) struct sharer s = {
        .ctx = ctx, .dominators = input->dominators, .preorder = input->preorder, .out = out,
        .last = {UINT32_MAX, UINT32_MAX},
    };
    const struct cf_sharers nobody = {.nr = 0};
    if (row_of(out, &nobody) != NOBODY)
        return cf_err_nomem(err, sizeof nobody, "who shares what");
    int status = find_tops(&s, err);
    if (status == CF_OK)
        status = collect_edges(&s, err);
    if (status == CF_OK)
        status = sort_edges(&s, err);
    cf_links_drop(input->dominators->links);
    if (status == CF_OK && out->nr_tops > 0)
        status = spread(&s, err);
    cf_dominators_drop(input->dominators);
    cf_preorder_drop(input->preorder);
    return status;
}

void cf_sharing_fini(struct cf_sharing *sharing) {
    cf_scratch_fini(&sharing->file);
    cf_array_free(&sharing->rows);
    cf_hash_fini(&sharing->table);
    *sharing = (struct cf_sharing){.nr_tops = 0};
}
