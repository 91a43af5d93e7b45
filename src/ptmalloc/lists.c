/*
 * Bins, held against the walked planes. The lists say what the allocator knows as free; the walk
 * says what is free; both must agree chunk by chunk. Where the walk's sums prove an arena's bins
 * (binsum.h), only its unsorted list is followed; else all of them are, link by link, to say what
 * is wrong and where.
 *
 * Virtual bin header i (bin_at, all releases) is at bins + 2W(i - 1) - 2W, so its fd is the pair's
 * first word.
 */
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"
#include "base/thread_pool.h"
#include "core/drop.h"

enum {
    TICK_TURNS = 1 << 14,
    TEAMS = 8,         /* arenas whose lists are followed at a time */
    WINDOW_SHIFT = 22,
    REREADS = 16, /* times the core, then its pages stay */
};

struct list {
    struct cf_ptmalloc *pt;
    struct cf_arena *arena;
    struct cf_ledger *ledger;
    enum cf_bin_kind kind;
    uint32_t index;
    uint64_t chunks;
    uint64_t bytes;
};

static void note_at(const struct list *list, const char *code, uint64_t addr, bool in_complete,
                    const char *detail) {
    static const char *const kinds[] = {"fast", "unsorted", "small", "large"};
    cf_anomalies_add(&list->ledger->anomalies,
                     &(struct cf_anomaly){.code = code, .arena_id = list->arena->id,
                                          .heap_id = UINT32_MAX, .addr = addr,
                                          .in_complete = in_complete},
                     "%s bin %u: %s", kinds[list->kind], list->index, detail);
}

static void note(const struct list *list, const char *code, uint64_t addr, const char *detail) {
    note_at(list, code, addr, !cf_is_absent(list->pt, addr), detail);
}

void cf_ledger_keep(struct cf_ledger *ledger, const struct cf_bin *bin) {
    if (bin->chunks == 0)
        return;
    struct cf_bin *row = cf_array_push(&ledger->bins);
    if (row == NULL)
        ledger->out_of_memory = true;
    else
        *row = *bin;
}

enum cf_chunk_state cf_walked_state(const struct cf_ptmalloc *pt, const struct cf_heap *heap,
                                    uint64_t addr) {
    const struct cf_planes *planes = cf_chunkmap_planes(pt->map);
    struct cf_heap_unit unit = cf_planes_unit(planes, heap, addr);
    bool dead = cf_plane_bit(planes->states, heap->plane_word, unit);
    bool cached = cf_plane_bit_behind(planes->states, heap->plane_word, unit);
    if (dead)
        return cached ? CF_CHUNK_FAST : CF_CHUNK_FREE;
    return cached ? CF_CHUNK_TCACHE : CF_CHUNK_LIVE;
}

/* Every chunk takes MINSIZE at least: a longer list has a cycle. */
static uint64_t most_chunks(const struct cf_ptmalloc *pt, const struct cf_arena *arena) {
    uint64_t units = cf_chunkmap_nr_units(pt->map) / 2;
    uint64_t by_size = arena->system_mem / pt->min_chunk + 1;
    return by_size < units ? by_size : units;
}

/*
 * A bin's list while it is followed. A list leads criss-cross through the heaps, and each of its
 * steps waits for memory. So the lists of some arenas go forward by turns, each a step, and what a
 * list needs next is fetched while the others have their turns. An arena's lists go on together
 * within a window of addresses before the next one: those that run in the order of addresses, as
 * malloc_consolidate and the sorting of the unsorted bin leave them, then pass over the core once,
 * not once each.
 */
struct follower {
    struct list list;
    uint64_t head;
    uint64_t back;  /* the chunk before `addr`, or the head */
    uint64_t addr;  /* the chunk to be taken next; `head`: the list is at its end */
    const struct cf_heap *heap; /* that holds it, or NULL */
    const unsigned char *bytes; /* of `heap`, where one run of the core has all of it, else NULL */
    struct cf_heap_unit unit;        /* of `addr` in the planes of `heap` */
};

/* The lists of one arena. */
struct team {
    struct cf_arena *arena;
    struct cf_ledger *ledger;
    struct cf_bin_shape shape;
    struct cf_bin_sums *sums; /* the walk's, less what the unsorted list has; NULL: no use */
    uint64_t limit; /* chunks that a list can have at most */
    uint64_t window;
    struct follower followers[CF_LAST_BIN + 1];
    unsigned active[CF_LAST_BIN + 1]; /* indices of followers: first those inside the window */
    unsigned nr_active;
    unsigned inside;
    unsigned turn; /* whose it is, of those inside */
};

