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
    size_t *work; /* ranks of chunks to be read */
    size_t nr_work;
};

static void read_words(struct oracle *oracle, uint64_t start, uint64_t end) {
    const struct cf_ranks *ranks = &oracle->reach->ranks;
    unsigned w = ranks->resolver->word_bytes;
    uint64_t word;
    for (uint64_t at = start; at + w <= end; at += w) {
        if (!cf_mem_word(oracle->reach->mem, at, &word))
            continue;
        size_t number = cf_resolver_target(ranks->resolver, word);
        size_t rank = number == CF_NO_CHUNK ? CF_NO_CHUNK : cf_ranks_of(ranks, number);
        if (rank == CF_NO_CHUNK || oracle->reached[rank])
            continue;
        oracle->reached[rank] = true;
        oracle->work[oracle->nr_work++] = rank;
    }
}

static void read_chunk(struct oracle *oracle, size_t rank) {
    const struct cf_resolver *resolver = oracle->reach->ranks.resolver;
    size_t number = cf_ranks_number(&oracle->reach->ranks, rank);
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
