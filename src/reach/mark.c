#include "reach/mark.h"

#include <stdlib.h>

#include "reach/scan.h"
#include "base/context.h"
#include "base/err.h"
#include "core/rss_guard.h"

enum {
    RING_ENTRIES = 32,         /* pointers whose planes are being fetched */
    STACK_ENTRIES = 32768,
    PIECE_WORDS = 2048,        /* of a large chunk at a time, so that an array floods nothing */
    WINDOW_SHIFT = 24,
    REREADS = 3,               /* times the heap, then the core's pages stay */
};

#define NO_WINDOW UINT64_MAX

struct candidate {
    uint64_t lowered;
    const struct cf_extent *extent;
};

/* Words of a chunk still to be scanned. */
struct work {
    const struct cf_extent *extent;
    uint64_t addr;
    uint64_t nr_words;
};

struct cf_mark {
    struct cf_resolver resolver;
    uint64_t *plane;
    struct cf_mark_stats stats;
};

struct marker {
    struct cf_mark *mark;
    const struct cf_resolver *resolver;
    const struct cf_mem *mem;
    uint64_t *plane;
    struct candidate ring[RING_ENTRIES];
    unsigned ring_put; /* both run on; [ring_take, ring_put) is in use */
    unsigned ring_take;
    struct work *stack;
    size_t nr_stack;
    uint64_t *batch;      /* headers of chunks outside the window, to be taken next */
    size_t nr_batch;
    uint64_t *taken;      /* the batch that is being taken */
    size_t cap;           /* of stack, batch and taken */
    uint64_t window;      /* addr >> WINDOW_SHIFT */
    uint64_t nr_left;     /* bits p */
    struct cf_rss_guard guard;
};

/* A chunk that a damaged heap left with one unit has no second bit, and no room for a pointer. */
static bool has_second(const struct cf_resolver *resolver, size_t number) {
    const struct cf_planes *planes = resolver->planes;
    return (number + 1) >> 6 >= planes->nr_words || !cf_plane_bit(planes->starts, 0, number + 1);
}

static bool test_and_set(struct marker *m, size_t number) {
    uint64_t *word = &m->plane[number >> 6];
    uint64_t bit = 1ull << (number & 63);
    if (*word & bit)
        return true;
    *word |= bit;
    return false;
}

static void leave_bit(struct marker *m, size_t number) {
    if (!has_second(m->resolver, number))
        return;
    m->plane[(number + 1) >> 6] |= 1ull << ((number + 1) & 63);
    m->nr_left++;
}

static void leave_batch(struct marker *m) {
    for (size_t i = 0; i < m->nr_batch; i++)
        leave_bit(m, cf_resolver_number_at(m->resolver, m->batch[i]));
    m->nr_batch = 0;
}

/* The caller has seen to it that there is room. */
static void push_chunk(struct marker *m, const struct cf_extent *extent, size_t number) {
    struct cf_numbered chunk = cf_resolver_chunk(m->resolver, extent, number);
    uint64_t user = chunk.addr + 2 * m->resolver->word_bytes;
    if (extent->bytes != NULL)
        __builtin_prefetch(extent->bytes + (user - extent->start));
    m->mark->stats.chunks++;
    uint64_t end = cf_resolver_payload_end(m->resolver, extent, chunk.addr, chunk.bytes);
    uint64_t nr_words = end > user ? (end - user) / m->resolver->word_bytes : 0;
    if (nr_words > 0)
        m->stack[m->nr_stack++] = (struct work){extent, user, nr_words};
}

/* A chunk that was just reached. */
static void enqueue(struct marker *m, const struct cf_extent *extent, size_t number) {
    uint64_t addr = extent->base;
    if (extent->heap != NULL)
        addr += (uint64_t)(number - extent->first_number) << m->resolver->planes->unit_shift;
    if (addr >> WINDOW_SHIFT == m->window && m->nr_stack < m->cap) {
        push_chunk(m, extent, number);
        return;
    }
    if (m->nr_batch == m->cap)
        leave_batch(m);
    m->batch[m->nr_batch++] = addr;
}

