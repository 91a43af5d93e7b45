#include "analysis/ways.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

enum {
    STONE_SHIFT = 8, /* such round positions are milestones */
    NR_STONES = 1 << 14,
    FILTER_BITS = 15, /* which ranks may be wanted ones: a bit by hash */
    DROP_EACH = 1 << 22, /* positions */
    LOOK_EACH = 512,     /* steps back */
    RESIDENT_MAX = 64 << 20,
};

static const uint32_t ROOT = 1u << 31;

/* What is known of the way back from a milestone; they are found by the position's higher bits, and
 * of two in one place the last one met wins. */
struct cf_way_stone {
    uint32_t at; /* 1 + position; 0: empty */
    uint32_t root;
    uint32_t first;
    uint32_t nr_chunks;
};

int cf_ways_begin(struct cf_ways_writer *writer, bool with_from, struct cf_err *err) {
    *writer = (struct cf_ways_writer){.nr = 0};
    int status = cf_scratch_begin(&writer->order, err);
    if (status == CF_OK && with_from)
        status = cf_scratch_begin(&writer->from, err);
    if (status != CF_OK)
        cf_ways_abandon(writer);
    return status;
}

void cf_ways_copy(const struct cf_ways_writer *writer, size_t position, uint32_t *out, size_t nr) {
    cf_scratch_copy(&writer->order, (uint64_t)position * sizeof *out, out, nr * sizeof *out);
}

void cf_ways_abandon(struct cf_ways_writer *writer) {
    cf_scratch_abandon(&writer->order);
    cf_scratch_abandon(&writer->from);
}

static void free_ways(struct cf_ways **ways) {
    cf_ways_free(*ways);
}

int cf_ways_finish(struct cf_ways_writer *writer, struct cf_ways **out, struct cf_err *err) {
    CF_CLEANUP(free_ways) struct cf_ways *ways = calloc(1, sizeof *ways);
    int status = ways != NULL ? CF_OK : cf_err_nomem(err, sizeof *ways, "the ways to chunks");
    if (status == CF_OK) {
        ways->nr = writer->nr;
        ways->stones = calloc(NR_STONES, sizeof *ways->stones);
        if (ways->stones == NULL)
            status = cf_err_nomem(err, NR_STONES * sizeof *ways->stones, "milestones");
    }
    if (status == CF_OK)
        status = cf_scratch_finish(&writer->order, &ways->order_file, err);
    if (status == CF_OK)
        status = cf_scratch_finish(&writer->from, &ways->from_file, err);
    cf_ways_abandon(writer);
    if (status != CF_OK)
        return status;
    ways->order = ways->order_file.at;
    ways->from = ways->from_file.at;
    *out = cf_take(&ways);
    return CF_OK;
}

void cf_ways_free(struct cf_ways *ways) {
    if (ways == NULL)
        return;
    cf_scratch_fini(&ways->order_file);
    cf_scratch_fini(&ways->from_file);
    cf_scratch_fini(&ways->places_file);
    free(ways->stones);
    free(ways);
}

void cf_ways_drop(const struct cf_ways *ways) {
    cf_scratch_drop(&ways->order_file);
    cf_scratch_drop(&ways->from_file);
    cf_scratch_drop(&ways->places_file);
}

static size_t filter_bit(size_t rank) {
    return (size_t)((uint64_t)rank * 0x9e3779b97f4a7c15ull >> (64 - FILTER_BITS));
}

/* Index of the rank, or `nr`. */
static size_t find_rank(const size_t *ranks, size_t nr, size_t rank) {
    size_t low = 0, high = nr;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < nr && ranks[low] == rank ? low : nr;
}

void cf_ways_find(const struct cf_ways *ways, const size_t *ranks, size_t nr, size_t *positions) {
    uint64_t filter[(1 << FILTER_BITS) / 64] = {0};
    for (size_t i = 0; i < nr; i++) {
        filter[filter_bit(ranks[i]) / 64] |= 1ull << (filter_bit(ranks[i]) & 63);
        positions[i] = CF_NO_POSITION;
    }
    for (size_t position = 0; position < ways->nr && nr > 0; position++) {
        size_t rank = ways->order[position], bit = filter_bit(rank);
        if (position % DROP_EACH == 0)
            cf_scratch_drop(&ways->order_file);
        if ((filter[bit / 64] >> (bit & 63) & 1) == 0)
            continue;
        size_t at = find_rank(ranks, nr, rank);
        if (at < nr)
            positions[at] = position;
    }
    for (size_t i = 1; i < nr; i++)
        if (ranks[i] == ranks[i - 1])
            positions[i] = positions[i - 1];
}

int cf_ways_index(struct cf_ways *ways, size_t nr, struct cf_err *err) {
    if (ways->places != NULL)
        return CF_OK;
    int status = cf_scratch_init(&ways->places_file, (nr + 1) * sizeof *ways->places, err);
    if (status != CF_OK)
        return status;
    ways->places = ways->places_file.at;
    for (size_t position = 0; position < ways->nr; position++)
        ways->places[ways->order[position]] = (uint32_t)position + 1;
    return CF_OK;
}

bool cf_ways_get(const struct cf_ways *ways, size_t rank, size_t *root, size_t *from) {
    uint32_t place = ways->places[rank];
    if (place == 0)
        return false;
    uint32_t value = ways->from[place - 1];
    *root = value & ROOT ? value & ~ROOT : SIZE_MAX;
    *from = value & ROOT ? SIZE_MAX : ways->order[value];
    return true;
}

static struct cf_way_stone *stone_of(const struct cf_ways *ways, uint32_t position) {
    if (position & ((1u << STONE_SHIFT) - 1))
        return NULL;
    return &ways->stones[position >> STONE_SHIFT & (NR_STONES - 1)];
}

/* A step back may lead to any page; what was stepped on stays ours until it is given back. */
static void step(const struct cf_ways *ways, uint64_t nr_steps) {
    if (nr_steps % LOOK_EACH == 0 && cf_scratch_resident() > RESIDENT_MAX)
        cf_ways_drop(ways);
}

/* Lays milestones on the way from `position` to its root. */
static void lay_stones(struct cf_ways *ways, uint32_t position, struct cf_way_end end) {
    for (; end.nr_chunks > 0; end.nr_chunks--, position = ways->from[position]) {
        struct cf_way_stone *stone = stone_of(ways, position);
        step(ways, end.nr_chunks);
        if (stone == NULL)
            continue;
        if (stone->at == position + 1)
            return; /* and all beyond it were laid */
        *stone = (struct cf_way_stone){position + 1, (uint32_t)end.root, (uint32_t)end.first,
                                       (uint32_t)end.nr_chunks};
    }
}

struct cf_way_end cf_ways_end(struct cf_ways *ways, size_t position) {
    struct cf_way_end end = {.nr_chunks = 0};
    for (uint32_t at = (uint32_t)position;; at = ways->from[at]) {
        const struct cf_way_stone *stone = stone_of(ways, at);
        if (stone != NULL && stone->at == at + 1) {
            end.nr_chunks += stone->nr_chunks;
            end.first = stone->first;
            end.root = stone->root;
            break;
        }
        step(ways, ++end.nr_chunks);
        if (ways->from[at] & ROOT) {
            end.first = at;
            end.root = ways->from[at] & ~ROOT;
            break;
        }
    }
    lay_stones(ways, (uint32_t)position, end);
    return end;
}