struct turns {
    const struct cf_context *ctx;
    struct cf_ptmalloc *pt;
    const struct cf_planes *planes;
    struct cf_rss_guard guard;
    struct team teams[TEAMS];
};

static void find_heap(const struct turns *turns, struct follower *f) {
    uint64_t avail;
    f->heap = cf_chunkmap_find_heap(turns->pt->map, f->addr);
    f->bytes = f->heap == NULL ? NULL : cf_mem_span(turns->pt->mem, f->heap->start, &avail);
    if (f->bytes != NULL && avail < f->heap->end - f->heap->start)
        f->bytes = NULL;
}

/* What the step at f->addr will read is fetched. */
static inline void look_ahead(const struct turns *turns, struct follower *f) {
    if (f->heap == NULL || f->addr - f->heap->start >= f->heap->end - f->heap->start)
        find_heap(turns, f);
    const struct cf_heap *heap = f->heap;
    if (heap == NULL)
        return;
    f->unit = cf_planes_unit(turns->planes, heap, f->addr);
    __builtin_prefetch(&turns->planes->starts[heap->plane_word + (f->unit.index >> 6)]);
    __builtin_prefetch(&turns->planes->states[heap->plane_word + (f->unit.index >> 6)]);
    if (f->bytes == NULL)
        return;
    /* A header of 4 words may stand in two cache lines. */
    uintptr_t at = (uintptr_t)f->bytes + (uintptr_t)(f->addr - heap->start);
    __builtin_prefetch((const void *)at);
    __builtin_prefetch((const void *)(at + 4 * turns->pt->word_bytes - 1));
}

/* Of a free chunk. */
struct chunk_header {
    uint64_t size; /* with flags */
    uint64_t fd;
    uint64_t bk;
};

/* False: it is not in the core. */
static inline bool read_header(const struct cf_ptmalloc *pt, const struct follower *f,
                               struct chunk_header *out) {
    uint64_t word = pt->word_bytes;
    if (f->bytes != NULL && word == 8 && f->heap->end - f->addr >= 4 * word) {
        const unsigned char *at = f->bytes + (f->addr - f->heap->start);
        out->size = cf_load_word(at + 8, 8);
        out->fd = cf_load_word(at + 16, 8);
        out->bk = cf_load_word(at + 24, 8);
        return true;
    }
    return cf_mem_word(pt->mem, f->addr + word, &out->size) &&
           cf_mem_word(pt->mem, f->addr + 2 * word, &out->fd) &&
           cf_mem_word(pt->mem, f->addr + 3 * word, &out->bk);
}

static inline bool is_start(const struct turns *turns, const struct follower *f) {
    return f->heap != NULL && f->addr < f->heap->chunks_end &&
           f->heap->arena_id == f->list.arena->id &&
           f->addr % (1u << turns->planes->unit_shift) == 0 &&
           cf_plane_bit(turns->planes->starts, f->heap->plane_word, f->unit);
}

static inline bool is_free(const struct turns *turns, const struct follower *f) {
    return cf_plane_bit(turns->planes->states, f->heap->plane_word, f->unit) &&
           !cf_plane_bit_behind(turns->planes->states, f->heap->plane_word, f->unit);
}

/*
 * bk does not lead back, but as unlink_chunk() or an insertion leaves it between its two stores:
 * the chunk before is on its way out (bk is that one's own bk), or another is on its way in between
 * (it knows both neighbours, and only one knows it). The list goes on.
 */
static bool is_half_made(const struct cf_ptmalloc *pt, const struct follower *f, uint64_t bk) {
    uint64_t word = pt->word_bytes, fd, before;
    if (f->back != f->head && cf_mem_word(pt->mem, f->back + 3 * word, &before) && before == bk) {
        note(&f->list, "half-link", f->back, "the chunk behind it leads past it");
        return true;
    }
    if (cf_mem_word(pt->mem, bk + 2 * word, &fd) && fd == f->addr &&
        cf_mem_word(pt->mem, bk + 3 * word, &before) && before == f->back) {
        note(&f->list, "half-link", bk, "only the chunk behind it leads to it");
        return true;
    }
    return false;
}

