/*
 * What each thread's static TLS says: libc's `thread_arena` and `tcache`. Their distance from the
 * thread pointer is one constant in a process (variant I above it on aarch64, variant II below it
 * on x86), so a place counts only if it makes sense in every thread: a word that is an arena (or a
 * tcache) in some and never anything else.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "core/core.h"
#include "core/drop.h"
#include "libc/found.h"

#include <stdlib.h>

enum {
    NEAR_BYTES = 4 << 10,
    FAR_BYTES = 64 << 10, /* a program with much TLS of its own pushes libc's away */
    LIBC_TLS_BYTES = 256, /* libc's own variables stand together */
    BROKEN_LISTS_MAX = 2, /* of a cache that has no other */
    SAMPLE_THREADS = 256,
    MATCH = 4,
    WEAK_MATCH = 1,
    NO_MATCH = -1,
};

/* How a word fits: MATCH, WEAK_MATCH, 0 (says nothing) or NO_MATCH. */
typedef int judge_word(const struct cf_malloc *m, uint64_t value);

struct offset_score {
    uint64_t first; /* the first match: two threads never share one tcache */
    uint32_t matches;
    uint32_t score;
    uint32_t bad;
};

/* Offsets are those of the words [from, to) from the thread pointer. */
struct tls_search {
    int64_t from;
    int64_t to;
    judge_word *judge;
    bool distinct;
    bool has_goal; /* among equals, the offset nearest to `goal` */
    int64_t goal;
};

static int judge_arena(const struct cf_malloc *m, uint64_t value) {
    if (value == 0)
        return 0;
    const struct cf_arena_ref *arena = cf_arenas_lookup(m, value);
    return arena != NULL && arena->ns == 0 ? MATCH : NO_MATCH;
}

static bool is_of_tcache_size(const struct cf_malloc *m, uint64_t value, uint64_t *out) {
    return value % m->alignment == 0 && value >= 2 * m->word &&
           cf_chunk_size_at(m, value - 2 * m->word, out) && cf_tcache_fits(m, *out);
}

/* From 2.43 on a thread without a cache points to a dummy in libc's read-only data. An older
 * empty cache is all zeros, and one whose only lists were overwritten has nothing that is sound:
 * such a word is worth little, unless it stands where others match. */
static int judge_tcache(const struct cf_malloc *m, uint64_t value) {
    const struct cf_region *region = value == 0 ? NULL : cf_mem_find(m->mem, value);
    uint64_t size;
    if (region == NULL || !cf_region_is_writable(region))
        return 0;
    if (!is_of_tcache_size(m, value, &size))
        return NO_MATCH;
    struct cf_tcache_verdict verdict = cf_tcache_judge(m, value, size);
    unsigned nr_good = verdict.nr_good + verdict.nr_begun;
    if (verdict.slots_full || (nr_good > 0 && verdict.nr_bad <= 1 + nr_good / 4))
        return MATCH;
    bool is_weak = verdict.nr_bad == 0 ||
                   (verdict.nr_bad <= BROKEN_LISTS_MAX && cf_tcache_is_first(m, value));
    return nr_good == 0 && is_weak ? WEAK_MATCH : NO_MATCH;
}

static bool tls_word(const struct cf_malloc *m, uint64_t tp, int64_t offset, uint64_t *out) {
    uint64_t addr;
    return !__builtin_add_overflow(tp, offset, &addr) && cf_mem_word(m->mem, addr, out);
}

static void judge_thread(const struct cf_malloc *m, const struct tls_search *search, uint64_t tp,
                         struct offset_score *scores) {
    size_t nr = (size_t)(search->to - search->from) / m->word;
    for (size_t i = 0; i < nr; i++) {
        uint64_t value;
        struct offset_score *score = &scores[i];
        if (!tls_word(m, tp, search->from + (int64_t)(i * m->word), &value))
            continue;
        int fit = search->judge(m, value);
        if (fit > 0 && search->distinct && score->matches > 0 && value == score->first)
            fit = NO_MATCH;
        if (fit > 0) {
            if (score->matches++ == 0)
                score->first = value;
            score->score += (uint32_t)fit;
        }
        score->bad += fit < 0;
    }
}

