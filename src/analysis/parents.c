#include "analysis/parents.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/scratch.h"

enum {
    WORDS_PER_BLOCK = 4,       /* of the start plane, for each sum */
    DROP_EACH = 1 << 20,       /* writes between two hints that the pages may go */
    STONE_SHIFT = 8,           /* chunks with such a round rank are milestones */
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
    const struct cf_resolver *resolver;
    uint32_t *sums;    /* starts before each block of the plane */
    size_t nr_blocks;
    size_t nr_starts;
    size_t nr_chunks;  /* with the mmapped ones */
    struct cf_scratch file;
    uint32_t *map;     /* 0: nothing; 1 + rank; ROOT | root */
    uint32_t writes;
    struct stone *stones; /* by the rank's higher bits, the last one met wins */
};

/* Without the processor's own instruction, which not every x86_64 has, the compiler would call a
 * function of its library. */
static inline size_t count_bits(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555ull;
    bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (size_t)(bits * 0x0101010101010101ull >> 56);
}

static int count_starts(struct cf_parents *parents, struct cf_err *err) {
    const struct cf_planes *planes = parents->resolver->planes;
    parents->nr_blocks = planes->nr_words / WORDS_PER_BLOCK + 1;
    parents->sums = calloc(parents->nr_blocks + 1, sizeof *parents->sums);
    if (parents->sums == NULL)
        return cf_err_nomem(err, parents->nr_blocks * sizeof *parents->sums, "ranks of chunks");
    uint64_t sum = 0;
    for (size_t word = 0; word < planes->nr_words; word++) {
        if (word % WORDS_PER_BLOCK == 0)
            parents->sums[word / WORDS_PER_BLOCK] = (uint32_t)sum;
        sum += count_bits(planes->starts[word]);
        if (sum > NUMBERS_MAX)
            return cf_err_set(err, CF_EUSAGE, "more chunks than can be ranked");
    }
    for (size_t block = (planes->nr_words + WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK;
         block <= parents->nr_blocks; block++)
        parents->sums[block] = (uint32_t)sum;
    parents->nr_starts = (size_t)sum;
    parents->nr_chunks = (size_t)sum + cf_chunkmap_nr_mmapped(parents->resolver->map);
    return CF_OK;
}

static size_t rank_of(const struct cf_parents *parents, size_t number) {
    size_t nr_units = cf_chunkmap_nr_units(parents->resolver->map);
    if (number >= nr_units)
        return parents->nr_starts + (number - nr_units) / 2;
    const uint64_t *starts = parents->resolver->planes->starts;
    size_t word = number >> 6, block = word / WORDS_PER_BLOCK;
    size_t rank = parents->sums[block];
    for (size_t i = block * WORDS_PER_BLOCK; i < word; i++)
        rank += count_bits(starts[i]);
    uint64_t below = (number & 63) == 0 ? 0 : starts[word] & ~0ull >> (64 - (number & 63));
    return rank + count_bits(below);
}

static size_t number_of(const struct cf_parents *parents, size_t rank) {
    if (rank >= parents->nr_starts)
        return cf_chunkmap_nr_units(parents->resolver->map) + 2 * (rank - parents->nr_starts);
    size_t low = 0, high = parents->nr_blocks;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (parents->sums[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    const uint64_t *starts = parents->resolver->planes->starts;
    size_t left = rank - parents->sums[low], word = low * WORDS_PER_BLOCK;
    for (;; word++) {
        size_t here = count_bits(starts[word]);
        if (left < here)
            break;
        left -= here;
    }
    uint64_t bits = starts[word];
    while (left-- > 0)
        bits &= bits - 1;
    return (word << 6) + (size_t)__builtin_ctzll(bits);
}

int cf_parents_new(const struct cf_resolver *resolver, size_t nr_roots, struct cf_parents **out,
                   struct cf_err *err) {
    if (nr_roots > NUMBERS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more roots than can be numbered");
    struct cf_parents *parents = calloc(1, sizeof *parents);
    if (parents == NULL)
        return cf_err_nomem(err, sizeof *parents, "the ways to chunks");
    parents->resolver = resolver;
    parents->stones = calloc(NR_STONES, sizeof *parents->stones);
    int status = parents->stones != NULL
                     ? count_starts(parents, err)
                     : cf_err_nomem(err, NR_STONES * sizeof *parents->stones, "milestones");
    if (status == CF_OK)
        status = cf_scratch_init(&parents->file, (parents->nr_chunks + 1) * sizeof *parents->map,
                                 err);
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
    free(parents->sums);
    free(parents->stones);
    free(parents);
}

uint32_t cf_parents_from_chunk(const struct cf_parents *parents, size_t number) {
    return (uint32_t)rank_of(parents, number) + 1;
}

uint32_t cf_parents_from_root(size_t root) {
    return ROOT | (uint32_t)root;
}

/* What is written stays in the file; only our view of its pages goes. */
void cf_parents_set(struct cf_parents *parents, size_t number, uint32_t from) {
    parents->map[rank_of(parents, number)] = from;
    if (++parents->writes % DROP_EACH == 0)
        cf_scratch_drop(&parents->file);
}

bool cf_parents_get(const struct cf_parents *parents, size_t number, size_t *root, size_t *from) {
    uint32_t value = parents->map[rank_of(parents, number)];
    if (value == 0)
        return false;
    *root = value & ROOT ? value & ~ROOT : SIZE_MAX;
    *from = value & ROOT ? CF_NO_CHUNK : number_of(parents, value - 1);
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
    struct stone way = {.from = cf_parents_from_chunk(parents, number)};
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
    *out = (struct cf_way_end){way.root, number_of(parents, way.first - 1), way.nr_chunks};
    lay_stones(parents, way);
    return true;
}
