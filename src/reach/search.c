/*
 * Breadth first, with the written part of the paths as the queue, which is so large that it stands
 * in a file: it is taken in blocks. What a block's chunks lead to lies anywhere, so the place of a
 * chunk's links is prefetched some chunks before it is needed, and the links themselves when that
 * place has come.
 */
#include "reach/search.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "core/core.h"
#include "core/drop.h"
#include "reach/pending.h"
#include "reach/scan.h"

enum {
    BLOCK_CHUNKS = 1 << 14, /* of the queue, that are followed in one go */
    BLOCKS_AHEAD = 32,      /* of them: where its links stand is fetched */
    LISTS_AHEAD = 16,       /* the links are */
    TICK_CHUNKS = 4096,     /* followed between two looks at our memory */
    RESIDENT_MAX = 64 << 20,
    REREAD_MAX = 64, /* times the links, then giving pages back costs more than it is worth */
    PROGRESS_CHUNKS = 1 << 18,
};

/* The queue is what is written of the paths, from `head` on: first seen is first taken, so that
 * paths are the shortest from the kinds of roots that were read. */
struct search {
    const struct cf_context *ctx;
    const struct cf_search_input *input;
    const struct cf_links *links;
    uint64_t *reached;
    struct cf_paths_writer queue;
    struct cf_position head;
    struct cf_scratch_writer words; /* of roots; no buffer: they are not wanted */
    uint32_t root; /* that is read */
    uint64_t addr; /* of the words that are read; 0: registers */
    unsigned word_bytes;
    struct cf_pending pending; /* each word with its place in `met` */
    struct cf_root_word met[CF_PENDING_MOST];
    unsigned until_tick;
    uint64_t drops_left;
    bool is_cancelled;
};

static inline void reach(struct search *s, struct cf_rank rank, uint32_t from) {
    if (cf_rank_bit(s->reached, rank))
        return;
    cf_rank_set_bit(s->reached, rank);
    cf_paths_put(&s->queue, rank, from);
}

static inline void reach_from_root(void *arg, uint32_t from, struct cf_rank rank) {
    struct search *s = arg;
    struct cf_root_word *word = &s->met[from];
    word->rank = (uint32_t)rank.index;
    if (s->words.buffer != NULL)
        cf_scratch_put(&s->words, word, sizeof *word);
    reach(s, rank, cf_paths_from_root(word->root));
}

static void answer(struct search *s) {
    cf_pending_answer(&s->pending, reach_from_root, s);
}

static inline void meet(struct search *s, uint64_t lowered, size_t index) {
    uint32_t place = (uint32_t)s->pending.nr;
    s->met[place].addr = s->addr == 0 ? 0 : s->addr + index * s->word_bytes;
    s->met[place].root = s->root;
    if (cf_pending_put(&s->pending, lowered, place))
        answer(s);
}

static void read_range(struct search *s, uint64_t start, uint64_t end) {
    struct cf_scan scan = {.mem = s->input->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        s->addr = scan.addr - nr_words * s->word_bytes;
        CF_SCAN_WORDS_AT(s->pending.ranks->resolver, bytes, nr_words, meet, s);
        if (cf_tick(s->ctx)) {
            s->is_cancelled = true;
            return;
        }
    }
    cf_mem_drop(s->input->mem, start, end);
}

/* One word of a register set at a time: they are the core's bytes, not memory's. */
static void read_registers(struct search *s, const struct cf_root *root) {
    const struct cf_core *core = cf_mem_core(s->input->mem);
    const struct cf_resolver *resolver = s->pending.ranks->resolver;
    if (root->thread < 0 || (size_t)root->thread >= cf_core_nr_threads(core))
        return;
    const struct cf_core_thread *thread = cf_core_thread(core, (size_t)root->thread);
    s->addr = 0;
    CF_SCAN_WORDS_AT(resolver, thread->regs, thread->regs_bytes / resolver->word_bytes, meet, s);
    CF_SCAN_WORDS_AT(resolver, thread->fp_regs, thread->fp_regs_bytes / resolver->word_bytes, meet,
                     s);
}

/* The word is in the kernel; the guard's address leads where it does. */
static void read_guard(struct search *s, const struct cf_root *root) {
    unsigned char word[8] = {0};
    for (unsigned i = 0; i < s->word_bytes; i++)
        word[i] = (unsigned char)(root->start >> 8 * i);
    s->addr = root->start;
    CF_SCAN_WORDS_AT(s->pending.ranks->resolver, word, 1, meet, s);
}

/* What says most goes first: where paths are equally short, the first root has the chunk. */
static const enum cf_root_kind order[CF_NR_ROOT_KINDS] = {
    CF_ROOT_GLOBAL, CF_ROOT_TLS, CF_ROOT_MAPPING, CF_ROOT_STACK, CF_ROOT_REGISTER,
};
enum { NR_LASTING = 3 };

/* Of the kinds from place `first` on, before `end`. */
static void read_roots(struct search *s, size_t first, size_t end) {
    const struct cf_core *core = cf_mem_core(s->input->mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t kind = first; kind < end; kind++)
        for (size_t i = 0; i < s->input->nr_roots; i++) {
            const struct cf_root *root = &s->input->roots[i];
            if (root->kind != order[kind])
                continue;
            cf_rss_guard_step(&guard);
            if (s->is_cancelled || cf_progress(s->ctx, "roots", i, s->input->nr_roots)) {
                s->is_cancelled = true;
                return;
            }
            s->root = (uint32_t)i;
            if (root->kind == CF_ROOT_REGISTER)
                read_registers(s, root);
            else if (root->is_guard)
                read_guard(s, root);
            else
                read_range(s, root->start, root->end);
        }
    answer(s);
}

