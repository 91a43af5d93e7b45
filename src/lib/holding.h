/*
 * Holders: the search for who holds the chunks that are worth asking about (lib/asking.h), what a
 * person calls each hop, and what the holders that explain the most keep alive.
 */
#ifndef CF_LIB_HOLDING_H
#define CF_LIB_HOLDING_H

#include "holders/held.h"
#include "holders/holders.h"
#include "retain/kept.h"
#include "runtime/objects.h"
#include "reach/reach.h"
#include "types/sizetype.h"
#include "types/types.h"
#include "base/array.h"
#include "lib/asking.h"
#include "lib/naming.h"
#include "lib/reading.h"
#include "store/db.h"

enum { CF_HELD_ROOTS = 3, CF_HELD_CHUNKS_MAX = 2000000 };

/* A root that holds asked chunks. */
struct cf_heldroot {
    struct cf_held held;
    struct cf_hop hop; /* of the first of them */
    uint64_t weight;   /* of the weightiest */
};

struct cf_holding {
    struct cf_asking asking;
    struct cf_holders holders;
    CF_ARRAY(struct cf_heldroot) roots; /* the weightiest first */
    const struct cf_reach *reach;
    struct cf_types *types;
    const struct cf_naming *naming;
    struct cf_objects objects; /* of managed heaps */
    struct cf_size_types sizes; /* empty on heaps of millions of chunks, unless asked for */
};

/* What the search stands on; borrowed. */
struct cf_holding_input {
    const struct cf_reading *reading;
    const struct cf_reach *reach;
    const struct cf_kept *kept;
    const struct cf_naming *naming;
    const struct cf_claims *claims; /* whose mappings are whose; sealed */
    bool retained;
};

/* After the mark, types, pins and the budget. `holding` is all zero; borrows all of `input`. Where
 * `reach` knows no paths, holders stay unknown. What holders keep alive, and whose memory the
 * nameless chunks are, is counted on heaps of up to CF_HELD_CHUNKS_MAX reached chunks, or with
 * `retained`. */
int cf_holding_find(struct cf_holding *holding, const struct cf_context *ctx,
                    const struct cf_holding_input *input, struct cf_types *types,
                    struct cf_err *err);
int cf_holding_store(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err);
void cf_holding_fini(struct cf_holding *holding);

#endif
