/* What each chunk alone keeps alive, against counting what is lost without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "reach/dominators.h"
#include "reach/leaks.h"
#include "reach/retained.h"
#include "reach/stops.h"
#include "rootworld.h"

/* The tree of the world that find() made last. */
static struct cf_dominators dominators;

static struct cf_retained find(struct rootworld *w) {
    struct cf_retained retained = {.rows = {0}};
    rw_mark(w);
    const struct cf_dominators_input input = {
        .links = &w->reach.links, .roots = w->reach.roots.rows.items, .words = &w->reach.words,
        .nr_reached = w->reach.paths->nr,
    };
    cf_dominators_fini(&dominators);
    assert_int_equal(cf_dominators_find(NULL, &input, &dominators, NULL), CF_OK);
    assert_int_equal(cf_retained_find(NULL, &retained, &dominators, NULL), CF_OK);
    return retained;
}

static struct cf_kept_alive all_kept(void) {
    return cf_dominators_kept(&dominators, (struct cf_vertex){0});
}

static const struct cf_retained_row *row_of(const struct cf_retained *retained, uint64_t addr) {
    for (size_t i = 0; i < retained->rows.len; i++)
        if (retained->rows.items[i].addr == addr)
            return &retained->rows.items[i];
    return NULL;
}

static void assert_row(const struct cf_retained *retained, uint64_t addr, uint64_t chunks,
                       uint64_t bytes, uint64_t dominator) {
    const struct cf_retained_row *row = row_of(retained, addr);
    assert_non_null(row);
    assert_int_equal(row->chunks, chunks);
    assert_int_equal(row->retained_bytes, bytes);
    assert_int_equal(row->dominator, dominator);
}

/* root -> a -> b -> d -> e; a -> c -> d: d hangs on a, since b and c both lead to it. */
static void two_ways_meet_below_where_they_part(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 8, PAGE);
    uint64_t a = rw_add(w, 2), b = rw_add(w, 3), c = rw_add(w, 4), d = rw_add(w, 5);
    uint64_t e = rw_add(w, 6), lost = rw_add(w, 2);
    rw_root(w, CF_ROOT_GLOBAL, 0, a);
    rw_point(w, a, 0, b);
    rw_point(w, a, 1, c);
    rw_point(w, b, 0, d);
    rw_point(w, c, 0, d);
    rw_point(w, d, 0, e);
    rw_point(w, e, 0, a); /* and back */
    rw_point(w, lost, 0, d);
    struct cf_retained retained = find(w);
    assert_int_equal(all_kept().chunks, 5);
    assert_int_equal(all_kept().bytes, 20 * 16);
    assert_int_equal(retained.rows.len, 5);
    assert_row(&retained, a, 5, 20 * 16, 0);
    assert_row(&retained, b, 1, 3 * 16, a);
    assert_row(&retained, c, 1, 4 * 16, a);
    assert_row(&retained, d, 2, 11 * 16, a);
    assert_row(&retained, e, 1, 6 * 16, d);
    assert_int_equal(retained.rows.items[0].addr, a);
    cf_retained_fini(&retained);
    rootworld_free(w);
}

static void what_two_roots_lead_to_hangs_on_none(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_I386, 8, PAGE);
    uint64_t a = rw_add(w, 2), b = rw_add(w, 2), shared = rw_add(w, 4), below = rw_add(w, 2);
    rw_root(w, CF_ROOT_GLOBAL, 0, a);
    rw_root(w, CF_ROOT_TLS, 0, b);
    rw_point(w, a, 0, shared);
    rw_point(w, b, 0, shared);
    rw_point(w, shared, 0, below);
    struct cf_retained retained = find(w);
    assert_row(&retained, a, 1, 2 * 8, 0);
    assert_row(&retained, b, 1, 2 * 8, 0);
    assert_row(&retained, shared, 2, 6 * 8, 0);
    assert_row(&retained, below, 1, 2 * 8, shared);
    cf_retained_fini(&retained);
    rootworld_free(w);
}

enum { NODES = 60, EDGES_MAX = 4, ROUNDS = 240 };

