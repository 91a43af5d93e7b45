#include "reach/dominators.h"

#include <stdlib.h>

#include "reach/graph.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum { NR_TABLES = 8, TICK_VERTICES = 65536 };

/*
 * The tables of the algorithm, by vertex. Vertices are gone through from the last to the first;
 * those behind the one at hand are linked into a forest, whose trees are pressed flat as they are
 * asked. `ancestor` begins as the parents.
 */
struct tree {
    const struct cf_graph *graph;
    struct cf_scratch tables;
    struct cf_scratch sums;
    uint32_t *ancestor;
    uint32_t *semi;   /* vertex of the semidominator */
    uint32_t *label;  /* on the path up to the tree's root, the one with the least semidominator */
    uint32_t *dominator;
    uint32_t *bucket; /* by semidominator: the first that waits, 0: none */
    uint32_t *waiting; /* the next that waits */
    uint32_t *path;
    uint32_t *chunks; /* kept alive, the vertex's own counted */
    uint64_t *bytes;
};

/* `v` is linked: its vertex is `linked` or behind it, as are all but the last on its way up. */
static uint32_t evaluate(struct tree *t, uint32_t v, uint32_t linked) {
    size_t nr = 0;
    uint32_t at = v;
    for (; t->ancestor[at] >= linked; at = t->ancestor[at])
        t->path[nr++] = at;
    while (nr-- > 0) {
        uint32_t x = t->path[nr], above = t->ancestor[x];
        if (t->semi[t->label[above]] < t->semi[t->label[x]])
            t->label[x] = t->label[above];
        t->ancestor[x] = t->ancestor[above];
    }
    return t->label[v];
}

static void find_semidominator(struct tree *t, uint32_t w) {
    const struct cf_graph *graph = t->graph;
    uint32_t least = cf_graph_is_rooted(graph, w) ? 0 : graph->parent[w];
    for (uint32_t i = graph->first_pred[w]; i < graph->first_pred[w + 1] && least > 0; i++) {
        uint32_t v = graph->preds[i];
        uint32_t semi = v <= w ? v : t->semi[evaluate(t, v, w + 1)];
        if (semi < least)
            least = semi;
    }
    t->semi[w] = least;
}

/* What waited for the parent of `w`, which was just linked to it. */
static void empty_bucket(struct tree *t, uint32_t parent, uint32_t w) {
    uint32_t v = t->bucket[parent];
    t->bucket[parent] = 0;
    while (v != 0) {
        uint32_t next = t->waiting[v];
        uint32_t u = evaluate(t, v, w);
        t->dominator[v] = t->semi[u] < t->semi[v] ? u : parent;
        v = next;
    }
}

static void find_dominators(const struct cf_context *ctx, struct tree *t) {
    const struct cf_graph *graph = t->graph;
    for (uint32_t v = 0; v < graph->nr; v++) {
        t->label[v] = t->semi[v] = v;
        t->ancestor[v] = v == 0 ? 0 : graph->parent[v];
    }
    for (uint32_t w = graph->nr - 1; w > 0; w--) {
        uint32_t parent = graph->parent[w];
        if (w % TICK_VERTICES == 0)
            cf_progress(ctx, "finding dominators", graph->nr - w, graph->nr);
        find_semidominator(t, w);
        if (t->semi[w] == parent) {
            t->dominator[w] = parent;
        } else {
            t->waiting[w] = t->bucket[t->semi[w]];
            t->bucket[t->semi[w]] = w;
        }
        empty_bucket(t, parent, w);
    }
    for (uint32_t w = 1; w < graph->nr; w++)
        if (t->dominator[w] != t->semi[w])
            t->dominator[w] = t->dominator[t->dominator[w]];
}

static struct cf_numbered chunk_of(const struct tree *t, uint32_t vertex) {
    const struct cf_resolver *resolver = t->graph->resolver;
    size_t number = cf_graph_number(t->graph, vertex);
    return cf_resolver_chunk(resolver, cf_resolver_extent_of(resolver, number), number);
}

/* A dominator has a lower number than what it dominates. */
static void sum_up(struct tree *t) {
    for (uint32_t v = t->graph->nr - 1; v > 0; v--) {
        uint32_t above = t->dominator[v];
        t->bytes[v] += chunk_of(t, v).bytes;
        t->chunks[v]++;
        t->bytes[above] += t->bytes[v];
        t->chunks[above] += t->chunks[v];
    }
}