/* fd leads to where nothing can be read. The row names the chunk that has it, or the arena: what
 * it says may be any bytes of the program. */
static void note_lost(const struct list *list, const struct follower *f) {
    bool is_absent = cf_is_absent(list->pt, f->addr);
    uint64_t holder = f->back == f->head ? list->arena->addr : f->back;
    note_at(list, is_absent ? "binned-unreadable" : "bin-link", holder, !is_absent,
            is_absent ? "the chunk behind it is not in the core" : "fd leads to where nothing is");
}

/* The list is broken at f->addr: what stands behind that is counted from the other end, as long as
 * the links agree with each other and with the walk. */
static void count_from_the_end(const struct turns *turns, const struct team *team,
                               struct follower *broken) {
    struct follower back = *broken;
    uint64_t ahead = broken->head;
    struct chunk_header header;
    while (cf_mem_word(turns->pt->mem, ahead + 3 * turns->pt->word_bytes, &back.addr) &&
           back.addr != broken->addr && back.addr != broken->back && back.addr != broken->head &&
           back.list.chunks < team->limit) {
        look_ahead(turns, &back);
        if (!is_start(turns, &back) || !is_free(turns, &back) ||
            !read_header(turns->pt, &back, &header) || header.fd != ahead)
            break;
        back.list.chunks++;
        back.list.bytes += header.size & ~(uint64_t)SIZE_FLAGS;
        ahead = back.addr;
    }
    broken->list.chunks = back.list.chunks;
    broken->list.bytes = back.list.bytes;
}

/* One chunk of a doubly linked bin. False: the list ends here, or cannot be followed. */
static inline bool take_binned(const struct turns *turns, const struct team *team,
                               struct follower *f) {
    const struct cf_ptmalloc *pt = turns->pt;
    struct list *list = &f->list;
    struct chunk_header header;
    if (f->addr == f->head || f->addr == 0)
        return false;
    if (list->chunks >= team->limit) {
        note(list, "bin-cycle", f->addr, "more chunks than the arena can hold");
        return false;
    }
    if (!read_header(pt, f, &header)) {
        note_lost(list, f);
        return false;
    }
    if (header.bk != f->back && !is_half_made(pt, f, header.bk)) {
        note(list, "bin-link", f->addr, "bk does not lead back to the chunk before it");
        count_from_the_end(turns, team, f);
        return false;
    }
    list->chunks++;
    list->bytes += header.size & ~(uint64_t)SIZE_FLAGS;
    if (!is_start(turns, f))
        note(list, "binned-not-met", f->addr, "the walk did not meet this chunk");
    else if (!is_free(turns, f))
        note(list, "binned-in-use", f->addr, "its successor says that it is in use");
    if (team->sums != NULL)
        cf_bin_sums_remove(team->sums, &team->shape, f->addr,
                           header.size & ~(uint64_t)SIZE_FLAGS, header.fd, header.bk);
    f->back = f->addr;
    f->addr = header.fd;
    look_ahead(turns, f);
    return true;
}

static void swap(unsigned *a, unsigned *b) {
    unsigned kept = *a;
    *a = *b;
    *b = kept;
}

/* The window of the first list's next chunk, and the other lists that go on there. */
static void choose_window(struct team *team) {
    team->inside = team->turn = 0;
    team->window = team->followers[team->active[0]].addr >> WINDOW_SHIFT;
    for (unsigned i = 0; i < team->nr_active; i++)
        if (team->followers[team->active[i]].addr >> WINDOW_SHIFT == team->window)
            swap(&team->active[i], &team->active[team->inside++]);
}

/* One list of the team goes forward by a chunk. False: all of its lists are at their ends. */
static inline bool take_turn(const struct turns *turns, struct team *team) {
    if (team->nr_active == 0)
        return false;
    if (team->inside == 0)
        choose_window(team);
    if (team->turn >= team->inside)
        team->turn = 0;
    unsigned *mine = &team->active[team->turn];
    struct follower *f = &team->followers[*mine];
    bool goes_on = take_binned(turns, team, f);
    if (goes_on && f->addr >> WINDOW_SHIFT == team->window) {
        team->turn++;
        return true;
    }
    swap(mine, &team->active[--team->inside]);
    if (!goes_on)
        swap(&team->active[team->inside], &team->active[--team->nr_active]);
    return true;
}

