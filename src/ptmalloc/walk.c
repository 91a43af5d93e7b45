/*
 * The walk: from header to header through each heap, into the planes. A chunk is in use when its
 * successor's PREV_INUSE says so; cached.c then takes the cached ones away. At a
 * header that cannot be, the walk notes it and goes on at the next sound place (chain.c).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/thread_pool.h"
#include "base/err.h"
#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

enum {
    STRUCT_SLACK = 0x20,   /* a tcache's chunk may be larger by a rest too small to split */
    BATCH_BYTES = 32 << 10,              /* of plain headers, before the free ones' links */
    BATCH_CHUNKS = BATCH_BYTES / 16 + 2, /* that can begin there, or just before */
};

#define NO_TCACHE (1ull << 63) /* no size is near it */

/* One heap's walk; heaps share nothing while they are walked. */
struct walk {
    const struct cf_context *ctx;
    struct cf_ptmalloc *pt;
    struct cf_heap *heap;
    const struct cf_arena *arena;
    struct cf_chain chain;
    struct cf_header_rule rule;
    struct cf_word_view view;    /* goes up through the heap */
    struct cf_word_view ahead;   /* looks for sound places, criss-cross */
    struct cf_mem_trail trail; /* what was read from the mapping after all */
    uint64_t previous; /* the chunk before the view when it is a plain one, else 0 */
    uint64_t previous_size;
    bool is_partial; /* some of the heap's bytes are not in the core */
    bool out_of_memory;
    bool is_cancelled;
    struct cf_heap_planes planes;
    uint64_t free_chunks; /* what the headers say is free, for the bins to be held against */
    uint64_t free_bytes;
    struct cf_bin_sums *sums; /* over the links of the free chunks; NULL: the arena has no bins */
    struct cf_bin_shape bins;
    uint64_t tcache_bytes; /* of a tcache struct's chunk; NO_TCACHE: there is none */
    CF_ARRAY(uint64_t) tcaches; /* chunks that look like one */
    CF_ARRAY(struct cf_odd) odds;
    struct cf_anomalies anomalies;
};

static void note(struct walk *walk, const char *code, uint64_t addr, bool in_complete,
                 const char *detail, uint64_t value) {
    cf_anomalies_add(&walk->anomalies,
                     &(struct cf_anomaly){.code = code, .arena_id = walk->arena->id,
                                          .heap_id = walk->heap->id, .addr = addr,
                                          .in_complete = in_complete},
                     "%s (0x%llx)", detail, (unsigned long long)value);
}

static void add_odd(struct walk *walk, uint64_t addr, enum cf_chunk_state state) {
    struct cf_odd *row = cf_array_push(&walk->odds);
    if (row == NULL)
        walk->out_of_memory = true;
    else
        *row = (struct cf_odd){.addr = addr, .state = state};
    walk->previous = 0;
}

static void drop_behind(struct walk *walk, uint64_t addr) {
    if (cf_mem_trail_to(&walk->trail, addr))
        walk->is_cancelled = cf_tick(walk->ctx);
}

/* The first sound place at or above `addr`, or the heap's end. */
static uint64_t find_sound_place(struct walk *walk, uint64_t addr) {
    uint64_t limit = walk->heap->chunks_end;
    uint64_t at = cf_chunk_from(walk->pt, addr), word;
    while (at < limit) {
        if (!cf_word_view_get(&walk->view, at + walk->pt->word_bytes, &word)) {
            uint64_t readable = cf_readable_from(walk->pt->mem, at + 2 * walk->pt->word_bytes,
                                                 limit);
            if (readable >= limit)
                return limit;
            at = cf_chunk_from(walk->pt, readable);
            continue;
        }
        if (word != 0 && cf_chain_is_sound(&walk->ahead, walk->pt, &walk->chain, at))
            return at;
        at += walk->pt->alignment;
        drop_behind(walk, at);
    }
    return limit;
}

