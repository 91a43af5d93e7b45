/*
 * The search knows ranks, and whoever asks knows numbers: what was reached is carried over from
 * one plane to the other by going through the live bits of each word of the planes in their order,
 * which is that of ranks.
 */
#include "reach/mark.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/err.h"

enum { TICK_WORDS = 1 << 18 }; /* of the planes */

struct cf_mark {
    struct cf_resolver resolver;
    uint64_t *plane;
};

static void set_bit(struct cf_mark *mark, struct cf_chunk_number number) {
    mark->plane[number.index >> 6] |= 1ull << (number.index & 63);
}

/* Chunks that are not live, and tcache structs, begin as reached. */
static int premark(const struct cf_context *ctx, struct cf_mark *mark,
                   const struct cf_mark_input *input, struct cf_err *err) {
    const struct cf_resolver *resolver = &mark->resolver;
    const struct cf_planes *planes = resolver->planes;
    for (size_t i = 0; i < planes->nr_words; i++) {
        mark->plane[i] = planes->starts[i] & ~cf_ranks_live_bits(planes, i);
        if (i % TICK_WORDS == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->mmapped != NULL && extent->mmapped->in_tcache)
            set_bit(mark, extent->first_number);
    }
    for (size_t i = 0; i < input->nr_pointerless; i++) {
        struct cf_chunk_number number =
            cf_resolver_number_at(resolver, input->pointerless[i] - 2 * resolver->word_bytes);
        if (cf_is_chunk(number))
            set_bit(mark, number);
    }
    return CF_OK;
}

/* The bits of those live ones of a word of the planes that are reached; the first of them has this
 * rank. Mostly it is all or none. */
static uint64_t reached_bits(uint64_t live, const uint64_t *reached, struct cf_rank rank,
                             size_t nr) {
    size_t word = rank.index / 64, shift = rank.index & 63;
    uint64_t bits = reached[word] >> shift | (shift != 0 ? reached[word + 1] << (64 - shift) : 0);
    uint64_t all = nr < 64 ? (1ull << nr) - 1 : ~0ull;
    if ((bits & all) == all)
        return live;
    uint64_t out = 0;
    for (bits &= all; bits != 0; bits >>= 1, live &= live - 1)
        if (bits & 1)
            out |= live & -live;
    return out;
}

int cf_mark_take(const struct cf_context *ctx, struct cf_mark *mark, const struct cf_ranks *ranks,
                 const uint64_t *reached, struct cf_err *err) {
    const struct cf_planes *planes = mark->resolver.planes;
    struct cf_rank rank = {0};
    size_t nr_mmapped = cf_chunkmap_nr_mmapped(mark->resolver.map);
    for (size_t word = 0; word < planes->nr_words; word++) {
        uint64_t live = cf_ranks_live_bits(planes, word);
        size_t nr = cf_ranks_count_bits(live);
        mark->plane[word] |= reached_bits(live, reached, rank, nr);
        rank.index += nr;
        if (word % TICK_WORDS == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    for (size_t i = 0; i < nr_mmapped; i++, rank.index++)
        if (cf_rank_bit(reached, rank))
            set_bit(mark, cf_ranks_number(ranks, rank));
    return CF_OK;
}

static int make(const struct cf_context *ctx, const struct cf_mark_input *input,
                struct cf_mark *mark, struct cf_err *err) {
    int status = cf_resolver_init(&mark->resolver, input->mem, input->map, err);
    if (status != CF_OK)
        return status;
    size_t nr_words = mark->resolver.nr_numbers / 64 + 1;
    mark->plane = calloc(nr_words, sizeof *mark->plane);
    if (mark->plane == NULL)
        return cf_err_nomem(err, nr_words * sizeof *mark->plane, "the plane of marks");
    return mark->resolver.nr_extents > 0 ? premark(ctx, mark, input, err) : CF_OK;
}

int cf_mark_new(const struct cf_context *ctx, const struct cf_mark_input *input,
                struct cf_mark **out, struct cf_err *err) {
    struct cf_mark *mark = calloc(1, sizeof *mark);
    if (mark == NULL)
        return cf_err_nomem(err, sizeof *mark, "the mark");
    int status = make(ctx, input, mark, err);
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

bool cf_mark_reached(const struct cf_mark *mark, struct cf_chunk_number number) {
    return cf_number_bit(mark->plane, number);
}

bool cf_mark_reached_at(const struct cf_mark *mark, uint64_t addr) {
    struct cf_chunk_number number = cf_resolver_number_at(&mark->resolver, addr);
    return !cf_is_chunk(number) || cf_mark_reached(mark, number);
}

const struct cf_resolver *cf_mark_resolver(const struct cf_mark *mark) {
    return &mark->resolver;
}

const uint64_t *cf_mark_plane(const struct cf_mark *mark) {
    return mark->plane;
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
        struct cf_chunk_number number = extent->first_number;
        if (extent->heap == NULL) {
            next_extent(iter);
            if (cf_mark_reached(iter->mark, number))
                continue;
        } else if (iter->bits != 0) {
            number.index += iter->word * 64 + (size_t)__builtin_ctzll(iter->bits);
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