/* Takes the pointer that has been on the ring longest: by now its words of the planes have come. */
static void take_pointer(struct marker *m) {
    struct candidate oldest = m->ring[m->ring_take++ % RING_ENTRIES];
    size_t number = cf_resolver_number(m->resolver, oldest.extent, oldest.lowered);
    if (number == CF_NO_CHUNK)
        return;
    m->mark->stats.pointers++;
    if (!test_and_set(m, number))
        enqueue(m, oldest.extent, number);
}

static inline void consider(struct marker *m, uint64_t lowered) {
    const struct cf_extent *extent = cf_resolver_extent(m->resolver, lowered);
    if (extent == NULL)
        return;
    if (extent->heap != NULL) {
        size_t word = extent->plane_word + (cf_resolver_unit(m->resolver, extent, lowered) >> 6);
        __builtin_prefetch(&m->resolver->planes->starts[word]);
        __builtin_prefetch(&m->plane[word], 1);
    }
    if (m->ring_put - m->ring_take == RING_ENTRIES)
        take_pointer(m);
    m->ring[m->ring_put++ % RING_ENTRIES] = (struct candidate){lowered, extent};
}

static void empty_ring(struct marker *m) {
    while (m->ring_put != m->ring_take)
        take_pointer(m);
}

/* [addr, end), as far as the core has it. */
static void scan_range(struct marker *m, uint64_t addr, uint64_t end) {
    struct cf_scan scan = {m->mem, addr, end, 0};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        CF_SCAN_WORDS(m->resolver, bytes, nr_words, consider, m);
        m->mark->stats.words += nr_words;
        cf_rss_guard_step(&m->guard);
    }
    m->mark->stats.unreadable_bytes += scan.unreadable_bytes;
}

/* Cuts the next piece off a large chunk's work, and puts the rest back: the work's own place on
 * the stack was just freed. Pages that were not in memory are stepped over. */
static void cut_piece(struct marker *m, struct work *work) {
    unsigned word_bytes = m->resolver->word_bytes;
    uint64_t end = work->addr + work->nr_words * word_bytes;
    uint64_t run_end;
    cf_scan_run(m->mem, work->addr, end, &work->addr, &run_end);
    work->nr_words = (run_end - work->addr) / word_bytes;
    if (work->nr_words > PIECE_WORDS)
        work->nr_words = PIECE_WORDS;
    uint64_t rest = work->nr_words > 0 ? work->addr + work->nr_words * word_bytes : run_end;
    if (rest < end)
        m->stack[m->nr_stack++] = (struct work){work->extent, rest, (end - rest) / word_bytes};
}

static void scan_work(struct marker *m, struct work work) {
    if (work.nr_words > PIECE_WORDS)
        cut_piece(m, &work);
    const struct cf_extent *extent = work.extent;
    if (extent->bytes == NULL) {
        scan_range(m, work.addr, work.addr + work.nr_words * m->resolver->word_bytes);
        return;
    }
    const unsigned char *bytes = extent->bytes + (work.addr - extent->start);
    CF_SCAN_WORDS(m->resolver, bytes, work.nr_words, consider, m);
    m->mark->stats.words += work.nr_words;
    cf_rss_guard_step(&m->guard);
}

/* Until there is nothing on the stack, and nothing on the ring that could bring more. */
static void drain(struct marker *m) {
    for (;;) {
        if (m->nr_stack > 0)
            scan_work(m, m->stack[--m->nr_stack]);
        else if (m->ring_put != m->ring_take)
            take_pointer(m);
        else
            return;
    }
}

/* The stack is empty. */
static void take(struct marker *m, uint64_t addr) {
    const struct cf_extent *extent = cf_resolver_extent(m->resolver, addr);
    m->window = addr >> WINDOW_SHIFT;
    push_chunk(m, extent, cf_resolver_number_at(m->resolver, addr));
    drain(m);
}