/* From `addr` on something stands that is no chunk; the walk goes on behind it. */
static uint64_t skip_gap(struct walk *walk, uint64_t addr, uint64_t search_from) {
    uint64_t sound = find_sound_place(walk, search_from);
    if (sound > addr)
        add_odd(walk, addr, CF_CHUNK_GAP);
    walk->previous = 0;
    return sound;
}

/* A free chunk's links go into the sums of its arena. */
static void add_links(struct walk *walk, uint64_t addr, uint64_t bytes) {
    uint64_t fd, bk, links = addr + 2 * walk->pt->word_bytes;
    if (walk->sums == NULL)
        return;
    if (cf_mem_word(walk->pt->mem, links, &fd) &&
        cf_mem_word(walk->pt->mem, links + walk->pt->word_bytes, &bk))
        cf_bin_sums_add(walk->sums, &walk->bins, addr, bytes, fd, bk);
    else
        walk->sums->is_doubtful = true;
}

/* What PREV_INUSE of the header at `addr` says of the chunk before it: it is free, and its size
 * stands there once more. Where it does not, and no list has the chunk either, the flag was
 * cleared: by a text that is one byte too long, or by free(), which has the chunk in hand. */
static void judge_previous(struct walk *walk, uint64_t addr, uint64_t word) {
    uint64_t prev_size;
    if (walk->previous == 0 || word & PREV_INUSE)
        return;
    bool is_told = cf_word_view_get(&walk->view, addr, &prev_size);
    bool lies = is_told && prev_size != walk->previous_size;
    if (lies)
        note(walk, "prev-size", addr, true, "prev_size disagrees with the free chunk before it",
             prev_size);
    if (lies && !cf_is_binned(walk->pt, walk->previous))
        return;
    cf_chunkmap_set_state(walk->pt->map, walk->heap, walk->previous, CF_CHUNK_FREE);
    walk->free_chunks++;
    walk->free_bytes += walk->previous_size;
    add_links(walk, walk->previous, walk->previous_size);
}

static uint64_t take_top(struct walk *walk, uint64_t addr, uint64_t word) {
    uint64_t size = word & ~(uint64_t)SIZE_FLAGS;
    uint64_t rest = walk->heap->chunks_end - addr;
    if (word != 0) /* a top that has just moved has no flags yet */
        judge_previous(walk, addr, word);
    add_odd(walk, addr, CF_CHUNK_TOP);
    if (size != rest) {
        note(walk, "top-size", addr, true, "top does not reach to the end of its heap", size);
        if (size >= walk->pt->min_chunk && size < rest)
            walk->heap->chunks_end = cf_align_down(addr + size, 2 * walk->pt->word_bytes);
    }
    return walk->heap->chunks_end;
}

/* Ends that glibc writes itself. True: consumed, `addr` moved on. */
static bool take_fences(struct walk *walk, uint64_t word, uint64_t *addr) {
    uint64_t header = 2 * walk->pt->word_bytes, second, size = word & ~(uint64_t)PREV_INUSE;
    uint64_t room = walk->heap->chunks_end - *addr;
    if (!walk->chain.is_main && word == PREV_INUSE) {
        /* sysmalloc left a remainder that was too small to free: it is part of the fence. */
        if (walk->previous != 0)
            add_odd(walk, walk->previous, CF_CHUNK_FENCE);
        add_odd(walk, *addr, CF_CHUNK_FENCE);
        walk->heap->chunks_end = *addr + (room < header ? room : header);
        *addr = walk->heap->chunks_end;
        return true;
    }
    if (size != header || room < 2 * header ||
        !cf_word_view_get(&walk->view, *addr + header + walk->pt->word_bytes, &second))
        return false;
    if (walk->chain.is_main ? second != (header | PREV_INUSE) : second != PREV_INUSE)
        return false;
    judge_previous(walk, *addr, word);
    add_odd(walk, *addr, CF_CHUNK_FENCE);
    add_odd(walk, *addr + header, CF_CHUNK_FENCE);
    *addr += 2 * header;
    if (!walk->chain.is_main) {
        walk->heap->chunks_end = *addr;
    } else if (*addr < walk->heap->chunks_end) {
        /* A piece of its own ends at its fences; in the contiguous area a foreign sbrk follows. */
        if (walk->arena->contiguous)
            *addr = skip_gap(walk, *addr, *addr);
        else
            walk->heap->chunks_end = *addr;
    }
    return true;
}

