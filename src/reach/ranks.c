/*
 * A rank is a sum before the word plus the bits below in it; the way back is a binary search among
 * the sums, and then bit by bit.
 */
#include "reach/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/err.h"

enum { TICK_WORDS = 1 << 18 }; /* of the planes */

int cf_ranks_init(const struct cf_context *ctx, struct cf_ranks *ranks,
                  const struct cf_resolver *resolver, struct cf_err *err) {
    const struct cf_planes *planes = resolver->planes;
    size_t nr_blocks = (planes->nr_words >> CF_RANKS_BLOCK_SHIFT) + 1;
    ranks->resolver = resolver;
    ranks->sums = malloc((planes->nr_words + 1) * sizeof *ranks->sums);
    ranks->blocks = calloc(nr_blocks + 1, sizeof *ranks->blocks);
    if (ranks->sums == NULL || ranks->blocks == NULL)
        return cf_err_nomem(err, planes->nr_words * sizeof *ranks->sums, "ranks of chunks");
    uint64_t before = 0;
    uint32_t sum = 0;
    for (size_t word = 0; word < planes->nr_words; word++) {
        if (word % ((size_t)1 << CF_RANKS_BLOCK_SHIFT) == 0) {
            before += sum;
            sum = 0;
            ranks->blocks[word >> CF_RANKS_BLOCK_SHIFT] = before;
        }
        ranks->sums[word] = sum;
        sum += (uint32_t)cf_ranks_count_bits(cf_ranks_live_bits(planes, word));
        if (word % TICK_WORDS == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    ranks->nr_live = (size_t)(before + sum);
    ranks->nr = ranks->nr_live + cf_chunkmap_nr_mmapped(resolver->map);
    return CF_OK;
}

struct cf_rank cf_ranks_of_mmapped(const struct cf_ranks *ranks, struct cf_chunk_number number) {
    size_t nr_units = cf_chunkmap_nr_units(ranks->resolver->map);
    size_t index = (number.index - nr_units) / 2;
    if (number.index < nr_units || index >= cf_chunkmap_nr_mmapped(ranks->resolver->map) ||
        cf_chunkmap_mmapped(ranks->resolver->map, index)->in_tcache)
        return CF_NO_RANK;
    return (struct cf_rank){ranks->nr_live + index};
}

struct cf_chunk_number cf_ranks_number(const struct cf_ranks *ranks, struct cf_rank rank) {
    const struct cf_planes *planes = ranks->resolver->planes;
    if (rank.index >= ranks->nr_live)
        return cf_number_of_mmapped(ranks->resolver->map, rank.index - ranks->nr_live);
    /* The last word with as many before it or fewer. */
    size_t word = cf_bound(planes->nr_words, i,
                           cf_ranks_of_word(ranks, i).index > rank.index) - 1;
    uint64_t bits = cf_ranks_live_bits(planes, word);
    for (size_t left = rank.index - cf_ranks_of_word(ranks, word).index; left > 0; left--)
        bits &= bits - 1;
    return cf_number_of_unit(word, (struct cf_heap_unit){(size_t)__builtin_ctzll(bits)});
}

void cf_ranks_fini(struct cf_ranks *ranks) {
    free(ranks->sums);
    free(ranks->blocks);
    memset(ranks, 0, sizeof *ranks);
}
