#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

struct oracle {
    const struct cf_reach *reach;
    bool *reached;
    struct cf_rank *work; /* chunks to be read */
    size_t nr_work;
};

static void read_words(struct oracle *oracle, uint64_t start, uint64_t end) {
    const struct cf_ranks *ranks = &oracle->reach->ranks;
    unsigned w = ranks->resolver->word_bytes;
    uint64_t word;
    for (uint64_t at = start; at + w <= end; at += w) {
        if (!cf_mem_word(oracle->reach->mem, at, &word))
            continue;
        struct cf_chunk_number number = cf_resolver_target(ranks->resolver, word);
        struct cf_rank rank = cf_is_chunk(number) ? cf_ranks_of(ranks, number) : CF_NO_RANK;
        if (!cf_is_ranked(rank) || oracle->reached[rank.index])
            continue;
        oracle->reached[rank.index] = true;
        oracle->work[oracle->nr_work++] = rank;
    }
}

static void read_chunk(struct oracle *oracle, struct cf_rank rank) {
    const struct cf_resolver *resolver = oracle->reach->ranks.resolver;
    struct cf_chunk_number number = cf_ranks_number(&oracle->reach->ranks, rank);
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    uint64_t user = chunk.addr + 2 * resolver->word_bytes;
    for (size_t i = 0; i < oracle->reach->nr_pointerless; i++)
        if (oracle->reach->pointerless[i] == user)
            return;
    read_words(oracle, user,
               cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes));
}

bool *oracle_reached(const struct cf_reach *reach) {
    struct oracle oracle = {.reach = reach};
    oracle.reached = calloc(reach->ranks.nr + 1, sizeof *oracle.reached);
    oracle.work = calloc(reach->ranks.nr + 1, sizeof *oracle.work);
    assert_true(oracle.reached != NULL && oracle.work != NULL);
    for (size_t i = 0; i < reach->roots.rows.len; i++)
        read_words(&oracle, reach->roots.rows.items[i].start, reach->roots.rows.items[i].end);
    while (oracle.nr_work > 0)
        read_chunk(&oracle, oracle.work[--oracle.nr_work]);
    free(oracle.work);
    return oracle.reached;
}