/* False: cancelled. */
static bool take_turns(struct turns *turns, size_t nr_teams) {
    size_t until_tick = TICK_TURNS;
    for (bool going = true; going;) {
        going = false;
        if (--until_tick == 0) {
            until_tick = TICK_TURNS;
            if (cf_tick(turns->ctx))
                return false;
        }
        for (size_t i = 0; i < nr_teams; i++) {
            going |= take_turn(turns, &turns->teams[i]);
            cf_rss_guard_step(&turns->guard);
        }
    }
    return true;
}

/* False: empty, or the arena itself is not in the core: its heaps alone were found. */
static bool start_bin(struct cf_ptmalloc *pt, struct team *team, uint32_t index) {
    struct follower *f = &team->followers[index];
    *f = (struct follower){
        .list = {.pt = pt, .arena = team->arena, .ledger = team->ledger, .index = index,
                 .kind = index == CF_UNSORTED_BIN     ? CF_BIN_UNSORTED
                         : index < CF_FIRST_LARGE_BIN ? CF_BIN_SMALL
                                                      : CF_BIN_LARGE},
        .head = cf_bin_head(&team->shape, index),
    };
    f->back = f->head;
    return cf_mem_word(pt->mem, f->head + 2 * pt->word_bytes, &f->addr) && f->addr != f->head &&
           f->addr != 0;
}

/* Bins up to `last` will be followed. */
static void start_bins(const struct turns *turns, struct team *team, uint32_t last) {
    team->nr_active = team->inside = 0;
    for (uint32_t bin = CF_UNSORTED_BIN; bin <= last; bin++) {
        if (!start_bin(turns->pt, team, bin))
            continue;
        look_ahead(turns, &team->followers[bin]);
        team->active[team->nr_active++] = bin;
    }
}

/* The chunks of the bin's size are the list's (binsum.h). */
static bool is_proved(const struct cf_ptmalloc *pt, const struct team *team, unsigned bin) {
    const struct cf_bin_sum *sum = &team->sums->bins[bin];
    uint64_t head = cf_bin_head(&team->shape, bin), fd, bk;
    if (!cf_mem_word(pt->mem, head + 2 * pt->word_bytes, &fd) ||
        !cf_mem_word(pt->mem, head + 3 * pt->word_bytes, &bk))
        return false;
    if (sum->chunks == 0)
        return (fd == head && bk == head) || (fd == 0 && bk == 0);
    return fd != head && sum->chunks <= team->limit &&
           sum->links + cf_link_hash(head, fd) - cf_link_hash(bk, head) == 0;
}

/* All bins but the unsorted one, which was followed, without a flaw. */
static bool are_proved(const struct cf_ptmalloc *pt, const struct team *team) {
    if (team->sums == NULL || team->sums->is_doubtful || team->ledger->anomalies.seen > 0)
        return false;
    for (unsigned bin = CF_UNSORTED_BIN + 1; bin <= CF_LAST_BIN; bin++)
        if (!is_proved(pt, team, bin))
            return false;
    return true;
}

static void take_sums(struct cf_ptmalloc *pt, struct team *team) {
    for (uint32_t bin = CF_UNSORTED_BIN + 1; bin <= CF_LAST_BIN; bin++) {
        (void)start_bin(pt, team, bin);
        team->followers[bin].list.chunks = team->sums->bins[bin].chunks;
        team->followers[bin].list.bytes = team->sums->bins[bin].bytes;
    }
}

/* The unsorted list is followed; the others too, where the sums do not prove them. False:
 * cancelled. */
static bool follow_bins(struct turns *turns, size_t nr_teams) {
    for (size_t i = 0; i < nr_teams; i++)
        start_bins(turns, &turns->teams[i], CF_UNSORTED_BIN);
    if (!take_turns(turns, nr_teams))
        return false;
    for (size_t i = 0; i < nr_teams; i++) {
        struct team *team = &turns->teams[i];
        if (are_proved(turns->pt, team)) {
            take_sums(turns->pt, team);
            continue;
        }
        team->sums = NULL;
        cf_array_free(&team->ledger->anomalies.rows);
        team->ledger->anomalies = (struct cf_anomalies){0};
        start_bins(turns, team, CF_LAST_BIN);
    }
    return take_turns(turns, nr_teams);
}

