/*
 * What explain's two halves share: what the database knows of an address (explain_db.c), and what
 * the core adds to it (explain_core.c). Rows go straight into the document; the first failure is
 * kept in `status` and ends the rest.
 */
#ifndef CF_LIB_EXPLAIN_H
#define CF_LIB_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "corefrag.h"
#include "lib/reading.h"
#include "report/doc.h"
#include "store/db.h"

/* A chunk as the database has it. */
struct cf_explained_chunk {
    int64_t address, bytes, usable; /* usable -1: top and fence have none */
    char state[16];
    int reachable; /* -1: not examined, or dead */
};

struct cf_explain {
    struct cf_db *db;
    int64_t address;
    int64_t word_bytes;
    struct cf_section *section;
    struct cf_table *table; /* of facts */
    int status;
    struct cf_err *err;
    bool has_heap, has_chunk;
    int64_t heap_id, arena_id, heap_start, heap_end;
    struct cf_explained_chunk chunk; /* that covers the address */
};

/* The chunk that covers `address`; false: none is known there. */
bool cf_explain_find_chunk(struct cf_explain *explain, int64_t address,
                           struct cf_explained_chunk *out);

/*
 * What an address is within the chunk that covers it:
 *
 *     h             h + W        h + 2W            h + size      h + size + W
 *     | chunk below | size field | what malloc returned ........ | its last word
 *     | its last    |            | byte 0, 1, ...                |
 *
 * The first word is the last usable one of the chunk below while that is live, and else has the
 * size of that chunk, which is free.
 */
enum cf_explain_part { CF_EXPLAIN_BELOW, CF_EXPLAIN_SIZE_FIELD, CF_EXPLAIN_USER };

struct cf_explain_place {
    enum cf_explain_part part;
    uint64_t byte; /* of CF_EXPLAIN_USER, or of the live chunk below */
    bool has_below; /* CF_EXPLAIN_BELOW: a live chunk ends here */
    struct cf_explained_chunk below;
};

struct cf_explain_place cf_explain_place(struct cf_explain *explain, int64_t address,
                                         const struct cf_explained_chunk *chunk);

/* Bytes from one address to another that is not below it; addresses above 2^63 are negative. */
static inline uint64_t cf_explain_distance(int64_t from, int64_t to) {
    return (uint64_t)to - (uint64_t)from;
}

/* What malloc returned for the chunk. */
static inline uint64_t cf_explain_user(const struct cf_explain *explain,
                                       const struct cf_explained_chunk *chunk) {
    return (uint64_t)chunk->address + 2 * (uint64_t)explain->word_bytes;
}

/* The first sentence, the facts, the neighbours. */
void cf_explain_db(struct cf_explain *explain);

/* The symbol at the address, and what the words of the chunk, or those at the address, look like:
 * pointers by where they lead, texts by their length, numbers by their size. */
void cf_explain_core(struct cf_explain *explain, struct cf_reading *reading);

#endif
