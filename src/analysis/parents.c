#include "analysis/parents.h"

#include <stdlib.h>

#include "base/err.h"

enum {
    STONE_SHIFT = 8, /* chunks with such a round rank are milestones */
    NR_STONES = 1 << 14,
};

static const uint32_t ROOT = 1u << 31, NUMBERS_MAX = (1u << 31) - 2;

/* What is known of the way back from a milestone; they are found by the rank's higher bits, and of
 * two in one place the last one met wins. */
struct cf_stone {
    uint32_t from; /* 1 + rank; 0: empty */
    uint32_t root;
    uint32_t first; /* 1 + rank of the chunk that the root leads to */
    uint32_t nr_chunks;
};

int cf_parents_new(size_t nr, size_t nr_roots, struct cf_parents **out, struct cf_err *err) {
    if (nr > NUMBERS_MAX || nr_roots > NUMBERS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more chunks or roots than can be numbered");
    struct cf_parents *parents = calloc(1, sizeof *parents);
    if (parents == NULL)
        return cf_err_nomem(err, sizeof *parents, "the ways to chunks");
    parents->stones = calloc(NR_STONES, sizeof *parents->stones);
    int status = parents->stones != NULL
                     ? cf_scratch_init(&parents->file, (nr + 1) * sizeof *parents->map, err)
                     : cf_err_nomem(err, NR_STONES * sizeof *parents->stones, "milestones");
    if (status != CF_OK) {
        cf_parents_free(parents);
        return status;
    }
    parents->map = parents->file.at;
    *out = parents;
    return CF_OK;
}

void cf_parents_free(struct cf_parents *parents) {
    if (parents == NULL)
        return;
    cf_scratch_fini(&parents->file);
    free(parents->stones);
    free(parents);
}

bool cf_parents_get(const struct cf_parents *parents, size_t rank, size_t *root, size_t *from) {
    uint32_t value = parents->map[rank];
    if (value == 0)
        return false;
    *root = value & ROOT ? value & ~ROOT : SIZE_MAX;
    *from = value & ROOT ? SIZE_MAX : value - 1;
    return true;
}

static struct cf_stone *stone_of(const struct cf_parents *parents, uint32_t from) {
    if ((from - 1) & ((1u << STONE_SHIFT) - 1))
        return NULL;
    return &parents->stones[(from - 1) >> STONE_SHIFT & (NR_STONES - 1)];
}

/* Lays milestones on the way from `stone.from` to its root. */
static void lay_stones(struct cf_parents *parents, struct cf_stone way) {
    for (; way.nr_chunks > 0; way.nr_chunks--) {
        struct cf_stone *stone = stone_of(parents, way.from);
        if (stone != NULL && stone->from == way.from)
            return; /* and all beyond it were laid */
        if (stone != NULL)
            *stone = way;
        way.from = parents->map[way.from - 1];
    }
}

bool cf_parents_end(struct cf_parents *parents, size_t rank, struct cf_way_end *out) {
    struct cf_stone way = {.from = cf_parents_from_chunk(rank)};
    uint32_t at = way.from;
    for (; at != 0 && !(at & ROOT); way.nr_chunks++) {
        const struct cf_stone *stone = stone_of(parents, at);
        if (stone != NULL && stone->from == at) {
            way.nr_chunks += stone->nr_chunks;
            way.first = stone->first;
            at = ROOT | stone->root;
            break;
        }
        way.first = at;
        at = parents->map[at - 1];
    }
    if (at == 0)
        return false;
    way.root = at & ~ROOT;
    *out = (struct cf_way_end){
        .root = way.root,
        .first = way.first - 1,
        .nr_chunks = way.nr_chunks,
    };
    lay_stones(parents, way);
    return true;
}