static int compare_addrs(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void take_batch(struct marker *m) {
    uint64_t *batch = m->batch;
    size_t nr = m->nr_batch;
    m->batch = m->taken;
    m->taken = batch;
    m->nr_batch = 0;
    if (nr > 1)
        qsort(batch, nr, sizeof *batch, compare_addrs);
    for (size_t i = 0; i < nr; i++)
        take(m, batch[i]);
}

/* Bits that are set and stand at no chunk's start are bits p. */
static void sweep_heaps(struct marker *m) {
    const struct cf_resolver *r = m->resolver;
    for (size_t i = 0; i < r->nr_extents; i++) {
        const struct cf_extent *extent = &r->extents[i];
        if (extent->heap == NULL)
            continue;
        size_t end = extent->plane_word + cf_planes_units(r->planes, extent->heap) / 64 + 1;
        for (size_t word = extent->plane_word; word < end && m->nr_left > 0; word++) {
            uint64_t bits;
            while ((bits = m->plane[word] & ~r->planes->starts[word]) != 0) {
                m->plane[word] &= ~(bits & -bits);
                m->nr_left--;
                size_t unit = (word - extent->plane_word) * 64 + (size_t)__builtin_ctzll(bits) - 1;
                take(m, extent->base + ((uint64_t)unit << r->planes->unit_shift));
            }
        }
    }
}

static void sweep_mmapped(struct marker *m) {
    for (size_t i = 0; i < m->resolver->nr_extents && m->nr_left > 0; i++) {
        const struct cf_extent *extent = &m->resolver->extents[i];
        size_t bit = extent->first_number + 1;
        if (extent->heap != NULL || !(m->plane[bit >> 6] >> (bit & 63) & 1))
            continue;
        m->plane[bit >> 6] &= ~(1ull << (bit & 63));
        m->nr_left--;
        take(m, extent->start);
    }
}

static void follow(struct marker *m) {
    while (m->nr_batch > 0 || m->nr_left > 0) {
        if (m->nr_left == 0) {
            take_batch(m);
            continue;
        }
        leave_batch(m); /* the sweep takes these too, in their places */
        m->mark->stats.sweeps++;
        sweep_heaps(m);
        sweep_mmapped(m);
    }
}

static void scan_roots(const struct cf_context *ctx, struct marker *m,
                       const struct cf_mark_input *input) {
    const struct cf_core *core = cf_mem_core(m->mem);
    m->window = NO_WINDOW;
    for (size_t i = 0; i < input->nr_roots; i++) {
        const struct cf_root *root = &input->roots[i];
        cf_progress(ctx, "roots", i, input->nr_roots);
        if (root->kind == CF_ROOT_REGISTER) {
            const struct cf_core_thread *thread = cf_core_thread(core, (size_t)root->thread);
            CF_SCAN_WORDS(m->resolver, thread->regs, thread->regs_bytes / m->resolver->word_bytes,
                          consider, m);
            continue;
        }
        scan_range(m, root->start, root->end);
    }
    empty_ring(m);
    m->mark->stats.unreadable_bytes = 0; /* of roots: what lacks is already counted there */
}

static void set_bit(struct cf_mark *mark, size_t number) {
    mark->plane[number >> 6] |= 1ull << (number & 63);
}

/* Chunks that are not live, and tcache structs, begin as reached. */
static void premark(struct cf_mark *mark, const struct cf_mark_input *input) {
    const struct cf_resolver *resolver = &mark->resolver;
    const struct cf_planes *planes = resolver->planes;
    for (size_t i = 0; i < planes->nr_words; i++)
        mark->plane[i] = planes->starts[i] & ~cf_ranks_live_bits(planes, i);
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->mmapped != NULL && extent->mmapped->in_tcache)
            set_bit(mark, extent->first_number);
    }
    for (size_t i = 0; i < input->nr_silent; i++) {
        size_t number = cf_resolver_number_at(resolver,
                                              input->silent[i] - 2 * resolver->word_bytes);
        if (number != CF_NO_CHUNK)
            set_bit(mark, number);
    }
}