struct graph {
    size_t nr_edges[NODES];
    size_t edges[NODES][EDGES_MAX];
    bool rooted[NODES];
};

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* What is reached when `without` (NODES: none) is not there. */
static void reach(const struct graph *graph, size_t without, bool *out) {
    bool again = true;
    for (size_t i = 0; i < NODES; i++)
        out[i] = graph->rooted[i] && i != without;
    while (again) {
        again = false;
        for (size_t i = 0; i < NODES; i++)
            for (size_t e = 0; out[i] && e < graph->nr_edges[i]; e++) {
                size_t to = graph->edges[i][e];
                again |= to != without && !out[to];
                out[to] |= to != without;
            }
    }
}

static void check_against_counting(const struct graph *graph, const struct rootworld *w,
                                   const struct cf_retained *retained) {
    bool all[NODES], rest[NODES];
    reach(graph, NODES, all);
    for (size_t i = 0; i < NODES; i++) {
        const struct cf_retained_row *row = row_of(retained, w->chunks[i].addr);
        assert_int_equal(row != NULL, all[i]);
        if (row == NULL)
            continue;
        uint64_t chunks = 0, bytes = 0;
        reach(graph, i, rest);
        for (size_t j = 0; j < NODES; j++) {
            chunks += all[j] && !rest[j];
            bytes += all[j] && !rest[j] ? w->chunks[j].bytes : 0;
        }
        assert_int_equal(row->chunks, chunks);
        assert_int_equal(row->retained_bytes, bytes);
    }
}

/* In every other one most chunks lead to the next one first: long chains, with edges back, ahead
 * and across. */
static void random_graphs_agree_with_counting(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, NODES, 8 * PAGE);
        struct graph graph;
        memset(&graph, 0, sizeof graph);
        for (size_t i = 0; i < NODES; i++)
            (void)rw_add(w, EDGES_MAX / 2 + 1 + next_random(&seed) % 5);
        for (size_t i = 0; i < NODES; i++) {
            bool chained = round % 2 == 1 && next_random(&seed) % 16 != 0;
            graph.nr_edges[i] =
                chained + next_random(&seed) % (EDGES_MAX - round % 2 * 2 + 1);
            for (unsigned e = 0; e < graph.nr_edges[i]; e++) {
                graph.edges[i][e] = chained && e == 0 ? (i + 1) % NODES
                                                      : next_random(&seed) % NODES;
                rw_point(w, w->chunks[i].addr, e, w->chunks[graph.edges[i][e]].addr);
            }
        }
        for (unsigned i = 0; i < 1 + round % 4; i++) {
            size_t at = next_random(&seed) % NODES;
            graph.rooted[at] = true;
            rw_root(w, CF_ROOT_GLOBAL, i, w->chunks[at].addr);
        }
        struct cf_retained retained = find(w);
        check_against_counting(&graph, w, &retained);
        cf_retained_fini(&retained);
        rootworld_free(w);
    }
}

/* Words of all kinds of roots, each word of a group of some; against counting what is lost without
 * the group. Stacks keep only what nothing lasting leads to. */
enum { GROUPS = 5, WORDS = 12 };

struct rooted {
    enum cf_root_kind kind;
    unsigned index; /* in the page of its kind */
    uint32_t group;
    size_t node;
};

struct rooted_words {
    const struct rootworld *w;
    struct rooted rows[WORDS];
};

static uint32_t group_of(void *source, const struct cf_root_word *word) {
    const struct rooted_words *words = source;
    for (size_t i = 0; i < WORDS; i++)
        if (word->addr == rw_root_word(words->w, words->rows[i].kind, words->rows[i].index))
            return words->rows[i].group;
    return CF_NO_GROUP;
}

static bool is_passing(const struct rooted *row) {
    return row->kind == CF_ROOT_STACK;
}

/* What is reached from all words but those of `without`; with or without those that pass. */
static void reach_from(struct graph *graph, const struct rooted_words *words, uint32_t without,
                       bool passing, bool *out) {
    memset(graph->rooted, 0, sizeof graph->rooted);
    for (size_t i = 0; i < WORDS; i++)
        graph->rooted[words->rows[i].node] |=
            words->rows[i].group != without && (passing || !is_passing(&words->rows[i]));
    reach(graph, NODES, out);
}

