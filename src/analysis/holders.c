#include "analysis/holders.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/scan.h"
#include "base/context.h"
#include "base/err.h"

enum {
    QUEUE_MAX = 1 << 20,
    SMALL_BYTES = 65536,     /* of a chunk that is read as it stands, absent pages and all */
    DROP_BYTES = 32 << 20,   /* read, then the core's pages are given back */
    FILTER_WORDS = 64,       /* which chunks may be asked ones: a bit by hash */
    PREFETCH_AHEAD = 8,
    RING_ENTRIES = 32,       /* pointers whose planes are being fetched */
};

/* The chunks to go through in one step of the search: by their headers as long as there is room,
 * then as bits of a plane, by their numbers. */
struct frontier {
    uint64_t *addrs;
    size_t len;
    uint64_t *plane; /* made when it is needed first */
    size_t in_plane;
};

/* A pointer that was seen, and where. */
struct candidate {
    uint64_t lowered;
    const struct cf_extent *extent;
    uint32_t from;
};

struct search {
    const struct cf_holders_input *input;
    const struct cf_resolver *resolver;
    struct cf_holders *holders;
    struct cf_parents *parents;
    struct frontier now;
    struct frontier next;
    size_t queue_cap;
    uint32_t from; /* of what is scanned, as cf_parents_set() takes it */
    size_t left;   /* asked chunks that are reached, and not found yet */
    struct candidate ring[RING_ENTRIES];
    unsigned ring_put; /* both run on; [ring_take, ring_put) is in use */
    unsigned ring_take;
    uint64_t read_bytes; /* since pages were given back */
    const uint64_t *plane; /* of the mark */
    uint64_t filter[FILTER_WORDS];
    bool out_of_memory;
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

static size_t filter_bit(size_t number) {
    return (size_t)(number * 0x9e3779b97f4a7c15ull >> 52); /* below 64 * FILTER_WORDS */
}

static void make_filter(struct search *search) {
    for (size_t i = 0; i < search->holders->ways.len; i++) {
        size_t number = cf_resolver_number_at(search->resolver,
                                              search->holders->ways.items[i].addr);
        size_t bit = filter_bit(number);
        if (number != CF_NO_CHUNK)
            search->filter[bit / 64] |= 1ull << (bit & 63);
    }
}

static bool is_asked(const struct search *search, const struct cf_extent *extent, size_t number) {
    size_t bit = filter_bit(number);
    if ((search->filter[bit / 64] >> (bit & 63) & 1) == 0)
        return false;
    return find_way(search->holders,
                    cf_resolver_chunk(search->resolver, extent, number).addr) != NULL;
}

static void push(struct search *search, uint64_t addr, size_t number) {
    struct frontier *next = &search->next;
    if (next->len < search->queue_cap) {
        next->addrs[next->len++] = addr;
        return;
    }
    if (next->plane == NULL)
        next->plane = calloc(search->resolver->nr_numbers / 64 + 2, sizeof *next->plane);
    if (next->plane == NULL) {
        search->out_of_memory = true;
        return;
    }
    next->plane[number >> 6] |= 1ull << (number & 63);
    next->in_plane++;
}

static bool is_live(const struct search *search, const struct cf_extent *extent, size_t number) {
    if (extent->heap == NULL)
        return !extent->mmapped->in_tcache;
    return cf_planes_is_live(search->resolver->planes, extent->heap,
                             number - extent->first_number);
}

/* The pointer that has been on the ring longest: by now its words of the planes have come. Only
 * live chunks lead on; of others the second bit is nobody's. */
static void take_pointer(struct search *search) {
    struct candidate oldest = search->ring[search->ring_take++ % RING_ENTRIES];
    const struct cf_extent *extent = oldest.extent;
    size_t number = cf_resolver_number(search->resolver, extent, oldest.lowered);
    if (number == CF_NO_CHUNK || !cf_mark_take_second(search->input->mark, number) ||
        !is_live(search, extent, number))
        return;
    uint64_t addr = extent->base;
    if (extent->heap != NULL)
        addr += (uint64_t)(number - extent->first_number) << search->resolver->planes->unit_shift;
    cf_parents_set(search->parents, number, oldest.from);
    if (is_asked(search, extent, number))
        search->left--;
    push(search, addr, number);
}

static void empty_ring(struct search *search) {
    while (search->ring_put != search->ring_take)
        take_pointer(search);
}

/* A word that leads to a chunk. First seen is first taken, so that ways stay the shortest. */
static inline void meet(struct search *search, uint64_t lowered) {
    const struct cf_extent *extent = cf_resolver_extent(search->resolver, lowered);
    if (extent == NULL)
        return;
    if (extent->heap != NULL) {
        size_t word = extent->plane_word +
                      (cf_resolver_unit(search->resolver, extent, lowered) >> 6);
        __builtin_prefetch(&search->resolver->planes->starts[word]);
        __builtin_prefetch(&search->resolver->planes->states[word]);
        __builtin_prefetch(&search->plane[word], 1);
    }
    if (search->ring_put - search->ring_take == RING_ENTRIES)
        take_pointer(search);
    search->ring[search->ring_put++ % RING_ENTRIES] =
        (struct candidate){lowered, extent, search->from};
}

static void scan_range(struct search *search, uint64_t start, uint64_t end) {
    struct cf_scan scan = {.mem = search->input->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words))
        CF_SCAN_WORDS(search->resolver, bytes, nr_words, meet, search);
}

