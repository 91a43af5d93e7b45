#include "analysis/parents.h"

#include <stdlib.h>

#include "analysis/ranks.h"
#include "base/err.h"
#include "base/scratch.h"

enum {
    DROP_EACH = 1 << 20, /* writes between two hints that the pages may go */
    STONE_SHIFT = 8,     /* chunks with such a round rank are milestones */
    NR_STONES = 1 << 14,
};

static const uint32_t ROOT = 1u << 31, NUMBERS_MAX = (1u << 31) - 2;

/* What is known of the way back from a milestone. */
struct stone {
    uint32_t from; /* 1 + rank; 0: empty */
    uint32_t root;
    uint32_t first; /* 1 + rank of the chunk that the root leads to */
    uint32_t nr_chunks;
};

struct cf_parents {
    struct cf_ranks ranks;
    struct cf_scratch file;
    uint32_t *map;     /* 0: nothing; 1 + rank; ROOT | root */
    uint32_t writes;
    struct stone *stones; /* by the rank's higher bits, the last one met wins */
};

int cf_parents_new(const struct cf_resolver *resolver, size_t nr_roots, struct cf_parents **out,
                   struct cf_err *err) {
    if (nr_roots > NUMBERS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more roots than can be numbered");
    struct cf_parents *parents = calloc(1, sizeof *parents);
    if (parents == NULL)
        return cf_err_nomem(err, sizeof *parents, "the ways to chunks");
    parents->stones = calloc(NR_STONES, sizeof *parents->stones);
    int status = parents->stones != NULL
                     ? cf_ranks_init(&parents->ranks, resolver, err)
                     : cf_err_nomem(err, NR_STONES * sizeof *parents->stones, "milestones");
    if (status == CF_OK && parents->ranks.nr > NUMBERS_MAX)
        status = cf_err_set(err, CF_EUSAGE, "more chunks than can be ranked");
    if (status == CF_OK)
        status = cf_scratch_init(&parents->file,
                                 (parents->ranks.nr + 1) * sizeof *parents->map, err);
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
    cf_ranks_fini(&parents->ranks);
    free(parents->stones);
    free(parents);
}

uint32_t cf_parents_from_chunk(const struct cf_parents *parents, size_t number) {
    return (uint32_t)cf_ranks_of(&parents->ranks, number) + 1;
}

uint32_t cf_parents_from_root(size_t root) {
    return ROOT | (uint32_t)root;
}

/* What is written stays in the file; only our view of its pages goes. */
void cf_parents_set(struct cf_parents *parents, size_t number, uint32_t from) {
    parents->map[cf_ranks_of(&parents->ranks, number)] = from;
    if (++parents->writes % DROP_EACH == 0)
        cf_scratch_drop(&parents->file);
}

bool cf_parents_get(const struct cf_parents *parents, size_t number, size_t *root, size_t *from) {
    size_t rank = cf_ranks_of(&parents->ranks, number);
    uint32_t value = rank == CF_NO_CHUNK ? 0 : parents->map[rank];
    if (value == 0)
        return false;
    *root = value & ROOT ? value & ~ROOT : SIZE_MAX;
    *from = value & ROOT ? CF_NO_CHUNK : cf_ranks_number(&parents->ranks, value - 1);
    return true;
}

static struct stone *stone_of(const struct cf_parents *parents, uint32_t from) {
    if ((from - 1) & ((1u << STONE_SHIFT) - 1))
        return NULL;
    return &parents->stones[(from - 1) >> STONE_SHIFT & (NR_STONES - 1)];
}

/* Lays milestones on the way from `stone.from` to its root. */
static void lay_stones(struct cf_parents *parents, struct stone way) {
    for (; way.nr_chunks > 0; way.nr_chunks--) {
        struct stone *stone = stone_of(parents, way.from);
        if (stone != NULL && stone->from == way.from)
            return; /* and all beyond it were laid */
        if (stone != NULL)
            *stone = way;
        way.from = parents->map[way.from - 1];
    }
}

bool cf_parents_end(struct cf_parents *parents, size_t number, struct cf_way_end *out) {
    struct stone way = {.from = 0};
    if (cf_ranks_of(&parents->ranks, number) == CF_NO_CHUNK)
        return false;
    way.from = cf_parents_from_chunk(parents, number);
    uint32_t at = way.from;
    for (; at != 0 && !(at & ROOT); way.nr_chunks++) {
        const struct stone *stone = stone_of(parents, at);
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
        .first = cf_ranks_number(&parents->ranks, way.first - 1),
        .nr_chunks = way.nr_chunks,
    };
    lay_stones(parents, way);
    return true;
}
