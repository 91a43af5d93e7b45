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
    bool is_compact; /* chunks are stored by the page */
    int64_t heap_id, arena_id, heap_start, heap_end;
    struct cf_explained_chunk chunk; /* that covers the address */
};

/* The chunk that covers `address`; false: none is known there. */
bool cf_explain_find_chunk(struct cf_explain *explain, int64_t address,
                           struct cf_explained_chunk *out);

/* The first sentence, the facts, the neighbours. */
void cf_explain_db(struct cf_explain *explain);

/* The symbol at the address, and what the words of the chunk, or those at the address, look like:
 * pointers by where they lead, texts by their length, numbers by their size. */
void cf_explain_core(struct cf_explain *explain, struct cf_reading *reading);

#endif