static uint64_t go_on_after_damage(struct walk *walk, uint64_t addr, bool readable,
                                   uint64_t word) {
    walk->is_partial |= !readable;
    if (!readable)
        note(walk, "heap-not-in-core", addr, false, "the heap's bytes are not in the core", 0);
    else
        note(walk, "bad-chunk-size", addr, true, "this header's size cannot be", word);
    if (readable && walk->previous != 0 && !(word & PREV_INUSE) && word != 0)
        judge_previous(walk, addr, word);
    uint64_t sound = skip_gap(walk, addr, addr + walk->pt->alignment);
    if (sound < walk->heap->chunks_end && readable)
        note(walk, "walk-resumed", sound, true, "the walk goes on here after bytes", sound - addr);
    return sound;
}

static bool is_plain(const struct walk *walk, uint64_t addr, uint64_t word) {
    uint64_t size = word & ~(uint64_t)SIZE_FLAGS;
    if (walk->chain.top != 0 && addr < walk->chain.top && size > walk->chain.top - addr)
        return false;
    return cf_header_can_be(walk->rule, word, walk->heap->chunks_end - addr);
}

/* Of the size of a tcache struct: is it one by its content? (tcache_init, 2.26+) */
static void keep_tcache(struct walk *walk, uint64_t addr, uint64_t size) {
    uint64_t user = addr + 2 * walk->pt->word_bytes;
    if (!cf_tcache_plausible(walk->pt->malloc_found, user, size))
        return;
    uint64_t *slot = cf_array_push(&walk->tcaches);
    if (slot == NULL)
        walk->out_of_memory = true;
    else
        *slot = addr;
}

/* A plain chunk at `addr`; returns the next one's address. */
static uint64_t take_plain(struct walk *walk, uint64_t addr, uint64_t word) {
    uint64_t size = word & ~(uint64_t)SIZE_FLAGS;
    judge_previous(walk, addr, word);
    cf_chunkmap_set_start(walk->pt->map, walk->heap, addr);
    if (size - walk->tcache_bytes <= STRUCT_SLACK)
        keep_tcache(walk, addr, size);
    walk->previous = walk->view.keep = addr;
    walk->previous_size = size;
    return addr + size;
}

/* What is_plain() looks at, held against one mask and two limits. */
struct plain {
    uint64_t bad_bits;
    uint64_t min;
    uint64_t limit; /* no chunk goes beyond it */
    uint64_t stop;  /* headers from here on are not looked at */
};

/*
 * Plain chunks from `addr` on, as take_plain() takes them, without a call or a branch on their
 * states, which alternate at random in a fragmented heap. Returns the first address that takes a
 * closer look: plain.stop, or a header that is not plain, whose prev_size is wrong, or whose
 * chunk may be a tcache. The free ones' addresses go to `freed`, whose end is returned in `*out`.
 */