static void keep_bins(const struct team *team) {
    for (uint32_t bin = CF_UNSORTED_BIN; bin <= CF_LAST_BIN; bin++) {
        const struct list *list = &team->followers[bin].list;
        team->arena->nr_binned += list->chunks;
        team->arena->binned_bytes += list->bytes;
        cf_ledger_keep(list->ledger, &(struct cf_bin){
                                         .arena_id = list->arena->id, .kind = list->kind,
                                         .index = list->index, .chunks = list->chunks,
                                         .bytes = list->bytes});
    }
}

/* All arenas, so many to a job. */
struct follow {
    const struct cf_context *ctx;
    struct cf_ptmalloc *pt;
    struct cf_ledger *ledgers; /* one an arena */
    size_t nr_teams;        /* of a job; TEAMS at most */
};

/* The job's arenas, as far as their malloc_state was found. */
static size_t start_teams(const struct follow *follow, struct turns *turns, size_t index) {
    size_t first = index * follow->nr_teams, end = first + follow->nr_teams, nr = 0;
    for (size_t i = first; i < end && i < follow->pt->arenas.len; i++) {
        struct team *team = &turns->teams[nr];
        team->arena = &follow->pt->arenas.items[i];
        team->ledger = &follow->ledgers[i];
        if (team->arena->addr == 0)
            continue;
        team->shape = cf_bin_shape_of(turns->pt, team->arena);
        team->sums = follow->pt->bin_sums[i];
        team->limit = most_chunks(turns->pt, team->arena);
        nr++;
    }
    return nr;
}

static void follow_some(void *user, size_t index) {
    const struct follow *follow = user;
    const struct cf_core *core = cf_mem_core(follow->pt->mem);
    struct turns *turns = calloc(1, sizeof *turns);
    if (turns == NULL) {
        follow->ledgers[index * follow->nr_teams].out_of_memory = true;
        return;
    }
    turns->ctx = follow->ctx;
    turns->pt = follow->pt;
    turns->planes = cf_chunkmap_planes(follow->pt->map);
    turns->guard = cf_rss_guard_make(core, cf_core_file_bytes(core), REREADS);
    size_t nr_teams = start_teams(follow, turns, index);
    bool is_done = follow_bins(turns, nr_teams);
    for (size_t i = 0; i < nr_teams && is_done; i++) {
        keep_bins(&turns->teams[i]);
        cf_fastbins_follow(turns->pt, turns->teams[i].arena, turns->teams[i].ledger,
                           &turns->guard);
    }
    free(turns);
}

/* In the arenas' order, whoever followed them. */
static int merge(struct cf_ptmalloc *pt, struct cf_ledger *ledger, struct cf_err *err) {
    if (ledger->out_of_memory)
        return cf_err_nomem(err, sizeof(struct turns), "the bins");
    for (size_t i = 0; i < ledger->bins.len; i++) {
        struct cf_bin *row = cf_array_push(&pt->bins);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "a bin");
        *row = ledger->bins.items[i];
    }
    cf_anomalies_join(&pt->anomalies, &ledger->anomalies);
    return CF_OK;
}

int cf_lists_follow(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                    struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(pt->mem);
    size_t nr = pt->arenas.len, share = nr / cf_thread_pool_size(nr_threads) + 1;
    struct follow follow = {.ctx = ctx, .pt = pt, .ledgers = calloc(nr + 1, sizeof *follow.ledgers),
                            .nr_teams = share < TEAMS ? share : TEAMS};
    if (follow.ledgers == NULL)
        return cf_err_nomem(err, nr * sizeof *follow.ledgers, "the bins");
    cf_thread_pool_run(nr_threads, (nr + follow.nr_teams - 1) / follow.nr_teams, follow_some,
                       &follow);
    cf_core_drop(core, 0, cf_core_file_bytes(core));
    int status = CF_OK;
    for (size_t i = 0; i < nr; i++) {
        if (status == CF_OK)
            status = merge(pt, &follow.ledgers[i], err);
        cf_array_free(&follow.ledgers[i].bins);
        cf_array_free(&follow.ledgers[i].anomalies.rows);
    }
    free(follow.ledgers);
    return status == CF_OK && cf_tick(ctx) ? cf_err_cancelled(err) : status;
}