static void check_groups(struct graph *graph, const struct rooted_words *words) {
    bool with[NODES], without[NODES];
    for (uint32_t group = 0; group < GROUPS; group++) {
        bool passing = group == GROUPS - 1;
        struct cf_kept_alive wanted = {0}, kept = {0};
        reach_from(graph, words, UINT32_MAX, passing, with);
        reach_from(graph, words, group, passing, without);
        for (size_t i = 0; i < NODES; i++) {
            wanted.chunks += with[i] && !without[i];
            wanted.bytes += with[i] && !without[i] ? words->w->chunks[i].bytes : 0;
        }
        struct cf_vertex vertex = cf_dominators_of_group(&dominators, group);
        if (vertex.index != 0) {
            kept = cf_dominators_kept(&dominators, vertex);
            assert_int_equal(cf_dominators_group(&dominators, vertex), group);
        }
        assert_int_equal(kept.chunks, wanted.chunks);
        assert_int_equal(kept.bytes, wanted.bytes);
    }
}

static void groups_of_roots_keep_what_is_lost_without_them(void **state) {
    (void)state;
    static const enum cf_root_kind kinds[] = {CF_ROOT_GLOBAL, CF_ROOT_TLS, CF_ROOT_MAPPING};
    uint32_t seed = 11;
    uint64_t kept_by_stacks = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, NODES, 8 * PAGE);
        struct graph graph;
        struct rooted_words words = {.w = w};
        memset(&graph, 0, sizeof graph);
        for (size_t i = 0; i < NODES; i++)
            (void)rw_add(w, EDGES_MAX / 2 + 1 + next_random(&seed) % 5);
        for (size_t i = 0; i < NODES; i++) {
            graph.nr_edges[i] = next_random(&seed) % 3;
            for (unsigned e = 0; e < graph.nr_edges[i]; e++) {
                graph.edges[i][e] = next_random(&seed) % NODES;
                rw_point(w, w->chunks[i].addr, e, w->chunks[graph.edges[i][e]].addr);
            }
        }
        for (unsigned i = 0; i < WORDS; i++) {
            uint32_t group = next_random(&seed) % GROUPS;
            words.rows[i] = (struct rooted){
                .kind = group == GROUPS - 1 ? CF_ROOT_STACK : kinds[next_random(&seed) % 3],
                .index = i, .group = group, .node = next_random(&seed) % NODES,
            };
            rw_root(w, words.rows[i].kind, i, w->chunks[words.rows[i].node].addr);
        }
        rw_mark(w);
        const struct cf_dominators_input input = {
            .links = &w->reach.links, .roots = w->reach.roots.rows.items,
            .words = &w->reach.words, .nr_reached = w->reach.paths->nr,
            .group_of = group_of, .source = &words,
        };
        cf_dominators_fini(&dominators);
        assert_int_equal(cf_dominators_find(NULL, &input, &dominators, NULL), CF_OK);
        check_groups(&graph, &words);
        struct cf_vertex stack = cf_dominators_of_group(&dominators, GROUPS - 1);
        if (stack.index != 0)
            kept_by_stacks += cf_dominators_kept(&dominators, stack).chunks;
        assert_int_equal(all_kept().chunks, w->reach.paths->nr);
        rootworld_free(w);
    }
    assert_true(kept_by_stacks > 0);
}

/* A list of nodes with payloads that an array holds too: no dominator of a payload is near its
 * parent, and climbing there node by node would take 20,000 * 20,000 / 2 steps and more. */
