/*
 * All asked chunks are looked for in one pass over the paths' positions. Each path is then walked
 * back to its root; of a long one the hops nearest to the chunk are kept. Which word of a chunk
 * leads on, only its bytes say: they are read again, for these few.
 */
#include "holders/holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/scan.h"

enum { RESIDENT_MAX = 64 << 20 }; /* then pages are given back */

struct telling {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_reach *reach;
    const struct cf_resolver *resolver;
};

int cf_holders_ask(struct cf_holders *holders, uint64_t addr, struct cf_err *err) {
    struct cf_path *path = cf_array_push(&holders->paths);
    if (path == NULL)
        return cf_err_nomem(err, sizeof *path, "a path to a chunk");
    path->addr = addr;
    return CF_OK;
}

static int compare_paths(const void *a, const void *b) {
    const struct cf_path *left = a, *right = b;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static void sort_asked(struct cf_holders *holders) {
    if (holders->paths.len == 0)
        return;
    qsort(holders->paths.items, holders->paths.len, sizeof *holders->paths.items, compare_paths);
    size_t kept = 1;
    for (size_t i = 1; i < holders->paths.len; i++)
        if (holders->paths.items[i].addr != holders->paths.items[kept - 1].addr)
            holders->paths.items[kept++] = holders->paths.items[i];
    holders->paths.len = kept;
}

struct target {
    const struct cf_resolver *resolver;
    struct cf_chunk_number number;
    uint64_t found; /* index of the word, or UINT64_MAX */
};

/* Which word of `bytes` leads to the target. */
static void find_word(struct target *target, const unsigned char *bytes, size_t nr_words) {
    unsigned w = target->resolver->word_bytes;
    for (size_t i = 0; i < nr_words && target->found == UINT64_MAX; i++) {
        uint64_t word = 0;
        memcpy(&word, bytes + i * w, w);
        if (cf_resolver_target(target->resolver, word).index == target->number.index)
            target->found = i;
    }
}

/* 0: it is not there, or cancelled. */
static uint64_t find_in_range(const struct telling *telling, uint64_t start, uint64_t end,
                              struct cf_chunk_number number) {
    struct cf_scan scan = {.mem = telling->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        struct target target = {telling->resolver, number, UINT64_MAX};
        uint64_t base = scan.addr - nr_words * telling->resolver->word_bytes;
        find_word(&target, bytes, nr_words);
        if (cf_tick(telling->ctx))
            return 0;
        if (target.found != UINT64_MAX)
            return base + target.found * telling->resolver->word_bytes;
    }
    return 0;
}

static bool keep_hop(struct cf_path *path, const struct cf_hop *hop) {
    struct cf_hop *slot = cf_array_push(&path->hops);
    if (slot != NULL)
        *slot = *hop;
    return slot != NULL;
}

/* The chunk's hop; its pointer to the one behind it, which is `to`. */
static struct cf_hop chunk_hop(const struct telling *telling, struct cf_chunk_number number,
                               struct cf_chunk_number to) {
    const struct cf_resolver *resolver = telling->resolver;
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    uint64_t user = chunk.addr + 2 * resolver->word_bytes;
    struct cf_hop hop = {.addr = chunk.addr};
    if (!cf_is_chunk(to))
        return hop;
    uint64_t end = cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes);
    hop.offset = find_in_range(telling, user, end, to) - user;
    return hop;
}

/* From the chunk back to its root; `hop` counts from the chunk until the path is turned round. */
static int walk_back(const struct telling *telling, struct cf_path *path,
                     struct cf_position position, struct cf_err *err) {
    const struct cf_ranks *ranks = &telling->reach->ranks;
    struct cf_paths *paths = telling->reach->paths;
    struct cf_path_end end;
    struct cf_chunk_number to = CF_NO_CHUNK;
    int status = cf_paths_end(telling->ctx, paths, position, &end, err);
    if (status != CF_OK)
        return status;
    path->length = end.nr_chunks + 1;
    for (uint64_t steps = 0; cf_is_position(position) && steps + 1 < CF_HOPS_MAX; steps++) {
        struct cf_chunk_number number = cf_ranks_number(ranks, cf_paths_rank(paths, position));
        struct cf_hop hop = chunk_hop(telling, number, to);
        hop.hop = steps;
        if (cf_tick(telling->ctx))
            return cf_err_cancelled(err);
        if (!keep_hop(path, &hop))
            return cf_err_nomem(err, sizeof hop, "a path to a chunk");
        to = number;
        position = cf_paths_before(paths, position);
    }
    const struct cf_root *row = &telling->reach->roots.rows.items[end.root];
    struct cf_hop hop = {.root = row, .hop = path->length - 1};
    if (row->kind != CF_ROOT_REGISTER)
        hop.addr = find_in_range(telling, row->start, row->end,
                                 cf_ranks_number(ranks, cf_paths_rank(paths, end.first)));
    return keep_hop(path, &hop) ? CF_OK : cf_err_nomem(err, sizeof hop, "a path to a chunk");
}