static uint64_t distance(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* The best offset of the window; a few threads may contradict it (damage, a thread that starts). */
static bool best_offset(const struct cf_malloc *m, const struct tls_search *search,
                        const struct offset_score *scores, int64_t *out) {
    size_t nr = (size_t)(search->to - search->from) / m->word;
    uint32_t best = 0;
    for (size_t i = 0; i < nr; i++) {
        int64_t offset = search->from + (int64_t)(i * m->word);
        const struct offset_score *score = &scores[i];
        if (score->matches == 0 || 8 * (uint64_t)score->bad > score->matches)
            continue;
        bool nearer = score->score == best && search->has_goal &&
                      distance(offset, search->goal) < distance(*out, search->goal);
        if (score->score > best || nearer) {
            best = score->score;
            *out = offset;
        }
    }
    return best > 0;
}

/* False also when nothing fits; `err` is filled, with CF_ENOMEM, only when memory is out. */
static int search_window(const struct cf_malloc *m, const struct tls_search *search, bool *found,
                         int64_t *out, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(m->mem);
    size_t nr = (size_t)(search->to - search->from) / m->word;
    CF_CLEANUP_FREE struct offset_score *scores = calloc(nr, sizeof *scores);
    *found = false;
    if (scores == NULL)
        return cf_err_nomem(err, nr * sizeof *scores, "TLS offsets");
    size_t sampled = 0;
    for (size_t i = 0; i < m->threads.len && sampled < SAMPLE_THREADS; i++) {
        const struct cf_core_thread *thread = cf_core_thread(core, i);
        if (!thread->has_tp)
            continue;
        judge_thread(m, search, thread->tp, scores);
        sampled++;
    }
    *found = best_offset(m, search, scores, out);
    return CF_OK;
}

static void set_window(const struct cf_malloc *m, int64_t bytes, struct tls_search *search) {
    bool above = cf_core_machine(cf_mem_core(m->mem)) == CF_MACHINE_AARCH64;
    search->from = above ? 0 : -bytes;
    search->to = above ? bytes : 0;
}

static int search_near_then_far(const struct cf_malloc *m, struct tls_search *search, bool *found,
                                int64_t *out, struct cf_err *err) {
    set_window(m, NEAR_BYTES, search);
    int status = search_window(m, search, found, out, err);
    if (status != CF_OK || *found)
        return status;
    set_window(m, FAR_BYTES, search);
    return search_window(m, search, found, out, err);
}

/* Beside thread_arena, if that is known, else anywhere. */
static int search_tcache(const struct cf_malloc *m, bool has_arena, int64_t arena_offset,
                         bool *found, int64_t *out, struct cf_err *err) {
    struct tls_search search = {
        .judge = judge_tcache, .distinct = true, .has_goal = has_arena, .goal = arena_offset};
    if (has_arena) {
        search.from = arena_offset - LIBC_TLS_BYTES;
        search.to = arena_offset + LIBC_TLS_BYTES;
        int status = search_window(m, &search, found, out, err);
        if (status != CF_OK || *found)
            return status;
    }
    return search_near_then_far(m, &search, found, out, err);
}

static void read_threads(struct cf_malloc *m, const int64_t *arena_offset,
                         const int64_t *tcache_offset) {
    const struct cf_core *core = cf_mem_core(m->mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t i = 0; i < m->threads.len; i++) {
        cf_rss_guard_step(&guard);
        const struct cf_core_thread *thread = cf_core_thread(core, i);
        struct cf_thread_malloc *known = &m->threads.items[i];
        uint64_t value;
        if (!thread->has_tp)
            continue;
        if (arena_offset != NULL && tls_word(m, thread->tp, *arena_offset, &value) &&
            judge_arena(m, value) > 0)
            known->thread_arena = value;
        if (tcache_offset != NULL && tls_word(m, thread->tp, *tcache_offset, &value) &&
            judge_tcache(m, value) > 0)
            known->tcache = value;
    }
}

int cf_tls_find(struct cf_malloc *m, struct cf_err *err) {
    size_t nr = cf_core_nr_threads(cf_mem_core(m->mem));
    for (size_t i = 0; i < nr; i++)
        if (cf_array_push(&m->threads) == NULL)
            return cf_err_nomem(err, nr * sizeof *m->threads.items, "threads");
    if (m->arenas.len == 0)
        return CF_OK;
    bool has_arena;
    bool has_tcache;
    int64_t arena_offset = 0;
    int64_t tcache_offset = 0;
    /* The stack of a thread that is gone may end where this thread's storage begins: what stands
     * in its storage looks the same, and is further away. */
    struct tls_search search = {.judge = judge_arena, .has_goal = true, .goal = 0};
    int status = search_near_then_far(m, &search, &has_arena, &arena_offset, err);
    if (status == CF_OK)
        status = search_tcache(m, has_arena, arena_offset, &has_tcache, &tcache_offset, err);
    if (status != CF_OK)
        return status;
    m->has_tls = has_arena && has_tcache;
    m->tls_arena = arena_offset;
    m->tls_tcache = tcache_offset;
    read_threads(m, has_arena ? &arena_offset : NULL, has_tcache ? &tcache_offset : NULL);
    return CF_OK;
}