static void payloads_of_a_list_that_are_shared_hang_on_the_root(void **state) {
    (void)state;
    enum { PAIRS = 400000 };
    struct rootworld *w =
        rootworld_new(CF_MACHINE_X86_64, 2 * PAIRS + 1, (uint64_t)PAIRS * 104 + PAGE);
    uint64_t array = rw_add(w, PAIRS / 2 + 2);
    for (size_t i = 0; i < 2 * PAIRS; i++)
        (void)rw_add(w, 3);
    for (unsigned i = 0; i < PAIRS; i++) {
        const struct cf_chunk *node = &w->chunks[1 + i], *payload = &w->chunks[1 + PAIRS + i];
        if (i + 1 < PAIRS) {
            rw_point(w, node->addr, 1, node[1].addr);
            rw_point(w, node[1].addr, 2, node->addr);
        }
        rw_point(w, node->addr, 0, payload->addr);
        rw_point(w, array, i, payload->addr);
    }
    rw_root(w, CF_ROOT_GLOBAL, 0, w->chunks[1].addr);
    rw_root(w, CF_ROOT_GLOBAL, 1, array);
    struct cf_retained retained = find(w);
    assert_int_equal(all_kept().chunks, 2 * PAIRS + 1);
    assert_row(&retained, w->chunks[1].addr, PAIRS, (uint64_t)PAIRS * 48, 0);
    const struct cf_vertex of_array = cf_dominators_of_rank(&dominators, (struct cf_rank){0});
    assert_int_equal(cf_dominators_kept(&dominators, of_array).chunks, 1);
    for (size_t i = 0; i < 1000; i++) {
        const struct cf_rank payload = {1 + PAIRS + i};
        struct cf_vertex vertex = cf_dominators_of_rank(&dominators, payload);
        assert_int_equal(cf_dominators_above(&dominators, vertex).index, 1);
    }
    cf_retained_fini(&retained);
    rootworld_free(w);
}

/* A ring with a root, and a tree of which each node knows its parent. */
static void rings_and_trees_with_ways_back_are_judged(void **state) {
    (void)state;
    enum { RING = 200001, TREE = (1 << 17) - 1 };
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, RING + TREE,
                                        (uint64_t)(RING + TREE) * 48 + PAGE);
    for (size_t i = 0; i < RING + TREE; i++)
        (void)rw_add(w, 3);
    for (size_t i = 0; i < RING; i++) {
        rw_point(w, w->chunks[i].addr, 0, w->chunks[(i + 1) % RING].addr);
        rw_point(w, w->chunks[i].addr, 1, w->chunks[(i + RING - 1) % RING].addr);
    }
    for (size_t i = 1; i < TREE; i++) {
        uint64_t child = w->chunks[RING + i].addr, parent = w->chunks[RING + (i - 1) / 2].addr;
        rw_point(w, parent, (unsigned)(i - 1) % 2, child);
        rw_point(w, child, 2, parent);
    }
    rw_root(w, CF_ROOT_TLS, 0, w->chunks[0].addr);
    rw_root(w, CF_ROOT_GLOBAL, 0, w->chunks[RING].addr);
    struct cf_retained retained = find(w);
    assert_row(&retained, w->chunks[0].addr, RING, (uint64_t)RING * 48, 0);
    for (size_t i = 0; i < 1000; i++) {
        uint64_t chunks = TREE;
        for (size_t at = i; at > 0; at = (at - 1) / 2)
            chunks /= 2;
        assert_row(&retained, w->chunks[RING + i].addr, chunks, chunks * 48,
                   i == 0 ? 0 : w->chunks[RING + (i - 1) / 2].addr);
    }
    cf_retained_fini(&retained);
    rootworld_free(w);
}

enum { LONG = 200000 };

/* A list with a back edge from each node to the one before it, and to one at any time before. */
static void long_lists_need_neither_depth_nor_time(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, LONG, (uint64_t)LONG * 48);
    uint32_t seed = 3;
    for (size_t i = 0; i < LONG; i++)
        (void)rw_add(w, 3);
    for (size_t i = 0; i + 1 < LONG; i++) {
        rw_point(w, w->chunks[i].addr, 0, w->chunks[i + 1].addr);
        rw_point(w, w->chunks[i + 1].addr, 1, w->chunks[i].addr);
        rw_point(w, w->chunks[i + 1].addr, 2, w->chunks[next_random(&seed) % (i + 1)].addr);
    }
    rw_root(w, CF_ROOT_GLOBAL, 0, w->chunks[0].addr);
    struct cf_retained retained = find(w);
    assert_int_equal(all_kept().chunks, LONG);
    assert_int_equal(retained.rows.len, CF_RETAINED_MAX);
    for (size_t i = 0; i < CF_RETAINED_MAX; i++) {
        assert_int_equal(retained.rows.items[i].addr, w->chunks[i].addr);
        assert_int_equal(retained.rows.items[i].chunks, LONG - i);
        assert_int_equal(retained.rows.items[i].retained_bytes, (LONG - i) * 48);
    }
    cf_retained_fini(&retained);
    rootworld_free(w);
}

