#include "analysis/holders.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/scan.h"
#include "base/err.h"

struct telling {
    const struct cf_mem *mem;
    const struct cf_reach *reach;
    const struct cf_resolver *resolver;
};

int cf_holders_ask(struct cf_holders *holders, uint64_t addr, struct cf_err *err) {
    struct cf_way *way = cf_array_push(&holders->ways);
    if (way == NULL)
        return cf_err_nomem(err, sizeof *way, "a way to a chunk");
    way->addr = addr;
    return CF_OK;
}

static int compare_ways(const void *a, const void *b) {
    const struct cf_way *left = a, *right = b;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static struct cf_way *find_way(const struct cf_holders *holders, uint64_t addr) {
    size_t low = 0, high = holders->ways.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (holders->ways.items[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == holders->ways.len || holders->ways.items[low].addr != addr)
        return NULL;
    return &holders->ways.items[low];
}

const struct cf_way *cf_holders_way(const struct cf_holders *holders, uint64_t addr) {
    return find_way(holders, addr);
}

static void sort_asked(struct cf_holders *holders) {
    if (holders->ways.len == 0)
        return;
    qsort(holders->ways.items, holders->ways.len, sizeof *holders->ways.items, compare_ways);
    size_t kept = 1;
    for (size_t i = 1; i < holders->ways.len; i++)
        if (holders->ways.items[i].addr != holders->ways.items[kept - 1].addr)
            holders->ways.items[kept++] = holders->ways.items[i];
    holders->ways.len = kept;
}

struct target {
    const struct cf_resolver *resolver;
    size_t number;
    uint64_t found; /* index of the word, or UINT64_MAX */
};

/* Which word of `bytes` leads to the target. */
static void find_word(struct target *target, const unsigned char *bytes, size_t nr_words) {
    unsigned w = target->resolver->word_bytes;
    for (size_t i = 0; i < nr_words && target->found == UINT64_MAX; i++) {
        uint64_t word = 0;
        memcpy(&word, bytes + i * w, w);
        if (cf_resolver_target(target->resolver, word) == target->number)
            target->found = i;
    }
}

static uint64_t find_in_range(const struct telling *telling, uint64_t start, uint64_t end,
                              size_t number) {
    struct cf_scan scan = {.mem = telling->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        struct target target = {telling->resolver, number, UINT64_MAX};
        uint64_t base = scan.addr - nr_words * telling->resolver->word_bytes;
        find_word(&target, bytes, nr_words);
        if (target.found != UINT64_MAX)
            return base + target.found * telling->resolver->word_bytes;
    }
    return 0;
}

static bool keep_hop(struct cf_way *way, const struct cf_hop *hop) {
    struct cf_hop *slot = cf_array_push(&way->hops);
    if (slot != NULL)
        *slot = *hop;
    return slot != NULL;
}

/* The chunk's hop; its pointer to the one behind it, which is `to`. */
static struct cf_hop chunk_hop(const struct telling *telling, size_t number, size_t to) {
    const struct cf_resolver *resolver = telling->resolver;
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    uint64_t user = chunk.addr + 2 * resolver->word_bytes;
    struct cf_hop hop = {.addr = chunk.addr};
    if (to == CF_NO_CHUNK)
        return hop;
    uint64_t end = cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes);
    hop.offset = find_in_range(telling, user, end, to) - user;
    return hop;
}

/* From the chunk back to its root; `hop` counts from the chunk until the way is turned round. */
static bool walk_back(const struct telling *telling, struct cf_way *way) {
    struct cf_parents *parents = telling->reach->parents;
    size_t number = cf_resolver_number_at(telling->resolver, way->addr);
    size_t rank = number == CF_NO_CHUNK ? CF_NO_CHUNK
                                        : cf_ranks_of(&telling->reach->ranks, number);
    size_t root, from, to = CF_NO_CHUNK;
    struct cf_way_end end;
    if (rank == CF_NO_CHUNK || !cf_parents_end(parents, rank, &end))
        return true; /* its length stays 0 */
    way->length = end.nr_chunks + 1;
    for (uint64_t steps = 0; steps < end.nr_chunks && steps + 1 < CF_HOPS_MAX; steps++) {
        struct cf_hop hop = chunk_hop(telling, number, to);
        hop.hop = steps;
        if (!keep_hop(way, &hop))
            return false;
        to = number;
        if (!cf_parents_get(parents, rank, &root, &from) || root != SIZE_MAX)
            break;
        rank = from;
        number = cf_ranks_number(&telling->reach->ranks, rank);
    }
    const struct cf_root *row = &telling->reach->roots.rows.items[end.root];
    struct cf_hop hop = {.root = row, .hop = way->length - 1};
    if (row->kind != CF_ROOT_REGISTER)
        hop.addr = find_in_range(telling, row->start, row->end,
                                 cf_ranks_number(&telling->reach->ranks, end.first));
    return keep_hop(way, &hop);
}

static void turn_round(struct cf_way *way) {
    size_t len = way->hops.len;
    for (size_t i = 0; i < len / 2; i++) {
        struct cf_hop swap = way->hops.items[i];
        way->hops.items[i] = way->hops.items[len - 1 - i];
        way->hops.items[len - 1 - i] = swap;
    }
    for (size_t i = 0; i < len; i++)
        way->hops.items[i].hop = way->length - 1 - way->hops.items[i].hop;
}

/* The core's pages would count as our memory otherwise. */
static void give_back(const struct telling *telling) {
    for (size_t i = 0; i < telling->resolver->nr_extents; i++)
        cf_mem_drop(telling->mem, telling->resolver->extents[i].start,
                    telling->resolver->extents[i].end);
}

int cf_holders_find(struct cf_holders *holders, const struct cf_mem *mem,
                    const struct cf_reach *reach, struct cf_err *err) {
    const struct telling telling = {mem, reach, cf_mark_resolver(reach->mark)};
    sort_asked(holders);
    for (size_t i = 0; i < holders->ways.len && reach->parents != NULL; i++) {
        if (!walk_back(&telling, &holders->ways.items[i]))
            return cf_err_nomem(err, sizeof(struct cf_hop), "a way to a chunk");
        turn_round(&holders->ways.items[i]);
    }
    if (holders->ways.len > 0)
        give_back(&telling);
    return CF_OK;
}

void cf_holders_fini(struct cf_holders *holders) {
    for (size_t i = 0; i < holders->ways.len; i++)
        cf_array_free(&holders->ways.items[i].hops);
    cf_array_free(&holders->ways);
}
