/* Which edges count, who shares what, and what owners keep alive, against counting on small random
 * graphs; and the cases that made it necessary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "holders/sharing.h"
#include "reach/dominators.h"
#include "reach/kinds.h"
#include "reach/preorder.h"
#include "rootworld.h"

enum { NODES = 80, EDGES_MAX = 4, ROUNDS = 150, GROUPS = 4, CLASSES = 5 };
enum { NONE = CF_EDGE_UNUSUAL + 1 }; /* no path leads there */

struct graph {
    struct rootworld *w;
    uint16_t classes[NODES + 1];
    size_t nr_edges[NODES];
    size_t edges[NODES][EDGES_MAX];
    bool rooted[GROUPS][NODES]; /* each word of the globals' page is a group */
    struct cf_edge_kinds kinds;
    struct cf_dominators dominators;
    struct cf_preorder preorder;
    struct cf_sharing sharing;
};

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void add_edge(struct graph *g, size_t from, size_t to) {
    rw_point(g->w, g->w->chunks[from].addr, (unsigned)g->nr_edges[from], g->w->chunks[to].addr);
    g->edges[from][g->nr_edges[from]++] = to;
}

/* The group of a word is its place in the page. */
static uint32_t group_of(void *source, const struct cf_root_word *word) {
    const struct graph *g = source;
    return (uint32_t)((word->addr - rw_root_word(g->w, CF_ROOT_GLOBAL, 0)) / 8) % GROUPS;
}

static void root(struct graph *g, unsigned word, size_t node) {
    rw_root(g->w, CF_ROOT_GLOBAL, word, g->w->chunks[node].addr);
    g->rooted[word % GROUPS][node] = true;
}

static int find(struct graph *g, const struct cf_context *ctx, struct cf_err *err) {
    const struct cf_reach *reach = &g->w->reach;
    const struct cf_dominators_input input = {
        .links = &reach->links, .roots = reach->roots.rows.items, .words = &reach->words,
        .kinds = &g->kinds, .nr_reached = reach->paths->nr, .group_of = group_of, .source = g,
    };
    int status = cf_edge_kinds_judge(ctx, &reach->links, g->classes, &g->kinds, err);
    if (status == CF_OK)
        status = cf_dominators_find(ctx, &input, &g->dominators, err);
    if (status == CF_OK)
        status = cf_preorder_find(ctx, &g->dominators, &g->preorder, err);
    const struct cf_sharing_input sharing = {&g->dominators, &g->preorder};
    return status == CF_OK ? cf_sharing_find(ctx, &sharing, &g->sharing, err) : status;
}

static void settle(struct graph *g) {
    rw_mark(g->w);
    assert_int_equal(find(g, NULL, NULL), CF_OK);
}

static void clear(struct graph *g) {
    cf_sharing_fini(&g->sharing);
    cf_preorder_fini(&g->preorder);
    cf_dominators_fini(&g->dominators);
    cf_edge_kinds_fini(&g->kinds);
}

static void graph_free(struct graph *g) {
    clear(g);
    rootworld_free(g->w);
    free(g);
}

static struct graph *graph_new(size_t nodes, uint64_t units) {
    struct graph *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->w = rootworld_new(CF_MACHINE_X86_64, nodes + 1, 16 * PAGE);
    for (size_t i = 0; i < nodes; i++)
        (void)rw_add(g->w, units);
    return g;
}

/* ---- by definition ---- */

static unsigned rank_of(const struct graph *g, size_t from, size_t to) {
    return cf_edge_kinds_rank(&g->kinds, g->kinds.classes[from], g->kinds.classes[to]);
}

/* The worst edge of the best path from the roots, without group `without`; NONE: there is none.
 * With `held`, only edges that count by it are followed. */