static int find_dominators(void *arg, const struct cf_context *ctx, struct cf_err *err) {
    const struct rootworld *w = arg;
    const struct cf_dominators_input input = {
        .links = &w->reach.links, .roots = w->reach.roots.rows.items, .words = &w->reach.words,
        .nr_reached = w->reach.paths->nr,
    };
    cf_dominators_fini(&dominators);
    return cf_dominators_find(ctx, &input, &dominators, err);
}

static int find_retained(void *arg, const struct cf_context *ctx, struct cf_err *err) {
    struct cf_retained retained = {.rows = {0}};
    (void)arg;
    int status = cf_retained_find(ctx, &retained, &dominators, err);
    cf_retained_fini(&retained);
    return status;
}

static int find_leaks(void *arg, const struct cf_context *ctx, struct cf_err *err) {
    const struct rootworld *w = arg;
    const struct cf_leaks_input input = {.mark = w->reach.mark, .links = &w->reach.links};
    struct cf_leaks leaks = {.rows = {0}};
    int status = cf_leaks_find(ctx, &leaks, &input, err);
    cf_leaks_fini(&leaks);
    return status;
}

/* Half of the chunks are a list, the others are lost. */
static void passes_end_when_they_are_told_to(void **state) {
    (void)state;
    enum { LIST = 300000 };
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 2 * LIST,
                                        (uint64_t)2 * LIST * 32 + PAGE);
    for (size_t i = 0; i < 2 * LIST; i++)
        (void)rw_add(w, 2);
    for (size_t i = 0; i + 1 < LIST; i++)
        rw_point(w, w->chunks[i].addr, 0, w->chunks[i + 1].addr);
    rw_root(w, CF_ROOT_GLOBAL, 0, w->chunks[0].addr);
    rw_mark(w);
    rw_cancel_each_time(find_dominators, w, 2 * LIST / 65536);
    rw_cancel_each_time(find_retained, w, 1);
    rw_cancel_each_time(find_leaks, w, 2 * LIST / 65536);
    rootworld_free(w);
}

static void stops_are_what_was_not_taken_out(void **state) {
    (void)state;
    enum { NR = 300000 };
    struct cf_stops stops = {.words = NULL};
    assert_true(cf_stops_init(&stops, NR));
    uint32_t seed = 3;
    assert_int_equal(cf_stops_at_or_below(&stops, NR - 1), NR - 1);
    for (uint32_t number = NR - 1; number > 0; number--) /* the higher, the fewer are left */
        if (next_random(&seed) % (1 + number / 20) != 0)
            cf_stops_take_out(&stops, number);
    uint32_t last = 0;
    seed = 3;
    bool *stays = calloc(NR, sizeof *stays);
    assert_non_null(stays);
    for (uint32_t number = NR - 1; number > 0; number--)
        stays[number] = next_random(&seed) % (1 + number / 20) == 0;
    for (uint32_t number = 0; number < NR; number++) {
        last = stays[number] ? number : last;
        assert_int_equal(cf_stops_at_or_below(&stops, number), last);
    }
    free(stays);
    for (uint32_t number = 1; number < NR; number++)
        cf_stops_take_out(&stops, number);
    assert_int_equal(cf_stops_at_or_below(&stops, NR - 1), 0);
    cf_stops_fini(&stops);
}

static void nothing_reached_is_no_row(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 4, PAGE);
    (void)rw_add(w, 2);
    struct cf_retained retained = find(w);
    assert_int_equal(retained.rows.len, 0);
    assert_int_equal(all_kept().bytes, 0);
    cf_retained_fini(&retained);
    rootworld_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ways_meet_below_where_they_part),
        cmocka_unit_test(what_two_roots_lead_to_hangs_on_none),
        cmocka_unit_test(random_graphs_agree_with_counting),
        cmocka_unit_test(groups_of_roots_keep_what_is_lost_without_them),
        cmocka_unit_test(payloads_of_a_list_that_are_shared_hang_on_the_root),
        cmocka_unit_test(rings_and_trees_with_ways_back_are_judged),
        cmocka_unit_test(long_lists_need_neither_depth_nor_time),
        cmocka_unit_test(passes_end_when_they_are_told_to),
        cmocka_unit_test(stops_are_what_was_not_taken_out),
        cmocka_unit_test(nothing_reached_is_no_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