static inline __attribute__((always_inline)) uint64_t run_plain(struct walk *walk, uint64_t addr,
                                                                const struct plain plain,
                                                                const unsigned word_bytes,
                                                                uint64_t *freed, size_t *out) {
    const struct cf_heap_planes planes = walk->planes;
    const unsigned char *data = walk->view.data;
    const uint64_t data_start = walk->view.start, tcache_bytes = walk->tcache_bytes;
    uint64_t previous = walk->previous, previous_size = walk->previous_size;
    uint64_t free_bytes = 0;
    size_t free_chunks = 0;
    size_t previous_unit = (size_t)((addr >> planes.unit_shift) - planes.first_unit);
    if (previous != 0)
        previous_unit -= previous_size >> planes.unit_shift;
    while (addr < plain.stop) {
        uint64_t offset = addr - data_start;
        uint64_t word = cf_load_word(data + offset + word_bytes, word_bytes);
        uint64_t size = word & ~(uint64_t)SIZE_FLAGS;
        uint64_t dead = (word & PREV_INUSE) == 0 && previous != 0;
        bool lies = cf_load_word(data + offset, word_bytes) != previous_size;
        if (__builtin_expect((word & plain.bad_bits) != 0 || size < plain.min ||
                                 size > plain.limit - addr || (dead && lies) ||
                                 size - tcache_bytes <= STRUCT_SLACK, 0))
            break;
        planes.states[previous_unit >> 6] |= dead << (previous_unit & 63);
        freed[free_chunks] = previous;
        free_chunks += dead;
        free_bytes += dead != 0 ? previous_size : 0;
        previous_unit = (size_t)((addr >> planes.unit_shift) - planes.first_unit);
        planes.starts[previous_unit >> 6] |= 1ull << (previous_unit & 63);
        previous = addr;
        previous_size = size;
        addr += size;
    }
    walk->previous = walk->view.keep = previous;
    walk->previous_size = previous_size;
    walk->free_chunks += free_chunks;
    walk->free_bytes += free_bytes;
    *out = free_chunks;
    return addr;
}

/* The links of the chunks that a run found free, while the cache has them. */
static inline __attribute__((always_inline)) void add_batch(struct walk *walk,
                                                            const uint64_t *freed, size_t nr,
                                                            const unsigned word_bytes) {
    const unsigned char *data = walk->view.data;
    const uint64_t start = walk->view.start, bytes = walk->view.bytes;
    for (size_t i = 0; i < nr; i++) {
        uint64_t addr = freed[i], offset = addr - start;
        if (__builtin_expect(offset >= bytes || bytes - offset < 4 * word_bytes, 0)) {
            uint64_t word; /* it was read, in the span before this one */
            if (cf_chunk_size(walk->pt, addr, &word))
                add_links(walk, addr, word);
            continue;
        }
        const unsigned char *header = data + offset;
        cf_bin_sums_add(walk->sums, &walk->bins, addr,
                        cf_load_word(header + word_bytes, word_bytes) & ~(uint64_t)SIZE_FLAGS,
                        cf_load_word(header + 2 * word_bytes, word_bytes),
                        cf_load_word(header + 3 * word_bytes, word_bytes));
    }
}

/* As run_plain(), in batches: a free chunk's links are looked at in a loop of their own, since
 * whether a chunk is free cannot be predicted. */