static void find_held(const struct graph *g, uint32_t without, const unsigned *held,
                      unsigned *out) {
    for (size_t i = 0; i < NODES; i++)
        out[i] = NONE;
    for (uint32_t group = 0; group < GROUPS; group++)
        for (size_t i = 0; i < NODES && group != without; i++)
            out[i] = g->rooted[group][i] ? CF_EDGE_USUAL : out[i];
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < NODES; i++)
            for (size_t e = 0; e < g->nr_edges[i] && out[i] != NONE; e++) {
                size_t to = g->edges[i][e];
                unsigned worst = rank_of(g, i, to) > out[i] ? rank_of(g, i, to) : out[i];
                bool counts = held == NULL ||
                              (held[i] <= held[to] && rank_of(g, i, to) <= held[to]);
                if (to != i && counts && worst < out[to]) {
                    out[to] = worst;
                    again = true;
                }
            }
    }
}

static void check_groups(const struct graph *g, const unsigned *held) {
    unsigned without[NODES];
    for (uint32_t group = 0; group < GROUPS; group++) {
        struct cf_kept_alive wanted = {0}, kept = {0};
        find_held(g, group, held, without);
        for (size_t i = 0; i < NODES; i++) {
            bool is_lost = held[i] != NONE && without[i] == NONE;
            wanted.chunks += is_lost;
            wanted.bytes += is_lost ? g->w->chunks[i].bytes : 0;
        }
        struct cf_vertex vertex = cf_dominators_of_group(&g->dominators, group);
        if (vertex.index != 0)
            kept = cf_dominators_kept(&g->dominators, vertex);
        assert_int_equal(kept.chunks, wanted.chunks);
        assert_int_equal(kept.bytes, wanted.bytes);
    }
}

/* The groups that lead to each chunk: those without the others. */
static void check_sharers(const struct graph *g, const unsigned *held) {
    bool leads[GROUPS][NODES] = {0};
    for (uint32_t group = 0; group < GROUPS; group++) {
        memcpy(leads[group], g->rooted[group], sizeof leads[group]);
        for (bool again = true; again;) {
            again = false;
            for (size_t i = 0; i < NODES; i++)
                for (size_t e = 0; e < g->nr_edges[i] && leads[group][i]; e++) {
                    size_t to = g->edges[i][e];
                    bool counts = held[i] <= held[to] && rank_of(g, i, to) <= held[to];
                    again |= counts && !leads[group][to];
                    leads[group][to] |= counts;
                }
        }
    }
    for (size_t i = 0; i < NODES; i++) {
        uint32_t vertex = cf_dominators_of_rank(&g->dominators, (struct cf_rank){i}).index, nr = 0;
        assert_int_equal(vertex != 0, held[i] != NONE);
        if (vertex == 0)
            continue;
        const struct cf_top *top = cf_sharing_top(&g->sharing, g->preorder.firsts[vertex]);
        const struct cf_sharers *sharers = &g->sharing.rows.items[top->sharers];
        for (uint32_t group = 0; group < GROUPS; group++) {
            if (leads[group][i] && sharers->nr <= CF_SHARERS_MAX)
                assert_int_equal(sharers->groups[nr], group);
            nr += leads[group][i];
        }
        assert_int_equal(sharers->nr, nr);
    }
}

/* Each chunk stands once, and what it dominates behind it in one piece. */
static void check_preorder(const struct graph *g) {
    bool seen[NODES] = {false};
    assert_int_equal(g->preorder.nr, g->dominators.rows[0].chunks);
    for (uint32_t place = 0; place < g->preorder.nr; place++) {
        struct cf_rank rank = cf_preorder_rank(&g->preorder, place);
        assert_false(seen[rank.index]);
        seen[rank.index] = true;
        struct cf_vertex vertex = cf_dominators_of_rank(&g->dominators, rank);
        assert_int_equal(g->preorder.firsts[vertex.index], place);
        for (uint32_t above = cf_dominators_above(&g->dominators, vertex).index; above != 0;
             above = cf_dominators_above(&g->dominators, (struct cf_vertex){above}).index) {
            uint32_t first = g->preorder.firsts[above];
            assert_in_range(place, first, first + g->dominators.rows[above].chunks - 1);
        }
    }
}