static int allocate(struct marker *m, size_t cap, struct cf_err *err) {
    m->cap = cap;
    m->stack = calloc(cap + 1, sizeof *m->stack);
    m->batch = calloc(cap, sizeof *m->batch);
    m->taken = calloc(cap, sizeof *m->taken);
    if (m->stack == NULL || m->batch == NULL || m->taken == NULL)
        return cf_err_nomem(err, cap * sizeof *m->stack, "the stack of the mark");
    return CF_OK;
}

int cf_mark_follow(const struct cf_context *ctx, const struct cf_mark_input *input,
                   struct cf_mark *mark, struct cf_err *err) {
    uint64_t heap_bytes = 0;
    for (size_t i = 0; i < mark->resolver.nr_extents; i++)
        heap_bytes += mark->resolver.extents[i].end - mark->resolver.extents[i].start;
    struct marker m = {
        .mark = mark, .resolver = &mark->resolver, .mem = input->mem, .plane = mark->plane,
        .guard = cf_rss_guard_make(cf_mem_core(input->mem), heap_bytes, REREADS),
    };
    int status = allocate(&m, input->stack_cap != 0 ? input->stack_cap : STACK_ENTRIES, err);
    if (status == CF_OK && mark->resolver.nr_extents > 0) {
        scan_roots(ctx, &m, input);
        follow(&m);
        cf_core_drop(cf_mem_core(m.mem), 0, cf_core_file_bytes(cf_mem_core(m.mem)));
        mark->stats.drops = m.guard.drops;
    }
    free(m.stack);
    free(m.batch);
    free(m.taken);
    return status;
}

void cf_mark_take(struct cf_mark *mark, const struct cf_ranks *ranks, const uint64_t *reached) {
    const struct cf_planes *planes = mark->resolver.planes;
    size_t rank = 0, nr_mmapped = cf_chunkmap_nr_mmapped(mark->resolver.map);
    for (size_t word = 0; word < planes->nr_words; word++)
        for (uint64_t live = cf_ranks_live_bits(planes, word); live != 0; live &= live - 1, rank++)
            if (reached[rank / 64] >> (rank & 63) & 1)
                mark->plane[word] |= live & -live;
    for (size_t i = 0; i < nr_mmapped; i++, rank++)
        if (reached[rank / 64] >> (rank & 63) & 1)
            set_bit(mark, cf_ranks_number(ranks, rank));
    for (size_t i = 0; i < ranks->nr / 64 + 1; i++)
        mark->stats.chunks += cf_ranks_count_bits(reached[i]);
}

static int make(const struct cf_mark_input *input, struct cf_mark *mark, struct cf_err *err) {
    int status = cf_resolver_init(&mark->resolver, input->mem, input->map, err);
    if (status != CF_OK)
        return status;
    size_t nr_words = mark->resolver.nr_numbers / 64 + 1;
    mark->plane = calloc(nr_words, sizeof *mark->plane);
    if (mark->plane == NULL)
        return cf_err_nomem(err, nr_words * sizeof *mark->plane, "the plane of marks");
    if (mark->resolver.nr_extents > 0)
        premark(mark, input);
    return CF_OK;
}

int cf_mark_new(const struct cf_mark_input *input, struct cf_mark **out, struct cf_err *err) {
    struct cf_mark *mark = calloc(1, sizeof *mark);
    if (mark == NULL)
        return cf_err_nomem(err, sizeof *mark, "the mark");
    int status = make(input, mark, err);
    if (status != CF_OK) {
        cf_mark_free(mark);
        return status;
    }
    *out = mark;
    return CF_OK;
}