/* The links are files, and the search is soon all over them. What it comes back to is faulted in
 * again. */
static void give_back(struct search *s) {
    s->until_tick = TICK_CHUNKS;
    if (s->drops_left == 0 || cf_resident_file_bytes() < RESIDENT_MAX)
        return;
    s->drops_left--;
    cf_links_drop(s->links);
}

static inline void follow(struct search *s, struct cf_rank rank, const unsigned char *place,
                          struct cf_position position) {
    if (--s->until_tick == 0)
        give_back(s);
    struct cf_link_list list = cf_links_at(s->links, rank, place);
    while (list.at < list.end)
        reach(s, cf_links_take(&list), cf_paths_from_chunk(position));
}

static inline const unsigned char *call_for_links(const struct search *s,
                                                  struct cf_rank rank) {
    const unsigned char *place = cf_links_place(s->links, rank);
    __builtin_prefetch(place);
    return place;
}

/* `ranks` as they stand in the queue. */
static void follow_block(struct search *s, const uint32_t *ranks, size_t nr) {
    const unsigned char *places[LISTS_AHEAD];
    for (size_t i = 0; i < LISTS_AHEAD && i < nr; i++)
        places[i] = call_for_links(s, (struct cf_rank){ranks[i]});
    for (size_t i = 0; i < nr; i++) {
        const unsigned char *place = places[i % LISTS_AHEAD];
        if (i + BLOCKS_AHEAD < nr)
            __builtin_prefetch(cf_links_block(s->links, (struct cf_rank){ranks[i + BLOCKS_AHEAD]}));
        if (i + LISTS_AHEAD < nr)
            places[i % LISTS_AHEAD] = call_for_links(s, (struct cf_rank){ranks[i + LISTS_AHEAD]});
        follow(s, (struct cf_rank){ranks[i]}, place,
               (struct cf_position){s->head.index + i});
    }
    s->head.index += nr;
}

static void follow_all(struct search *s, uint32_t *block) {
    size_t told = 0;
    while (s->head.index < s->queue.nr && s->queue.order.code == 0 && !s->is_cancelled) {
        size_t nr = s->queue.nr - s->head.index;
        if (nr > BLOCK_CHUNKS)
            nr = BLOCK_CHUNKS;
        cf_paths_copy(&s->queue, s->head, block, nr);
        follow_block(s, block, nr);
        if (s->head.index - told < PROGRESS_CHUNKS)
            continue;
        told = s->head.index;
        s->is_cancelled = cf_progress(s->ctx, "following pointers", told, s->links->ranks->nr);
    }
}

/* The writers are gone in any case. */
static int finish(struct search *s, struct cf_paths **paths, struct cf_root_words *words,
                  struct cf_err *err) {
    int status = CF_OK;
    if (s->is_cancelled)
        status = cf_err_cancelled(err);
    else if (s->queue.order.code != 0)
        status = cf_err_errno(err, CF_EOUTPUT, s->queue.order.code,
                              "the search's queue (TMPDIR)");
    if (status == CF_OK && words != NULL) {
        words->nr = (size_t)(cf_scratch_place(&s->words) / sizeof *words->rows);
        status = cf_scratch_finish(&s->words, &words->file, err);
        words->rows = words->file.at;
    }
    if (status == CF_OK && paths != NULL)
        status = cf_paths_finish(&s->queue, paths, err);
    cf_paths_abandon(&s->queue);
    cf_scratch_abandon(&s->words);
    if (status != CF_OK && words != NULL)
        cf_root_words_fini(words);
    return status;
}

int cf_search_run(const struct cf_context *ctx, const struct cf_search_input *input,
                  uint64_t *reached, struct cf_paths **paths, struct cf_root_words *words,
                  struct cf_err *err) {
    if (input->nr_roots > CF_PATHS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more roots than can be numbered");
    CF_CLEANUP_FREE uint32_t *block = calloc(BLOCK_CHUNKS, sizeof *block);
    if (block == NULL)
        return cf_err_nomem(err, BLOCK_CHUNKS * sizeof *block, "the search from the roots");
    struct search s = {
        .ctx = ctx, .input = input, .links = input->links, .reached = reached,
        .word_bytes = input->links->ranks->resolver->word_bytes,
        .pending = {.ranks = input->links->ranks}, .until_tick = TICK_CHUNKS,
        .drops_left = 16 + REREAD_MAX * (cf_links_bytes(input->links) / RESIDENT_MAX),
    };
    int status = cf_paths_begin(&s.queue, paths != NULL, err);
    if (status == CF_OK && words != NULL)
        status = cf_scratch_begin(&s.words, err);
    if (status != CF_OK) {
        cf_paths_abandon(&s.queue);
        return status;
    }
    read_roots(&s, 0, NR_LASTING);
    follow_all(&s, block);
    read_roots(&s, NR_LASTING, CF_NR_ROOT_KINDS);
    follow_all(&s, block);
    cf_links_drop(input->links);
    return finish(&s, paths, words, err);
}