/* Whether `a` goes before `b`: what keeps more, then what was met first. */
static bool goes_before(const struct tree *t, uint32_t a, uint32_t b) {
    return t->bytes[a] != t->bytes[b] ? t->bytes[a] > t->bytes[b] : a < b;
}

/* A heap whose top goes behind all others of it: the next to be turned out. */
static void sink(const struct tree *t, uint32_t *heap, size_t nr, size_t at) {
    for (;;) {
        size_t last = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < nr; child++)
            if (goes_before(t, heap[last], heap[child]))
                last = child;
        if (last == at)
            return;
        uint32_t swap = heap[at];
        heap[at] = heap[last];
        heap[last] = swap;
        at = last;
    }
}

static int choose(const struct tree *t, struct cf_retained *out, struct cf_err *err) {
    CF_CLEANUP_FREE uint32_t *heap = calloc(CF_RETAINED_MAX, sizeof *heap);
    size_t nr = 0;
    if (heap == NULL)
        return cf_err_nomem(err, CF_RETAINED_MAX * sizeof *heap, "what chunks keep alive");
    for (uint32_t v = 1; v < t->graph->nr; v++) {
        if (nr < CF_RETAINED_MAX) {
            heap[nr++] = v;
            for (size_t at = nr / 2; nr == CF_RETAINED_MAX && at-- > 0;)
                sink(t, heap, nr, at);
        } else if (goes_before(t, v, heap[0])) {
            heap[0] = v;
            sink(t, heap, nr, 0);
        }
    }
    for (size_t i = 0; i < nr; i++) {
        struct cf_retained_row *row = cf_array_push(&out->rows);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "what chunks keep alive");
        struct cf_numbered chunk = chunk_of(t, heap[i]);
        uint32_t above = t->dominator[heap[i]];
        *row = (struct cf_retained_row){chunk.addr, chunk.bytes, t->bytes[heap[i]],
                                        t->chunks[heap[i]],
                                        above == 0 ? 0 : chunk_of(t, above).addr};
    }
    return CF_OK;
}

static int compare_rows(const void *a, const void *b) {
    const struct cf_retained_row *left = a, *right = b;
    if (left->retained_bytes != right->retained_bytes)
        return left->retained_bytes > right->retained_bytes ? -1 : 1;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static int make_tables(struct tree *t, struct cf_err *err) {
    size_t nr = (size_t)t->graph->nr + 1;
    int status = cf_scratch_init(&t->tables, nr * NR_TABLES * sizeof(uint32_t), err);
    if (status == CF_OK)
        status = cf_scratch_init(&t->sums, nr * sizeof(uint64_t), err);
    if (status != CF_OK)
        return status;
    uint32_t **const tables[NR_TABLES] = {&t->ancestor, &t->semi,    &t->label, &t->dominator,
                                          &t->bucket,   &t->waiting, &t->path,  &t->chunks};
    for (size_t i = 0; i < NR_TABLES; i++)
        *tables[i] = (uint32_t *)t->tables.at + i * nr;
    t->bytes = t->sums.at;
    return CF_OK;
}

static int find(const struct cf_context *ctx, struct tree *t, struct cf_retained *out,
                struct cf_err *err) {
    int status = make_tables(t, err);
    if (status != CF_OK)
        return status;
    find_dominators(ctx, t);
    sum_up(t);
    out->chunks = t->chunks[0];
    out->bytes = t->bytes[0];
    status = choose(t, out, err);
    if (status == CF_OK && out->rows.len > 1)
        qsort(out->rows.items, out->rows.len, sizeof *out->rows.items, compare_rows);
    return status;
}

int cf_retained_find(struct cf_retained *retained, const struct cf_context *ctx,
                     const struct cf_mem *mem, const struct cf_reach *reach,
                     struct cf_err *err) {
    CF_CLEANUP(cf_graph_fini) struct cf_graph graph = {0};
    int status = cf_graph_make(&graph, ctx, mem, reach, err);
    if (status != CF_OK)
        return status;
    struct tree t = {.graph = &graph};
    status = find(ctx, &t, retained, err);
    cf_scratch_fini(&t.tables);
    cf_scratch_fini(&t.sums);
    return status;
}

void cf_retained_fini(struct cf_retained *retained) {
    cf_array_free(&retained->rows);
}
