/* What was lost first, against strongly connected components found by reaching there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "reach/leaders.h"
#include "rootworld.h"

enum { NODES = 50, EDGES_MAX = 3, ROUNDS = 200 };

struct lost {
    struct rootworld *w;
    bool leads[NODES][NODES]; /* by any path, to itself too */
    bool is_lost[NODES];
};

struct told {
    const struct lost *lost;
    size_t nr;
    uint64_t chunks;
    uint64_t bytes;
    bool is_leader[NODES];
    uint64_t last; /* address */
};

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static int tell(void *arg, const struct cf_leader *leader, struct cf_err *err) {
    struct told *told = arg;
    (void)err;
    assert_true(leader->chunk.addr < told->last);
    told->last = leader->chunk.addr;
    for (size_t i = 0; i < NODES; i++)
        if (told->lost->w->chunks[i].addr == leader->chunk.addr)
            told->is_leader[i] = true;
    told->nr++;
    told->chunks += leader->chunks;
    told->bytes += leader->bytes;
    return CF_OK;
}

static void close_paths(struct lost *lost) {
    for (size_t k = 0; k < NODES; k++)
        for (size_t i = 0; i < NODES; i++)
            for (size_t j = 0; j < NODES && lost->leads[i][k]; j++)
                lost->leads[i][j] |= lost->leads[k][j];
}

/* The first of a component that nothing outside of it leads to. */
static bool is_leader(const struct lost *lost, size_t node) {
    for (size_t i = 0; i < NODES; i++) {
        if (!lost->is_lost[i] || !lost->leads[i][node])
            continue;
        if (!lost->leads[node][i] || i < node)
            return false;
    }
    return lost->is_lost[node];
}

static void check(const struct lost *lost, const struct told *told) {
    uint64_t chunks = 0, bytes = 0;
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(told->is_leader[i], is_leader(lost, i));
        chunks += lost->is_lost[i];
        bytes += lost->is_lost[i] ? lost->w->chunks[i].bytes : 0;
    }
    assert_int_equal(told->chunks, chunks);
    assert_int_equal(told->bytes, bytes);
}

static void add_edges(struct lost *lost, uint32_t *seed) {
    for (size_t i = 0; i < NODES; i++) {
        unsigned nr = next_random(seed) % (EDGES_MAX + 1);
        lost->leads[i][i] = true;
        for (unsigned e = 0; e < nr; e++) {
            size_t to = next_random(seed) % 3 != 0 ? (i + 1 + next_random(seed) % 4) % NODES
                                                   : next_random(seed) % NODES;
            if (next_random(seed) % 2 == 0)
                continue;
            rw_point(lost->w, lost->w->chunks[i].addr, e, lost->w->chunks[to].addr);
            lost->leads[i][to] = true;
        }
    }
}

static void leaders_are_the_first_of_what_nothing_leads_to(void **state) {
    (void)state;
    uint32_t seed = 5;
    size_t nr_leaders = 0, nr_rings = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct lost lost = {.w = rootworld_new(CF_MACHINE_X86_64, NODES, 8 * PAGE)};
        struct told told = {.lost = &lost, .last = UINT64_MAX};
        for (size_t i = 0; i < NODES; i++)
            (void)rw_add(lost.w, 3 + next_random(&seed) % 5);
        add_edges(&lost, &seed);
        size_t held = next_random(&seed) % NODES;
        rw_root(lost.w, CF_ROOT_GLOBAL, 0, lost.w->chunks[held].addr);
        close_paths(&lost);
        for (size_t i = 0; i < NODES; i++)
            lost.is_lost[i] = !lost.leads[held][i];
        rw_mark(lost.w);
        assert_int_equal(cf_leaders_find(NULL, lost.w->reach.mark, &lost.w->reach.links, tell,
                                         &told, NULL),
                         CF_OK);
        check(&lost, &told);
        nr_leaders += told.nr;
        for (size_t i = 0; i < NODES; i++)
            for (size_t j = i + 1; j < NODES && told.is_leader[i]; j++)
                nr_rings += lost.leads[i][j] && lost.leads[j][i];
        rootworld_free(lost.w);
    }
    assert_true(nr_leaders > ROUNDS);
    assert_true(nr_rings > 0);
}

static int find(void *arg, const struct cf_context *ctx, struct cf_err *err) {
    struct rootworld *w = arg;
    struct lost lost = {.w = w};
    struct told told = {.lost = &lost, .last = UINT64_MAX};
    return cf_leaders_find(ctx, w->reach.mark, &w->reach.links, tell, &told, err);
}

static void the_search_for_leaders_ends_when_it_is_told_to(void **state) {
    (void)state;
    struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, NODES, 8 * PAGE);
    for (size_t i = 0; i < NODES; i++)
        (void)rw_add(w, 3);
    for (size_t i = 0; i + 1 < NODES; i++)
        rw_point(w, w->chunks[i].addr, 0, w->chunks[i + 1].addr);
    rw_mark(w);
    rw_cancel_each_time(find, w, 2);
    rootworld_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaders_are_the_first_of_what_nothing_leads_to),
        cmocka_unit_test(the_search_for_leaders_ends_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
