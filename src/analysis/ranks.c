#include "analysis/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { WORDS_PER_BLOCK = 4 }; /* of the start plane, for each sum */

static const uint32_t RANKS_MAX = (1u << 31) - 2;

/* Without the processor's own instruction, which not every x86_64 has, the compiler would call a
 * function of its library. */
static inline size_t count_bits(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555ull;
    bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (size_t)(bits * 0x0101010101010101ull >> 56);
}

int cf_ranks_init(struct cf_ranks *ranks, const struct cf_resolver *resolver, struct cf_err *err) {
    const struct cf_planes *planes = resolver->planes;
    ranks->resolver = resolver;
    ranks->nr_blocks = planes->nr_words / WORDS_PER_BLOCK + 1;
    ranks->sums = calloc(ranks->nr_blocks + 1, sizeof *ranks->sums);
    if (ranks->sums == NULL)
        return cf_err_nomem(err, ranks->nr_blocks * sizeof *ranks->sums, "ranks of chunks");
    uint64_t sum = 0;
    for (size_t word = 0; word < planes->nr_words; word++) {
        if (word % WORDS_PER_BLOCK == 0)
            ranks->sums[word / WORDS_PER_BLOCK] = (uint32_t)sum;
        sum += count_bits(planes->starts[word]);
        if (sum > RANKS_MAX)
            return cf_err_set(err, CF_EUSAGE, "more chunks than can be ranked");
    }
    for (size_t block = (planes->nr_words + WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK;
         block <= ranks->nr_blocks; block++)
        ranks->sums[block] = (uint32_t)sum;
    ranks->nr_starts = (size_t)sum;
    ranks->nr_chunks = (size_t)sum + cf_chunkmap_nr_mmapped(ranks->resolver->map);
    return CF_OK;
}

size_t cf_ranks_of(const struct cf_ranks *ranks, size_t number) {
    size_t nr_units = cf_chunkmap_nr_units(ranks->resolver->map);
    if (number >= nr_units)
        return ranks->nr_starts + (number - nr_units) / 2;
    const uint64_t *starts = ranks->resolver->planes->starts;
    size_t word = number >> 6, block = word / WORDS_PER_BLOCK;
    size_t rank = ranks->sums[block];
    for (size_t i = block * WORDS_PER_BLOCK; i < word; i++)
        rank += count_bits(starts[i]);
    uint64_t below = (number & 63) == 0 ? 0 : starts[word] & ~0ull >> (64 - (number & 63));
    return rank + count_bits(below);
}

size_t cf_ranks_number(const struct cf_ranks *ranks, size_t rank) {
    if (rank >= ranks->nr_starts)
        return cf_chunkmap_nr_units(ranks->resolver->map) + 2 * (rank - ranks->nr_starts);
    size_t low = 0, high = ranks->nr_blocks;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (ranks->sums[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    const uint64_t *starts = ranks->resolver->planes->starts;
    size_t left = rank - ranks->sums[low], word = low * WORDS_PER_BLOCK;
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

void cf_ranks_fini(struct cf_ranks *ranks) {
    free(ranks->sums);
    memset(ranks, 0, sizeof *ranks);
}
