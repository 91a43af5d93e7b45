/*
 * One pass over the vertices with a heap of the CF_RETAINED_MAX that keep the most so far; its top
 * is the first to go.
 */
#include "reach/retained.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum { TICK_VERTICES = 1 << 20 };

static struct cf_numbered chunk_of(const struct cf_dominators *t, struct cf_rank rank) {
    const struct cf_resolver *resolver = t->ranks->resolver;
    struct cf_chunk_number number = cf_ranks_number(t->ranks, rank);
    return cf_resolver_chunk(resolver, cf_resolver_extent_of(resolver, number), number);
}

/* Whether `a` goes before `b`: what keeps more, then the higher one in the tree. */
static bool goes_before(const struct cf_dominators *t, struct cf_vertex a, struct cf_vertex b) {
    uint64_t left = t->rows[a.index].bytes, right = t->rows[b.index].bytes;
    return left != right ? left > right : a.index < b.index;
}

/* A heap whose top goes behind all others of it: the next to be turned out. */
static void sink(const struct cf_dominators *t, struct cf_vertex *heap, size_t nr, size_t at) {
    for (;;) {
        size_t last = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < nr; child++)
            if (goes_before(t, heap[last], heap[child]))
                last = child;
        if (last == at)
            return;
        struct cf_vertex swap = heap[at];
        heap[at] = heap[last];
        heap[last] = swap;
        at = last;
    }
}

/* How many there are; `*cancelled` says that they are not all. */
static size_t choose(const struct cf_context *ctx, const struct cf_dominators *t,
                     struct cf_vertex *heap, bool *cancelled) {
    size_t nr = 0;
    for (struct cf_vertex v = {1}; v.index < t->nr && !*cancelled; v.index++) {
        if (v.index % TICK_VERTICES == 0)
            *cancelled = cf_tick(ctx);
        if (nr == CF_RETAINED_MAX && !goes_before(t, v, heap[0]))
            continue;
        if (!cf_is_ranked(cf_dominators_rank(t, v)))
            continue;
        if (nr < CF_RETAINED_MAX) {
            heap[nr++] = v;
            for (size_t at = nr / 2; nr == CF_RETAINED_MAX && at-- > 0;)
                sink(t, heap, nr, at);
        } else {
            heap[0] = v;
            sink(t, heap, nr, 0);
        }
    }
    return nr;
}

static struct cf_retained_row row_of(const struct cf_dominators *t, struct cf_vertex vertex) {
    struct cf_numbered chunk = chunk_of(t, cf_dominators_rank(t, vertex));
    struct cf_kept_alive kept = cf_dominators_kept(t, vertex);
    struct cf_rank above = cf_dominators_rank(t, cf_dominators_above(t, vertex));
    return (struct cf_retained_row){chunk.addr, chunk.bytes, kept.bytes, kept.chunks,
                                    cf_is_ranked(above) ? chunk_of(t, above).addr : 0};
}

static int compare_rows(const void *a, const void *b) {
    const struct cf_retained_row *left = a, *right = b;
    if (left->retained_bytes != right->retained_bytes)
        return left->retained_bytes > right->retained_bytes ? -1 : 1;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

int cf_retained_find(const struct cf_context *ctx, struct cf_retained *retained,
                     const struct cf_dominators *dominators, struct cf_err *err) {
    CF_CLEANUP_FREE struct cf_vertex *heap = calloc(CF_RETAINED_MAX, sizeof *heap);
    if (heap == NULL)
        return cf_err_nomem(err, CF_RETAINED_MAX * sizeof *heap, "what chunks keep alive");
    bool cancelled = cf_progress(ctx, "choosing what keeps the most", 0, 0);
    size_t nr = choose(ctx, dominators, heap, &cancelled);
    if (cancelled)
        return cf_err_cancelled(err);
    for (size_t i = 0; i < nr; i++) {
        struct cf_retained_row *row = cf_array_push(&retained->rows);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "what chunks keep alive");
        *row = row_of(dominators, heap[i]);
    }
    cf_dominators_drop(dominators);
    if (nr > 1)
        qsort(retained->rows.items, nr, sizeof *retained->rows.items, compare_rows);
    return CF_OK;
}

void cf_retained_fini(struct cf_retained *retained) {
    cf_array_free(&retained->rows);
}
