#include "analysis/search.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/ring.h"
#include "analysis/scan.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "core/core.h"
#include "core/thrift.h"

enum {
    QUEUE_MAX = 1 << 20,
    FIRST_AHEAD = 24,    /* of a list: whose place in the links is fetched */
    LINKS_AHEAD = 12,    /* whose links are */
};

/* The chunks to go through in one step: ranks in the order of their finding as long as there is
 * room, then bits of a plane. */
struct frontier {
    uint32_t *ranks;
    size_t len;
    uint64_t *plane; /* made when it is needed first */
    size_t in_plane;
};

struct search {
    const struct cf_search_input *input;
    const uint32_t *first;
    const uint32_t *to;
    uint64_t *reached;
    struct cf_parents *parents; /* or NULL */
    struct frontier now;
    struct frontier next;
    size_t queue_cap;
    uint32_t root; /* that is read, as cf_parents_set() takes it */
    struct cf_ring ring;
    bool out_of_memory;
};

static void push_to_plane(struct search *s, size_t rank) {
    struct frontier *next = &s->next;
    if (next->plane == NULL)
        next->plane = calloc(cf_search_words(s->input->links->ranks), sizeof *next->plane);
    if (next->plane == NULL) {
        s->out_of_memory = true;
        return;
    }
    next->plane[rank / 64] |= 1ull << (rank & 63);
    next->in_plane++;
}

/* First seen is first taken, so that ways stay the shortest. */
static inline void reach(struct search *s, size_t rank, uint32_t from) {
    uint64_t *word = &s->reached[rank / 64], bit = 1ull << (rank & 63);
    if (*word & bit)
        return;
    *word |= bit;
    if (s->parents != NULL)
        cf_parents_set(s->parents, rank, from);
    if (s->next.len < s->queue_cap)
        s->next.ranks[s->next.len++] = (uint32_t)rank;
    else
        push_to_plane(s, rank);
}

static inline void reach_from_root(void *arg, size_t from, size_t rank) {
    reach(arg, rank, (uint32_t)from);
}

static inline void meet(struct search *s, uint64_t lowered) {
    cf_ring_put(&s->ring, lowered, s->root, reach_from_root, s);
}

static void read_range(struct search *s, uint64_t start, uint64_t end) {
    struct cf_scan scan = {.mem = s->input->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words))
        CF_SCAN_WORDS(s->ring.ranks->resolver, bytes, nr_words, meet, s);
    cf_mem_drop(s->input->mem, start, end);
}

/* One word of a register set at a time: they are the core's bytes, not memory's. */
static void read_registers(struct search *s, const struct cf_root *root) {
    const struct cf_core *core = cf_mem_core(s->input->mem);
    const struct cf_resolver *resolver = s->ring.ranks->resolver;
    if (root->thread < 0 || (size_t)root->thread >= cf_core_nr_threads(core))
        return;
    const struct cf_core_thread *thread = cf_core_thread(core, (size_t)root->thread);
    CF_SCAN_WORDS(resolver, thread->regs, thread->regs_bytes / resolver->word_bytes, meet, s);
}

/* What says most goes first: where ways are equally short, the first root has the chunk. */
static void read_roots(const struct cf_context *ctx, struct search *s) {
    static const enum cf_root_kind order[CF_NR_ROOT_KINDS] = {
        CF_ROOT_GLOBAL, CF_ROOT_TLS, CF_ROOT_STACK, CF_ROOT_REGISTER, CF_ROOT_MAPPING,
    };
    const struct cf_core *core = cf_mem_core(s->input->mem);
    struct cf_thrift thrift = cf_thrift_make(core, cf_core_file_bytes(core), 1);
    for (size_t kind = 0; kind < CF_NR_ROOT_KINDS; kind++)
        for (size_t i = 0; i < s->input->nr_roots; i++) {
            const struct cf_root *root = &s->input->roots[i];
            if (root->kind != order[kind])
                continue;
            cf_thrift_step(&thrift);
            cf_progress(ctx, "roots", i, s->input->nr_roots);
            s->root = cf_parents_from_root(i);
            if (root->kind == CF_ROOT_REGISTER)
                read_registers(s, root);
            else
                read_range(s, root->start, root->end);
        }
    cf_ring_empty(&s->ring, reach_from_root, s);
}

static inline void follow(struct search *s, size_t rank) {
    uint32_t from = cf_parents_from_chunk(rank);
    for (uint32_t i = s->first[rank]; i < s->first[rank + 1]; i++)
        reach(s, s->to[i], from);
}

static void follow_list(struct search *s, const struct frontier *now) {
    for (size_t i = 0; i < now->len; i++) {
        if (i + FIRST_AHEAD < now->len)
            __builtin_prefetch(&s->first[now->ranks[i + FIRST_AHEAD]]);
        if (i + LINKS_AHEAD < now->len)
            __builtin_prefetch(&s->to[s->first[now->ranks[i + LINKS_AHEAD]]]);
        follow(s, now->ranks[i]);
    }
}

static void follow_plane(struct search *s, struct frontier *now) {
    size_t words = cf_search_words(s->input->links->ranks);
    for (size_t word = 0; word < words && now->in_plane > 0; word++) {
        for (uint64_t bits = now->plane[word]; bits != 0; bits &= bits - 1, now->in_plane--)
            follow(s, word * 64 + (size_t)__builtin_ctzll(bits));
        now->plane[word] = 0;
    }
}

static void follow_all(const struct cf_context *ctx, struct search *s) {
    uint64_t seen = 0;
    while ((s->next.len > 0 || s->next.in_plane > 0) && !s->out_of_memory) {
        struct frontier swap = s->now;
        s->now = s->next;
        s->next = swap;
        s->next.len = 0;
        seen += s->now.len + s->now.in_plane;
        cf_progress(ctx, "following pointers", seen, s->input->links->ranks->nr);
        follow_list(s, &s->now);
        if (s->now.in_plane > 0)
            follow_plane(s, &s->now);
    }
}

int cf_search_run(const struct cf_context *ctx, const struct cf_search_input *input,
                  uint64_t *reached, struct cf_parents *parents, struct cf_err *err) {
    size_t cap = input->queue_cap != 0 ? input->queue_cap : QUEUE_MAX;
    CF_CLEANUP_FREE uint32_t *now = calloc(cap, sizeof *now);
    CF_CLEANUP_FREE uint32_t *next = calloc(cap, sizeof *next);
    if (now == NULL || next == NULL)
        return cf_err_nomem(err, cap * sizeof *now, "the search from the roots");
    struct search s = {
        .input = input, .first = input->links->first, .to = input->links->to, .reached = reached,
        .parents = parents, .queue_cap = cap, .ring = {.ranks = input->links->ranks},
        .now = {.ranks = now}, .next = {.ranks = next},
    };
    read_roots(ctx, &s);
    follow_all(ctx, &s);
    free(s.now.plane);
    free(s.next.plane);
    return s.out_of_memory ? cf_err_nomem(err, 0, "the search from the roots") : CF_OK;
}