static void random_graphs_agree_with_their_definition(void **state) {
    (void)state;
    uint32_t seed = 3;
    size_t ranks_met[NONE] = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        struct graph *g = graph_new(NODES, 3);
        unsigned held[NODES];
        for (size_t i = 0; i < NODES; i++) {
            g->classes[i] = (uint16_t)(1 + (i < 60 ? i / 30 : next_random(&seed) % CLASSES));
            for (unsigned e = next_random(&seed) % (EDGES_MAX - 1); e > 0; e--)
                add_edge(g, i, next_random(&seed) % 4 != 0 ? (i + 1) % NODES
                                                           : next_random(&seed) % NODES);
        }
        for (unsigned i = 0; i < 2 + round % 5; i++)
            root(g, i, next_random(&seed) % NODES);
        settle(g);
        find_held(g, UINT32_MAX, NULL, held);
        for (size_t i = 0; i < NODES; i++) {
            if (held[i] == NONE)
                continue;
            assert_int_equal(cf_lasting_held(&g->dominators.lasting, (struct cf_rank){i}), held[i]);
            ranks_met[held[i]]++;
        }
        check_groups(g, held);
        check_sharers(g, held);
        check_preorder(g);
        graph_free(g);
    }
    for (size_t i = 0; i < NONE; i++)
        assert_int_not_equal(ranks_met[i], 0);
}

/* ---- the cases ---- */

enum { LIST = 40, BLOCKS = 40 };

/* A list below one global, blocks of the same size below another's array; one of the blocks still
 * has the address of a node. */
static struct graph *list_and_blocks(bool stale) {
    struct graph *g = graph_new(LIST + BLOCKS, 3);
    uint64_t array = rw_add(g->w, 4 * BLOCKS);
    g->classes[LIST + BLOCKS] = 2;
    for (size_t i = 0; i < LIST; i++) {
        if (i + 1 < LIST)
            add_edge(g, i, i + 1);
        g->classes[i] = 1;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        rw_point(g->w, array, (unsigned)i, g->w->chunks[LIST + i].addr);
        g->classes[LIST + i] = 1;
    }
    if (stale)
        add_edge(g, LIST + BLOCKS / 2, LIST / 2);
    rw_root(g->w, CF_ROOT_GLOBAL, 0, g->w->chunks[0].addr);
    rw_root(g->w, CF_ROOT_GLOBAL, 1, array);
    return g;
}

static struct cf_kept_alive kept_by(const struct graph *g, uint32_t group) {
    return cf_dominators_kept(&g->dominators, cf_dominators_of_group(&g->dominators, group));
}

static void a_word_left_behind_takes_no_list_from_its_owner(void **state) {
    (void)state;
    for (int stale = 0; stale < 2; stale++) {
        struct graph *g = list_and_blocks(stale);
        settle(g);
        assert_int_equal(kept_by(g, 0).chunks, LIST);
        assert_int_equal(kept_by(g, 1).chunks, BLOCKS + 1);
        graph_free(g);
    }
}

/* The near miss: where nothing better leads to the node, the word holds it and all behind. */
static void a_word_left_behind_holds_what_nothing_else_does(void **state) {
    (void)state;
    struct graph *g = list_and_blocks(true);
    rw_point(g->w, g->w->chunks[LIST / 2 - 1].addr, 0, g->w->chunks[0].addr); /* cut in two */
    settle(g);
    assert_int_equal(kept_by(g, 0).chunks, LIST / 2);
    assert_int_equal(kept_by(g, 1).chunks, BLOCKS + 1 + LIST / 2);
    graph_free(g);
}

static int find_again(void *arg, const struct cf_context *ctx, struct cf_err *err) {
    struct graph *g = arg;
    clear(g);
    return find(g, ctx, err);
}

static void the_search_for_owners_ends_when_it_is_told_to(void **state) {
    (void)state;
    struct graph *g = graph_new(NODES, 3);
    for (size_t i = 0; i < NODES; i++) {
        g->classes[i] = 1;
        add_edge(g, i, (i + 1) % NODES);
    }
    root(g, 0, 0);
    root(g, 1, NODES / 2);
    rw_mark(g->w);
    rw_cancel_each_time(find_again, g, 6);
    assert_int_equal(g->sharing.nr_tops, 2 + 2);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_agree_with_their_definition),
        cmocka_unit_test(a_word_left_behind_takes_no_list_from_its_owner),
        cmocka_unit_test(a_word_left_behind_holds_what_nothing_else_does),
        cmocka_unit_test(the_search_for_owners_ends_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