static void turn_round(struct cf_path *path) {
    size_t len = path->hops.len;
    for (size_t i = 0; i < len / 2; i++) {
        struct cf_hop swap = path->hops.items[i];
        path->hops.items[i] = path->hops.items[len - 1 - i];
        path->hops.items[len - 1 - i] = swap;
    }
    for (size_t i = 0; i < len; i++)
        path->hops.items[i].hop = path->length - 1 - path->hops.items[i].hop;
}

/* The pages of the core and of the paths would count as our memory otherwise. */
static void give_back(const struct telling *telling) {
    cf_paths_drop(telling->reach->paths);
    for (size_t i = 0; i < telling->resolver->nr_extents; i++)
        cf_mem_drop(telling->mem, telling->resolver->extents[i].start,
                    telling->resolver->extents[i].end);
}

/* Ranks grow with addresses but for mmapped chunks, which stand behind. */
static int compare_ranks(const void *a, const void *b) {
    size_t left = ((const struct cf_rank *)a)->index, right = ((const struct cf_rank *)b)->index;
    return left < right ? -1 : left > right;
}

static struct cf_rank rank_of(const struct telling *telling, uint64_t addr) {
    struct cf_chunk_number number = cf_resolver_number_at(telling->resolver, addr);
    return cf_is_chunk(number) ? cf_ranks_of(&telling->reach->ranks, number) : CF_NO_RANK;
}

/* `ranks` and `positions` have room for one a path. */
static int tell_paths(const struct telling *telling, struct cf_holders *holders,
                      struct cf_rank *ranks, struct cf_position *positions,
                      struct cf_err *err) {
    size_t nr = holders->paths.len;
    for (size_t i = 0; i < nr; i++)
        ranks[i] = rank_of(telling, holders->paths.items[i].addr);
    qsort(ranks, nr, sizeof *ranks, compare_ranks);
    int status = cf_paths_find(telling->ctx, telling->reach->paths, ranks, nr, positions, err);
    for (size_t i = 0; i < nr && status == CF_OK; i++) {
        struct cf_path *path = &holders->paths.items[i];
        struct cf_rank rank = rank_of(telling, path->addr);
        const struct cf_rank *at = bsearch(&rank, ranks, nr, sizeof *ranks, compare_ranks);
        if (!cf_is_ranked(rank) || at == NULL || !cf_is_position(positions[at - ranks]))
            continue; /* its length stays 0 */
        status = walk_back(telling, path, positions[at - ranks], err);
        turn_round(path);
        if (cf_resident_file_bytes() > RESIDENT_MAX)
            give_back(telling);
    }
    return status;
}

int cf_holders_find(const struct cf_context *ctx, struct cf_holders *holders,
                    const struct cf_mem *mem, const struct cf_reach *reach, struct cf_err *err) {
    const struct telling telling = {ctx, mem, reach, cf_mark_resolver(reach->mark)};
    sort_asked(holders);
    if (holders->paths.len == 0 || reach->paths == NULL)
        return CF_OK;
    size_t nr = holders->paths.len;
    CF_CLEANUP_FREE struct cf_rank *ranks = calloc(nr, sizeof *ranks);
    CF_CLEANUP_FREE struct cf_position *positions = calloc(nr, sizeof *positions);
    if (ranks == NULL || positions == NULL)
        return cf_err_nomem(err, 2 * nr * sizeof *ranks, "the paths to chunks");
    int status = tell_paths(&telling, holders, ranks, positions, err);
    give_back(&telling);
    return status;
}

void cf_holders_fini(struct cf_holders *holders) {
    for (size_t i = 0; i < holders->paths.len; i++)
        cf_array_free(&holders->paths.items[i].hops);
    cf_array_free(&holders->paths);
}
