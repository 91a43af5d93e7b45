/*
 * A path leads back from position to position, each of which is lower than the one before, so it
 * ends. It may be as long as a list of all chunks is, and many paths share most of their way:
 * positions that end in eight zero bits are milestones, where the rest of the way is remembered.
 * A path that meets one stops there; those that were walked lay them.
 */
#include "reach/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum {
    STONE_SHIFT = 8, /* such round positions are milestones */
    NR_STONES = 1 << 14,
    FILTER_BITS = 15, /* which ranks may be wanted ones: a bit by hash */
    DROP_EACH = 1 << 22, /* positions */
    LOOK_EACH = 1 << 13, /* steps back: a look at our memory costs as much as some thousand */
    TICK_EACH = 1 << 18, /* positions or steps */
    RESIDENT_MAX = 64 << 20,
};

static const uint32_t ROOT = 1u << 31;

/* What is known of the path back from a milestone; they are found by the position's higher bits,
 * and of two in one place the last one met wins. */
struct cf_path_stone {
    uint32_t at; /* 1 + position; 0: empty */
    uint32_t root;
    uint32_t first;
    uint32_t nr_chunks;
};

int cf_paths_begin(struct cf_paths_writer *writer, bool with_from, struct cf_err *err) {
    *writer = (struct cf_paths_writer){.nr = 0};
    int status = cf_scratch_begin(&writer->order, err);
    if (status == CF_OK && with_from)
        status = cf_scratch_begin(&writer->from, err);
    if (status != CF_OK)
        cf_paths_abandon(writer);
    return status;
}

void cf_paths_copy(const struct cf_paths_writer *writer, struct cf_position position,
                   uint32_t *out, size_t nr) {
    cf_scratch_copy(&writer->order, (uint64_t)position.index * sizeof *out, out,
                    nr * sizeof *out);
}

void cf_paths_abandon(struct cf_paths_writer *writer) {
    cf_scratch_abandon(&writer->order);
    cf_scratch_abandon(&writer->from);
}

static void free_paths(struct cf_paths **paths) {
    cf_paths_free(*paths);
}

int cf_paths_finish(struct cf_paths_writer *writer, struct cf_paths **out, struct cf_err *err) {
    CF_CLEANUP(free_paths) struct cf_paths *paths = calloc(1, sizeof *paths);
    int status = paths != NULL ? CF_OK : cf_err_nomem(err, sizeof *paths, "the paths to chunks");
    if (status == CF_OK) {
        paths->nr = writer->nr;
        paths->stones = calloc(NR_STONES, sizeof *paths->stones);
        if (paths->stones == NULL)
            status = cf_err_nomem(err, NR_STONES * sizeof *paths->stones, "milestones");
    }
    if (status == CF_OK)
        status = cf_scratch_finish(&writer->order, &paths->order_file, err);
    if (status == CF_OK)
        status = cf_scratch_finish(&writer->from, &paths->from_file, err);
    cf_paths_abandon(writer);
    if (status != CF_OK)
        return status;
    paths->order = paths->order_file.at;
    paths->from = paths->from_file.at;
    *out = cf_take(&paths);
    return CF_OK;
}

void cf_paths_free(struct cf_paths *paths) {
    if (paths == NULL)
        return;
    cf_scratch_fini(&paths->order_file);
    cf_scratch_fini(&paths->from_file);
    free(paths->stones);
    free(paths);
}

void cf_paths_drop(const struct cf_paths *paths) {
    cf_scratch_drop(&paths->order_file);
    cf_scratch_drop(&paths->from_file);
}

static size_t filter_bit(struct cf_rank rank) {
    return (size_t)((uint64_t)rank.index * 0x9e3779b97f4a7c15ull >> (64 - FILTER_BITS));
}

/* Index of the rank, or `nr`. */
static size_t find_rank(const struct cf_rank *ranks, size_t nr, struct cf_rank rank) {
    size_t at = cf_bound(nr, i, ranks[i].index >= rank.index);
    return at < nr && ranks[at].index == rank.index ? at : nr;
}

int cf_paths_find(const struct cf_context *ctx, const struct cf_paths *paths,
                  const struct cf_rank *ranks, size_t nr, struct cf_position *positions,
                  struct cf_err *err) {
    uint64_t filter[(1 << FILTER_BITS) / 64] = {0};
    for (size_t i = 0; i < nr; i++) {
        filter[filter_bit(ranks[i]) / 64] |= 1ull << (filter_bit(ranks[i]) & 63);
        positions[i] = CF_NO_POSITION;
    }
    for (struct cf_position position = {0}; position.index < paths->nr && nr > 0;
         position.index++) {
        struct cf_rank rank = cf_paths_rank(paths, position);
        size_t bit = filter_bit(rank);
        if (position.index % TICK_EACH == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
        if (position.index % DROP_EACH == 0)
            cf_scratch_drop(&paths->order_file);
        if ((filter[bit / 64] >> (bit & 63) & 1) == 0)
            continue;
        size_t at = find_rank(ranks, nr, rank);
        if (at < nr)
            positions[at] = position;
    }
    for (size_t i = 1; i < nr; i++)
        if (ranks[i].index == ranks[i - 1].index)
            positions[i] = positions[i - 1];
    return CF_OK;
}

static struct cf_path_stone *stone_of(const struct cf_paths *paths, uint32_t position) {
    if (position & ((1u << STONE_SHIFT) - 1))
        return NULL;
    return &paths->stones[position >> STONE_SHIFT & (NR_STONES - 1)];
}

/* A step back may lead to any page; what was stepped on stays ours until it is given back. */
static void step(const struct cf_paths *paths, uint64_t nr_steps) {
    if (nr_steps % LOOK_EACH == 0 && cf_resident_file_bytes() > RESIDENT_MAX)
        cf_paths_drop(paths);
}

/* Lays milestones on the path from `position` to its root. False: cancelled. */
static bool lay_stones(const struct cf_context *ctx, struct cf_paths *paths, uint32_t position,
                       struct cf_path_end end) {
    for (; end.nr_chunks > 0; end.nr_chunks--, position = paths->from[position]) {
        struct cf_path_stone *stone = stone_of(paths, position);
        step(paths, end.nr_chunks);
        if (end.nr_chunks % TICK_EACH == 0 && cf_tick(ctx))
            return false;
        if (stone == NULL)
            continue;
        if (stone->at == position + 1)
            return true; /* and all beyond it were laid */
        *stone = (struct cf_path_stone){position + 1, (uint32_t)end.root,
                                       (uint32_t)end.first.index, (uint32_t)end.nr_chunks};
    }
    return true;
}

int cf_paths_end(const struct cf_context *ctx, struct cf_paths *paths,
                 struct cf_position position, struct cf_path_end *out, struct cf_err *err) {
    struct cf_path_end end = {.nr_chunks = 0};
    for (uint32_t at = (uint32_t)position.index;; at = paths->from[at]) {
        const struct cf_path_stone *stone = stone_of(paths, at);
        if (stone != NULL && stone->at == at + 1) {
            end.nr_chunks += stone->nr_chunks;
            end.first.index = stone->first;
            end.root = stone->root;
            break;
        }
        step(paths, ++end.nr_chunks);
        if (end.nr_chunks % TICK_EACH == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
        if (paths->from[at] & ROOT) {
            end.first.index = at;
            end.root = paths->from[at] & ~ROOT;
            break;
        }
    }
    if (!lay_stones(ctx, paths, (uint32_t)position.index, end))
        return cf_err_cancelled(err);
    *out = end;
    return CF_OK;
}
