#include "reach/graph.h"

#include <stdlib.h>
#include <string.h>

#include "reach/scan.h"
#include "base/context.h"
#include "base/err.h"
#include "core/core.h"

enum {
    SMALL_BYTES = 65536,    /* of a chunk that is read as it stands, absent pages and all */
    NR_TABLES = 5,
    TICK_VERTICES = 65536,
    DROP_BYTES = 32 << 20,  /* read, then the core's pages are given back */
};

static const size_t CHUNKS_MAX = (1u << 31) - 2;

/* What is being built. `next` is the word of a chunk to look at next; while a vertex is on the path
 * from the roots to the one at hand, its parent is the entry below it on the stack. */
struct builder {
    struct cf_graph *graph;
    const struct cf_reach *reach;
    const struct cf_context *ctx;
    uint32_t *parent;
    uint32_t *next;
    uint32_t *counts; /* predecessors of each vertex, then where they begin */
    uint64_t nr_edges;
    uint64_t read_bytes;
};

/* A chunk's words that may be pointers. */
struct words {
    const struct cf_extent *extent;
    uint64_t user;
    uint64_t nr;
};

static bool is_pointerless(const struct cf_reach *reach, uint64_t user) {
    for (size_t low = 0, high = reach->nr_pointerless; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (reach->pointerless[middle] == user)
            return true;
        if (reach->pointerless[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static struct words words_of(const struct builder *b, uint32_t vertex) {
    const struct cf_resolver *resolver = b->graph->resolver;
    size_t number = cf_graph_number(b->graph, vertex);
    struct words words = {.extent = cf_resolver_extent_of(resolver, number)};
    struct cf_numbered chunk = cf_resolver_chunk(resolver, words.extent, number);
    words.user = chunk.addr + 2 * resolver->word_bytes;
    uint64_t end = cf_resolver_payload_end(resolver, words.extent, chunk.addr, chunk.bytes);
    if (end > words.user && !is_pointerless(b->reach, words.user))
        words.nr = (end - words.user) / resolver->word_bytes;
    return words;
}

/* The live chunk that a word leads to; CF_NO_CHUNK: none. */
static size_t live_target(const struct cf_resolver *resolver, const unsigned char *at) {
    uint64_t word = 0;
    memcpy(&word, at, resolver->word_bytes);
    uint64_t lowered = cf_resolver_lowered(resolver, word);
    if (!cf_resolver_in_span(resolver, lowered))
        return CF_NO_CHUNK;
    const struct cf_extent *extent = cf_resolver_extent(resolver, lowered);
    size_t number = extent == NULL ? CF_NO_CHUNK : cf_resolver_number(resolver, extent, lowered);
    if (number == CF_NO_CHUNK)
        return CF_NO_CHUNK;
    bool is_live = extent->heap != NULL
                       ? cf_planes_is_live(resolver->planes, extent->heap,
                                           number - extent->first_number)
                       : !extent->mmapped->in_tcache;
    return is_live ? number : CF_NO_CHUNK;
}

/* From word `*index` on, the next that leads to a live chunk; `*index` then stands behind it. */
static size_t next_target(const struct builder *b, const struct words *words, uint64_t *index) {
    const struct cf_resolver *resolver = b->graph->resolver;
    unsigned w = resolver->word_bytes;
    if (words->extent->bytes != NULL && words->nr * w <= SMALL_BYTES) {
        const unsigned char *at = words->extent->bytes + (words->user - words->extent->start);
        while (*index < words->nr) {
            size_t number = live_target(resolver, at + (*index)++ * w);
            if (number != CF_NO_CHUNK)
                return number;
        }
        return CF_NO_CHUNK;
    }
    struct cf_scan scan = {.mem = b->graph->mem, .addr = words->user + *index * w,
                           .end = words->user + words->nr * w};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        uint64_t first = (scan.addr - words->user) / w - nr_words;
        for (size_t i = 0; i < nr_words; i++) {
            size_t number = live_target(resolver, bytes + i * w);
            *index = first + i + 1;
            if (number != CF_NO_CHUNK)
                return number;
        }
    }
    *index = words->nr;
    return CF_NO_CHUNK;
}

static void give_back(struct builder *b, uint64_t bytes) {
    b->read_bytes += bytes;
    if (b->read_bytes < DROP_BYTES)
        return;
    const struct cf_core *core = cf_mem_core(b->graph->mem);
    cf_core_drop(core, 0, cf_core_file_bytes(core));
    b->read_bytes = 0;
}

/* Numbers a chunk that was not seen before; 0 when it was. */
static uint32_t discover(struct builder *b, size_t rank, uint32_t parent) {
    struct cf_graph *graph = b->graph;
    if (graph->vertices[rank] != 0)
        return 0;
    uint32_t vertex = graph->nr++;
    graph->vertices[rank] = vertex;
    graph->ranked[vertex] = (uint32_t)rank;
    b->parent[vertex] = parent;
    if (vertex % TICK_VERTICES == 0)
        cf_progress(b->ctx, "following pointers", vertex, graph->ranks.nr);
    return vertex;
}

/* Depth first from `first`, which was just discovered. The path back is the parents'. */
static int descend(struct builder *b, uint32_t first, struct cf_err *err) {
    uint32_t at = first;
    for (;;) {
        struct words words = words_of(b, at);
        if (words.nr >= UINT32_MAX)
            return cf_err_set(err, CF_EUSAGE, "a chunk with more words than can be numbered");
        uint64_t index = b->next[at];
        uint32_t found = 0;
        while (found == 0) {
            size_t number = next_target(b, &words, &index);
            if (number == CF_NO_CHUNK)
                break;
            size_t rank = cf_ranks_of(&b->graph->ranks, number);
            found = discover(b, rank, at);
            uint32_t vertex = b->graph->vertices[rank];
            if (vertex != at) {
                b->counts[vertex]++;
                b->nr_edges++;
            }
        }
        b->next[at] = (uint32_t)index;
        if (found != 0) {
            at = found;
            continue;
        }
        give_back(b, words.nr * b->graph->resolver->word_bytes);
        if (at == first)
            return CF_OK;
        at = b->parent[at];
    }
}

static int take_root_words(struct builder *b, const unsigned char *bytes, size_t nr_words,
                           struct cf_err *err) {
    unsigned w = b->graph->resolver->word_bytes;
    int status = CF_OK;
    for (size_t i = 0; i < nr_words && status == CF_OK; i++) {
        size_t number = live_target(b->graph->resolver, bytes + i * w);
        if (number == CF_NO_CHUNK)
            continue;
        size_t rank = cf_ranks_of(&b->graph->ranks, number);
        b->graph->rooted[rank / 64] |= 1ull << (rank & 63);
        uint32_t vertex = discover(b, rank, 0);
        if (vertex != 0)
            status = descend(b, vertex, err);
    }
    return status;
}

static int search(struct builder *b, struct cf_err *err) {
    const struct cf_roots *roots = &b->reach->roots;
    const struct cf_core *core = cf_mem_core(b->graph->mem);
    int status = CF_OK;
    for (size_t i = 0; i < roots->rows.len && status == CF_OK; i++) {
        const struct cf_root *root = &roots->rows.items[i];
        const unsigned char *bytes;
        size_t nr_words;
        if (root->kind == CF_ROOT_REGISTER) {
            if (root->thread < 0 || (size_t)root->thread >= cf_core_nr_threads(core))
                continue;
            const struct cf_core_thread *thread = cf_core_thread(core, (size_t)root->thread);
            status = take_root_words(b, thread->regs,
                                     thread->regs_bytes / b->graph->resolver->word_bytes, err);
            continue;
        }
        struct cf_scan scan = {.mem = b->graph->mem, .addr = root->start, .end = root->end};
        while (status == CF_OK && cf_scan_next(&scan, &bytes, &nr_words))
            status = take_root_words(b, bytes, nr_words, err);
    }
    return status;
}

/* Counts become places, which move down to the first of each vertex as its predecessors come. */
static int list_preds(struct builder *b, struct cf_err *err) {
    struct cf_graph *graph = b->graph;
    if (b->nr_edges >= UINT32_MAX)
        return cf_err_set(err, CF_EUSAGE, "more pointers than can be numbered");
    int status = cf_scratch_init(&graph->edges, (b->nr_edges + 1) * sizeof(uint32_t), err);
    if (status != CF_OK)
        return status;
    uint32_t *preds = graph->edges.at, sum = 0;
    for (uint32_t v = 0; v < graph->nr; v++)
        b->counts[v] = sum += b->counts[v];
    b->counts[graph->nr] = sum;
    for (uint32_t v = 1; v < graph->nr; v++) {
        struct words words = words_of(b, v);
        uint64_t index = 0;
        size_t number;
        while ((number = next_target(b, &words, &index)) != CF_NO_CHUNK) {
            uint32_t to = graph->vertices[cf_ranks_of(&graph->ranks, number)];
            if (to != v)
                preds[--b->counts[to]] = v;
        }
        give_back(b, words.nr * graph->resolver->word_bytes);
    }
    graph->preds = preds;
    graph->first_pred = b->counts;
    return CF_OK;
}

int cf_graph_make(struct cf_graph *graph, const struct cf_context *ctx, const struct cf_mem *mem,
                  const struct cf_reach *reach, struct cf_err *err) {
    struct builder b = {.graph = graph, .reach = reach, .ctx = ctx};
    graph->resolver = cf_mark_resolver(reach->mark);
    graph->mem = mem;
    int status = cf_ranks_init(&graph->ranks, graph->resolver, err);
    if (status != CF_OK)
        return status;
    if (graph->ranks.nr > CHUNKS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more chunks than can be numbered");
    size_t room = graph->ranks.nr + 2;
    graph->rooted = calloc(room / 64 + 1, sizeof *graph->rooted);
    if (graph->rooted == NULL)
        return cf_err_nomem(err, room / 8, "the bits of roots");
    status = cf_scratch_init(&graph->tables, room * NR_TABLES * sizeof(uint32_t), err);
    if (status != CF_OK)
        return status;
    graph->ranked = graph->tables.at;
    graph->vertices = graph->ranked + room;
    b.parent = graph->vertices + room;
    b.next = b.parent + room;
    b.counts = b.next + room;
    graph->parent = b.parent;
    graph->nr = 1;
    status = search(&b, err);
    return status == CF_OK ? list_preds(&b, err) : status;
}

void cf_graph_fini(struct cf_graph *graph) {
    cf_scratch_fini(&graph->tables);
    cf_scratch_fini(&graph->edges);
    cf_ranks_fini(&graph->ranks);
    free(graph->rooted);
    memset(graph, 0, sizeof *graph);
}

size_t cf_graph_number(const struct cf_graph *graph, uint32_t vertex) {
    return cf_ranks_number(&graph->ranks, graph->ranked[vertex]);
}

bool cf_graph_is_rooted(const struct cf_graph *graph, uint32_t vertex) {
    uint32_t rank = graph->ranked[vertex];
    return graph->rooted[rank / 64] >> (rank & 63) & 1;
}