int cf_mark_run(const struct cf_context *ctx, const struct cf_mark_input *input,
                struct cf_mark **out, struct cf_err *err) {
    struct cf_mark *mark;
    int status = cf_mark_new(input, &mark, err);
    if (status != CF_OK)
        return status;
    status = cf_mark_follow(ctx, input, mark, err);
    if (status != CF_OK) {
        cf_mark_free(mark);
        return status;
    }
    *out = mark;
    return CF_OK;
}

void cf_mark_free(struct cf_mark *mark) {
    if (mark == NULL)
        return;
    cf_resolver_fini(&mark->resolver);
    free(mark->plane);
    free(mark);
}

bool cf_mark_reached(const struct cf_mark *mark, size_t number) {
    return mark->plane[number >> 6] >> (number & 63) & 1;
}

bool cf_mark_reached_at(const struct cf_mark *mark, uint64_t addr) {
    size_t number = cf_resolver_number_at(&mark->resolver, addr);
    return number == CF_NO_CHUNK || cf_mark_reached(mark, number);
}

const struct cf_resolver *cf_mark_resolver(const struct cf_mark *mark) {
    return &mark->resolver;
}

const struct cf_mark_stats *cf_mark_stats(const struct cf_mark *mark) {
    return &mark->stats;
}

const uint64_t *cf_mark_plane(const struct cf_mark *mark) {
    return mark->plane;
}

void cf_mark_set_second(struct cf_mark *mark, size_t number) {
    if (has_second(&mark->resolver, number))
        mark->plane[(number + 1) >> 6] |= 1ull << ((number + 1) & 63);
}

bool cf_mark_second(const struct cf_mark *mark, size_t number) {
    return has_second(&mark->resolver, number) && cf_mark_reached(mark, number + 1);
}

static uint64_t unreached_bits(const struct cf_mark *mark, const struct cf_extent *extent,
                               size_t word) {
    size_t units = cf_planes_units(mark->resolver.planes, extent->heap);
    if (word * 64 >= units)
        return 0;
    uint64_t bits = mark->resolver.planes->starts[extent->plane_word + word] &
                    ~mark->plane[extent->plane_word + word];
    return units - word * 64 < 64 ? bits & ((1ull << (units - word * 64)) - 1) : bits;
}

void cf_unreached_iter_init(struct cf_unreached_iter *iter, const struct cf_mark *mark) {
    *iter = (struct cf_unreached_iter){.mark = mark};
    if (mark->resolver.nr_extents > 0 && mark->resolver.extents[0].heap != NULL)
        iter->bits = unreached_bits(mark, &mark->resolver.extents[0], 0);
}

/* To the first word of the next extent. An mmapped chunk is an extent of one bit. */
static void next_extent(struct cf_unreached_iter *iter) {
    const struct cf_resolver *r = &iter->mark->resolver;
    iter->word = 0;
    if (++iter->extent < r->nr_extents && r->extents[iter->extent].heap != NULL)
        iter->bits = unreached_bits(iter->mark, &r->extents[iter->extent], 0);
}

bool cf_unreached_iter_next(struct cf_unreached_iter *iter, struct cf_unreached *out) {
    const struct cf_resolver *r = &iter->mark->resolver;
    while (iter->extent < r->nr_extents) {
        const struct cf_extent *extent = &r->extents[iter->extent];
        size_t number = extent->first_number;
        if (extent->heap == NULL) {
            next_extent(iter);
            if (cf_mark_reached(iter->mark, number))
                continue;
        } else if (iter->bits != 0) {
            number += iter->word * 64 + (size_t)__builtin_ctzll(iter->bits);
            iter->bits &= iter->bits - 1;
        } else {
            size_t nr_words = cf_planes_units(r->planes, extent->heap) / 64 + 1;
            if (++iter->word < nr_words)
                iter->bits = unreached_bits(iter->mark, extent, iter->word);
            else
                next_extent(iter);
            continue;
        }
        struct cf_numbered chunk = cf_resolver_chunk(r, extent, number);
        *out = (struct cf_unreached){number, chunk.addr, chunk.bytes, extent};
        return true;
    }
    return false;
}