static uint64_t run_batches(struct walk *walk, uint64_t addr, const struct plain plain) {
    uint64_t freed[BATCH_CHUNKS];
    struct plain batch = plain;
    do {
        size_t nr;
        batch.stop = plain.stop - addr < BATCH_BYTES ? plain.stop : addr + BATCH_BYTES;
        bool wide = walk->pt->word_bytes == 8;
        addr = wide ? run_plain(walk, addr, batch, 8, freed, &nr)
                    : run_plain(walk, addr, batch, 4, freed, &nr);
        nr = walk->sums != NULL ? nr : 0;
        if (wide)
            add_batch(walk, freed, nr, 8);
        else
            add_batch(walk, freed, nr, 4);
    } while (addr >= batch.stop && addr < plain.stop);
    return addr;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Up to the next place that takes a closer look, or until pages are to be dropped. */
static uint64_t skip_plain(struct walk *walk, uint64_t addr) {
    unsigned word_bytes = walk->pt->word_bytes;
    uint64_t offset = addr - walk->view.start;
    uint64_t top = walk->chain.top;
    if (addr == top || offset >= walk->view.bytes ||
        walk->view.bytes - offset < 2 * word_bytes)
        return addr;
    const struct cf_header_rule rule = walk->rule;
    struct plain plain = {
        .bad_bits = (rule.alignment - 1 - SIZE_FLAGS) | rule.bad_flags,
        .min = rule.min_bytes,
        .limit = top != 0 && addr < top ? top : walk->heap->chunks_end,
    };
    plain.stop = least(walk->view.start + (walk->view.bytes - 2 * word_bytes) + 1,
                       least(plain.limit, walk->trail.from + CF_MEM_TRAIL_BYTES));
    if (addr < plain.stop)
        addr = run_batches(walk, addr, plain);
    drop_behind(walk, addr);
    return addr;
}

static void walk_heap(struct walk *walk) {
    struct cf_heap *heap = walk->heap;
    uint64_t addr = heap->first_chunk, word;
    unsigned word_bytes = walk->pt->word_bytes;
    walk->trail = (struct cf_mem_trail){walk->pt->mem, heap->start};
    while (addr < heap->chunks_end && !walk->out_of_memory && !walk->is_cancelled) {
        bool readable = cf_word_view_get(&walk->view, addr + word_bytes, &word);
        if (addr == walk->chain.top && addr != 0) {
            addr = take_top(walk, addr, readable ? word : 0);
            break;
        }
        if (readable && is_plain(walk, addr, word))
            addr = skip_plain(walk, take_plain(walk, addr, word));
        else if (!readable || !take_fences(walk, word, &addr))
            addr = go_on_after_damage(walk, addr, readable, word);
    }
    /* Chunks end on the planes' grain; a torn size may not. */
    if (heap->chunks_end < heap->first_chunk)
        heap->chunks_end = heap->first_chunk;
    cf_mem_trail_end(&walk->trail, heap->end);
}

static void check_end(struct walk *walk) {
    const struct cf_heap *heap = walk->heap;
    bool has_top = false, has_fence = false;
    for (size_t i = 0; i < walk->odds.len; i++) {
        has_top |= walk->odds.items[i].state == CF_CHUNK_TOP;
        has_fence |= walk->odds.items[i].state == CF_CHUNK_FENCE;
    }
    if (heap->top != 0 && !has_top)
        note(walk, "top-not-met", heap->top, !walk->is_partial,
             "the walk did not reach the arena's top", heap->top);
    else if (heap->top == 0 && !has_fence && walk->anomalies.seen == 0)
        note(walk, "heap-without-end", heap->start, true,
             "neither top nor fenceposts end this heap", heap->chunks_end);
}

/* The odd chunks and anomalies of one heap go into the shared tables, in the heaps' order. */
static int merge(struct cf_ptmalloc *pt, struct walk *walk, struct cf_err *err) {
    for (size_t i = 0; i < walk->odds.len; i++) {
        int status = cf_chunkmap_add_odd(pt->map, walk->heap, walk->odds.items[i].addr,
                                         walk->odds.items[i].state, err);
        if (status != CF_OK)
            return status;
    }
    for (size_t i = 0; i < walk->tcaches.len; i++) {
        uint64_t *slot = cf_array_push(&pt->tcache_chunks);
        if (slot == NULL)
            return cf_err_nomem(err, sizeof *slot, "tcaches");
        *slot = walk->tcaches.items[i];
    }
    pt->arenas.items[walk->arena->id].walked_free += walk->free_chunks;
    pt->arenas.items[walk->arena->id].walked_free_bytes += walk->free_bytes;
    cf_anomalies_join(&pt->anomalies, &walk->anomalies);
    return walk->out_of_memory ? cf_err_nomem(err, 0, "the walk") : CF_OK;
}

static struct walk walk_of(const struct cf_context *ctx, struct cf_ptmalloc *pt, size_t index) {
    struct cf_heap *heap = cf_chunkmap_heap_mutable(pt->map, index);
    const struct cf_arena *arena = &pt->arenas.items[heap->arena_id];
    const struct cf_tcache_layout *tcache = cf_malloc_tcache_layout(pt->malloc_found);
    return (struct walk){
        .ctx = ctx, .pt = pt, .heap = heap, .arena = arena,
        .chain = {.top = heap->top, .limit = heap->chunks_end, .is_main = arena->is_main},
        .rule = cf_header_rule_make(pt->word_bytes, pt->alignment, arena->is_main),
        .view = {.mem = pt->mem, .word_bytes = pt->word_bytes},
        .ahead = {.mem = pt->mem, .word_bytes = pt->word_bytes},
        .planes = cf_chunkmap_heap_planes(pt->map, heap),
        .tcache_bytes = tcache != NULL ? tcache->chunk_bytes : NO_TCACHE,
    };
}

/* All heaps of a walk. */
struct walks {
    struct walk *heaps;
    pthread_mutex_t lock; /* of the arenas' sums */
};

/* A heap's sums become part of its arena's. */
static bool give_sums(struct walks *walks, struct walk *walk) {
    struct cf_bin_sums **arena = &walk->pt->bin_sums[walk->arena->id];
    (void)pthread_mutex_lock(&walks->lock);
    if (*arena == NULL)
        *arena = calloc(1, sizeof **arena);
    if (*arena != NULL)
        cf_bin_sums_join(*arena, walk->sums);
    bool fine = *arena != NULL;
    (void)pthread_mutex_unlock(&walks->lock);
    return fine;
}

static void walk_one(void *user, size_t index) {
    struct walks *walks = user;
    struct walk *walk = &walks->heaps[index];
    struct cf_bin_sums sums = {0};
    if (walk->arena->addr != 0) {
        walk->sums = &sums;
        walk->bins = cf_bin_shape_of(walk->pt, walk->arena);
    }
    struct cf_core_reader reader;
    if (cf_core_reader_init(&reader, cf_mem_core(walk->pt->mem)))
        walk->view.reader = &reader;
    walk_heap(walk);
    check_end(walk);
    cf_core_reader_fini(&reader);
    walk->view = (struct cf_word_view){0};
    if (walk->sums != NULL && walk->free_chunks > 0)
        walk->out_of_memory |= !give_sums(walks, walk);
    walk->sums = NULL;
}

/* The heaps' results, in their order, whoever walked them. */
static int merge_all(struct cf_ptmalloc *pt, struct walk *heaps, size_t nr_heaps,
                     struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < nr_heaps; i++) {
        if (status == CF_OK)
            status = merge(pt, &heaps[i], err);
        cf_array_free(&heaps[i].odds);
        cf_array_free(&heaps[i].tcaches);
        cf_array_free(&heaps[i].anomalies.rows);
    }
    return status;
}

int cf_walk_heaps(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                  struct cf_err *err) {
    size_t nr_heaps = cf_chunkmap_nr_heaps(pt->map);
    struct walks walks = {.heaps = calloc(nr_heaps + 1, sizeof *walks.heaps)};
    pt->bin_sums = calloc(pt->arenas.len + 1, sizeof *pt->bin_sums);
    if (walks.heaps == NULL || pt->bin_sums == NULL) {
        free(walks.heaps);
        return cf_err_nomem(err, nr_heaps * sizeof *walks.heaps, "the walk");
    }
    for (size_t i = 0; i < nr_heaps; i++)
        walks.heaps[i] = walk_of(ctx, pt, i);
    (void)pthread_mutex_init(&walks.lock, NULL);
    (void)cf_progress(ctx, "walking the heaps", 0, nr_heaps);
    cf_thread_pool_run(nr_threads, nr_heaps, walk_one, &walks);
    (void)pthread_mutex_destroy(&walks.lock);
    int status = merge_all(pt, walks.heaps, nr_heaps, err);
    free(walks.heaps);
    if (status == CF_OK && cf_progress(ctx, "walking the heaps", nr_heaps, nr_heaps))
        status = cf_err_cancelled(err);
    return status;
}