static bool is_silent(const struct cf_holders_input *input, uint64_t user) {
    for (size_t low = 0, high = input->nr_silent; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (input->silent[middle] == user)
            return true;
        if (input->silent[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* The core's pages would count as our memory otherwise. */
static void give_back(struct search *search) {
    for (size_t i = 0; i < search->resolver->nr_extents; i++)
        cf_mem_drop(search->input->mem, search->resolver->extents[i].start,
                    search->resolver->extents[i].end);
    search->read_bytes = 0;
}

static void scan_chunk(struct search *search, uint64_t addr) {
    const struct cf_extent *extent = cf_resolver_extent(search->resolver, addr);
    size_t number = extent->first_number;
    if (extent->heap != NULL)
        number += cf_resolver_unit(search->resolver, extent, addr);
    struct cf_numbered chunk = cf_resolver_chunk(search->resolver, extent, number);
    uint64_t user = chunk.addr + 2 * search->resolver->word_bytes;
    if (is_silent(search->input, user))
        return;
    search->from = cf_parents_from_chunk(search->parents, number);
    uint64_t end = cf_resolver_payload_end(search->resolver, extent, chunk.addr, chunk.bytes);
    if (end <= user)
        return;
    if (extent->bytes != NULL && end - user <= SMALL_BYTES)
        CF_SCAN_WORDS(search->resolver, extent->bytes + (user - extent->start),
                      (end - user) / search->resolver->word_bytes, meet, search);
    else
        scan_range(search, user, end);
    search->read_bytes += end - user;
    if (search->read_bytes > DROP_BYTES)
        give_back(search);
}

static void prefetch_chunk(const struct search *search, uint64_t addr) {
    const struct cf_extent *extent = cf_resolver_extent(search->resolver, addr);
    if (extent->bytes != NULL)
        __builtin_prefetch(extent->bytes + (addr - extent->start) +
                           2 * search->resolver->word_bytes);
}

/* One word of a register set at a time: they are the core's bytes, not memory's. */
static void scan_registers(struct search *search, const struct cf_root *root) {
    const struct cf_core *core = cf_mem_core(search->input->mem);
    if (root->thread < 0 || (size_t)root->thread >= cf_core_nr_threads(core))
        return;
    const struct cf_core_thread *thread = cf_core_thread(core, (size_t)root->thread);
    CF_SCAN_WORDS(search->resolver, thread->regs,
                  thread->regs_bytes / search->resolver->word_bytes, meet, search);
}

/* What says most goes first: where ways are equally short, the first root has the chunk. */
static void scan_roots(struct search *search) {
    static const enum cf_root_kind order[CF_NR_ROOT_KINDS] = {
        CF_ROOT_GLOBAL, CF_ROOT_TLS, CF_ROOT_STACK, CF_ROOT_REGISTER, CF_ROOT_MAPPING,
    };
    const struct cf_roots *roots = search->input->roots;
    for (size_t kind = 0; kind < CF_NR_ROOT_KINDS; kind++)
        for (size_t i = 0; i < roots->rows.len; i++) {
            const struct cf_root *root = &roots->rows.items[i];
            if (root->kind != order[kind])
                continue;
            search->from = cf_parents_from_root(i);
            if (root->kind == CF_ROOT_REGISTER)
                scan_registers(search, root);
            else
                scan_range(search, root->start, root->end);
        }
}

static void scan_plane(struct search *search, struct frontier *frontier) {
    size_t words = search->resolver->nr_numbers / 64 + 2;
    for (size_t word = 0; word < words && frontier->in_plane > 0; word++)
        for (uint64_t bits = frontier->plane[word]; bits != 0; bits &= bits - 1) {
            size_t number = (word << 6) + (size_t)__builtin_ctzll(bits);
            const struct cf_extent *extent = cf_resolver_extent_of(search->resolver, number);
            frontier->in_plane--;
            scan_chunk(search, cf_resolver_chunk(search->resolver, extent, number).addr);
        }
    memset(frontier->plane, 0, words * sizeof *frontier->plane);
}

static void scan_list(struct search *search, const struct frontier *frontier) {
    for (size_t i = 0; i < frontier->len; i++) {
        if (i + PREFETCH_AHEAD < frontier->len)
            prefetch_chunk(search, frontier->addrs[i + PREFETCH_AHEAD]);
        scan_chunk(search, frontier->addrs[i]);
    }
}

static void search_all(const struct cf_context *ctx, struct search *search) {
    uint64_t seen = 0;
    scan_roots(search);
    empty_ring(search);
    while ((search->next.len > 0 || search->next.in_plane > 0) &&
           (search->left > 0 || search->input->whole) && !search->out_of_memory) {
        struct frontier swap = search->now;
        search->now = search->next;
        search->next = swap;
        search->next.len = 0;
        seen += search->now.len + search->now.in_plane;
        scan_list(search, &search->now);
        if (search->now.in_plane > 0)
            scan_plane(search, &search->now);
        empty_ring(search);
        cf_progress(ctx, "looking for holders", seen, 0);
    }
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

static uint64_t find_in_range(const struct search *search, uint64_t start, uint64_t end,
                              size_t number) {
    struct cf_scan scan = {.mem = search->input->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        struct target target = {search->resolver, number, UINT64_MAX};
        uint64_t base = scan.addr - nr_words * search->resolver->word_bytes;
        find_word(&target, bytes, nr_words);
        if (target.found != UINT64_MAX)
            return base + target.found * search->resolver->word_bytes;
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
static struct cf_hop chunk_hop(const struct search *search, size_t number, size_t to) {
    const struct cf_extent *extent = cf_resolver_extent_of(search->resolver, number);
    struct cf_numbered chunk = cf_resolver_chunk(search->resolver, extent, number);
    uint64_t user = chunk.addr + 2 * search->resolver->word_bytes;
    struct cf_hop hop = {.addr = chunk.addr};
    if (to == CF_NO_CHUNK)
        return hop;
    uint64_t end = cf_resolver_payload_end(search->resolver, extent, chunk.addr, chunk.bytes);
    hop.offset = find_in_range(search, user, end, to) - user;
    return hop;
}

/* From the chunk back to its root; `hop` counts from the chunk until the way is turned round. */
static bool walk_back(struct search *search, struct cf_way *way) {
    size_t number = cf_resolver_number_at(search->resolver, way->addr);
    size_t root, from, to = CF_NO_CHUNK;
    struct cf_way_end end;
    if (number == CF_NO_CHUNK || !cf_parents_end(search->parents, number, &end))
        return true; /* its length stays 0 */
    way->length = end.nr_chunks + 1;
    for (uint64_t steps = 0; steps < end.nr_chunks && steps + 1 < CF_HOPS_MAX; steps++) {
        struct cf_hop hop = chunk_hop(search, number, to);
        hop.hop = steps;
        if (!keep_hop(way, &hop))
            return false;
        to = number;
        if (!cf_parents_get(search->parents, number, &root, &from) || root != SIZE_MAX)
            break;
        number = from;
    }
    const struct cf_root *row = &search->input->roots->rows.items[end.root];
    struct cf_hop hop = {.root = row, .hop = way->length - 1};
    if (row->kind != CF_ROOT_REGISTER)
        hop.addr = find_in_range(search, row->start, row->end, end.first);
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

static int tell_ways(struct search *search, struct cf_err *err) {
    for (size_t i = 0; i < search->holders->ways.len; i++) {
        if (!walk_back(search, &search->holders->ways.items[i]))
            return cf_err_nomem(err, sizeof(struct cf_hop), "a way to a chunk");
        turn_round(&search->holders->ways.items[i]);
    }
    return CF_OK;
}

/* Those that no root reaches would keep the search going to its end. */
static void count_left(struct search *search) {
    for (size_t i = 0; i < search->holders->ways.len; i++) {
        size_t number = cf_resolver_number_at(search->resolver,
                                              search->holders->ways.items[i].addr);
        const struct cf_extent *extent =
            number != CF_NO_CHUNK ? cf_resolver_extent_of(search->resolver, number) : NULL;
        if (extent != NULL && is_live(search, extent, number) &&
            cf_mark_reached(search->input->mark, number))
            search->left++;
    }
}

static int run(const struct cf_context *ctx, struct search *search, struct cf_err *err) {
    search->now.addrs = calloc(search->queue_cap, sizeof(uint64_t));
    search->next.addrs = calloc(search->queue_cap, sizeof(uint64_t));
    if (search->now.addrs == NULL || search->next.addrs == NULL)
        return cf_err_nomem(err, search->queue_cap * sizeof(uint64_t), "the search for holders");
    int status = cf_parents_new(search->resolver, search->input->roots->rows.len,
                                &search->parents, err);
    if (status != CF_OK)
        return status;
    make_filter(search);
    count_left(search);
    search_all(ctx, search);
    status = search->out_of_memory ? cf_err_nomem(err, 0, "the search for holders")
                                   : tell_ways(search, err);
    give_back(search);
    return status;
}

int cf_holders_find(const struct cf_context *ctx, const struct cf_holders_input *input,
                    struct cf_holders *holders, struct cf_err *err) {
    sort_asked(holders);
    if (holders->ways.len == 0)
        return CF_OK;
    struct search search = {
        .input = input, .resolver = cf_mark_resolver(input->mark), .holders = holders,
        .plane = cf_mark_plane(input->mark),
        .queue_cap = input->queue_cap != 0 ? input->queue_cap : QUEUE_MAX,
    };
    int status = run(ctx, &search, err);
    if (status == CF_OK && input->whole)
        holders->parents = search.parents;
    else
        cf_parents_free(search.parents);
    free(search.now.addrs);
    free(search.next.addrs);
    free(search.now.plane);
    free(search.next.plane);
    return status;
}

int cf_holders_tell(const struct cf_holders_input *input, struct cf_holders *holders,
                    const uint64_t *addrs, size_t nr, struct cf_err *err) {
    struct search search = {
        .input = input, .resolver = cf_mark_resolver(input->mark), .parents = holders->parents,
    };
    struct cf_holders more = {.ways = {0}};
    int status = CF_OK;
    for (size_t i = 0; i < nr && status == CF_OK; i++)
        if (find_way(holders, addrs[i]) == NULL)
            status = cf_holders_ask(&more, addrs[i], err);
    sort_asked(&more);
    search.holders = &more;
    if (status == CF_OK)
        status = tell_ways(&search, err);
    for (size_t i = 0; i < more.ways.len; i++) {
        struct cf_way *way = status == CF_OK ? cf_array_push(&holders->ways) : NULL;
        if (way != NULL)
            *way = more.ways.items[i];
        else
            cf_array_free(&more.ways.items[i].hops);
        if (way == NULL && status == CF_OK)
            status = cf_err_nomem(err, sizeof *way, "a way to a chunk");
    }
    cf_array_free(&more.ways);
    sort_asked(holders);
    return status;
}

void cf_holders_drop_parents(struct cf_holders *holders) {
    cf_parents_free(holders->parents);
    holders->parents = NULL;
}

void cf_holders_fini(struct cf_holders *holders) {
    cf_holders_drop_parents(holders);
    for (size_t i = 0; i < holders->ways.len; i++)
        cf_array_free(&holders->ways.items[i].hops);
    cf_array_free(&holders->ways);
}
